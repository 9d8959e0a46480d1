"""Checks of numbers that SciPy makes are made at each call of a compiled program as well.

A program is recorded at a sample, and called at numbers that SciPy refuses, or takes another way
for: it raises what the function raises without `compile`, or gives what that gives.
"""

from __future__ import annotations

import importlib
import inspect
import time

import numpy as np
import pytest

import chainrules_scipy
from chainrules_compile import RecordingError, compile
from chainrules_py import NotDifferentiableError
from chainrules_scipy import linalg
from chainrules_tape import grad, jvp, value_and_grad
from tests.engines.compile.shadow import same
from tests.libraries.scipy.samples.common import TAME
from tests.libraries.scipy.samples.judge import leaves, samples

pytestmark = pytest.mark.filterwarnings("ignore")

ALL = [(s, i) for of in samples().values() for i, s in enumerate(of) if s.operands]
MODES = {
    "gradient": value_and_grad,
    "forward": lambda f, places: lambda *xs: jvp(f, xs, tuple(map(np.ones_like, xs))),
}


LONGEST = 4.0
"""How many seconds a sample has for its numbers: a slow one has fewer, and none fails by it."""


def asks_for_finite(sample):
    f = getattr(linalg, sample.name.removeprefix("linalg."), None)
    return f is not None and "check_finite" in inspect.signature(f).parameters


def bad(x, values=(np.nan, np.inf)):
    """Yield arrays with a NaN or an infinity somewhere, and others that are seldom good."""
    for value in values:
        for at in sorted({0, min(1, x.size - 1), x.size // 2, x.size - 1}):
            y = x.copy()
            y.reshape(-1)[at] = value
            yield y
    yield from (np.zeros_like(x), -x, np.ones_like(x), x * (1e200 if values else 0.5))


def outcome(f, xs):
    try:
        return f(*xs)
    except Exception as error:
        return error


def alike(have, want):
    if isinstance(have, Exception) or isinstance(want, Exception):
        if isinstance(want, (RecursionError, NotDifferentiableError)):
            return type(have) is type(want)  # whose texts have depths, and numbers of SciPy's
        return type(have) is type(want) and str(have) == str(want)
    pairs = [*zip(leaves(have), leaves(want), strict=True)]
    return same(have, want) or all(
        [np.allclose(x, y, rtol=1e-13, atol=0.0, equal_nan=True) for x, y in pairs]
    )


def check(sample, mode, most=None):
    numbers = [isinstance(x, float) for x in sample.operands]
    both = list(zip(sample.operands, numbers, strict=True))
    xs = [np.asarray(x, float) if plain else x for x, plain in both]

    home, _, name = sample.name.rpartition(".")
    module, call = importlib.import_module(f"scipy.{home}"), sample.call

    def total(*zs):
        parts = leaves(call(getattr(module, name), *zs))
        both = [np.real(y) + (np.imag(y) if np.iscomplexobj(y) else 0.0) for y in parts]
        return sum(map(np.sum, both))

    def given(zs):
        return [z.item() if plain else z for z, plain in zip(zs, numbers, strict=True)]

    begun = time.process_time()
    tame = [()] if sample.name.startswith(TAME) else []
    with chainrules_scipy.install(), np.errstate(all="ignore"):
        f = MODES[mode](total, tuple(range(len(xs))))
        compiled = compile(f)
        outcome(compiled, given(xs))
        for k, x in enumerate(xs):
            moves = getattr(x, "dtype", np.dtype(int)).kind in "fc" and np.size(x)
            for y in list(bad(x, *tame))[:most] if moves else ():
                zs = given([*xs[:k], y, *xs[k + 1 :]])
                if time.process_time() - begun > LONGEST:
                    return
                have, want = outcome(compiled, zs), outcome(f, zs)
                if isinstance(have, RecordingError) and "draws random numbers" in str(have):
                    break
                assert alike(have, want), f"{sample} at {zs}: {have!r} for {want!r}"


ASKING = [(s, i) for s, i in ALL if asks_for_finite(s)]


@pytest.mark.parametrize("sample", [pytest.param(s, id=f"{s}-{i}") for s, i in ASKING[::5]])
def test_what_is_to_be_finite_is_asked_at_each_call(sample):
    check(sample, "gradient", 1)


AGREEING = ("ndimage.convolve", "ndimage.correlate1d", "ndimage.zoom", "ndimage.maximum_filter1d")


@pytest.mark.parametrize("name", AGREEING)
def test_whether_a_value_is_scipys_is_asked_at_each_call(name):
    check(samples()[name][0], "gradient", 2)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sample", [pytest.param(s, id=f"{s}-{i}") for s, i in ASKING])
def test_what_is_to_be_finite_is_asked_at_each_call_of_all_samples(sample, mode):
    check(sample, mode)


@pytest.mark.nightly
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sample", [pytest.param(s, id=f"{s}-{i}") for s, i in ALL])
def test_what_scipy_checks_is_asked_at_each_call(sample, mode):
    check(sample, mode)


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_what_need_not_be_finite_is_not_asked(target):
    for check_finite in (True, False):
        f = lambda a: np.sum(linalg.solve_triangular(a, np.ones(2), check_finite=check_finite))  # noqa: B023
        compiled = compile(grad(f), target=target)
        compiled(np.eye(2))
        large = np.array([[1e200, 1.0], [0.0, 1.0]])  # whose squares overflow
        assert same(compiled(large), grad(f)(large))
        unused = np.array([[1.0, 1.0], [np.nan, 1.0]])
        have, want = outcome(compiled, [unused]), outcome(grad(f), [unused])
        assert alike(have, want)
        assert isinstance(have, ValueError) == check_finite

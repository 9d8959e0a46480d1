"""A pullback is linear in its seed, and a push in its tangent: each is the other's transpose.

So the derivative of a pullback by its seed is the push, and that of a push by its tangent the
pullback. A rule may be right in both and still not be so: ``where(undefined, nan * t, 0)`` is zero
forward, and the transpose of it is NaN, as it is zero times NaN there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import chainrules_scipy
from chainrules_tape import jvp, vjp
from tests.libraries.scipy.samples.judge import samples
from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.point import Point, dense, vector

CALLS = [
    (f"{call.name} {call.number}{' complex' * call.complex}", call)
    for library in ("numpy", "scipy")
    for name in names_with_calls(library)
    for call in surface_calls(name)
]
SAMPLES = [
    (f"{name} {i}", sample)
    for name, of in samples().items()
    for i, sample in enumerate(of)
    if sample.operands and name != "integrate.tplquad"
]


def flat(tangents: Any, primals: Any) -> Any:
    return vector([dense(t, p) for t, p in zip(tangents, primals, strict=True)])


def transposed(f: Callable[..., list[Any]], xs: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield what each is, found and wanted, at random seeds."""
    rng = np.random.default_rng(0)

    def drawn(p: Any) -> Any:
        t = rng.standard_normal(np.shape(p))
        t = t + 1j * rng.standard_normal(np.shape(p)) if np.iscomplexobj(p) else t
        return t if isinstance(p, np.ndarray) else np.asarray(t).item()

    y, pull = vjp(f, *xs)
    if not y:
        return
    ts = [drawn(x) for x in xs]
    cs = [drawn(part) for part in y]
    pushed, pulled = flat(jvp(f, tuple(xs), tuple(ts))[1], y), flat(pull(cs), xs)

    def pulls(*seeds: Any) -> list[Any]:
        return list(vjp(f, *xs)[1](list(seeds)))

    def pushes(*tangents: Any) -> list[Any]:
        return list(jvp(f, tuple(xs), tangents)[1])

    bars, again = vjp(pulls, *cs)
    # The gradient of a real part is a real number, also by something complex.
    ways = [t if np.iscomplexobj(bar) else np.real(t) for t, bar in zip(ts, bars, strict=True)]
    if all(np.iscomplexobj(t) == np.iscomplexobj(w) for t, w in zip(ts, ways, strict=True)):
        yield "the pullback, pulled back", flat(again(ways), cs), pushed
    yield "the pullback, pushed", flat(jvp(pulls, tuple(cs), tuple(cs))[1], xs), pulled
    dots, again = vjp(pushes, *ts)
    seeds = [c if np.iscomplexobj(dot) else np.real(c) for c, dot in zip(cs, dots, strict=True)]
    yield "the push, pulled back", flat(again(seeds), ts), pulled
    yield "the push, pushed", flat(jvp(pushes, tuple(ts), tuple(ts))[1], y), pushed


def agrees(f: Callable[..., list[Any]], xs: Any) -> None:
    for what, found, wanted in transposed(f, xs):
        size = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1.0)
        np.testing.assert_allclose(found, wanted, 1e-6, 1e-8 * size, err_msg=what)


def leaves(y: Any) -> list[Any]:
    return [z for part in y for z in leaves(part)] if isinstance(y, (tuple, list)) else [y]


def check_call(call: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        point = Point(call)
        if not point.is_smooth:
            return
        agrees(point, point.xs)


def check_sample(sample: Any) -> None:
    def floating(*xs: Any) -> list[Any]:
        found = [z for z in leaves(sample.run(*xs)) if hasattr(z, "dtype") or type(z) is float]
        return [z for z in found if np.dtype(getattr(z, "dtype", float)).kind in "fc"]

    with warnings.catch_warnings(), chainrules_scipy.install():
        warnings.simplefilter("ignore")
        try:
            vjp(floating, *sample.operands)
        except Exception as error:  # which `test_samples` has
            pytest.skip(f"no derivative: {type(error).__name__}")
        agrees(floating, sample.operands)


@pytest.mark.parametrize(
    "call", [c for _, c in CALLS[::101]], ids=[name for name, _ in CALLS[::101]]
)
def test_call(call: Any) -> None:
    check_call(call)


def test_ufuncs_whose_value_scipy_is_asked_for() -> None:
    """`kn` and `fdtr` were NaN by their seed."""
    asked = ("scipy.special.kn", "scipy.special.fdtr", "scipy.special.agm")
    for name in asked:
        for call in surface_calls(name):
            check_call(call)


@pytest.mark.slow
@pytest.mark.parametrize("call", [c for _, c in CALLS], ids=[name for name, _ in CALLS])
def test_every_call(call: Any) -> None:
    check_call(call)


@pytest.mark.slow
@pytest.mark.parametrize("sample", [s for _, s in SAMPLES], ids=[name for name, _ in SAMPLES])
def test_every_sample(sample: Any) -> None:
    check_sample(sample)

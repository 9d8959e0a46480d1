"""Programs that need not have NumPy's bits: functions, products and sums, by their tolerance."""

import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile
from chainrules_compile.c import vector_math
from chainrules_tape import hvp, value_and_grad
from tests.engines.compile.random_programs import arguments, check_loose, run

pytestmark = pytest.mark.usefixtures("native")
RNG = np.random.default_rng(7)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.3, -0.7, 2.5, 700.0, 1e-310, np.inf, -np.inf, np.nan, 1e300]
POSITIVE = (np.log, np.log2, np.log10, np.log1p, np.power, np.arccosh)
UNIT = (np.arcsin, np.arccos, np.arctanh)


@pytest.fixture(autouse=True)
def with_all(monkeypatch):
    """Have all functions called, also where NumPy's are as fast."""
    monkeypatch.setattr(vector_math, "is_wide", lambda: False)


def loose(f):
    return compile(f, target="c")


def check(f, *args, rtol=1e-13, others=True):
    """Compare a function with its program: to a part of the largest element."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", RecordingWarning)
        g = loose(f)
        for xs in arguments(args) if others else (args, args):
            wanted, found = f(*xs), g(*xs)
            assert close(found, wanted, rtol), g.source
    return g


def close(y, want, rtol):
    if isinstance(want, tuple):
        return all(close(*pair, rtol) for pair in zip(y, want, strict=True))
    y, want = np.asarray(y), np.asarray(want)
    scale = np.max(np.abs(want), initial=0.0, where=np.isfinite(want))
    return y.dtype == want.dtype and np.allclose(y, want, rtol, rtol * scale, equal_nan=True)


def of_one_or_two(ufunc):
    return (lambda x, z: ufunc(x) * 1.0) if ufunc.nin == 1 else (lambda x, z: ufunc(x, z) * 1.0)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_functions_of_all_kinds_of_numbers(dtype):
    ufuncs = list(vector_math.C_NAMES)

    def f(x, z):
        return tuple([of_one_or_two(ufunc)(x, z) for ufunc in ufuncs])

    with np.errstate(over="ignore"):
        x, z = (v.ravel().astype(dtype) for v in np.meshgrid(SPECIAL, SPECIAL))
    g = loose(f)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error", RecordingWarning)
        for ufunc, found, want in zip(ufuncs, g(x, z), f(x, z), strict=True):
            rtol = {"f8": 2e-15, "f4": 1e-6}[dtype]
            assert np.allclose(found, want, rtol, 0.0, equal_nan=True), ufunc
            assert np.array_equal(np.signbit(found), np.signbit(want)) | np.isnan(want).any(), ufunc
    names = {name for name, size in vector_math.known()}
    assert not names or "native" in g.source


FIRST = [np.sin, np.cos, np.hypot]
OTHERS = [pytest.param(u, marks=pytest.mark.slow) for u in vector_math.C_NAMES if u not in FIRST]


@pytest.mark.parametrize("ufunc", [*FIRST, *OTHERS])
def test_functions_within_four_units(ufunc):
    x, z = RNG.uniform(-8.0, 8.0, (2, 3001))
    x = np.abs(x) + 1.0 if ufunc in POSITIVE else x / 8.0 if ufunc in UNIT else x
    f = of_one_or_two(ufunc)
    g, wanted = loose(f), f(x.astype(np.longdouble), z.astype(np.longdouble))
    off = np.abs(g(x, z) - wanted) / np.spacing(np.abs(wanted.astype(float)))
    assert np.max(off) < 4.5


@pytest.mark.parametrize("ufunc", [np.sin, np.exp, np.power])
def test_an_element_has_one_value_wherever_it_stands(ufunc):
    x, z = RNG.uniform(0.1, 3.0, (2, 1301))
    f = of_one_or_two(ufunc)
    whole = loose(f)(x, z)
    for n in (2, 3, 5, 511, 515, 1030):
        assert np.array_equal(loose(f)(x[-n:], z[-n:]), whole[-n:])


@pytest.mark.parametrize("shape", [(), (1,), (3,)])
@pytest.mark.parametrize("half", [0.5, np.float64(0.5)])
def test_roots_of_all_special_numbers_by_power_are_numpys(half, shape):
    f = lambda x: np.power(np.sum(np.ones(2) * x, axis=-1, keepdims=True), half)
    g = lambda x: np.power(x, half) * np.ones(3)
    for each in (f, g):
        program = loose(each)
        for x in SPECIAL:
            x = np.float64(x) if not shape else np.full((*shape, 1), x)
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(program(x), each(x))


SHAPES = [
    ((3, 4), (4, 5)),
    ((4, 4), (4,)),
    ((4,), (4, 6)),
    ((5,), (5,)),
    ((200, 5), (5, 5)),
    ((7, 3, 4), (7, 4, 2)),
    ((7, 3, 4), (4, 2)),
    ((40, 30), (30, 50)),
    ((1, 6), (6, 1)),
]


@pytest.mark.slow
@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_products_of_all_layouts(shapes, dtype):
    a, b = (RNG.standard_normal(shape).astype(dtype) for shape in shapes)
    rtol = {"f8": 1e-14, "f4": 2e-6}[dtype]
    check(lambda a, b: a @ b * 1.0, a, b, rtol=rtol)
    a[(0,) * a.ndim] = np.inf
    check(lambda a, b: a @ b * 1.0, a, b, rtol=rtol, others=False)


def test_products_within_their_tolerance():
    a, b, c = (RNG.standard_normal(shape) for shape in ((6, 4), (4, 5), (4,)))
    f = value_and_grad(lambda a, b, c: np.sum(np.sin(a @ b)) + np.sum((a @ c) ** 2), (0, 1, 2))
    check(f, a, b, c, rtol=1e-14, others=False)


@pytest.mark.slow
def test_a_network_with_its_second_derivatives():
    x, a, b = (RNG.standard_normal(shape) for shape in ((30, 5), (5, 7), (7,)))

    def net(x, a, b):
        h = np.tanh(np.sin(x @ a) + b)
        e = np.exp(h - np.max(h, axis=1, keepdims=True))
        return np.sum(np.log(np.sum(e, axis=1))) + np.sum(h * h) + np.vdot(h, h)

    check(value_and_grad(net, (0, 1, 2)), x, a, b)
    check(lambda b: hvp(lambda b: net(x, a, b), (b,), (np.ones(7),)), b)


def test_without_functions_of_vectors_numpy_s_are_called(monkeypatch):
    monkeypatch.setattr(vector_math, "known", frozenset)
    x = RNG.standard_normal(700)
    check(lambda x: np.sum(np.sin(x) * np.exp(x)), x)


def target_c(monkeypatch):
    monkeypatch.setitem(check_loose.__globals__, "TARGET", "c")


@pytest.mark.slow
def test_ten_random_programs(monkeypatch):
    target_c(monkeypatch)
    run(check_loose, 10, 40)


@pytest.mark.nightly
@pytest.mark.parametrize("turn", range(40))
def test_random_programs(monkeypatch, turn):
    target_c(monkeypatch)
    run(check_loose, 10, turn)

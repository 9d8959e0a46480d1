"""``exact=False``: what rounds otherwise is floating numbers', in their own width, options and all.

Each is recorded on zeros, where wrong programs agree, and called with other numbers.
"""

import itertools
import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile
from chainrules_compile.compiled import close
from chainrules_py.composites.functional import scan
from chainrules_tape import grad, hessian, hvp, jvp, value_and_grad
from tests.engines.compile.test_scan import loops

MERGED = {
    "two numbers": lambda x, y: x * 10 * 12 + y,
    "of one array": lambda x, y: x * 100 * 3,
    "beside another": lambda x, y: (x * 10 * 12) * y,
    "of a sum": lambda x, y: np.sum(x) * 3 * 5 - np.sum(x) * 15 + np.sum(y),
    "negative": lambda x, y: -x * 3 * 2,
    "remainder": lambda x, y: (x * 3 * 5) % 7 + y,
    "quotient": lambda x, y: x * 7 * 9 / 5,
    "comparison": lambda x, y: np.where(x * 7 * 9 > 100, y, 2.0),
    "places": lambda x, y: y[((x * 3 * 5) % 3).astype(int)],
    "doubled": lambda x, y: (x + x) * 5 + y,
    "conversion": lambda x, y: x.astype(np.int8) * 10 * 12 + y,
    "powers": lambda x, y: x**3 * 2 * 3 + (x * x) ** 2,
    "a quotient by a number": lambda x, y: x / 300 * 7 + y,
}
WIDE = {
    "small numbers": lambda x: x * 1e-30 * 1e-30,
    "large numbers": lambda x: x * 1e30 * 1e-30 * 1e20,
    "up and down": lambda x: x / 1e-7 * 1e-3,
    "hundreds": lambda x: x * 300 * 300,
    "quotients": lambda x: x / 300 / 300,
    "negative power": lambda x: x**-4,
    "power": lambda x: x**3,
    "tiny divisor": lambda x: x / 1e-42,
}
HALF = [True, False, True]
SUMS = {
    "initial": lambda x, y: np.log(np.sum(x * y, initial=1e-12)),
    "initial of squares": lambda x, y: np.sqrt(np.sum(x * x, initial=1e-12)) + np.sum(y),
    "where": lambda x, y: np.sum(x * y, where=HALF),
    "where of squares": lambda x, y: np.sum(x**2, where=HALF) + np.sum(np.square(y), where=HALF),
    "dtype": lambda x, y: np.sum(x * y, dtype=np.int8) * y,
    "wide dtype": lambda x, y: np.sum(x * y, dtype=np.longdouble),
    "keepdims": lambda x, y: np.sum(x * y, keepdims=True),
    "axis": lambda x, y: np.sum(x * y, axis=0) + np.sum(x * y, axis=()),
    "reduce": lambda x, y: np.add.reduce(x * y, initial=2.0) + (x * y).sum(initial=3.0),
    "mean": lambda x, y: np.mean(x * y, where=HALF) + np.prod(x * y, initial=3.0),
}
INTEGERS = "bhilBHILQ"


def check(f, zeros, others, rtol, exact=False, target="numpy"):
    """Compare what is recorded on zeros with the function, at other numbers."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", RecordingWarning)
        g = compile(f, exact=exact, target=target)
        g(*zeros)
        for xs in others:
            found, wanted = np.asarray(g(*xs)), np.asarray(f(*xs))
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", MERGED)
def test_whole_numbers_that_meet_wrap_as_numpy_s(name):
    y = np.array([1.5, -2.0, 0.25])
    for char in INTEGERS:
        dtype = np.dtype(char)
        most = np.iinfo(dtype).max
        x = np.array([most - 27, most // 2 + 3, 3], dtype)
        args = [(x, y), (x[::-1].copy(), -y)]
        check(MERGED[name], (np.zeros(3, dtype), y), args, 1e-14)


@pytest.mark.parametrize("name", WIDE)
def test_numbers_meet_in_the_width_of_the_array(name):
    for char in "efdgFD":
        info = np.finfo(char)
        edges = [float(info.tiny) * 8, float(info.max) / 8, 0.3, 17.0, 0.05, 1e-3, 40.0]
        rtol = 16 * float(info.eps)
        for x in edges:
            xs = np.array([x, -x, 1.0], char)
            with np.errstate(all="ignore"):
                wanted = WIDE[name](xs)
            both = np.isfinite(wanted) & (np.abs(wanted) > info.tiny)
            f = lambda x, both=both: np.where(both, WIDE[name](x), 0)
            check(f, (np.zeros(3, char) + 1,), [(xs,)], rtol)


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_products_keep_their_options(name):
    zeros, ones = np.zeros(3), np.ones(3)
    others = [(ones, np.array([-1.0, 2.0, 3.0])), (ones * 1e-3, zeros), (ones * 1e10, ones * 1e10)]
    check(SUMS[name], (ones, zeros), others, 1e-12)


@pytest.mark.parametrize("name", ["beside another", "comparison", "conversion"])
def test_derivatives_beside_whole_numbers(name):
    g = value_and_grad(lambda y, x: np.sum(MERGED[name](x, y)))
    x, y = np.array([100, 50, 3], np.int8), np.array([1.5, -2.0, 0.25])
    check(lambda y, x: g(y, x)[1], (y, np.zeros(3, np.int8)), [(y, x)], 1e-14)


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_factor_that_holds_infinity_is_undefined_as_by_elimination(target):
    """A triangle has an answer where elimination exchanges rows with what is infinite."""
    rng = np.random.default_rng(0)
    f = lambda a, b: np.sum(np.linalg.solve(np.linalg.cholesky(a), b) ** 2)
    inputs = []
    for bad in (1.0, *[np.inf, 1e300, np.nan] * 20):
        a = rng.normal(size=(5, 5))
        a, i = a @ a.T + 0.1 * np.eye(5), rng.integers(5)
        a[i, i] *= bad
        inputs.append((a, rng.normal(size=5)))
    compiled = compile(f, exact=False, target=target, background=False)
    undefined = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for each in inputs:
            try:
                wanted = f(*each)
            except np.linalg.LinAlgError:
                with pytest.raises(np.linalg.LinAlgError):
                    compiled(*each)
                continue
            assert np.allclose(compiled(*each), wanted, rtol=1e-8, equal_nan=True)
            undefined += np.isnan(wanted)
    assert undefined >= 3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("number", [0, 0.0, 1.5, -300.0])
def test_a_logarithm_of_a_sum_with_a_number_is_of_the_larger_one(number, dtype):
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(8, 9)) * 10.0 ** rng.integers(-3, 4, (8, 9))).astype(dtype)
    x[0, :6] = np.inf, -np.inf, np.nan, 0.0, -0.0, 1e30
    for f in (lambda x: np.logaddexp(number, x), lambda x: np.logaddexp(x, number)):
        g = compile(f, exact=False)
        with np.errstate(all="ignore"):
            for given in (x, -x, np.asfortranarray(x)):
                found, wanted = g(given), f(given)
                assert found.dtype == wanted.dtype
                np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(dtype).eps)
        assert "log1p(" in g.programs[-1].source
        slope = value_and_grad(lambda x, f=f: np.sum(f(x)))
        for a, b in zip(compile(slope, exact=False)(x[1:]), slope(x[1:]), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4 if dtype is np.float32 else 1e-13)
    few = compile(lambda x: np.logaddexp(0.0, x), exact=False)
    few(x[1])
    assert "log1p(" not in few.source
    both = compile(np.logaddexp, exact=False)
    assert np.isneginf(both(np.full(90, -np.inf), np.full(90, -np.inf))).all()


def linear(w):
    return lambda g, x: (g * 0.9 + x * w, None)


CELLS = {
    "a sum": linear,
    "a result": lambda w: lambda g, x: (g * 0.9 + x, w * x),
    "a product": lambda w: lambda g, x: (g * w * x, None),
    "later": lambda w: lambda g, x: (g * x + 1.0, g * w),
    "a square": lambda w: lambda g, x: (g * 0.5 + x * w * w, None),
    "two": lambda w: lambda s, x: ((s[0] * 0.9 + s[1] * x, s[1] * 0.5 + w), s[1] * x),
    "nested": lambda w: lambda g, x: (scan(linear(w * x), g, np.ones((17, 2)))[0], g),
}
DERIVATIVES = {
    "grad": lambda f: lambda w, xs: grad(f)(w, xs),
    "in xs": lambda f: lambda w, xs: grad(f, 1)(w, xs),
    "jvp": lambda f: lambda w, xs: jvp(lambda w: f(w, xs), (w,), (w,)),
    "hvp": lambda f: lambda w, xs: hvp(lambda w: f(w, xs), (w,), (w,)),
    "hessian": lambda f: lambda w, xs: hessian(lambda w: f(w, xs))(w),
    "of a square": lambda f: grad(lambda w, xs: np.sum(grad(f)(w, xs) ** 2)),
    "of a sine": lambda f: grad(lambda w, xs: np.sum(np.sin(grad(f)(w, xs)))),
    "mixed": lambda f: grad(lambda w, xs: np.sum(np.sin(grad(f, 1)(w, xs)))),
}


@pytest.mark.parametrize("start", ["w", "ones"])
@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("cell", CELLS)
def test_what_has_no_derivative_in_a_turn_is_not_multiplied(cell, derivative, start):
    """Zeros stood for it, so that there was one turn for all: NaN beside an infinity."""

    def f(w, xs):
        s = w if start == "w" else np.ones(2)
        end, ys = scan(CELLS[cell](w), (s, s) if cell == "two" else s, xs)
        given = 0.0 if ys is None else np.sum(ys)
        return given + (np.sum(end) if cell == "a sum" else np.sum(end[-1] ** 2))

    g = DERIVATIVES[derivative](f)
    compiled = compile(g, exact=False)
    w, xs = np.array([0.3, -0.7]), np.random.default_rng(0).standard_normal((20, 2))
    compiled(w, xs)
    assert loops(compiled)
    with np.errstate(all="ignore"):
        for i, bad in itertools.product((0, 1, 7, 18, 19), (np.inf, np.nan)):
            others = xs * 1.1
            others[i, 1] = bad
            assert close(compiled(w, others), g(w, others)), (i, bad)

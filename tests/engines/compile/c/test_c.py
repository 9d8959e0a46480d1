"""Native programs give the bits that the function gives, whatever they are called with."""

import concurrent.futures
import ctypes
import functools
import re
import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile
from chainrules_compile.c import cache, native_programs, native_writer
from chainrules_compile.c.expression_text import headed
from chainrules_compile.scope import Form
from chainrules_scipy import special
from chainrules_tape import grad, hvp, jvp, value_and_grad
from tests.engines.compile.c.near import near
from tests.engines.compile.random_programs import arguments, check_compiled, moved, run
from tests.engines.compile.test_result_checks import LOSSES, check_cancelling

pytestmark = pytest.mark.usefixtures("native")
RNG = np.random.default_rng(5)
_INF, _TINY = np.inf, 5e-324
SPECIAL = np.array([0.0, 1.0, _INF, _TINY, 1e-310, 1e308, 0.3, 7.0])
SPECIAL = np.concatenate([SPECIAL, -SPECIAL[:6], [np.nan]])
LEFT, RIGHT = (x.ravel() for x in np.meshgrid(SPECIAL, SPECIAL))
UNARY = """
    negative absolute square sqrt reciprocal sign exp exp2 expm1 log log1p log2 sin cos tan arcsin
    arctan sinh cosh tanh arcsinh cbrt floor ceil rint trunc isnan isinf isfinite signbit degrees
"""
BINARY = """
    add subtract multiply divide maximum minimum fmax fmin power hypot arctan2 copysign logaddexp
    less less_equal greater greater_equal equal not_equal floor_divide remainder nextafter
"""
UNARY, BINARY = ([getattr(np, name) for name in names.split()] for names in (UNARY, BINARY))


def compiled(f):
    """Compile for C, where nothing may be left to NumPy in silence."""
    return compile(f, target="c")


def check(f, *args, whole=True):
    """Compare a function with its native program, at all kinds of arguments."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error")
        g = compiled(f)
        for xs in arguments(args):
            kept = [np.array(x) for x in xs]
            wanted = f(*xs)
            for _ in range(2):
                found = g(*xs)
                assert near(found, wanted), f"{found} for {wanted}\n{g.source}"
            assert all(map(near, kept, map(np.array, xs))), "an argument was written to"
    if whole:
        lines = [line for line in g.source.splitlines() if "native" in line]
        assert len(lines) == 1, g.source
    return g


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_each_function_of_special_numbers(dtype):
    # One block of elements, and three.
    for n in (1, 6):
        with np.errstate(all="ignore"):
            x, y = (np.tile(v, n).astype(dtype) for v in (LEFT, RIGHT))
        g = compiled(lambda x, y: (*(f(x) for f in UNARY), *(f(x, y) for f in BINARY)))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error", RecordingWarning)
            wanted = (*(f(x) for f in UNARY), *(f(x, y) for f in BINARY))
            names = [f.__name__ for f in (*UNARY, *BINARY)]
            for name, found, want in zip(names, g(x, y), wanted, strict=True):
                assert near(found, want), name
        assert "native" in g.source


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.bool_])
def test_whole_numbers_overflow_as_numpy_s(dtype):
    info = (0, 1) if dtype is np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    edge = np.array([*info, 0, 1, 1, *info])
    a, b = (x.ravel().astype(dtype) for x in np.meshgrid(edge, edge))
    z = np.ones(len(a))

    def f(z):
        sums = (a + b, a * b, np.maximum(a, b), a & b, a ^ b, ~a, a == b, a < b, np.divide(a, b))
        return (
            *sums,
            a * z,
            np.logical_and(a, z),
            *(() if dtype is np.bool_ else (a - b, -a, a // b)),
        )

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error", RecordingWarning)
        g = compiled(f)
        assert near(g(z), f(z))


def some(names, n):
    """Mark what is behind the first as slow: each makes ten programs and more."""
    return [*[*names][:n], *[pytest.param(x, marks=pytest.mark.slow) for x in [*names][n:]]]


def net(X, A, b):
    h = np.tanh(X @ A + b)
    m = np.max(h, axis=1, keepdims=True)
    e = np.exp(h - m)
    q = e / np.sum(e, axis=1, keepdims=True)
    return np.sum(np.log(q[:, 1])) + np.sum(h[2:, ::2] ** 2)


def test_a_network_with_its_derivatives():
    xs = RNG.standard_normal((12, 5)), RNG.standard_normal((5, 7)), RNG.standard_normal(7)
    f = value_and_grad(net, (0, 1, 2))
    assert near(compiled(f)(*xs), f(*xs))


@pytest.mark.slow
def test_a_network_at_all_kinds_of_arguments():
    xs = RNG.standard_normal((12, 5)), RNG.standard_normal((5, 7)), RNG.standard_normal(7)
    check(value_and_grad(net, (0, 1, 2)), *xs, whole=False)
    wide = RNG.standard_normal((300, 5)), *xs[1:]
    check(value_and_grad(net, (0, 1, 2)), *wide, whole=False)


SHAPES = [(9,), (5, 40, 6), (3000,), (7, 300), (300, 7), (1, 600), (600, 1), (2, 3, 4, 5)]


@pytest.mark.parametrize(
    "shape", [*SHAPES[:2], *[pytest.param(s, marks=pytest.mark.slow) for s in SHAPES[2:]]]
)
def test_sums_are_added_in_the_order_of_numpy_s(shape):
    x = RNG.standard_normal(shape)
    axes = [None, *range(len(shape)), *[(0, d) for d in range(1, len(shape))]]
    check(lambda x: tuple([np.sum(x * x, axis=a) for a in axes]), x)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_of_each_length_and_step_have_numpy_s_order(dtype):
    step = np.dtype(dtype).itemsize
    kind = {4: "float", 8: "double"}[step]
    text = f"{kind} total(char* a, long n, long s) {{ return pairwise{step}(a, n, s); }}"
    total = ctypes.CDLL(str(cache.library(headed("kernels.h") + text))).total
    total.restype = {4: ctypes.c_float, 8: ctypes.c_double}[step]
    x = (RNG.standard_normal(5200) * 10.0 ** RNG.integers(-3, 4, 5200)).astype(dtype)
    for k in (1, 2):
        for n in (*range(1, 1300), 2047, 2560, 2599):
            found = total(ctypes.c_void_p(x.ctypes.data), ctypes.c_long(n), ctypes.c_long(k * step))
            assert dtype(found) == np.add.reduce(x[: n * k : k]), (n, k)


class Double(float):
    """A number that is no plain one."""


LISTS = {
    "numbers": [0.5, -0.0, 1e3, 2.0],
    "an integer": [0.5, 1, 2.5, 2.0],
    "a truth": [0.5, 1.5, True, 2.0],
    "one of NumPy's": [0.5, np.float64(1.5), 2.5, 2.0],
    "one of single precision": [np.float32(0.5), 1.5, 2.5, 2.0],
    "an array": [0.5, 1.5, 2.5, np.array(2.0)],
    "another class": [Double(0.5), 1.5, 2.5, 2.0],
    "fewer": [0.5, 1.5, 2.5],
    "more": [0.5, 1.5, 2.5, 2.0, 3.0],
    "none": [],
}


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_program_of_numbers_in_a_list_runs_of_such_alone(kind):
    """Of no other list, length, or class of a number: these are recorded anew."""

    def f(xs, y):
        total = y * 0.5
        for x in xs:
            total = total * 1.5 + x * x
        return total, [x * total for x in xs]

    g, y = compiled(f), np.arange(3.0)
    g(kind([0.1, 0.2, 0.3, 0.4]), y)
    program = g.programs[0]
    assert "not fits(" in program.source
    for xs in LISTS.values():
        for given in (list(xs), tuple(xs)):
            plain = type(given) is kind and [type(x) for x in xs] == [float] * 4
            if plain:
                assert near(g(given, y), f(given, y))


def test_sums_inside_the_blocks():
    x, y = RNG.standard_normal((2, 100_003))

    def f(x, y):
        return np.sum(x * y), np.sum(np.sin(x)), np.sum(x), np.sum(x[1:] * y[:-1])

    check(f, x, y, whole=False)  # the sine of what runs backwards is NumPy's
    g = compiled(f)
    g(x, y)
    assert "native(" in g.source
    assert "native_2(" not in g.source


def test_extremes_and_products_along_axes():
    x = RNG.standard_normal((30, 20))
    x[3, 4] = np.nan
    check(lambda x: (np.max(x * 1.0, axis=0), np.min(x * 1.0), np.prod(x * 1.0, axis=1)), x)


def test_parts_gathers_and_scatters():
    index = np.array([3, 0, 3, -1])

    def f(x, y):
        z = x.copy()
        z[1:3] = y[:2] * 2.0
        z[index] += 1.0
        return (
            np.sum(x[index] * y[:4, None, 0]) + np.sum(z[::2] * z[1::2]) + np.sum(x[:, index] ** 2)
        )

    check(
        value_and_grad(f, (0, 1)),
        RNG.standard_normal((6, 6)),
        RNG.standard_normal((6, 6)),
        whole=False,
    )


REARRANGED = {
    "roll": lambda x: (np.roll(x, 2, 0), np.roll(x, -1, 1), np.roll(x, 7, 1), x * 1.0),
    "running sums": lambda x: (np.cumsum(x, 0), np.cumsum(x, axis=1), np.cumprod(x, 1)),
    "flipped": lambda x: (np.cumsum(np.flip(x, 1), 1) * 2.0, x[::-1] + 1.0),
    "powers": lambda x: tuple([x**p for p in (3, -2, 0.5, 2, 1, -1, 1.5, 3.0)]),
    "properties": lambda x: (x.T * 2.0, (x + 1.0).mT - 1.0),
}


@pytest.mark.parametrize("name", some(REARRANGED, 2))
def test_arrays_are_rearranged(name):
    x = RNG.uniform(0.5, 2.0, (5, 7))
    check(REARRANGED[name], x)
    check(REARRANGED[name], np.where(x > 1.0, x, -0.0).astype(np.float32))


@pytest.mark.parametrize("dtype", some([np.float64, np.float32, np.int32], 1))
def test_what_is_only_moved_is_there_for_what_computes(dtype):
    # A compiler may leave out what is written as another type than it is read.
    x = np.arange(1, 7).astype(dtype)

    def f(x):
        y = np.roll(np.roll(x, 1), 2)
        return np.roll(np.roll(y + y, -1), -1), np.concatenate([y, x])[::2] * y

    check(f, x)


ROWS = [(10, 60, 5), (4, 10, 10, 6), (25, 100, 10), (3, 800), (800, 3), (2, 1031), (5, 512)]


@pytest.mark.parametrize("shape", some(ROWS, 3))
def test_rows_that_are_spread_or_do_not_lie_flat(shape):
    x, last, first = (RNG.standard_normal(s) for s in (shape, shape[-1:], (*shape[:-1], 1)))

    def f(x, last, first):
        y = np.sin(x) * last - first
        z = x.T[::-1] * 2.0 + np.exp(last)[:, None] if x.ndim == 2 else x[:, ::-1] * last
        sums = [np.sum(x * last + first, axis=a) for a in range(x.ndim)]
        return y, z, (y + x[..., ::-1]).T * 0.5, *sums

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g = compiled(f)
        for y in (x, x.T.copy().T, np.repeat(x, 2, 0)[::2]):
            assert near(g(y, last, first), f(y, last, first))


PRODUCTS = [
    ((4, 5), (5,)),
    ((5,), (5, 4)),
    ((5,), (5,)),
    ((3, 4, 5), (5,)),
    ((3, 4, 5), (5, 2)),
    ((3, 4, 5), (3, 5, 2)),
    ((4, 1), (1,)),
    ((1, 5), (5,)),
    ((1,), (1, 3)),
]


@pytest.mark.parametrize("shapes", some(PRODUCTS, 2))
def test_products_with_vectors_and_their_derivatives(shapes):
    a, b = (RNG.standard_normal(shape) for shape in shapes)
    w = RNG.standard_normal((a @ b).shape)
    f = value_and_grad(lambda a, b: np.sum(np.sin(a @ b) * w), (0, 1))
    check(f, a, b, whole=False)
    check(f, np.zeros_like(a), -b, whole=False)


ROW, COLUMN = np.array([3, 0, 3, -1]), np.array([[1], [-2], [1]])


def places_at_once(x):
    return x[ROW, 1:] * x[1:, 0], x[..., ROW], x[ROW, COLUMN] * 2.0, x[None, 1:, ROW][:, 0] + 1.0


def test_places_of_several_arrays():
    x, w = RNG.standard_normal((2, 5, 5))
    f = value_and_grad(lambda x: sum([np.sum(y * 2.0) for y in places_at_once(x * w)]))
    assert near(compiled(f)(x), f(x))


PLACES = {
    "one": lambda x: x[ROW] + x[:, ROW].T,
    "side by side": lambda x: x[ROW, ROW] * 2.0,
    "that are spread": lambda x: x[ROW, COLUMN] * 2.0 + x[ROW, COLUMN],
    "behind others": lambda x: np.sum(x[None, 1:, ROW], axis=0) * 2.0,
    "behind all": lambda x: x[..., ROW] * 1.5 + x[:, ROW],
    "between": lambda x: np.stack([x, x + 1.0])[:, ROW, ROW] * 2.0,
    "of the last": lambda x: np.stack([x, x + 1.0])[..., COLUMN, ROW] * 2.0,
    "apart": lambda x: np.stack([x, x + 1.0])[COLUMN % 2, :, COLUMN] * 2.0,
    "masks": lambda x: x[np.eye(5, dtype=bool)] * 2.0,
}


@pytest.mark.parametrize("name", some(PLACES, 0))
def test_places_that_arrays_say(name):
    x = RNG.standard_normal((5, 5))
    f = PLACES[name]
    w = RNG.standard_normal(f(x).shape)
    check(f, x, whole=name not in ("apart", "masks"))
    check(value_and_grad(lambda x: np.sum(np.sin(f(x)) * w)), x, whole=False)


def test_writes_to_places_that_arrays_say():
    def f(x, y):
        z, u = x * 1.0, y * 1.0
        z[ROW, 1:] = y[:4, 1:]
        z[ROW, ROW] += y[0, :4]
        u[COLUMN[:, 0], 2] = 0.5
        return z, u + z

    check(f, *RNG.standard_normal((2, 5, 5)), whole=False)


def test_factors_and_what_is_solved_with_them():
    a = RNG.standard_normal((6, 6))
    a = a @ a.T + np.eye(6)

    def f(a, b, c):
        lower = np.linalg.cholesky(a)
        inverse = np.linalg.inv(a * 2.0) + np.linalg.cholesky(a)
        return lower * 2.0, np.linalg.solve(lower, b), np.linalg.solve(a.T, c), inverse * 0.5

    given = a, RNG.standard_normal(6), RNG.standard_normal((6, 2))
    lines = [line for line in check_once(f, *given).source.splitlines() if "native" in line]
    assert len(lines) == 1


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_softmax_and_its_logarithms_are_one_function_of_c(axis):
    def f(x):
        weights = special.softmax(x, axis=axis) * special.log_softmax(x, axis=axis)
        return np.sum(weights) + np.sum(special.logsumexp(x, axis=axis) ** 2)

    x = RNG.standard_normal((4, 5))
    x[0] = x[0, 0]  # several are the largest
    found = compiled(value_and_grad(f))
    for given in (x, 1e4 * x, -1e4 * x):
        value, slope = value_and_grad(f)(given)
        assert found(given)[0] == pytest.approx(value, rel=1e-13)
        assert found(given)[1] == pytest.approx(slope, rel=1e-12, abs=1e-12 * np.max(np.abs(slope)))
    lines = [line for line in found.source.splitlines() if "(x" in line and "fits" not in line]
    assert len(lines) == 2, found.source  # the signature and the call of C
    with np.errstate(invalid="ignore"):
        for given in (np.full((4, 5), -np.inf), np.where(x > 0.5, np.inf, x)):
            _check_alike(lambda x: special.logsumexp(x, axis=axis), given)


def _check_alike(f, x):
    """Compare also what is not finite, in value and derivative."""
    g = value_and_grad(lambda x: np.sum(f(x)))
    for found, want in zip(compiled(g)(x), g(x), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 6, 64])
def test_pushes_through_a_factor(n):
    a, a_dot = RNG.standard_normal((2, n, n))

    def f(a, a_dot):
        return jvp(lambda a: 2.0 * np.linalg.cholesky(a), (a,), (a_dot,))

    for lie in (np.ascontiguousarray, np.asfortranarray):
        g = check_once(f, lie(a @ a.T + n * np.eye(n)), lie(a_dot))
        assert "cholesky" not in g.source


def check_once(f, *args):
    g = compiled(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert near(g(*args), f(*args))
        assert near(g(*args), f(*args))
    return g


def test_what_has_no_factor_raises():
    a = np.eye(3) + 1.0
    factor = check_once(lambda a: np.linalg.cholesky(a) * 2.0, a)
    for singular in (-a, np.full((3, 3), 2.0)):  # the second up to rounding
        with pytest.raises(np.linalg.LinAlgError):
            factor(singular)
    solve = check_once(lambda a, b: np.linalg.solve(a, b) * 2.0, a, np.ones(3))
    with pytest.raises(np.linalg.LinAlgError):
        solve(np.zeros((3, 3)), np.ones(3))
    assert near(factor(a), np.linalg.cholesky(a) * 2.0)
    nan = np.full((3, 3), np.nan)
    assert near(solve(nan, np.ones(3)), np.linalg.solve(nan, np.ones(3)) * 2.0)


@pytest.mark.slow
def test_factors_at_all_kinds_of_arguments():
    a = RNG.standard_normal((5, 5))

    def f(a, b):
        s = a @ a.T + 5.0 * np.eye(5)
        y = np.linalg.solve(s, b)
        return np.sum(np.linalg.cholesky(s)[:, 1] * y) + np.sum(np.linalg.inv(s) @ b)

    check(value_and_grad(f, (0, 1)), a, RNG.standard_normal(5), whole=False)


def test_an_index_outside_raises_as_numpy_does():
    g = compiled(lambda x, i: x[i] * 2.0 + x[i])
    x = np.arange(5.0)
    assert near(g(x, np.array([1, -5])), np.array([3.0, 0.0]))
    with pytest.raises(IndexError):
        g(x, np.array([1, 5]))


def test_a_loop_that_raises_raises():
    g = compiled(lambda n, k: (n**k + n * k) * 2)
    n = np.array([2, 3])
    assert near(g(n, n), (n**n + n * n) * 2)
    with pytest.raises(ValueError, match="negative integer powers"):
        g(n, -n)


def test_numbers_of_python_s_and_their_errors():
    def f(x, y):
        return (x * y + 2.0) / (x + y) + x**3 - y

    g = check(f, 1.5, 0.25)
    with pytest.raises(ZeroDivisionError):
        g(2.0, -2.0)
    with pytest.raises(OverflowError):
        compiled(lambda x, y: x**y + x * y)(1e200, 3.0)
    power = compiled(lambda x, y: x**y + x * y)
    with np.errstate(over="ignore"):
        for _ in range(2):
            assert power(np.float64(1e200), 3.0) == np.inf
    check(lambda x: np.sin(x) * x + 2.0, np.float64(0.3))
    check(lambda x: np.sin(x) * x + np.float32(2.0), np.float32(0.3))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * 2.0 + 1.0 if np.sum(x) > 0 else x * 3.0 - 1.0,
        lambda x: x * (2.0, 3.0)[np.sum(x[:1] > 0)] + 1.0,
    ],
)
def test_answers_are_guards(f):
    g = compiled(f)
    x = RNG.standard_normal(9) + 3
    for y in (x, -x, x, moved(x, 2.0)):
        assert near(g(y), f(y))
    assert len(g.programs) == 2


def test_a_guard_alone_is_an_answer():
    # What comes before is NumPy's, and nothing comes after: the function of C gives a guard alone.
    def f(x):
        return 2.0 if np.sum(np.real(x)) < 0.6 else 3.0

    g = compiled(value_and_grad(lambda x: f(x) * np.sin(np.array(1.5)), unused="zero"))
    for x in (0.5, 0.7, 0.5, -1.0, 0.6):
        assert g(x)[0] == f(x) * np.sin(1.5)
    assert len(g.programs) == 2


def test_arrays_without_elements_and_without_axes():
    g = compiled(lambda x: (x * 2.0 + x, np.sum(x * x), x.T + 1.0))
    assert near(g(np.zeros((0, 3))), (np.zeros((0, 3)), np.float64(0.0), np.ones((3, 0))))
    check(lambda x: (x * 2.0 + x, x * x + np.sin(x)), np.array(0.5))


def test_arguments_that_are_not_aligned_or_read_only():
    raw = np.zeros(8 * 20 + 1, np.uint8)
    x = raw[1:].view(np.float64)
    x[:] = np.arange(20.0)
    g = compiled(lambda x: np.sum(x * x) + np.sin(x))
    assert near(g(x), np.sum(x * x) + np.sin(x))
    x.flags.writeable = False
    assert near(g(x), np.sum(x * x) + np.sin(x))


def test_complex_numbers_and_halves_are_left_to_numpy():
    z = RNG.standard_normal(5) + 1j
    check(lambda z: (np.exp(z) * z + 1.0, np.abs(z) * 2.0 + 1.0), z, whole=False)
    check(lambda z: np.sin(z) * z + z, z.real.astype(np.float16), whole=False)


X = np.arange(12.0).reshape(3, 4)
OTHERS = [
    X.astype(np.float32),
    X.astype(">f8"),
    X.T,
    X.reshape(4, 3),
    X.reshape(12),
    X[:2],
    np.repeat(X, 2, 1)[:, ::2],
    np.asfortranarray(X),
    X.view(np.recarray),
    np.ma.masked_array(X),
    X.tolist(),
    None,
]


@pytest.mark.parametrize("i", range(len(OTHERS)))
def test_arrays_of_other_forms_do_not_fit(i):
    fits = native_programs.fits([Form(X.dtype, X.shape, None), Form(X.dtype, (4, 3), X.T.strides)])
    assert fits(X, X.T)
    assert fits(X.copy(), X.copy().T)
    assert fits(X.view(X.dtype.newbyteorder("=")), X.T)
    assert not fits(OTHERS[i], X.T)
    assert i == 2 or not fits(X, OTHERS[i])
    with pytest.raises(TypeError, match="2 arrays"):
        fits(X)


def test_results_are_arrays_of_their_own():
    g = compiled(lambda x: (x + 1.0, (x + 1.0).T, x * 2.0 - 1.0))
    x = RNG.standard_normal((4, 5))
    a, b, c = g(x)
    d, *_ = g(x)
    pairs = [(a, b), (a, c), (a, d), (a, x)]
    assert not any([np.shares_memory(*pair) for pair in pairs])
    a[:] = 0.0
    assert near(g(x)[0], d)


def test_second_derivatives():
    x, t = RNG.standard_normal((2, 600))
    check(lambda x: hvp(lambda x: np.sum(np.exp(np.sin(x)) * x), (x,), (t,)), x, whole=False)


def test_threads_have_memory_of_their_own():
    f = grad(lambda x: np.sum(np.sin(x) * np.exp(-x * x)))
    xs = [RNG.standard_normal(30_000) for _ in range(8)]
    wanted, g = [f(x) for x in xs], compiled(f)
    g(xs[0])

    def work(i):
        return all([near(g(xs[(i + k) % 8]), wanted[(i + k) % 8]) for k in range(24)])

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_without_a_compiler_there_is_a_warning_and_the_numpy_source(monkeypatch):
    def missing(*given):
        raise native_writer.CompilerError("no C compiler is found")

    monkeypatch.setattr(native_writer.native_programs, "library", missing)
    g = compiled(lambda x: x * 2.0 + np.sin(x))
    with pytest.warns(RecordingWarning, match="NumPy instead of C: no C compiler"):
        y = g(np.arange(3.0))
    assert near(y, np.arange(3.0) * 2.0 + np.sin(np.arange(3.0)))
    assert "native" not in g.source


def test_what_cannot_be_written_to_its_end_leaves_nothing():
    """A call that is given up after its first steps reads no array that is no input."""
    found, real = [], native_writer.lower

    def lower(lowering, call):
        if getattr(call.function, "__name__", "") == "cbrt":
            (x,) = call.operands
            lowering.copy(lowering.view(x))
            lowering.elementwise(call.results[0], np.add, (x, 1.0))
            lowering.elementwise(call.results[0], np.sin, (x,))
            found.append(call)
            raise native_writer.UnwritableError
        real(lowering, call)

    def f(x, y):
        z = x * 2.0 + np.sin(x)
        return np.cbrt(y) + z, np.cbrt(z.T), z * x - 1.0

    def calls_of(made, library):
        read = [int(k) for k in re.findall(r"I\[(\d+)\]", made.text.partition("part0(char")[2])]
        assert set(read) <= set(range(len(made.lowering.inputs))), made.text
        return told(made, library)

    told = native_writer._Made.calls
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_writer, "lower", lower)
        patch.setattr(native_writer._Made, "calls", calls_of)
        g = compiled(f)
        for x in (X, np.repeat(X, 2, 1)[:, ::2], X[::-1]):
            assert near(g(x, x + 1.0), f(x, x + 1.0))
            assert near(g(x, x + 1.0), f(x, x + 1.0))
    assert len(found) == 6


def target_c(monkeypatch):
    monkeypatch.setitem(check_compiled.__globals__, "TARGET", "c")


@pytest.mark.slow
def test_ten_random_programs(monkeypatch):
    target_c(monkeypatch)
    run(check_compiled, 10, 40)


@pytest.mark.nightly
@pytest.mark.parametrize("turn", range(40))
def test_random_programs(monkeypatch, turn):
    target_c(monkeypatch)
    run(check_compiled, 10, turn)


@pytest.mark.nightly
@pytest.mark.parametrize("turn", range(10))
def test_random_programs_of_two_threads(monkeypatch, turn):
    made = functools.partial(compile, threads=2)
    monkeypatch.setitem(check_compiled.__globals__, "compile", made)
    target_c(monkeypatch)
    run(check_compiled, 10, 200 + turn)


@pytest.mark.parametrize("kind", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)])
@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_that_cancel(loss, kind):
    check_cancelling(loss, "c", kind, 2)


SPREAD = [
    ((7, 1), (5,)),
    ((4, 3, 1), (5,)),
    ((4, 1, 1), (3, 5)),
    ((40, 1), (6, 1, 3)),
    ((3, 1), (5000,)),
    ((5, 1), (1,)),
    ((4, 1, 3, 1), (5, 1, 2)),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("left, right", SPREAD)
def test_cotangents_of_factors_that_are_spread(left, right, dtype):
    w = RNG.normal(size=np.broadcast_shapes(left, right)).astype(dtype)
    x, y = (RNG.normal(size=s).astype(dtype) for s in (left, right))
    loss = value_and_grad(lambda x, y: np.sum(np.sin(x * y) * w), (0, 1))
    check(loss, x, y)
    check(loss, y, x)


def test_a_call_that_cancels_does_not_decide_for_the_others():
    """Of the first variance four digits are left, in which C's order of additions differs."""
    variance = compile(lambda x: np.mean(x * x) - np.mean(x) ** 2, target="c")
    with pytest.warns(RecordingWarning, match="in this call: .* few digits"):
        variance(RNG.standard_normal(1000) + 1e6)
    for _ in range(2):
        x = RNG.standard_normal(1000)
        np.testing.assert_allclose(variance(x), np.var(x), rtol=1e-12)
    assert len(variance.programs) == 1

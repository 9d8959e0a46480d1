"""Products of matrices, and solving, as users call them; the rest is in the samples."""

import sys

import numpy as np
import pytest

from chainrules_py import NoRuleError, UnsupportedKeywordError, frule, rrule
from chainrules_py import ops as v
from chainrules_tape import grad, hessian, hvp, jvp, vjp
from chainrules_tape.tools import taylor

RNG = np.random.default_rng(0)


def draw(*shape, complex=False):
    x = RNG.standard_normal(shape)
    return x + 1j * RNG.standard_normal(shape) if complex else x


def inner_product(a, b):
    return float(np.sum(np.real(np.conj(a) * b)))


def difference(f, xs, dxs, h=1e-3):
    """The derivative of f at xs along dxs, by five points."""

    def at(t):
        return f(*[x + t * dx for x, dx in zip(xs, dxs, strict=True)])

    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


def check_both_modes(f, xs, rtol=1e-8):
    """f against finite differences in forward mode, and forward against reverse mode."""
    dxs = tuple(
        np.asarray(draw(*np.shape(x), complex=np.iscomplexobj(x)), np.asarray(x).dtype) for x in xs
    )
    y, y_dot = jvp(f, xs, dxs)
    np.testing.assert_array_equal(y, f(*xs))
    np.testing.assert_allclose(y_dot, difference(f, xs, dxs), rtol=rtol, atol=rtol)
    y, pullback = vjp(f, *xs)
    y_bar = draw(*np.shape(y), complex=np.iscomplexobj(y))
    bars = pullback(np.asarray(y_bar) if np.ndim(y) else y_bar)
    for x, bar in zip(xs, bars, strict=True):
        assert bar.shape == x.shape
        assert bar.dtype == x.dtype
    total = sum(inner_product(bar, dx) for bar, dx in zip(bars, dxs, strict=True))
    np.testing.assert_allclose(total, inner_product(y_bar, y_dot), rtol=1e-10, atol=1e-10)


PRODUCTS = [
    (np.matmul, (3,), (3,)),
    (np.matmul, (3,), (3, 2)),
    (np.matmul, (2, 3), (3,)),
    (np.matmul, (2, 3), (3, 4)),
    (np.matmul, (5, 2, 3), (3, 4)),
    (np.matmul, (2, 3), (5, 3, 4)),
    (np.matmul, (5, 1, 2, 3), (4, 3, 2)),
    (np.matmul, (3,), (5, 3, 2)),
    (np.matmul, (5, 2, 3), (3,)),
    (np.linalg.matmul, (2, 3), (3, 4)),
    (np.vecdot, (3,), (3,)),
    (np.vecdot, (2, 1, 3), (4, 3)),
    (np.linalg.vecdot, (2, 3), (2, 3)),
    (lambda a, b: np.vecdot(a, b, axis=0), (3, 2), (3, 2)),
    (lambda a, b: np.vecdot(a, b, axis=-2), (3, 2), (4, 3, 2)),
    (np.tensordot, (2, 3, 4), (3, 4, 2)),
    (lambda a, b: np.tensordot(a, b, axes=1), (2, 3), (3, 4)),
    (lambda a, b: np.tensordot(a, b, 0), (2,), (3,)),
    (lambda a, b: np.tensordot(a, b, axes=([0, 2], [2, 0])), (2, 3, 4), (4, 5, 2)),
    (lambda a, b: np.tensordot(a, b, axes=(1, -1)), (2, 3), (4, 3)),
    (np.outer, (2, 2), (3,)),
    (np.linalg.outer, (2,), (3,)),
    (np.inner, (3,), (3,)),
    (np.inner, (2, 3), (4, 3)),
    (np.inner, (), (2, 3)),
    (np.dot, (3,), (3,)),
    (np.dot, (2, 3), (3, 4)),
    (np.dot, (2, 3), (4, 3, 2)),
    (np.dot, (2, 3, 4), (4,)),
    (np.dot, (2, 3), ()),
    (lambda a, b: a @ b, (2, 3), (3, 4)),
    (lambda a, b: a.dot(b), (2, 3), (3, 4)),
]


@pytest.mark.parametrize("kinds", ["rr", "cc", "rc", "cr"])
@pytest.mark.parametrize("product, a, b", PRODUCTS)
def test_products_in_both_modes(product, a, b, kinds):
    xs = [np.asarray(draw(*s, complex=k == "c")) for s, k in zip((a, b), kinds, strict=True)]
    check_both_modes(product, tuple(xs))


OTHERS = [
    (np.diagonal, (3, 3)),
    (np.diagonal, (2, 3, 4)),
    (lambda x: np.diagonal(x, 1, 0, 2), (2, 3, 4)),
    (lambda x: np.diagonal(x, axis1=-1, axis2=0), (2, 3, 4)),
    (lambda x: x.diagonal(-1), (3, 3)),
    (np.linalg.diagonal, (2, 3, 4)),
    (np.trace, (3, 3)),
    (np.trace, (3, 3, 2)),
    (lambda x: x.trace(1), (3, 4)),
    (lambda x: np.linalg.trace(x, offset=-1), (2, 3, 3)),
    (lambda x: np.tril(x, -1), (3, 4)),
    (lambda x: np.triu(x, k=1), (2, 3, 3)),
    (np.linalg.inv, (2, 3, 3)),
    (lambda x: np.linalg.slogdet(x)[1], (2, 3, 3)),
    (lambda x: np.linalg.slogdet(x)[0], (3, 3)),
]


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("f, shape", OTHERS)
def test_functions_of_a_matrix_in_both_modes(f, shape, complex):
    check_both_modes(f, (draw(*shape, complex=complex),), rtol=1e-6)


def test_a_singular_logarithm():
    """A program may branch on the sign, which NumPy computes there without an error."""

    def f(a):
        sign, logarithm = np.linalg.slogdet(a)
        return np.sum(a * a) if sign <= 0 else logarithm

    a, eye = np.array([[1.0, 2.0], [2.0, 4.0]]), np.eye(2)
    assert jvp(f, (a,), (eye,)) == (25, 10)
    np.testing.assert_array_equal(hvp(f, (a,), (eye,))[0], 2 * eye)
    assert jvp(lambda a: np.linalg.slogdet(a)[0], (a,), (eye,)) == (0, 0)
    for factor in (1, 1j):  # of a batch, the singular one alone
        both = factor * np.stack([a, 2 * eye])
        _, (_, slopes) = jvp(np.linalg.slogdet, (both,), (both,))
        np.testing.assert_array_equal(slopes, [np.nan, 2])
        back = vjp(lambda x: np.linalg.slogdet(x)[1], both)[1](np.ones(2))[0]
        assert np.isnan(back[0]).all()
        np.testing.assert_allclose(back[1], eye / (2 * np.conj(factor)))


@pytest.mark.parametrize(
    "a, b", [((3, 3), (3,)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 2)), ((3, 3), (2, 3, 2))]
)
@pytest.mark.parametrize("complex", [False, True])
def test_solve_in_both_modes(a, b, complex):
    check_both_modes(
        np.linalg.solve, (3 * np.eye(3) + draw(*a, complex=complex), draw(*b)), rtol=1e-7
    )


def test_what_the_operator_computes_is_what_numpy_computes():
    a, b = draw(7, 5), draw(5, 6)
    for product in (np.matmul, np.dot, np.inner, lambda x, y: x @ y):
        right = b.T.copy() if product is np.inner else b
        y, _ = vjp(lambda a, right=right, product=product: product(a, right), a)
        assert y.tobytes() == product(a, right).tobytes()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.matmul(x, x, axes=[(-2, -1), (-2, -1), (-2, -1)]),
        lambda x: np.vecdot(x, x, keepdims=True),
        lambda x: np.matmul(x, x, dtype=np.float32),
        lambda x: np.dot(x, x, out=np.zeros((3, 3))),
        lambda x: np.trace(x, dtype=np.float32),
    ],
)
def test_keywords_without_a_derivative_are_refused(call):
    with pytest.raises(UnsupportedKeywordError):
        grad(lambda x: np.sum(call(x)))(draw(3, 3))


@pytest.mark.parametrize("f", [np.matmul, np.dot, np.vecdot, np.inner, np.tensordot, np.outer])
def test_single_precision_stays(f):
    a, b = (draw(3, 3).astype(np.float32) for _ in range(2))
    y, pullback = rrule(f, a, b)
    assert y.dtype == np.float32
    assert [bar.dtype for bar in pullback(np.ones_like(y))] == [np.float32, np.float32]
    assert frule((a, b), f, a, b)[1].dtype == np.float32


def test_second_order_of_a_quadratic_form():
    A, x, u = draw(4, 4), draw(4), draw(4)

    def form(x):
        return x @ A @ x

    np.testing.assert_allclose(grad(form)(x), (A + A.T) @ x)
    np.testing.assert_allclose(grad(lambda x: grad(form)(x) @ u)(x), (A + A.T) @ u)
    np.testing.assert_allclose(jvp(grad(form), (x,), (u,))[1], (A + A.T) @ u)
    np.testing.assert_allclose(grad(lambda x: jvp(form, (x,), (u,))[1])(x), (A + A.T) @ u)


def test_pullback_of_one_operand_alone():
    a, b = draw(2, 3), draw(3, 4)
    _, pullback = rrule(v.matmul, a, b)
    left, right = pullback(np.ones((2, 4)), wanted=(False, True))
    assert not hasattr(left, "shape")
    np.testing.assert_allclose(right, a.T @ np.ones((2, 4)))


def test_numbers_cannot_be_multiplied_as_matrices():
    with pytest.raises((NoRuleError, TypeError, ValueError)):
        grad(lambda x: x @ 2.0)(3.0)


def test_a_keyword_by_position_or_by_name_means_the_same():
    """A lowered keyword that stood by position was dropped by rrule, with what it does."""
    A = draw(3, 2)
    U, _, Vh = np.linalg.svd(A, full_matrices=False)
    for y, pullback in (
        rrule(np.linalg.svd, A, True, False),
        rrule(np.linalg.svd, A, compute_uv=False),
        rrule(np.linalg.svdvals, A),
    ):
        np.testing.assert_array_equal(y, np.linalg.svdvals(A))
        np.testing.assert_allclose(pullback(np.ones(2))[0], U @ Vh)


@pytest.mark.parametrize("name", ["solve", "solve_triangular"])
def test_a_system_whose_both_sides_are_wanted_is_solved_once_on_the_way_back(name):
    rng = np.random.default_rng(0)
    a, b = np.tril(rng.normal(size=(4, 4))) + 4 * np.eye(4), rng.normal(size=4)
    f = {"solve": v.solve, "solve_triangular": lambda a, b: v.solve_triangular(a, b)}[name]
    seed, solved = rng.normal(size=4), []

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_name in ("solve_again_numpy", f"{name}_numpy"):
            solved.append(frame)

    pulls = [vjp(f, a, b)[1], vjp(lambda a: f(a, b), a)[1], vjp(lambda b: f(a, b), b)[1]]
    both, alone = pulls[0](seed), (*pulls[1](seed), *pulls[2](seed))
    sys.setprofile(note)
    try:
        pulls[0](seed)
    finally:
        sys.setprofile(None)
    assert len(solved) == 1
    for x_bar, expected in zip(both, alone, strict=True):
        np.testing.assert_allclose(x_bar, expected, rtol=1e-14)


@pytest.mark.parametrize(
    "matrix",
    [
        np.eye(2),
        np.zeros((2, 2)),
        np.eye(3),
        np.diag([1.0, 1.0, 2.0]),
        np.zeros((3, 3)),
        np.outer([1.0, 2.0, 3.0], [0.5, -1.0, 2.0]),
        np.diag([1.0, 1j, 0.0]) + np.diag([2.0, 1j], 1),
    ],
    ids=["I2", "0", "I3", "twofold", "zero", "rank 1", "complex, rank 2"],
)
def test_third_derivatives_of_small_determinants_need_no_distinct_singular_values(matrix):
    """The determinant along a line is a polynomial, which its values at n + 1 points determine."""
    n = len(matrix)
    along = np.random.default_rng(5).standard_normal((n, n)) + 0 * matrix

    def f(t):
        return np.linalg.det(matrix + t * along)

    def of_slope(g):
        return lambda t: jvp(g, (t,), (1.0,))[1]

    points = np.arange(n + 1.0)
    series = np.polynomial.polynomial.polyfit(points, np.array([f(t) for t in points]), n)
    third = 6.0 * series[3] if n > 2 else 0.0
    close = {"rtol": 1e-10, "atol": 1e-12}
    np.testing.assert_allclose(taylor(f, 0.0, 1.0, n), series, **close)
    np.testing.assert_allclose(of_slope(of_slope(of_slope(f)))(0.0), third, **close)
    for part in (np.real, np.imag):
        found = grad(grad(grad(lambda t, part=part: part(f(t)) + 0.0 * t)))(0.0)
        np.testing.assert_allclose(found, part(third), **close)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.filterwarnings("ignore")
def test_a_second_derivative_of_a_determinant_of_what_is_not_finite_is_nan(bad):
    """LAPACK may not return from a decomposition of infinite elements."""
    good = np.array([[-2.5, -1.0, 0.0], [0.0, 0.5, 1.0], [1.0, 2.0, 3.0]])
    worse = good.copy()
    worse[2, :2] = bad
    assert np.isnan(hessian(np.linalg.det)(worse)).all()
    stack = np.stack([good, worse])
    (slope,) = hvp(lambda x: np.sum(np.linalg.det(x)), (stack,), (np.ones_like(stack),))
    (alone,) = hvp(np.linalg.det, (good,), (np.ones_like(good),))
    np.testing.assert_allclose(slope[0], alone, rtol=1e-12)
    assert np.isnan(slope[1]).all()

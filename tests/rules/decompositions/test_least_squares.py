"""Pseudoinverse, least squares, condition, rank, tensors: full rank, lower rank, what is cut."""

import functools
import warnings

import numpy as np
import pytest

from chainrules_py import DegeneracyWarning, rrule
from chainrules_py import ops as v
from chainrules_py.tangents.zeros import is_zero
from chainrules_py.testing import check_rule
from chainrules_tape import grad, jvp
from tests.rules.decompositions.pairings import pairing, slope_along

RNG = np.random.default_rng(8)
difference = functools.partial(slope_along, h=1e-4)
fields = pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])


def draw(*shape, complex=False):
    x = RNG.standard_normal(shape)
    return x + 1j * RNG.standard_normal(shape) if complex else x


def inner_product(a, b):
    return float(np.sum(np.real(np.conj(a) * b)))


def unitary(n, complex=False):
    return np.linalg.qr(draw(n, n, complex=complex))[0]


def with_values(values, m, n, complex=False):
    middle = np.zeros((m, n))
    np.fill_diagonal(middle, values)
    return unitary(m, complex) @ middle @ unitary(n, complex)


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def agrees(loss, x, dx, rtol=1e-7):
    """First derivatives in both modes, and the mixed second one in three nestings."""
    expected = difference(loss, x, dx)
    np.testing.assert_allclose(inner_product(grad(loss)(x), dx), expected, rtol=rtol)
    np.testing.assert_allclose(jvp(loss, (x,), (dx,))[1], expected, rtol=rtol)
    w = draw(*x.shape, complex=np.iscomplexobj(x))

    def slope(x):
        return pairing(grad(loss)(x), w)

    expected = difference(slope, x, dx)
    close = {"rtol": 100 * rtol, "atol": 1e-6 * np.abs(expected)}
    np.testing.assert_allclose(inner_product(grad(slope)(x), dx), expected, **close)
    np.testing.assert_allclose(inner_product(jvp(grad(loss), (x,), (dx,))[1], w), expected, **close)
    along = grad(lambda x: jvp(loss, (x,), (w,))[1])(x)
    np.testing.assert_allclose(inner_product(along, dx), expected, **close)


# ---------------------------------------------------------------- pseudoinverses


@fields
@pytest.mark.parametrize("values", [[3.0, 2.0, 1.0], [2.0, 2.0, 2.0], [1.0, 0.5, 0.5]], ids=str)
@pytest.mark.parametrize("rtol", [1e-15, 1e-10])
def test_equal_singular_values_are_nothing_special(values, rtol, complex):
    """In second order as well, where the tolerance is below what the rule calls negligible."""
    x, C = with_values(values, 4, 3, complex), draw(3, 4, complex=complex)
    loss = lambda x: pairing(np.linalg.pinv(x, rcond=rtol), C)
    dx = draw(4, 3, complex=complex)
    if rtol < 1e-12:
        agrees(loss, x, dx)
    else:
        expected = difference(loss, x, dx)
        np.testing.assert_allclose(inner_product(grad(loss)(x), dx), expected, rtol=1e-7)
        np.testing.assert_allclose(jvp(loss, (x,), (dx,))[1], expected, rtol=1e-7)


@fields
@pytest.mark.parametrize("shape", [(5, 4), (4, 4), (3, 5)], ids=str)
def test_of_constant_lower_rank_it_is_exact_to_second_order(shape, complex):
    """Along a product, whose rank does not change."""
    m, n = shape
    right, C = draw(2, n, complex=complex), draw(n, m, complex=complex)
    loss = lambda a: pairing(np.linalg.pinv(a @ right, rcond=1e-13), C)
    agrees(loss, draw(m, 2, complex=complex), draw(m, 2, complex=complex))


@fields
@pytest.mark.parametrize("shape", [(4, 4), (5, 4), (4, 6)], ids=str)
def test_what_is_cut_need_not_be_zero(shape, complex):
    m, n = shape
    x, C = with_values([4.0, 3.0, 0.6, 0.2], m, n, complex), draw(n, m, complex=complex)
    loss = lambda x: pairing(np.linalg.pinv(x, rtol=0.3), C)
    agrees(loss, x, draw(m, n, complex=complex))


@fields
def test_hermitian_reads_the_lower_triangle(complex):
    x, C = draw(2, 4, 4, complex=complex)
    for keywords in ({}, {"rcond": 0.3}):
        loss = lambda x, k=keywords: pairing(np.linalg.pinv(x, hermitian=True, **k), C)
        agrees(loss, x + np.diag([5.0, -4.0, 0.5, 3.0]), draw(4, 4, complex=complex), 1e-6)
        assert not np.triu(grad(loss)(x + 3 * np.eye(4)), 1).any()


def test_tolerances_are_data():
    x = draw(2, 3, 3) + 3 * np.eye(3)
    _, pullback = rrule(np.linalg.pinv, x, np.array([1e-3, 1e-2]))
    _, limits_bar = pullback(draw(2, 3, 3))
    assert is_zero(limits_bar) or not limits_bar.any()
    with pytest.raises(ValueError, match="can't be both set"):
        grad(lambda x: v.sum(np.linalg.pinv(x, 1e-3, rtol=1e-3)))(x)


def test_gradients_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    x, C = draw(5, 3, complex=True), draw(3, 5, complex=True)
    t = torch.tensor(x, requires_grad=True)
    (torch.tensor(C).conj() * torch.linalg.pinv(t)).sum().real.backward()
    g = grad(lambda x: pairing(np.linalg.pinv(x), C))(x)
    np.testing.assert_allclose(g, t.grad.numpy(), rtol=1e-9, atol=1e-10)


# ---------------------------------------------------------------- least squares


@fields
@pytest.mark.parametrize("shape", [(6, 3), (3, 3), (3, 6)], ids=str)
@pytest.mark.parametrize("columns", [(), (2,)], ids=["vector", "matrix"])
@pytest.mark.parametrize("rcond", [None, 0.3])
def test_each_result_of_least_squares(shape, columns, rcond, complex):
    m, n = shape
    a, b = with_values([3.0, 2.0, 0.5], m, n, complex), draw(m, *columns, complex=complex)
    weights = [draw(*np.shape(p), complex=complex) for p in np.linalg.lstsq(a, b, rcond)]

    def loss(a, b):
        x, residuals, _, s = np.linalg.lstsq(a, b, rcond=rcond)
        y = pairing(x * x, weights[0]) + v.sum(residuals * weights[1].real)
        return y + v.sum(s * s * weights[3].real)

    agrees(lambda a: loss(a, b), a, draw(m, n, complex=complex))
    agrees(lambda b: loss(a, b), b, draw(*b.shape, complex=complex))


def test_least_squares_of_lower_rank_is_the_pseudoinverse():
    left, right, b, C = draw(6, 2), draw(2, 4), draw(6), draw(4)
    for f in (
        lambda a: np.linalg.lstsq(a @ right, b, rcond=1e-13)[0],
        lambda a: np.linalg.pinv(a @ right, rcond=1e-13) @ b,
    ):
        agrees(lambda a, f=f: v.sum(f(a) * C), left, draw(6, 2))


def test_rank_is_no_number_to_vary():
    x, b = draw(4, 3), draw(4)
    y, (x_dot, residuals_dot, rank_dot, s_dot) = jvp(np.linalg.lstsq, (x, b), (x, b))
    assert y[2] == 3
    assert is_zero(rank_dot) or rank_dot == 0
    assert x_dot.shape == s_dot.shape == (3,)
    assert residuals_dot.shape == (1,)


@pytest.mark.parametrize("rcond", [-1, 0.0, 1.5])
def test_tolerances_out_of_range_are_the_machine_s(rcond):
    a, b, C = draw(5, 3), draw(5), draw(3)
    loss = lambda a: v.sum(np.linalg.lstsq(a, b, rcond=rcond)[0] * C)
    agrees(loss, a, draw(5, 3))


def test_values_are_those_of_numpy_to_the_bit():
    a, b = draw(6, 3), draw(6, 2)
    (x, residuals, rank, s), _ = rrule(np.linalg.lstsq, a, b)
    for have, want in zip((x, residuals, rank, s), np.linalg.lstsq(a, b), strict=True):
        assert np.asarray(have).tobytes() == np.asarray(want).tobytes()
    y, _ = rrule(np.linalg.pinv, a)
    assert y.tobytes() == np.linalg.pinv(a).tobytes()


# ---------------------------------------------------------------- condition, rank, tensors


@pytest.mark.parametrize("p", [1, -1, np.inf, -np.inf, "fro", None])
def test_condition_of_a_singular_matrix_is_infinite_and_reported(p):
    x = np.stack([np.diag([2.0, 1.0, 0.0]), draw(3, 3)])
    with pytest.warns(DegeneracyWarning, match="singular"):
        y, pullback = rrule(np.linalg.cond, x, p)
    np.testing.assert_array_equal(y, np.linalg.cond(x, p))
    (x_bar, *_) = pullback(np.ones(2))
    np.testing.assert_allclose(x_bar[1], grad(lambda x: np.linalg.cond(x, p))(x[1]), rtol=1e-12)
    assert not x_bar[0].any()


def test_condition_as_numpy_refuses_it():
    with pytest.raises(np.linalg.LinAlgError, match="empty"):
        grad(lambda x: v.sum(np.linalg.cond(x)))(np.zeros((0, 3)))
    with pytest.raises(ValueError, match="Invalid norm order"):
        grad(lambda x: np.linalg.cond(x, 3))(draw(3, 3))


@fields
def test_rank_is_constant(complex):
    x = draw(3, 3, complex=complex)
    for keywords in ({}, {"tol": 0.1}, {"rtol": 0.1}, {"hermitian": True}):
        y, y_dot = jvp(lambda x, k=keywords: np.linalg.matrix_rank(x, **k), (x,), (x,))
        assert y == np.linalg.matrix_rank(x, **keywords)
        assert is_zero(y_dot) or y_dot == 0
        g = grad(lambda x, k=keywords: v.sum(x.real) * np.linalg.matrix_rank(x, **k))(x)
        np.testing.assert_array_equal(g, np.full((3, 3), float(y)))


def test_tensors_that_are_no_square_matrices_raise_as_untraced():
    with pytest.raises(ValueError, match="as many elements"):
        grad(lambda a: v.sum(np.linalg.tensorsolve(a, np.ones(2))))(draw(2, 3))
    with pytest.raises(ValueError, match="Invalid ind"):
        grad(lambda a: v.sum(np.linalg.tensorinv(a, ind=0)))(draw(2, 2))


def test_judge_takes_an_option_by_the_name_of_its_own():
    """``rtol`` of the pseudoinverse, and not of the comparison with differences."""
    x = with_values([4.0, 1.0], 3, 2)
    report = check_rule(v.pinv, x, rtol=0.5, checks=("value", "push", "adjoint"))
    assert "rtol=0.5" in repr(report)


def test_the_standard_reads_one_triangle_of_a_hermitian_matrix():
    xp = pytest.importorskip("array_api_strict")
    lower = np.tril(draw(3, 3)) + 3.0 * np.eye(3)
    whole = lower + np.tril(lower, -1).T
    found = v.pinv(xp.asarray(lower), hermitian=True)
    np.testing.assert_allclose(np.asarray(found), np.linalg.pinv(whole), rtol=1e-10)

"""Cholesky's factor, and triangular systems: which triangle counts, sizes, oracles."""

import functools

import numpy as np
import pytest

from chainrules_py import frule, rrule
from chainrules_py import ops as v
from chainrules_py.composites import linalg as standard
from chainrules_py.extend import namespace
from chainrules_tape import grad, jvp
from tests.rules.decompositions.pairings import slope_along

RNG = np.random.default_rng(5)
difference = functools.partial(slope_along, h=1e-3)
fields = pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
triangles = pytest.mark.parametrize("upper", [False, True], ids=["lower", "upper"])


def draw(*shape, complex=False):
    x = RNG.standard_normal(shape)
    return x + 1j * RNG.standard_normal(shape) if complex else x


def positive(*shape, complex=False):
    x = draw(*shape, complex=complex)
    return x @ np.conj(x.mT) / shape[-1] + np.eye(shape[-1])


def inner_product(a, b):
    return float(np.sum(np.real(np.conj(a) * b)))


def wave(y):
    """A real loss that curves in every element."""
    return v.sum(v.sin(v.real(y)) + v.cos(2.0 * v.imag(y)))


# ---------------------------------------------------------------- which triangle


@fields
@triangles
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (1, 1)], ids=str)
def test_function_of_the_triangle_that_is_read(shape, complex, upper):
    """Along any direction, Hermitian or not, as NumPy's function says."""
    x, dx = positive(*shape, complex=complex), draw(*shape, complex=complex)

    def f(x):
        return np.linalg.cholesky(x, upper=upper)

    expected = difference(f, x, dx)
    np.testing.assert_allclose(jvp(f, (x,), (dx,))[1], expected, rtol=1e-8, atol=1e-9)
    g = grad(lambda x: wave(f(x)))(x)
    slope = difference(lambda x: wave(f(x)), x, dx)
    np.testing.assert_allclose(inner_product(g, dx), slope, rtol=1e-8, atol=1e-9)
    other = np.tril(g, -1) if upper else np.triu(g, 1)
    assert not other.any()


@fields
@triangles
def test_second_order_in_each_nesting(complex, upper):
    x, u, w = positive(3, 3, complex=complex), *draw(2, 3, 3, complex=complex)

    def loss(x):
        return wave(np.linalg.cholesky(x, upper=upper))

    def slope(x):
        return v.sum(v.real(v.conj(grad(loss)(x)) * w))

    expected = difference(slope, x, u)
    close = {"rtol": 1e-7, "atol": 1e-7}
    np.testing.assert_allclose(inner_product(grad(slope)(x), u), expected, **close)
    np.testing.assert_allclose(inner_product(jvp(grad(loss), (x,), (u,))[1], w), expected, **close)
    along = grad(lambda x: jvp(loss, (x,), (w,))[1])(x)
    np.testing.assert_allclose(inner_product(along, u), expected, **close)
    both = jvp(lambda x: jvp(loss, (x,), (w,))[1], (x,), (u,))[1]
    np.testing.assert_allclose(both, expected, **close)


@fields
def test_symmetrised_it_is_what_pytorch_and_jax_give(complex):
    """For every program of Hermitian matrices that is the same; PyTorch's has another part too."""
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    x, w = positive(4, 4, complex=complex), np.tril(draw(4, 4, complex=complex))
    g = grad(lambda x: v.sum(v.real(v.conj(w) * np.linalg.cholesky(x))))(x)
    g = (g + np.conj(g.T)) / 2
    t = torch.tensor(x, requires_grad=True)
    (torch.tensor(w.conj()) * torch.linalg.cholesky(t)).real.sum().backward()
    theirs = t.grad.numpy()
    np.testing.assert_allclose(g, (theirs + np.conj(theirs.T)) / 2, rtol=1e-12, atol=1e-12)
    with jax.enable_x64(True):
        numpy = jax.numpy
        theirs = jax.grad(lambda x: numpy.sum((w.conj() * numpy.linalg.cholesky(x)).real))(x)
    np.testing.assert_allclose(g, np.conj(theirs), rtol=1e-12, atol=1e-12)


def test_log_likelihood_has_the_gradient_of_the_closed_form():
    x, y = positive(90, 90), draw(90)

    def loss(x):
        factor = np.linalg.cholesky(x)
        z = np.linalg.solve(factor, y)
        return 0.5 * np.sum(z * z) + np.sum(np.log(np.diagonal(factor)))

    inverse = np.linalg.inv(x)
    expected = 0.5 * (inverse - np.outer(inverse @ y, inverse @ y))
    g = grad(loss)(x)
    np.testing.assert_allclose((g + g.T) / 2, expected, rtol=1e-9, atol=1e-12)


def test_what_is_not_positive_raises_as_untraced():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        grad(lambda x: np.sum(np.linalg.cholesky(x)))(-np.eye(3))


def test_infinities_above_the_diagonal_do_no_harm():
    """As in the logarithm of a factor, of which only the diagonal is used."""
    factor, y_bar = np.linalg.cholesky(positive(70, 70)), draw(70, 70)
    for n in (3, 70):
        L, t = factor[:n, :n], y_bar[:n, :n]
        junk = np.where(np.triu(np.ones((n, n)), 1) > 0, np.inf, t)
        expected = v.cholesky_cotangent(np.tril(t), L)
        np.testing.assert_array_equal(v.cholesky_cotangent(junk, L), expected)
        generic = standard.cholesky_cotangent_standard(junk, L)
        np.testing.assert_allclose(generic, expected, rtol=1e-9, atol=1e-12)


@fields
def test_single_precision_is_kept(complex):
    x = positive(3, 3, complex=complex).astype(np.complex64 if complex else np.float32)
    y, pullback = rrule(np.linalg.cholesky, x)
    assert y.dtype == x.dtype == pullback(y)[0].dtype
    assert frule((x,), np.linalg.cholesky, x)[1].dtype == x.dtype


# ---------------------------------------------------------------- computed by blocks


@fields
@pytest.mark.parametrize("n", [1, 33, 64, 65, 150])
def test_cotangent_by_panels_is_that_of_the_formula(n, complex):
    factor = np.linalg.cholesky(positive(2, n, n, complex=complex))
    y_bar = draw(2, n, n, complex=complex)
    have = v.cholesky_cotangent(y_bar, factor)
    np.testing.assert_allclose(
        have, standard.cholesky_cotangent_standard(y_bar, factor), rtol=1e-10, atol=1e-12 * n
    )
    junk = np.triu(np.full((n, n), np.pi), 1)
    np.testing.assert_allclose(v.cholesky_cotangent(y_bar, factor + junk), have, rtol=1e-13)
    before = y_bar.copy()
    v.cholesky_cotangent(y_bar, factor)
    assert np.array_equal(before, y_bar)


@fields
@pytest.mark.parametrize("n", [0, 1, 33, 64, 65, 128, 129])
def test_tangent_by_the_inverse_is_that_of_the_systems(n, complex):
    factor = np.linalg.cholesky(positive(2, n, n, complex=complex))
    x_dot = draw(2, n, n, complex=complex)
    have = v.cholesky_tangent(x_dot, factor)
    expected = standard.cholesky_tangent_standard(x_dot, factor)
    np.testing.assert_allclose(have, expected, rtol=1e-10, atol=1e-12 * n)
    np.testing.assert_allclose(v.cholesky_tangent(x_dot[0], factor[0]), have[0], rtol=1e-9)
    junk = np.triu(np.full((n, n), np.inf), 1)
    np.testing.assert_array_equal(v.cholesky_tangent(x_dot + junk, factor + junk), have)
    read = standard.hermitian(x_dot)
    product = have @ np.conj(factor.mT)
    np.testing.assert_allclose(product + np.conj(product.mT), read, rtol=1e-8, atol=1e-12 * n)


@fields
@triangles
@pytest.mark.parametrize("unit", [False, True], ids=["", "unit"])
@pytest.mark.parametrize("n", [0, 1, 5, 33, 130])
def test_triangular_systems_as_scipy_solves_them(n, unit, upper, complex):
    linalg = pytest.importorskip("scipy.linalg")
    # Rows of a random triangle with a diagonal of ones are otherwise nearly dependent.
    a = draw(n, n, complex=complex) / max(1, n) ** 0.5 + 3 * np.eye(n)
    for b in (draw(n), draw(n, 3, complex=complex)):
        have = v.solve_triangular(a, b, upper=upper, unit_diagonal=unit)
        want = linalg.solve_triangular(a, b, lower=not upper, unit_diagonal=unit)
        np.testing.assert_allclose(have, want, rtol=1e-10, atol=1e-12)
        generic = standard.solve_triangular_standard(a, b, upper=upper, unit_diagonal=unit)
        np.testing.assert_allclose(have, generic, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shape", [(200, 200), (70, 70), (2, 70, 70), (4, 4)], ids=str)
def test_solve_again_is_solve_for_every_structure(shape):
    dense = draw(*shape) / 8 + 3 * np.eye(shape[-1])
    corner = dense.copy()
    corner[..., 0, -1] = 0  # looks triangular at first sight
    for a in (dense, corner, np.tril(dense), np.triu(dense), np.tril(dense).mT, 0 * dense + 1):
        for b in (draw(shape[-1]), draw(shape[-1], 3)):
            if np.ptp(a) == 0:
                with pytest.raises(np.linalg.LinAlgError):
                    v.solve_again(a, b)
                continue
            np.testing.assert_allclose(v.solve_again(a, b), np.linalg.solve(a, b), rtol=1e-10)


def test_singular_triangle_raises():
    a = np.tril(draw(70, 70))
    a[40, 40] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        v.solve_again(a, draw(70))


def test_value_of_solve_is_that_of_numpy_to_the_bit():
    """Only what a rule solves once more may be computed otherwise."""
    a, b = np.tril(draw(70, 70)) + 9 * np.eye(70), draw(70)
    y, _ = rrule(np.linalg.solve, a, b)
    assert y.tobytes() == np.linalg.solve(a, b).tobytes()


def test_namespace_of_a_tracer_has_the_standard_s_linear_algebra():
    xp = pytest.importorskip("array_api_strict")
    x = xp.asarray(positive(3, 3))
    for name in ("cholesky", "eigvalsh", "eigvals", "pinv", "inv", "svdvals"):

        def f(x, name=name):
            space = namespace(x)
            return space.sum(space.real(getattr(space.linalg, name)(x)))

        assert grad(f)(x).shape == (3, 3)

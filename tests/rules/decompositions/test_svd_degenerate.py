"""Singular values that are equal or zero, gauge, and what is reported; the rest is in test_svd."""

import functools
import warnings

import numpy as np
import pytest

from chainrules_py import DegeneracyWarning, NotDifferentiableError, frule
from chainrules_py import ops as v
from chainrules_py.ops import report, strict, svd
from chainrules_tape import grad, hvp, jvp
from tests.rules.decompositions.pairings import adjoint, inner_product, pairing, slope_along

RNG = np.random.default_rng(4)
difference = functools.partial(slope_along, h=1e-4)

fields = pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])


def draw(*shape, complex=False):
    x = RNG.standard_normal(shape)
    return x + 1j * RNG.standard_normal(shape) if complex else x


# ---------------------------------------------------------------- degenerate points


def unitary(n, complex):
    return np.linalg.qr(draw(n, n, complex=complex))[0]


def with_values(values, shape, complex):
    """A matrix with these singular values."""
    m, n = shape
    middle = np.zeros(shape)
    np.fill_diagonal(middle, values)
    return unitary(m, complex) @ middle @ unitary(n, complex)


def degenerate(complex):
    one = np.eye(3) * (1 + 0j) if complex else np.eye(3)
    return {
        "identity": one,
        "zeros": 0 * one,
        "repeated": with_values([2, 2, 1, 0.5], (4, 4), complex),
        "rank deficient": with_values([3, 2, 1, 0], (4, 4), complex),
        "rank two": with_values([3, 2, 0, 0], (4, 4), complex),
        "repeated and zero": with_values([2, 2, 0, 0], (4, 5), complex),
        "tall": with_values([2, 2, 0], (5, 3), complex),
        "orthogonal": unitary(5, complex),
        "batch": np.stack([draw(3, 3, complex=complex), one, 0 * one]),
    }


def power(p):
    """‖U Sᵖ Vᴴ‖²."""

    def loss(x):
        U, S, Vh = np.linalg.svd(x, full_matrices=False)
        y = (U * v.expand_dims(S**p, axis=-2)) @ Vh
        return v.sum(v.real(v.conj(y) * y))

    return loss


SMOOTH = {
    "norm": power(1),
    "norm of the square": power(2),
    "sum of squares": lambda x: v.sum(np.linalg.svd(x, full_matrices=False).S ** 2),
    "sum of cubes, alone": lambda x: v.sum(np.linalg.svd(x, compute_uv=False) ** 3),
    "traces": lambda x: v.sum(v.cosh(np.linalg.svdvals(x))),
}


@fields
@pytest.mark.parametrize("name", degenerate(False))
@pytest.mark.parametrize("loss", SMOOTH)
def test_smooth_losses_are_exact_where_values_are_equal_or_zero(name, loss, complex, no_warnings):
    f, x = SMOOTH[loss], degenerate(complex)[name]
    dx = draw(*x.shape, complex=complex)
    expected = difference(f, x, dx, h=1e-3)
    g = grad(f)(x)
    np.testing.assert_allclose(inner_product(g, dx), expected, rtol=1e-7, atol=1e-7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegeneracyWarning)  # a push does not see the loss
        np.testing.assert_allclose(jvp(f, (x,), (dx,))[1], expected, rtol=1e-7, atol=1e-7)


@fields
@pytest.mark.parametrize("values", [[1, 1, 1], [2, 2, 1]])
def test_nuclear_norm_and_polar_factor_where_values_are_equal(values, complex, no_warnings):
    x = with_values(values, (3, 3), complex)
    dx, C = draw(3, 3, complex=complex), draw(3, 3, complex=complex)
    U, _, Vh = np.linalg.svd(x)
    for norm in (lambda x: v.sum(np.linalg.svd(x).S), lambda x: v.sum(np.linalg.svdvals(x))):
        np.testing.assert_allclose(grad(norm)(x), U @ Vh, atol=1e-14)

    def polar(x):
        U, _, Vh = np.linalg.svd(x)
        return pairing(U @ Vh, C)

    np.testing.assert_allclose(
        inner_product(grad(polar)(x), dx), difference(polar, x, dx), rtol=1e-7
    )


@fields
@pytest.mark.parametrize("shape", [(4, 4), (5, 4), (4, 6)], ids=str)
def test_nuclear_norm_at_zero_values_has_the_smallest_subgradient(shape, complex, no_warnings):
    """As the absolute value: 0 at 0. What LAPACK chose for the null space does not come in."""
    x = with_values([3, 2, 0, 0], shape, complex)
    U, _, Vh = np.linalg.svd(x)
    expected = U[:, :2] @ Vh[:2]
    dx = draw(*shape, complex=complex)
    for norm in (lambda x: v.sum(np.linalg.svd(x).S), lambda x: v.sum(np.linalg.svdvals(x))):
        np.testing.assert_allclose(grad(norm)(x), expected, atol=1e-13)
    along = jvp(lambda x: v.sum(np.linalg.svdvals(x)), (x,), (dx,))[1]
    np.testing.assert_allclose(along, inner_product(expected, dx), rtol=1e-10)
    np.testing.assert_array_equal(grad(norm)(np.zeros(shape)), np.zeros(shape))


@fields
def test_ties_of_the_values_alone_are_split_evenly(complex, no_warnings):
    """As ties of sort and max are, in push as in pull; whatever basis LAPACK returned."""
    x = with_values([2, 2, 2, 1], (4, 4), complex)
    U, _, Vh = np.linalg.svd(x)
    expected = U[:, :3] @ Vh[:3] / 3
    dx = draw(4, 4, complex=complex)
    for i in range(3):

        def value(x, i=i):
            return np.linalg.svd(x, compute_uv=False)[i]

        np.testing.assert_allclose(grad(value)(x), expected, atol=1e-13)
        np.testing.assert_allclose(
            jvp(value, (x,), (dx,))[1], inner_product(expected, dx), rtol=1e-10
        )
        np.testing.assert_allclose(
            grad(lambda x, i=i: np.linalg.svd(x).S[i])(x), expected, atol=1e-13
        )


def test_reconstruction_of_a_real_singular_square_matrix_is_exact(no_warnings):
    """With one zero only the sign of a pair of vectors is open."""
    x, C = with_values([3, 2, 1, 0], (4, 4), False), draw(4, 4)

    def loss(x):
        U, S, Vh = np.linalg.svd(x)
        return pairing((U * v.expand_dims(S, axis=-2)) @ Vh, C)

    np.testing.assert_allclose(grad(loss)(x), C, atol=1e-12)


@pytest.mark.parametrize("values", [[1, 1, 1], [2, 2, 1], [2, 0, 0]])
@fields
def test_what_is_not_determined_is_reported_and_finite(values, complex):
    x, C = with_values(values, (3, 3), complex), draw(3, 3, complex=complex)

    def loss(x):
        U, S, Vh = np.linalg.svd(x)
        return pairing((U * v.expand_dims(S**1, axis=-2)) @ Vh, C)

    with pytest.warns(DegeneracyWarning, match="equal or zero"):
        g = grad(loss)(x)
    assert np.all(np.isfinite(g))
    with pytest.warns(DegeneracyWarning, match="the tangent splits them"):
        _, y_dot = jvp(loss, (x,), (draw(3, 3, complex=complex),))
    assert np.isfinite(y_dot)
    with strict(), pytest.raises(NotDifferentiableError, match="not determined"):
        grad(loss)(x)


def test_hessians_at_equal_values_are_reported():
    """The gradient is a reconstruction, whose derivative cotangents do not determine."""
    f, u = SMOOTH["sum of squares"], draw(3, 3)
    with pytest.warns(DegeneracyWarning):
        h = grad(lambda x: pairing(grad(f)(x), u))(np.eye(3))
    assert np.all(np.isfinite(h))


@pytest.mark.parametrize("x", [np.diag([1.0, 0.0]), np.zeros((2, 1)), np.outer([1, 2], [1, 2])])
def test_hessians_at_zero_values_are_reported(x):
    """The derivative of a zero value is 0, which says nothing of the second one."""
    f = lambda x: np.sum(np.linalg.svdvals(x) ** 2)
    for second in (lambda: grad(lambda x: np.sum(grad(f)(x)))(x), lambda: hvp(f, (x,), (x + 1,))):
        with pytest.warns(DegeneracyWarning, match="0 move"):
            second()


@fields
def test_the_polar_factor_of_a_singular_matrix_is_reported(complex):
    """The null spaces of both sides turn independently, and it depends on how."""
    x, C = with_values([3, 2, 0, 0], (4, 4), complex), draw(4, 4, complex=complex)

    def polar(x):
        U, _, Vh = np.linalg.svd(x)
        return pairing(U @ Vh, C)

    with pytest.warns(DegeneracyWarning, match="which singular vectors"):
        g = grad(polar)(x)
    assert np.all(np.isfinite(g))


def test_rectangular_null_space():
    """The left vector of a zero value lies anywhere outside the range."""
    x = with_values([2, 1, 0], (5, 3), False)
    C = draw(5, 3)
    with pytest.warns(DegeneracyWarning, match="which singular vectors"):
        g = grad(lambda x: pairing(np.linalg.svd(x, full_matrices=False).U, C))(x)
    assert np.all(np.isfinite(g))


# ---------------------------------------------------------------- gauge


def first_element(x):
    return v.real(np.linalg.svd(x).U[0, 0])


def test_a_loss_that_depends_on_the_phase_is_reported():
    x = draw(3, 3, complex=True)
    with pytest.warns(DegeneracyWarning, match="phase"):
        grad(first_element)(x)
    with strict(), pytest.raises(NotDifferentiableError, match="phase") as caught:
        grad(first_element)(x)
    assert any("svd" in note for note in caught.value.__notes__)


def test_real_vectors_have_a_sign_and_no_phase(no_warnings):
    x, dx = draw(3, 3), draw(3, 3)
    np.testing.assert_allclose(
        inner_product(grad(first_element)(x), dx), difference(first_element, x, dx), rtol=1e-7
    )


@fields
@pytest.mark.parametrize("shape", [(4, 2), (2, 4)], ids=str)
def test_the_basis_that_completes_a_full_decomposition_is_reported(shape, complex):
    x, c = draw(*shape, complex=complex), draw(4, complex=complex)

    def loss(x):
        U, _, Vh = np.linalg.svd(x)
        return pairing(U[:, 3] if shape == (4, 2) else Vh[3], c)

    with pytest.warns(DegeneracyWarning, match="which singular vectors"):
        grad(loss)(x)


def test_the_pull_of_a_gauge_dependent_loss_turns_u_and_v_alike():
    """The number returned is for phases of U and V that turn by opposite halves."""
    x = draw(3, 3, complex=True)
    with pytest.warns(DegeneracyWarning):
        g = grad(first_element)(x)
    U, _, Vh = np.linalg.svd(x)
    dx = draw(3, 3, complex=True)
    _, y_dot = frule((dx,), svd, x)
    np.testing.assert_allclose(inner_product(g, dx), y_dot.U[0, 0].real, rtol=1e-9)
    turned = adjoint(U) @ y_dot.U
    opposite = adjoint(adjoint(Vh)) @ adjoint(y_dot.Vh)
    np.testing.assert_allclose(np.diagonal(turned), -np.diagonal(opposite), atol=1e-12)


# ---------------------------------------------------------------- batches, and the operation report


def test_one_degenerate_member_leaves_the_others_alone():
    others = draw(2, 3, 3)
    C = draw(3, 3)
    x = np.stack([others[0], np.eye(3), others[1]])

    def loss(x):
        U, S, Vh = np.linalg.svd(x)
        return pairing((U * v.expand_dims(v.exp(S), axis=-2)) @ Vh, C)

    with pytest.warns(DegeneracyWarning):
        g = grad(loss)(x)
    assert np.all(np.isfinite(g))
    np.testing.assert_allclose(g[[0, 2]], grad(loss)(others), rtol=1e-12)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (0, 2, 2), (2, 0, 3)], ids=str)
def test_empty_matrices(shape, no_warnings):
    x = np.zeros(shape)
    for f in (power(1), SMOOTH["sum of squares"], lambda x: v.sum(np.linalg.svdvals(x))):
        assert grad(f)(x).shape == shape
        assert jvp(f, (x,), (x,))[1] == 0


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scale_does_not_matter(scale, no_warnings):
    x = scale * draw(3, 3)
    U, _, Vh = np.linalg.svd(x)
    np.testing.assert_allclose(grad(lambda x: v.sum(np.linalg.svd(x).S))(x), U @ Vh)
    np.testing.assert_allclose(
        scale * grad(lambda x: pairing(np.linalg.svd(x).U, np.eye(3)))(x),
        grad(lambda x: pairing(np.linalg.svd(x).U, np.eye(3)))(x / scale),
        rtol=1e-6,
    )


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_close_values_lose_the_digits_that_the_gap_costs_and_no_more(gap, no_warnings):
    x = with_values([1 + gap, 1, 0.5], (3, 3), False)
    C = draw(3, 3)

    def loss(x):
        U, S, Vh = np.linalg.svd(x)
        return pairing((U * v.expand_dims(S**1, axis=-2)) @ Vh, C)

    error = np.max(np.abs(grad(loss)(x) - C))
    assert error < 100 * np.finfo(float).eps / gap


def test_report_looks_at_plain_conditions():
    with pytest.warns(DegeneracyWarning, match="here"):
        report(np.array([False, True]), message="here")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report(np.zeros(3, bool), message="nowhere")
        report(np.zeros((0,), bool), message="nowhere")
        report(False, message="nowhere")


def test_report_on_tracers_does_not_break_tracing():
    def f(x):
        report(v.greater(x, 1.0), message="beyond one")
        return v.sum(x * x)

    with pytest.warns(DegeneracyWarning, match="beyond one"):
        np.testing.assert_array_equal(grad(f)(np.array([0.5, 2.0])), [1.0, 4.0])
    with pytest.warns(DegeneracyWarning, match="beyond one"):
        h = grad(lambda x: v.sum(grad(f)(x)))(np.array([0.5, 2.0]))
    np.testing.assert_array_equal(h, [2.0, 2.0])


def test_strict_is_nested_and_ends_with_its_block():
    with strict():
        with strict(False), pytest.warns(DegeneracyWarning):
            report(True, message="warned")
        with pytest.raises(NotDifferentiableError, match="raised"):
            report(True, message="raised")
    with pytest.warns(DegeneracyWarning):
        report(True, message="warned")


# Where U = I, the first derivative of U[0, 0] along the turn of two equal columns is 0.
@pytest.mark.parametrize(
    "loss",
    [
        lambda x: np.linalg.svd(x)[0][0, 0],
        lambda x: np.linalg.svd(x)[2][1, 1],
        lambda x: np.sum(np.linalg.svd(x)[0][:, 0] ** 2),
        lambda x: np.linalg.eigh(x)[1][1, -1],
    ],
)
@pytest.mark.parametrize("x", [np.eye(2), np.diag([3.0, 3.0, 1.0])], ids=str)
def test_one_of_equal_columns_is_reported(loss, x):
    with pytest.warns(DegeneracyWarning, match="depends on which"):
        grad(loss)(x)


def test_all_of_equal_columns_are_not(no_warnings):
    x = np.diag([3.0, 3.0, 1.0])
    grad(lambda x: np.sum(np.linalg.svd(x)[0][:, :2] ** 2))(x)
    grad(lambda x: np.linalg.svd(x)[0][2, 2])(x)

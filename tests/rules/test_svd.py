"""The singular value decomposition: gauge, equal and zero singular values, complex and batched matrices."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from chainrules_py import DegeneracyWarning, NotDifferentiableError, Tangent, frule, rrule
from chainrules_py import vocabulary as v
from chainrules_py.vocabulary import report, strict, svd, svdvals
from chainrules_tape import grad, jvp, value_and_grad

RNG = np.random.default_rng(3)
SHAPES = [(3, 3), (4, 2), (2, 4), (1, 1), (3, 1), (1, 3), (2, 4, 3), (2, 1, 3, 3)]
H = 1e-4

shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)
fields = pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
full = pytest.mark.parametrize("full", [False, True], ids=["thin", "full"])


def draw(*shape, complex=False):
    x = RNG.standard_normal(shape)
    return x + 1j * RNG.standard_normal(shape) if complex else x


def inner_product(a, b):
    return float(np.sum(np.real(np.conj(a) * b)))


def adjoint(a):
    return v.conj(v.matrix_transpose(a))


def difference(f, x, dx, h=H):
    return (8 * (f(x + h * dx) - f(x - h * dx)) - (f(x + 2 * h * dx) - f(x - 2 * h * dx))) / (
        12 * h
    )


def pairing(x, c):
    return v.sum(v.real(v.conj(c) * x))


def of_each_matrix(shape, complex, full):
    """A loss that uses all of U, S, Vh and depends on nothing that the decomposition leaves open."""
    m, n = shape[-2:]
    k = min(m, n)
    C, D, E = (draw(*s, complex=complex) for s in ((m, n), (m, m), (n, n)))
    D2, E2 = draw(m, m, complex=complex), draw(n, n, complex=complex)
    w = draw(k)

    def loss(x):
        U, S, Vh = np.linalg.svd(x, full_matrices=full)
        U1, V1 = U[..., :k], adjoint(Vh[..., :k, :])
        weights = v.expand_dims(v.exp(-S), axis=-2)
        y = v.sum(v.sin(S) * w) + pairing((U1 * weights) @ adjoint(V1), C)
        y = y + pairing((U1 * w) @ adjoint(U1), D) + pairing((V1 * weights) @ adjoint(V1), E)
        if full:
            y = y + pairing(U[..., k:] @ adjoint(U[..., k:]), D2)
            y = y + pairing(adjoint(Vh[..., k:, :]) @ Vh[..., k:, :], E2)
        return y

    return loss


@pytest.fixture
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@shapes
@fields
@full
def test_losses_without_gauge_are_exact_in_both_modes(shape, complex, full, no_warnings):
    loss = of_each_matrix(shape, complex, full)
    x, dx = draw(*shape, complex=complex), draw(*shape, complex=complex)
    expected = difference(loss, x, dx)
    np.testing.assert_allclose(inner_product(grad(loss)(x), dx), expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(jvp(loss, (x,), (dx,))[1], expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)], ids=str)
@fields
@full
def test_second_order_in_each_nesting(shape, complex, full, no_warnings):
    loss = of_each_matrix(shape, complex, full)
    x, u, w = (draw(*shape, complex=complex) for _ in range(3))

    def slope(x):
        return pairing(grad(loss)(x), w)

    expected = difference(slope, x, u, 1e-5)
    close = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(inner_product(grad(slope)(x), u), expected, **close)
    np.testing.assert_allclose(inner_product(jvp(grad(loss), (x,), (u,))[1], w), expected, **close)
    along = grad(lambda x: jvp(loss, (x,), (w,))[1])(x)
    np.testing.assert_allclose(inner_product(along, u), expected, **close)


@shapes
@fields
@full
@pytest.mark.filterwarnings("ignore::chainrules_py.DegeneracyWarning")
def test_push_and_pull_are_adjoint(shape, complex, full):
    x, dx = draw(*shape, complex=complex), draw(*shape, complex=complex)
    y, pullback = rrule(svd, x, full_matrices=full)
    _, y_dot = frule((dx,), svd, x, full_matrices=full)
    bars = type(y)(*(draw(*field.shape, complex=np.iscomplexobj(field)) for field in y))
    through = sum(inner_product(bar, dot) for bar, dot in zip(bars, y_dot, strict=True))
    np.testing.assert_allclose(through, inner_product(pullback(bars)[0], dx), rtol=1e-9, atol=1e-9)
    for name in ("U", "S", "Vh"):
        alone = Tangent[type(y)](**{name: getattr(bars, name)})
        through = inner_product(getattr(bars, name), getattr(y_dot, name))
        np.testing.assert_allclose(
            through, inner_product(pullback(alone)[0], dx), rtol=1e-9, atol=1e-9
        )


@shapes
@fields
def test_singular_values_alone(shape, complex, no_warnings):
    w = draw(min(shape[-2:]))
    x, dx = draw(*shape, complex=complex), draw(*shape, complex=complex)
    calls = (
        lambda x: np.linalg.svd(x, compute_uv=False),
        np.linalg.svdvals,
        lambda x: np.linalg.svd(x).S,
        lambda x: np.linalg.svd(x, full_matrices=False)[1],
    )
    for call in calls:

        def loss(x, call=call):
            return v.sum(v.cos(call(x)) * w)

        y, g = value_and_grad(loss)(x)
        assert y == loss(x), "tracing changes no bit"
        expected = difference(loss, x, dx)
        np.testing.assert_allclose(inner_product(g, dx), expected, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(jvp(loss, (x,), (dx,))[1], expected, rtol=1e-7, atol=1e-8)


def test_results_keep_the_type_of_the_library():
    y, _ = rrule(np.linalg.svd, draw(3, 2))
    assert type(y) is type(np.linalg.svd(np.eye(2)))
    y, y_dot = frule((draw(3, 2),), np.linalg.svd, draw(3, 2))
    assert isinstance(y_dot, Tangent[type(y)])


@full
def test_single_precision_stays(full):
    x = draw(3, 2).astype(np.float32)
    loss = of_each_matrix((3, 2), False, full)
    assert grad(lambda x: v.sum(np.linalg.svd(x, full_matrices=full).S))(x).dtype == np.float32
    y, pullback = rrule(svd, x, full_matrices=full)
    assert pullback(y)[0].dtype == np.float32
    _, y_dot = frule((x,), svd, x, full_matrices=full)
    assert {y_dot.U.dtype, y_dot.S.dtype, y_dot.Vh.dtype} == {np.dtype(np.float32)}
    assert rrule(svdvals, x)[1](y.S)[0].dtype == np.float32
    assert loss(x).dtype == np.float64, "the weights of that loss are double"


# ---------------------------------------------------------------- oracles


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 4, 3)], ids=str)
def test_jax_agrees_on_real_matrices(shape):
    jax = pytest.importorskip("jax")
    k = min(shape[-2:])
    a, b, c = draw(*shape[:-1], k), draw(k), draw(*shape[:-2], k, shape[-1])
    x = draw(*shape)
    with jax.enable_x64(True):

        def theirs(x):
            U, S, Vh = jax.numpy.linalg.svd(x, full_matrices=False)
            return (U**2 * a).sum() + (S * b).sum() + (Vh**2 * c).sum()

        expected = np.asarray(jax.grad(theirs)(jax.numpy.asarray(x)))

    def ours(x):
        U, S, Vh = np.linalg.svd(x, full_matrices=False)
        return v.sum(U * U * a) + v.sum(S * b) + v.sum(Vh * Vh * c)

    np.testing.assert_allclose(grad(ours)(x), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 4, 3)], ids=str)
@fields
def test_pytorch_agrees(shape, complex):
    torch = pytest.importorskip("torch")
    k = min(shape[-2:])
    a, b, c = draw(*shape[:-1], k), draw(k), draw(*shape[:-2], k, shape[-1])
    C = draw(*shape, complex=complex)
    x = draw(*shape, complex=complex)
    t = torch.tensor(x, requires_grad=True)
    U, S, Vh = torch.linalg.svd(t, full_matrices=False)
    ta, tb, tc, tC = map(torch.tensor, (a, b, c, C))
    mixed = ((U * torch.exp(-S)[..., None, :]) @ Vh * tC.conj()).real.sum()
    loss = (U.abs() ** 2 * ta).sum() + (S * tb).sum() + (Vh.abs() ** 2 * tc).sum() + mixed
    loss.backward()

    def ours(x):
        U, S, Vh = np.linalg.svd(x, full_matrices=False)
        mixed = pairing((U * v.expand_dims(v.exp(-S), axis=-2)) @ Vh, C)
        absolute = [v.real(v.conj(z) * z) for z in (U, Vh)]
        return v.sum(absolute[0] * a) + v.sum(S * b) + v.sum(absolute[1] * c) + mixed

    np.testing.assert_allclose(grad(ours)(x), t.grad.numpy(), rtol=1e-9, atol=1e-9)


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
    expected = difference(f, x, dx, 1e-3)
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
    """With one zero only the sign of a pair of vectors is open, and a loss in U, S and Vh knows it."""
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
    """Their gradient is a reconstruction, so that its derivative is not determined by cotangents."""
    f, u = SMOOTH["sum of squares"], draw(3, 3)
    with pytest.warns(DegeneracyWarning):
        h = grad(lambda x: pairing(grad(f)(x), u))(np.eye(3))
    assert np.all(np.isfinite(h))


def test_rectangular_null_space():
    """The left vector of a zero value lies anywhere outside the range; a loss that uses it is told."""
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
    """The number returned is that for the direction in which the phases of U and V turn by opposite halves."""
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


# ---------------------------------------------------------------- batches, and the word report


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

"""The singular value decomposition of real, complex and batched matrices."""

import functools

import numpy as np
import pytest

from chainrules_py import Tangent, frule, rrule
from chainrules_py import ops as v
from chainrules_py.ops import svd, svdvals
from chainrules_tape import grad, jvp, value_and_grad
from tests.rules.decompositions.pairings import adjoint, inner_product, pairing, slope_along

RNG = np.random.default_rng(3)
difference = functools.partial(slope_along, h=1e-4)
SHAPES = [(3, 3), (4, 2), (2, 4), (1, 1), (3, 1), (1, 3), (2, 4, 3), (2, 1, 3, 3)]

shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)
fields = pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
full = pytest.mark.parametrize("full", [False, True], ids=["thin", "full"])


def draw(*shape, complex=False):
    x = RNG.standard_normal(shape)
    return x + 1j * RNG.standard_normal(shape) if complex else x


def of_each_matrix(shape, complex, full):
    """A loss of all of U, S, Vh that depends on nothing that the decomposition leaves open."""
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

    expected = difference(slope, x, u, h=1e-5)
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

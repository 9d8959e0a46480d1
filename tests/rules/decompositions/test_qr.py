"""The QR decomposition in every mode, and where it has no derivative."""

import functools
import warnings

import numpy as np
import pytest

from chainrules_py import DegeneracyWarning, UnsupportedKeywordError, frule, rrule
from chainrules_py import ops as v
from chainrules_tape import grad, jvp
from tests.rules.decompositions.pairings import adjoint, inner_product, pairing, slope_along

RNG = np.random.default_rng(7)
difference = functools.partial(slope_along, h=2e-5)
SHAPES = [(3, 3), (5, 3), (3, 5), (2, 4, 3), (2, 2, 3), (1, 1), (3, 1), (1, 3), (70, 40)]
MODES = ["reduced", "complete", "r", "raw"]

shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)
fields = pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
modes = pytest.mark.parametrize("mode", MODES)


def draw(*shape, complex=False):
    x = RNG.standard_normal(shape)
    return x + 1j * RNG.standard_normal(shape) if complex else x


def parts(y):
    return list(y) if isinstance(y, tuple) else [y]


def of_each_part(shape, mode, complex):
    """A loss that curves in all that is determined: of what completes Q, the projection."""
    k = min(shape[-2:])
    weights = [
        draw(*np.shape(p), complex=complex) for p in parts(np.linalg.qr(np.ones(shape), mode))
    ]
    rest = draw(shape[-2], shape[-2], complex=complex)

    def loss(x):
        found = parts(np.linalg.qr(x, mode=mode))
        y = 0.0
        if mode == "complete":
            Q2 = found[0][..., k:]
            y = pairing(Q2 @ adjoint(Q2), rest)
            weights[0][..., k:] = 0
        for part, weight in zip(found, weights, strict=True):
            y = y + pairing(part, weight) + 0.3 * pairing(part * part, weight)
        return y

    return loss


@shapes
@fields
@modes
def test_losses_are_exact_in_both_modes(shape, complex, mode, no_warnings):
    loss = of_each_part(shape, mode, complex)
    x, dx = draw(2, *shape, complex=complex)
    expected = difference(loss, x, dx)
    scale = np.abs(expected)
    close = {"rtol": 1e-6, "atol": 1e-6 * scale}
    np.testing.assert_allclose(inner_product(grad(loss)(x), dx), expected, **close)
    np.testing.assert_allclose(jvp(loss, (x,), (dx,))[1], expected, **close)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)], ids=str)
@fields
@modes
def test_second_order_in_each_nesting(shape, complex, mode, no_warnings):
    loss = of_each_part(shape, mode, complex)
    x, u, w = draw(3, *shape, complex=complex)

    def slope(x):
        return pairing(grad(loss)(x), w)

    expected = difference(slope, x, u, h=1e-5)
    close = {"rtol": 1e-5, "atol": 1e-5 * np.abs(expected)}
    np.testing.assert_allclose(inner_product(grad(slope)(x), u), expected, **close)
    np.testing.assert_allclose(inner_product(jvp(grad(loss), (x,), (u,))[1], w), expected, **close)
    along = grad(lambda x: jvp(loss, (x,), (w,))[1])(x)
    np.testing.assert_allclose(inner_product(along, u), expected, **close)


@fields
@modes
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3)], ids=str)
def test_push_and_pull_are_adjoint_part_by_part(shape, complex, mode):
    x, dx = draw(2, *shape, complex=complex)
    y, pullback = rrule(np.linalg.qr, x, mode=mode)
    _, y_dot = frule((dx,), np.linalg.qr, x, mode=mode)
    bars = [draw(*p.shape, complex=complex) for p in parts(y)]
    for chosen in range(len(bars)):
        one = [b if i == chosen else 0 * b for i, b in enumerate(bars)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegeneracyWarning)  # of a complete Q
            (x_bar,) = pullback(tuple(one) if mode != "r" else one[0])
        through = inner_product(one[chosen], list(y_dot)[chosen] if mode != "r" else y_dot)
        np.testing.assert_allclose(inner_product(x_bar, dx), through, rtol=1e-9, atol=1e-9)


@fields
@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (3, 4)], ids=str)
def test_the_product_is_the_matrix(shape, complex):
    x, C = draw(2, *shape, complex=complex)

    def loss(x):
        Q, R = np.linalg.qr(x)
        return pairing(Q @ R, C)

    np.testing.assert_allclose(grad(loss)(x), C, rtol=1e-11, atol=1e-11)


def test_gradients_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    for shape in [(4, 3), (3, 3), (3, 5)]:
        for complex in (False, True):
            x = draw(*shape, complex=complex)
            C, D = (draw(*p.shape, complex=complex) for p in np.linalg.qr(x))

            def loss(x, C=C, D=D):
                Q, R = np.linalg.qr(x)
                return pairing(Q * Q, C) + pairing(R * R, D)

            t = torch.tensor(x, requires_grad=True)
            Q, R = torch.linalg.qr(t)
            C, D = torch.tensor(C).conj(), torch.tensor(D).conj()
            ((C * Q * Q).sum() + (D * R * R).sum()).real.backward()
            np.testing.assert_allclose(grad(loss)(x), t.grad.numpy(), rtol=1e-9, atol=1e-9)


# ---------------------------------------------------------------- no derivative


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_columns_that_depend_on_each_other_are_reported(mode):
    x = draw(4, 2) @ draw(2, 3)
    with pytest.warns(DegeneracyWarning, match="depend on each other"):
        g = grad(lambda x: sum(v.sum(p) for p in parts(np.linalg.qr(x, mode))))(x)
    assert np.isfinite(g).all()
    with pytest.warns(DegeneracyWarning, match="depend on each other"):
        jvp(lambda x: np.linalg.qr(x, mode), (x,), (draw(4, 3),))


def test_one_matrix_of_a_batch_leaves_the_others_alone():
    x = draw(2, 3, 3)
    x[0] = 0
    with pytest.warns(DegeneracyWarning):
        g = grad(lambda x: v.sum(np.linalg.qr(x).Q))(x)
    np.testing.assert_allclose(g[1], grad(lambda x: v.sum(np.linalg.qr(x).Q))(x[1]), rtol=1e-12)


def test_choice_of_what_completes_a_basis_is_reported():
    with pytest.warns(DegeneracyWarning, match="which columns complete Q"):
        grad(lambda x: v.sum(np.linalg.qr(x, mode="complete").Q ** 3))(draw(4, 2))


def test_reflector_of_nothing_is_reported():
    with pytest.warns(DegeneracyWarning, match="nothing below the diagonal"):
        grad(lambda x: v.sum(np.linalg.qr(x, mode="raw")[0]))(np.triu(draw(3, 3)))


def test_deprecated_modes_are_what_they_were():
    x = draw(3, 2)
    with pytest.warns(DeprecationWarning, match="full"):
        y, _ = jvp(lambda x: np.linalg.qr(x, mode="full"), (x,), (x,))
    np.testing.assert_array_equal(y.Q, np.linalg.qr(x).Q)
    with pytest.raises(UnsupportedKeywordError, match="'reduced', 'complete', 'r' or 'raw'"):
        grad(lambda x: v.sum(np.linalg.qr(x, mode="economic")))(x)


@modes
def test_values_are_those_of_numpy_to_the_bit(mode):
    for shape in [(4, 3), (3, 4)]:
        x = draw(*shape)
        y, _ = jvp(lambda x: np.linalg.qr(x, mode), (x,), (x,))
        for have, want in zip(parts(y), parts(np.linalg.qr(x, mode)), strict=True):
            assert have.tobytes() == want.tobytes()

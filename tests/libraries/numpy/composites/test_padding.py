"""Padding and windows: other systems as oracles, and what is refused."""

import numpy as np
import pytest

from chainrules_py import NoTangent, UnsupportedKeywordError, rrule
from chainrules_py import ops as v
from chainrules_tape import grad, jacobian, vjp

rng = np.random.default_rng(12)
FLAT = rng.standard_normal((3, 4))

PADDED = {
    "constant": ((2, 1), {"constant_values": 2.0}),
    "edge": ((2, 1), {}),
    "linear_ramp": ((2, 3), {"end_values": 5.0}),
    "maximum": ((2, 1), {"stat_length": 2}),
    "mean": ((2, 1), {}),
    "median": ((2, 1), {}),
    "minimum": ((2, 1), {}),
    "reflect": ((5, 6), {}),
    "symmetric": ((5, 6), {}),
    "wrap": ((5, 6), {}),
    "reflect odd": ((2, 7), {"mode": "reflect", "reflect_type": "odd"}),
}


@pytest.mark.parametrize("name", PADDED)
def test_modes_as_jax_has_them(name):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    width, keywords = PADDED[name]
    keywords = {"mode": name} | keywords

    def f(np):
        return lambda x: np.sum(np.sin(np.pad(x, width, **keywords)) * np.arange(1.0, 2.0))

    np.testing.assert_allclose(grad(f(np))(FLAT), jax.grad(f(jax.numpy))(FLAT), rtol=1e-12)


def test_ties_are_shared_in_the_margin():
    x = np.array([1.0, 3.0, 3.0])
    bar = grad(lambda x: np.pad(x, (1, 0), mode="maximum")[0])(x)
    np.testing.assert_array_equal(bar, [0.0, 0.5, 0.5])
    bar = grad(lambda x: np.pad(x, (1, 0), mode="median")[0])(x)
    np.testing.assert_array_equal(bar, [0.0, 0.5, 0.5])


def test_what_is_empty_is_constant():
    y, pullback = vjp(lambda x: np.pad(x, 1, mode="empty"), FLAT)
    assert y.shape == (5, 6)
    np.testing.assert_array_equal(pullback(np.ones((5, 6)))[0], np.ones((3, 4)))


def mirror(vector, width, axis, keywords):
    """Fill the margins with multiples of the vector's ends, and of a constant."""
    n, m = width
    vector[:n] = keywords.get("factor", 2.0) * vector[n] * (axis + 1)
    vector[len(vector) - m :] = vector[-m - 1] ** 2


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("keywords", [{}, {"factor": 3.0}], ids=["", "factor"])
@pytest.mark.parametrize("x", [FLAT, FLAT[0]], ids=["matrix", "vector"])
@pytest.mark.parametrize("width", [1, (2, 0), 0])
def test_a_function_writes_the_margins(width, x, keywords, mode):
    def padded(x):
        return np.pad(x, width, mirror, **keywords)

    np.testing.assert_array_equal(vjp(padded, x)[0], padded(x))
    slopes, h = jacobian(padded, mode=mode)(x), 1e-6
    way = np.cos(np.arange(x.size)).reshape(x.shape)
    found = np.tensordot(slopes, way, x.ndim)
    truth = (padded(x + h * way) - padded(x - h * way)) / (2 * h)
    np.testing.assert_allclose(found, truth, rtol=1e-6, atol=1e-7)


def test_refused_and_wrong():
    def pad(*operands, **keywords):
        return grad(lambda x: np.sum(np.pad(x, *operands, **keywords)))(FLAT)

    with pytest.raises(ValueError, match="'nonsense' is not supported"):
        pad(1, mode="nonsense")
    with pytest.raises(ValueError, match="unsupported keyword arguments for mode 'edge'"):
        pad(1, mode="edge", constant_values=1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'padder'"):
        pad(1, padder=1.0)
    with pytest.raises(ValueError, match="negative"):
        pad(-1)
    with pytest.raises(TypeError, match="integral"):
        pad(1.5)
    with pytest.raises(ValueError, match="stat_length of 0"):
        pad(1, mode="maximum", stat_length=0)
    with pytest.raises(ValueError, match="can't extend empty axis"):
        grad(lambda x: np.sum(np.pad(x, 1, mode="edge")))(np.zeros((0, 2)))


def test_margins_keep_the_dtype():
    x = FLAT.astype(np.float32)
    y, pullback = vjp(lambda x: np.pad(x, 1, constant_values=np.pi), x)
    assert (y.dtype, pullback(y)[0].dtype) == (np.float32, np.float32)


def test_direct_rule():
    y, pullback = rrule(np.pad, FLAT, ((1, 0), (0, 2)), mode="edge")
    bars = pullback(np.ones_like(y))
    np.testing.assert_array_equal(bars[0].sum(), y.size)
    assert bars[1] == NoTangent()


# ------------------------------------------------------------------------------------------ windows


def test_windows_as_torch_has_them():
    torch = pytest.importorskip("torch")
    x = rng.standard_normal((5, 7))
    weights = rng.standard_normal((3, 7, 3))
    (bar,) = vjp(lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, axis=0), x)[1](weights)
    t = torch.tensor(x, requires_grad=True)
    (t.unfold(0, 3, 1) * torch.tensor(weights)).sum().backward()
    np.testing.assert_allclose(bar, t.grad.numpy(), rtol=1e-12)


@pytest.mark.parametrize("length", [1, 2, 60, 119, 120])
def test_overlaps_add(length):
    """Of ones each element gets the number of windows that it is in."""
    (bar,) = rrule(v.sliding_window_view, np.zeros(120), window_shape=(length,), axis=(0,))[1](
        np.ones((121 - length, length))
    )
    inside = np.convolve(np.ones(121 - length), np.ones(length))
    np.testing.assert_array_equal(bar, inside)


def test_windows_refused():
    for keywords in ({"writeable": True}, {"subok": True}):
        with pytest.raises(UnsupportedKeywordError):
            grad(
                lambda x, k=keywords: np.sum(
                    np.lib.stride_tricks.sliding_window_view(x, 2, axis=0, **k)
                )
            )(FLAT)
    with pytest.raises(UnsupportedKeywordError, match="sliding_window_view"):
        rrule(np.lib.stride_tricks.as_strided, FLAT, (2, 2), (8, 8))

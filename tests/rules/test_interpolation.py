"""Interpolation on straight lines: knots, ends, periods, another library as the oracle."""

import numpy as np
import pytest

from chainrules_py import NotDifferentiableError, TracerError
from chainrules_tape import grad, jvp, vjp

XP = np.array([-1.0, 0.0, 0.5, 2.0])
FP = np.array([1.0, 3.0, 2.0, 2.5])
SLOPES = [2.0, -2.0, 1 / 3]


def total(f):
    return lambda *xs: np.sum(f(*xs))


@pytest.mark.parametrize(
    "x, expected",
    [
        (-1.5, 0),
        (-1.0, SLOPES[0]),
        (-0.5, SLOPES[0]),
        (0.0, SLOPES[1]),
        (0.5, SLOPES[2]),
        (2.0, SLOPES[2]),
        (2.5, 0),
    ],
)
def test_slope_at_knots_and_ends(x, expected):
    for make in (float, np.float64, np.array, lambda x: np.array([x])):
        f = lambda x: np.interp(x, XP, FP)
        assert np.isclose(grad(total(f))(make(x)), expected)
        assert np.isclose(jvp(f, (make(x),), (make(1.0),))[1], expected)


def test_knots_move_with_their_weights():
    """At a knot, at the end, and beyond it."""
    x = np.array([0.0, 2.0, 3.0, -2.0])
    weights = np.array([1.0, 10.0, 100.0, 1000.0])
    loss = lambda xp, fp: np.sum(weights * np.interp(x, xp, fp))
    xp_bar, fp_bar = grad(loss, (0, 1))(XP, FP)
    assert fp_bar.tolist() == [1000, 1, 0, 110]
    np.testing.assert_allclose(xp_bar, [0, -SLOPES[1], 0, -10 * SLOPES[2]])


def test_equal_knots():
    """A jump, as NumPy reads it; nothing is divided by the distance of 0."""
    xp, fp, x = np.array([0.0, 1.0, 1.0]), np.array([0.0, 2.0, 5.0]), np.array([0.5, 1.0])
    y, pullback = vjp(np.interp, x, xp, fp)
    assert y.tolist() == [1, 5]
    x_bar, xp_bar, fp_bar = pullback(np.ones(2))
    assert x_bar.tolist() == [2, 0]
    assert fp_bar.tolist() == [0.5, 0.5, 1]
    assert np.all(np.isfinite(xp_bar))


def test_values_beyond_the_ends():
    x = np.array([-3.0, 0.3, 5.0])
    f = lambda x, fp, left, right: np.interp(x, XP, fp, left=left, right=right)
    x_bar, fp_bar, left_bar, right_bar = grad(total(f), (0, 1, 2, 3))(x, FP, 7.0, 9.0)
    assert (x_bar[0], x_bar[2], left_bar, right_bar) == (0, 0, 1, 1)
    np.testing.assert_allclose(fp_bar, [0, 0.4, 0.6, 0])


def test_against_jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    x = np.array([-1.7, -0.9, 0.1, 0.7, 1.9, 2.1])
    for period in (None, 3.5):
        ours = lambda x, xp, fp, p=period: np.sum(np.sin(np.interp(x, xp, fp, period=p)))
        theirs = lambda x, xp, fp, p=period: jax.numpy.sin(
            jax.numpy.interp(x, xp, fp, period=p)
        ).sum()
        for k in range(3):
            expected = jax.grad(theirs, k)(x, XP, FP)
            np.testing.assert_allclose(grad(ours, k)(x, XP, FP), expected, rtol=1e-10, atol=1e-12)
            second = jax.jacfwd(jax.grad(theirs, k), 2)(x, XP, FP) @ np.arange(4.0)
            gradient = grad(ours, k)
            t = np.arange(4.0)
            found = jvp(lambda fp, g=gradient: g(x, XP, fp), (FP,), (t,))[1]
            np.testing.assert_allclose(found, second, rtol=1e-9, atol=1e-11)


def test_the_period_moves():
    """By differences: the quotients x / period, and the order of the knots, stay."""
    x, xp = np.array([-8.3, 0.2, 5.7, 12.9]), np.array([4.1, 0.5, 9.9])
    f = lambda period: np.sum(np.sin(np.interp(x, xp, FP[:3], period=period)))
    h = 1e-6
    expected = (f(4.5 + h) - f(4.5 - h)) / (2 * h)
    for make in (float, np.float64, np.array):
        # The point is traced as well: NumPy does not show a call in which the period alone is.
        loss = lambda x, p: np.sum(np.sin(np.interp(x, xp, FP[:3], period=p)))
        _, found = grad(loss, (0, 1))(x, make(4.5))
        assert np.isclose(found, expected, rtol=1e-8)


def test_single_precision_is_computed_in_double():
    x = np.array([0.1, 0.3], np.float32)
    y, pullback = vjp(np.interp, x, XP.astype(np.float32), FP)
    assert y.dtype == float
    bars = pullback(np.ones(2))
    assert [b.dtype for b in bars] == [np.float32, np.float32, float]
    weight = float(x[0]) / 0.5 + float(x[1]) / 0.5
    np.testing.assert_allclose(bars[2], [0, 2 - weight, weight, 0], rtol=1e-15)


def test_what_is_wider_than_double_is_cast_where_numpy_casts_it_for_a_period():
    x = np.array([-1.7, 0.1, 2.1])
    f = lambda x, xp, fp: np.sum(np.sin(np.interp(x, xp, fp, period=3.5)))
    expected = grad(f, (0, 1, 2))(x, XP, FP)
    found = grad(f, (0, 1, 2))(*[t.astype(np.longdouble) for t in (x, XP, FP)])
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == np.longdouble
        np.testing.assert_array_equal(a, b)
    with pytest.raises(NotDifferentiableError, match=r"imaginary parts of \[dtype"):
        grad(f)(x + 1j, XP, FP)


def test_a_keyword_that_numpy_does_not_show_is_an_error():
    x = np.array([0.1, 5.0])
    with pytest.raises((TracerError, NotDifferentiableError)):
        grad(lambda right: np.sum(np.interp(x, XP, FP, right=right)))(1.0)
    with pytest.raises((TracerError, NotDifferentiableError)):
        grad(lambda period: np.sum(np.interp(x, XP, FP, period=period)))(4.0)

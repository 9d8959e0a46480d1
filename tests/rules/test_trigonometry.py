"""Angles and inverse functions: the cuts of the complex plane, functions that leave the real line,
turns, Bessel functions."""

import math

import mpmath
import numpy as np
import pytest

from chainrules_py import NotDifferentiableError, frule
from chainrules_py import ops as v
from chainrules_tape import grad, jvp, vjp


def total(f):
    return lambda *xs: np.sum(f(*xs))


# ------------------------------------------------------------------------------- the complex plane

# Where a function jumps across a line, the sign of a zero says on which side a point is. Points on
# the line, of both sides, and a direction along it.
CUTS = [
    (np.arcsin, [2.0, -2.0], 1),
    (np.arccos, [2.0, -2.0], 1),
    (np.arctanh, [2.0, -2.0], 1),
    (np.arccosh, [0.5, -0.5, -2.0], 1),
    (np.arcsinh, [2.0j, -2.0j], 1j),
    (np.arctan, [2.0j, -2.0j], 1j),
    (np.sqrt, [-2.0], 1),
    (np.log, [-2.0], 1),
    (np.log2, [-2.0], 1),
    (np.log1p, [-3.0], 1),
    (lambda z: z**1.3, [-2.0], 1),
    (lambda z: 2.0**z, [-2.0], 1),
]


@pytest.mark.parametrize("f, points, along", CUTS)
def test_derivatives_on_cuts_are_those_of_their_side(f, points, along):
    for point in points:
        for zero in (0.0, -0.0):
            real, imag = complex(point).real, complex(point).imag
            z = np.array([complex(real, zero) if along == 1 else complex(zero, imag)])

            def moved(h, real=real, imag=imag, zero=zero):
                w = complex(real + h, zero) if along == 1 else complex(zero, imag + h)
                return f(np.array([w]))

            h = 1e-6
            expected = (moved(h) - moved(-h)) / (2 * h)
            y_dot = jvp(f, (z,), (np.array([along + 0j]),))[1]
            np.testing.assert_allclose(y_dot, expected, rtol=1e-7)
            (z_bar,) = vjp(f, z)[1](np.array([1 + 0j]))
            np.testing.assert_allclose(np.conj(z_bar) * along, expected, rtol=1e-7)


@pytest.mark.parametrize("distance", [1e-4, 1e-6 + 2e-6j, -1e-8, 1e-8j])
@pytest.mark.parametrize("point", [1j, -1j])
@pytest.mark.parametrize(
    "f, slope",
    [
        (np.arctan, lambda z: 1 / (1 + z * z)),
        (np.arcsinh, lambda z: 1 / mpmath.sqrt(1 + z * z)),
    ],
)
def test_slopes_near_their_poles_keep_their_digits(f, slope, point, distance):
    z = np.complex128(point + distance)
    with mpmath.workdps(60):
        expected = complex(slope(mpmath.mpc(z)))
    found = jvp(f, (z,), (1 + 0j,))[1]
    np.testing.assert_allclose([found.real, found.imag], [expected.real, expected.imag], rtol=1e-14)


def test_the_slope_of_arctan_of_a_huge_number_does_not_overflow():
    assert jvp(np.arctan, (np.complex128(1e160 + 1e160j),), (1 + 0j,))[1] == pytest.approx(0)


@pytest.mark.parametrize("f", [np.arcsin, np.arccos, np.arccosh])
@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_sides_of_cuts_in_other_libraries(f, library):
    lib = pytest.importorskip(library)
    if library == "jax.numpy":
        pytest.importorskip("jax").config.update("jax_enable_x64", True)
    # JAX's functions ignore the sign of a zero, and return values of the upper side.
    for zero in (0.0, -0.0)[: 2 if library == "torch" else 1]:
        z = np.array([complex(x, zero) for x in (2.0, -2.0) * 5])
        slopes = (f(z - (-1e-6)) - f(z - 1e-6)) / 2e-6  # subtracting keeps the signs of zeros
        found = grad(lambda x: np.sum(np.real(f(x))))(lib.asarray(z))
        np.testing.assert_allclose(np.asarray(found), np.conj(slopes), atol=1e-8)


SCIMATH = [
    (np.lib.scimath.sqrt, [-2.0, 0.5]),
    (np.lib.scimath.log, [-2.0, 0.5]),
    (np.lib.scimath.log2, [-2.0, 0.5]),
    (np.lib.scimath.log10, [-2.0, 0.5]),
    (np.lib.scimath.arcsin, [-2.0, 2.0, 0.5]),
    (np.lib.scimath.arccos, [-2.0, 2.0, 0.5]),
    (np.lib.scimath.arctanh, [-2.0, 2.0, 0.5]),
    (lambda x: np.lib.scimath.logn(2, x), [-2.0, 0.5]),
    (lambda x: np.lib.scimath.power(x, 1.5), [-2.0, 0.5]),
    (lambda x: np.lib.scimath.power(x, -2), [-2.0, 0.5]),
]


@pytest.mark.parametrize("f, points", SCIMATH)
def test_a_real_argument_of_a_complex_value_has_a_real_cotangent(f, points):
    for dtype in (np.float32, np.float64):
        x = np.array(points, dtype)
        y, pullback = vjp(f, x)
        assert y.dtype == f(x).dtype
        (x_bar,) = pullback(np.ones_like(y))
        assert x_bar.dtype == dtype
        y, _ = vjp(f, np.array([0.5], dtype))
        assert y.dtype == f(np.array([0.5], dtype)).dtype
    x = np.array(points)
    h = 1e-6
    slopes = (f(x + h) - f(x - h)) / (2 * h)
    w = np.array([0.3 - 1j, 2 + 0.5j, 1j])[: len(x)]
    np.testing.assert_allclose(vjp(f, x)[1](w.astype(f(x).dtype))[0], (np.conj(w) * slopes).real)
    np.testing.assert_allclose(jvp(f, (x,), (np.ones_like(x),))[1], slopes, rtol=1e-8)


def test_integers_that_leave_the_real_line():
    for dtype in (np.int8, np.int16, np.int32, np.int64):
        x = np.array([-4, 9], dtype)
        y, pullback = vjp(np.lib.scimath.sqrt, x)
        assert y.dtype == np.lib.scimath.sqrt(x).dtype
        assert pullback(y)[0].dtype.kind == "f"
    assert vjp(np.lib.scimath.power, np.array([2, 4]), np.array([-1, 2]))[0].tolist() == [0.5, 16]


def test_real_if_close_is_either_kind():
    z = np.array([1 + 1e-15j, 2.0])
    y, pullback = vjp(np.real_if_close, z)
    assert y.dtype == float
    assert pullback(np.ones(2))[0].tolist() == [1, 1]
    assert jvp(np.real_if_close, (z,), (np.array([1j, 2 + 1j]),))[1].tolist() == [0, 2]
    y, pullback = vjp(lambda z: np.real_if_close(z, tol=1e-20), z)
    assert y.dtype == complex
    assert pullback(np.array([1j, 1.0]))[0].tolist() == [1j, 1]


def test_the_angle_of_a_real_number_is_constant():
    x = np.array([-1.0, 0.0, 2.0])
    assert np.array_equal(vjp(np.angle, x)[0], np.angle(x))
    assert grad(total(lambda x: np.angle(x) + x))(x).tolist() == [1, 1, 1]
    assert jvp(np.angle, (x,), (np.ones(3),))[1].tolist() == [0, 0, 0]


# ------------------------------------------------------------------------------------------- turns


def test_unwrap_moves_with_its_period():
    x = np.array([0.1, 3.3, 6.0, 0.2, -3.5])
    y = np.unwrap(x, period=4.0)
    turns = (y - x) / 4.0
    x_bar, p_bar = vjp(lambda x, p: np.unwrap(x, period=p), x, 4.0)[1](np.arange(5.0))
    assert x_bar.tolist() == [0, 1, 2, 3, 4]
    assert p_bar == np.sum(turns * np.arange(5.0))
    y_dot = jvp(lambda x, p: np.unwrap(x, period=p), (x, 4.0), (np.ones(5), 1.0))[1]
    assert y_dot.tolist() == (1 + turns).tolist()


def test_unwrap_keeps_dtypes():
    for dtype in (np.float32, np.float16, np.int64):
        x = np.array([1, 9, 3], dtype)
        for period in (4, 4.0):
            y, _ = vjp(lambda x, p=period: np.unwrap(x, period=p), x)
            assert y.dtype == np.unwrap(x, period=period).dtype


def test_thresholds_are_constants():
    x = np.array([0.1, 3.3, 6.0, 0.2])
    assert grad(lambda d: np.sum(np.unwrap(x * (1 + 0 * d), d)))(5.0) == 0


def test_an_axis_is_static():
    with pytest.raises(NotDifferentiableError):
        grad(lambda x: np.sum(np.real_if_close(x * 1j, tol=x[0]).imag))(np.ones(2))


# ------------------------------------------------------------------------------- Bessel functions


@pytest.mark.parametrize("order", [0, 1, 2, 7])
def test_bessel_functions_against_scipy(order):
    special = pytest.importorskip("scipy.special")
    x = np.concatenate([np.linspace(-40, 40, 41), [1e-8, 1e-300, 0.0, 300.0, 700.0, -700.0]])
    found = v.bessel_i(x, order=order)
    np.testing.assert_allclose(found, special.iv(order, x), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("order", [-1, -2, -7])
def test_bessel_functions_of_negative_orders(order):
    """The value, and the slope against SciPy's own: I₋ₙ = Iₙ."""
    special = pytest.importorskip("scipy.special")
    x = np.array([-3.0, 0.0, 0.8, 5.0])
    y, y_dot = frule((np.ones(4),), v.bessel_i, x, order=order)
    np.testing.assert_allclose(y, special.iv(order, x), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(y_dot, special.ivp(order, x), rtol=1e-12, atol=1e-300)


def test_bessel_functions_at_the_edges():
    with np.errstate(all="ignore"):
        y = v.bessel_i(np.array([1e5, -1e5, np.nan]), order=1)
    assert y[:2].tolist() == [math.inf, -math.inf]
    assert math.isnan(y[2])
    assert v.bessel_i(np.zeros(0), order=2).shape == (0,)
    assert v.bessel_i(np.array([1.0], np.float32), order=1).dtype == np.float32


def test_derivatives_of_i0_of_any_order_at_zero():
    """I₀ = Σ (x/2)²ᵏ / k!²: its derivatives at 0 are 1, 0, 1/2, 0, 3/8."""
    f = lambda x: np.i0(x)
    for expected in (1, 0, 1 / 2, 0, 3 / 8):
        assert math.isclose(f(0.0), expected, abs_tol=1e-15)
        f = grad(f)


def test_i0_has_no_complex_values():
    with pytest.raises(TypeError, match="complex"):
        vjp(np.i0, np.array([1j]))


@pytest.mark.parametrize("x", [0.3, 5.0, -15.0, 20.0, -50.0, 300.0])
def test_the_slope_of_tanh_where_its_value_has_rounded(x):
    with mpmath.workdps(400):
        truth = [float(mpmath.diff(mpmath.tanh, x, k)) for k in (1, 2, 3)]
    f = np.tanh
    for slope in truth:
        f = grad(f)
        assert abs(f(x) - slope) <= 8 * np.finfo(float).eps * abs(slope)


@pytest.mark.parametrize("x", [0.0, -0.0])
def test_derivatives_of_tanh_at_zero(x):
    f, found = np.tanh, []
    for _ in range(5):
        f = grad(f)
        found.append(f(x))
    assert found == [1.0, 0.0, -2.0, 0.0, 16.0]


def test_the_slope_of_tanh_of_complex_numbers():
    for z in (0.3 + 0.2j, -0.3 + 0.2j, -20.0 + 1.0j):
        with mpmath.workdps(400):
            truth = complex(mpmath.sech(z) ** 2)
        slope = jvp(np.tanh, (np.array(z),), (np.array(1.0 + 0j),))[1]
        assert abs(slope - truth) <= 1e-14 * abs(truth)


@pytest.mark.parametrize("z", [0.3 + 0.2j, 1.0 + 20.0j, -1.0 - 20.0j])
def test_the_slope_of_tan_where_its_value_is_near_i(z):
    with mpmath.workdps(60):
        truth = complex(mpmath.sec(z) ** 2)
    slope = jvp(np.tan, (np.array(z),), (np.array(1.0 + 0j),))[1]
    assert abs(slope - truth) <= 1e-14 * abs(truth)


@pytest.mark.parametrize("x", [np.float16(300), np.float32(-1e20), 1e200])
def test_the_slope_of_arcsinh_where_squares_overflow(x):
    with mpmath.workdps(600):
        truth = float(mpmath.diff(mpmath.asinh, float(x)))
    np.testing.assert_allclose(grad(np.arcsinh)(x), truth, rtol=1e-3)

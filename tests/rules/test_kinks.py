"""The values at kinks and end points, the strong zero, and powers, which have most of both."""

import itertools
import math
import operator
import warnings

import numpy as np
import pytest

from chainrules_py import ZeroTangent, frule, primitive, rrule, scalar_rule
from chainrules_py import ops as v
from chainrules_tape import grad, jvp, vjp

INF, NAN = math.inf, math.nan


def total(f):
    return lambda *xs: np.sum(f(*xs))


def forward(f):
    """The derivative of a function of one number, by forward mode."""
    return lambda x: jvp(f, (x,), (np.ones(x.shape, x.dtype) if hasattr(x, "shape") else 1.0,))[1]


# ---------------------------------------------------------------------------------------- kinks

KINKS = [
    # function, point, partial derivatives
    (np.abs, (0.0,), (0,)),
    (abs, (0.0,), (0,)),
    (np.sign, (0.0,), (0,)),
    (np.hypot, (0.0, 0.0), (0, 0)),
    (np.sinc, (0.0,), (0,)),
    (np.maximum, (2.0, 2.0), (0.5, 0.5)),
    (np.minimum, (2.0, 2.0), (0.5, 0.5)),
    (np.maximum, (INF, INF), (0.5, 0.5)),
    (np.minimum, (-INF, -INF), (0.5, 0.5)),
    (np.fmax, (2.0, 2.0), (0.5, 0.5)),
    (np.fmax, (NAN, 2.0), (0, 1)),
    (np.fmin, (2.0, NAN), (1, 0)),
    (np.fmin, (2.0, 2.0), (0.5, 0.5)),
    (np.heaviside, (0.0, 0.3), (0, 1)),
    (np.heaviside, (-0.0, 0.3), (0, 1)),
    (np.copysign, (0.0, 1.0), (0, 0)),
    (np.floor, (1.0,), (0,)),
    (np.rint, (0.5,), (0,)),
    (np.fix, (1.0,), (0,)),
    (np.remainder, (2.0, 1.0), (1, -2)),
    (np.fmod, (2.0, 1.0), (1, -2)),
    (lambda x, y: np.divmod(x, y)[1], (2.0, 1.0), (1, -2)),
    (lambda x: np.modf(x)[0], (1.0,), (1,)),
    (lambda x: np.frexp(x)[0], (1.0,), (0.5,)),
    (lambda x: np.frexp(x)[0], (0.0,), (1,)),
    (lambda x: np.interp(x, [0.0, 1.0, 2.0], [0.0, 1.0, 3.0]), (0.0,), (1,)),
    (lambda x: np.interp(x, [0.0, 1.0, 2.0], [0.0, 1.0, 3.0]), (1.0,), (2,)),
    (lambda x: np.interp(x, [0.0, 1.0, 2.0], [0.0, 1.0, 3.0]), (2.0,), (2,)),
    (np.nan_to_num, (NAN,), (0,)),
    (lambda x: np.nan_to_num(x, neginf=1.0), (-INF,), (0,)),
    (np.angle, (0.0,), (0,)),
    (np.i0, (0.0,), (0,)),
    (np.clip, (1.0, 0.0, 1.0), (1, 0, 0)),
    (np.clip, (0.0, 0.0, 1.0), (1, 0, 0)),
    (np.clip, (2.0, 0.0, 1.0), (0, 0, 1)),
    (np.clip, (-2.0, 0.0, 1.0), (0, 1, 0)),
    (np.clip, (0.5, 1.0, 0.0), (0, 0, 1)),
    (lambda x, lo: np.clip(x, lo, None), (1.0, 1.0), (1, 0)),
    (lambda x, hi: np.clip(x, None, hi), (1.0, 1.0), (1, 0)),
    (operator.pow, (0.0, 0.0), (0, -INF)),
    (lambda x: x**0, (0.0,), (0,)),
    (lambda x: x**1, (0.0,), (1,)),
    (lambda x: x**2, (0.0,), (0,)),
    (operator.pow, (0.0, 2.0), (0, 0)),
    (operator.pow, (-2.0, 3.0), (12, NAN)),
    (lambda x: x**-2, (-2.0,), (0.25,)),
    (lambda x: x**0.5, (0.0,), (INF,)),
    (np.sqrt, (0.0,), (INF,)),
    (np.sqrt, (-0.0,), (-INF,)),
    (np.cbrt, (0.0,), (INF,)),
    (np.arcsin, (1.0,), (INF,)),
    (np.arcsin, (-1.0,), (INF,)),
    (np.arccos, (1.0,), (-INF,)),
    (np.arccosh, (1.0,), (INF,)),
]
# Their values are infinite as well, and NumPy warns of those.
SINGULAR = [np.log, np.log2, np.log1p, np.arctanh]
KINKS += [
    (np.log, (0.0,), (INF,)),
    (np.log2, (0.0,), (INF,)),
    (np.log1p, (-1.0,), (INF,)),
    (np.arctanh, (1.0,), (INF,)),
]


@pytest.mark.parametrize(
    "make",
    [float, np.float64, np.array, lambda x: np.array([x, x])],
    ids=["float", "float64", "0-d", "1-d"],
)
@pytest.mark.parametrize("f, point, partials", KINKS)
@pytest.mark.filterwarnings("ignore:numpy.fix:DeprecationWarning")
def test_kinks(f, point, partials, make):
    """The table of docs/conventions.md; the derivative itself warns of nothing."""
    point = tuple(make(x) for x in point)
    with np.errstate(all="ignore" if f in SINGULAR else "raise"):
        for k, expected in enumerate(partials):
            if math.isnan(expected):
                continue
            d = grad(total(f), k, unused="zero")(*point)  # np.angle of a real one
            assert np.array_equal(d, np.full(np.shape(point[k]), float(expected))), (k, d)
            tangents = tuple(
                np.ones_like(x) if i == k else ZeroTangent() for i, x in enumerate(point)
            )
            d = jvp(f, point, tangents)[1]
            assert np.array_equal(d, np.full(np.shape(point[k]), float(expected))), (k, d)


def test_the_other_side_of_a_tie_in_both_modes():
    x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 1.0])
    assert jvp(np.maximum, (x, y), (np.ones(3), np.ones(3)))[1].tolist() == [1, 1, 1]
    assert jvp(np.maximum, (x, y), (np.ones(3), -np.ones(3)))[1].tolist() == [0, 0, 1]


def test_abs_at_complex_zero():
    z = np.array([0j, 3 + 4j])
    assert np.allclose(grad(total(np.abs))(z), [0, 0.6 + 0.8j])
    assert grad(total(lambda z: np.sign(z).real))(np.array([0j])).tolist() == [0]


# ------------------------------------------------------------------------------------ strong zero


def silent_sqrt(x):
    with np.errstate(invalid="ignore"):
        return np.sqrt(x)


def silent_log(x):
    with np.errstate(all="ignore"):
        return np.log(x)


def test_strong_zero_behind_where():
    x = np.array([-1.0, 0.0, 4.0])
    for d in (
        grad(total(lambda x: np.where(x > 0, silent_sqrt(x), 0.0))),
        forward(lambda x: np.where(x > 0, silent_sqrt(x), 0.0)),
    ):
        assert d(x)[2] == 0.25
    assert grad(total(lambda x: np.where(x > 0, silent_sqrt(x), 0.0)))(x).tolist() == [0, 0, 0.25]
    assert grad(total(lambda x: np.where(x > 0, silent_log(x), 0.0)))(x).tolist() == [0, 0, 0.25]
    assert grad(lambda x: np.sqrt(x) ** 2)(0.0) == 0


NESTINGS = list(itertools.product((grad, forward), repeat=2))


@pytest.mark.parametrize("make", [float, np.float64, np.array])
@pytest.mark.parametrize("outer, inner", NESTINGS)
@pytest.mark.parametrize(
    "root",
    [np.sqrt, lambda x: x**0.5, lambda x: np.exp(np.log(x) / 2), lambda x: 1 / (1 / np.sqrt(x))],
)
def test_strong_zero_is_its_own_derivative(root, outer, inner, make):
    """(sqrt(x) - 1)**2 has derivative 0 at 1, and second derivative 1/2."""
    f = lambda x: (root(x) - 1) ** 2
    assert inner(f)(make(1.0)) == 0
    np.testing.assert_allclose(outer(inner(f))(make(1.0)), 0.5, rtol=1e-14)


@pytest.mark.parametrize("c, p", [(0.0, INF), (0.0, NAN), (2.0, 3.0), (0.0, 3.0), (0.0, -INF)])
def test_strong_multiply(c, p):
    value = 0.0 if c == 0 else c * p
    for make in (float, np.float64, np.array, lambda x: np.array([[x]])):
        c_, p_ = make(c), make(p)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            y, pullback = rrule(v.strong_multiply, c_, p_)
            assert np.all(y == value)
            c_bar, p_bar = pullback(np.ones_like(y) if isinstance(y, np.ndarray) else 1.0)
        assert np.array_equal(c_bar, np.broadcast_to(p, np.shape(c_)), equal_nan=True)
        assert np.all(p_bar == c)
        assert np.array_equal(
            frule((1.0 + 0 * c_, ZeroTangent()), v.strong_multiply, c_, p_)[1], p_, equal_nan=True
        )
        assert np.all(
            frule((ZeroTangent(), np.full_like(p_, INF)), v.strong_multiply, c_, p_)[1]
            == (0 if c == 0 else INF)
        )


@primitive
def power_of_whole(x, n):
    """x**n."""
    assert np.asarray(n).dtype.kind == "i"
    return v.pow(x, n)


scalar_rule(power_of_whole, lambda y, x, n: n * power_of_whole(x, n - 1), lambda y, x, n: 0.0)


def test_strong_zero_keeps_whole_numbers_whole():
    f = lambda x: np.where(x > 0, power_of_whole(x, -1), 0.0)
    with np.errstate(all="ignore"):
        assert grad(total(f))(np.array([0.0, 2.0])).tolist() == [0.0, -0.25]


def test_strong_multiply_where_the_check_overflows():
    p = np.array([1e200, 1e300])
    assert np.array_equal(v.strong_multiply(np.array([2.0, 0.0]), p), [2e200, 0])


# ---------------------------------------------------------------------------------------- powers


def test_a_power_with_a_number_asks_for_no_logarithm():
    """x**2 of negative x: the partial in the exponent would be NaN, and warn."""
    x = np.array([-2.0, 0.0, 3.0])
    with np.errstate(all="raise"):
        assert grad(total(lambda x: x**2))(x).tolist() == [-4, 0, 6]
        assert grad(total(lambda x: x**3))(x).tolist() == [12, 0, 27]
        assert grad(grad(lambda x: x**3))(-2.0) == -12
        assert grad(total(grad(total(lambda x: x**3))))(x).tolist() == [-12, 0, 18]


@pytest.mark.parametrize("p", [0, 1, 2, 3])
def test_integer_bases(p):
    x = np.array([-2, 0, 3])
    expected = p * np.array([-2.0, 0, 3]) ** (p - 1) if p else np.zeros(3)
    _, pullback = vjp(lambda x: x**p * 1.0, x)
    (x_bar,) = pullback(np.ones(3))
    assert x_bar.dtype == float
    assert x_bar.tolist() == expected.tolist()


def test_powers_of_negative_numbers_with_a_fraction():
    """Python gives a complex number."""
    y, pullback = vjp(lambda x: x**0.5, -4.0)
    assert np.isclose(y, 2j)
    h = 1e-6
    expected = (((-4.0 + h) ** 0.5 - (-4.0 - h) ** 0.5) / (2 * h) * (-1j)).real
    assert np.isclose(pullback(1j)[0], expected)


def test_exponent_zero_in_an_array():
    x, p = np.array([0.0, 0.0, 2.0, 0.0]), np.array([0.0, 1.0, 0.0, 2.0])
    with np.errstate(all="raise"):
        assert grad(lambda x: np.sum(x**p))(x).tolist() == [0, 1, 0, 0]

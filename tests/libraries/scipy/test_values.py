"""Tracing a ufunc of ``scipy.special`` never changes its value: no dtype, and no last bit."""

from __future__ import annotations

import warnings
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special

from chainrules_compile import compile
from chainrules_tape import grad, hessian, jvp, value_and_grad
from tests.libraries.scipy.values import differences, ufuncs


@pytest.mark.filterwarnings("ignore")
def test_a_sample_of_each_ufunc():
    assert [text for name in ufuncs() for text in differences(name, 1)] == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ufuncs())
def test_each_ufunc(name: str):
    assert differences(name, 60) == []


@pytest.mark.filterwarnings("ignore")  # SciPy cuts numbers that are not whole
@pytest.mark.parametrize(
    "name, xs",
    [
        ("agm", (0.3, -5.0)),
        ("bdtr", (1.2, 0.05, -0.3)),
        ("pdtr", (-0.3, 0.3)),
        ("pdtrc", (-0.3, 2.5)),
        ("nbdtrc", (0.7, 0.3, 0.7)),
        ("nrdtrimn", (0.3, -0.7, 0.05)),
        ("nrdtrisd", (-0.7, 2.5, 5.0)),
    ],
)
def test_no_value_and_no_derivative(name: str, xs: Any):
    f = getattr(scipy.special, name)

    def at(x: Any) -> Any:
        return f(*xs[:-1], x)

    assert np.isnan([value_and_grad(at)(xs[-1]), jvp(at, (xs[-1],), (1.0,))]).all()


@pytest.mark.filterwarnings("ignore")  # SciPy cuts numbers that are not whole
@pytest.mark.parametrize(
    "name, xs",
    [
        ("radian", (5.0, 1.2, -0.3)),
        ("voigt_profile", (-0.7, 5.0, 0.05)),
        ("pdtrik", (0.7, 1.2)),
        ("ncfdtridfd", (1.2, 0.05, 1.2, 2.5)),
        ("nctdtrinc", (3.0, 0.3, 0.5)),
        ("fdtr", (1.2, 0.7, 0.05)),
        ("yn", (-0.7, 0.7)),
    ],
)
def test_the_last_bit(name: str, xs: Any):
    f = getattr(scipy.special, name)
    assert value_and_grad(lambda x: f(*xs[:-1], x))(xs[-1])[0] == f(*xs)


@pytest.mark.parametrize(
    "f, xs",
    [
        (lambda p, q: scipy.special.bdtrik(p, 7.0, q), (0.35, 0.42)),
        (lambda p, q: scipy.special.bdtrin(2.0, p, q), (0.35, 0.42)),
        (lambda p, q: scipy.special.nbdtrik(p, 3.0, q), (0.35, 0.42)),
        (scipy.special.pdtrik, (0.35, 1.7)),
        (lambda p, n: scipy.special.fdtridfd(n, p, 1.3), (0.35, 2.1)),
        (lambda p, n: scipy.special.nctdtrit(4.0, n, p), (0.35, 0.42)),
        (lambda p, n: scipy.special.ncfdtri(3.0, 4.0, n, p), (0.35, 0.42)),
    ],
)
def test_inverses_by_nested_differentiations(f: Any, xs: Any):
    """Each operand has one level, and the mixed derivative the order 2."""
    (x, y), h = xs, 1e-5
    slope = lambda y: grad(f, 0)(x, y)
    truth = (slope(y + h) - slope(y - h)) / (2 * h)
    mixed = grad(slope)(y), grad(lambda x: grad(f, 1)(x, y))(x), jvp(slope, (y,), (1.0,))[1]
    np.testing.assert_allclose(mixed, truth, rtol=1e-5)


def _students_shape(df: float, t: float) -> mpmath.mpf:
    square, sign = mpmath.mpf(t) ** 2, mpmath.sign(t) / 2
    beta = lambda n: mpmath.betainc(n / 2, 0.5, n / (n + square), 1, regularized=True)
    return sign * mpmath.diff(beta, mpmath.mpf(df), h=mpmath.mpf(10) ** -12)


@pytest.mark.parametrize("df", [0.05, 0.7, 3.2, 25.0, 400.0])
def test_students_distribution_near_its_center(df: float):
    """Near 0 the part of the beta function and the rest cancel; at 0 the slope has one in t."""
    f: Any = scipy.special.stdtr
    with mpmath.workdps(40):
        for t in (1e-9, -1e-4, 0.01, 0.2, -0.9, 1.1, -7.0):
            truth = float(_students_shape(df, t))
            np.testing.assert_allclose(grad(f, 0)(df, t), truth, rtol=1e-11 + 1e-14 * df**2)
    for t in (0.0, 1e-9, 0.3):
        slope = lambda df, t=t: grad(f, 1)(df, t)
        truth = (slope(df * 1.001) - slope(df * 0.999)) / (0.002 * df)
        mixed = grad(slope)(df), grad(lambda t: grad(f, 0)(df, t))(t)
        np.testing.assert_allclose(mixed, truth, rtol=1e-5)


def test_lists_and_programs():
    x = np.array([0.5, 1.0, 3.0])

    def f(x: Any) -> Any:
        return np.sum(scipy.special.chdtr([1, 2, 3], x) * scipy.special.agm(x, [2.0]))

    compiled = compile(grad(f))
    np.testing.assert_array_equal(compiled(x), grad(f)(x))
    np.testing.assert_array_equal(compile(f)(2 * x), f(2 * x))
    h = 1e-6
    slopes = [(grad(f)(x + h * e) - grad(f)(x - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(hessian(f)(x), slopes, atol=1e-8)


def test_no_warning_of_words():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jvp(lambda p: scipy.special.nrdtrimn(p, 0.5, 0.3), (0.3,), (1.0,))[1] < 0
        assert grad(lambda s: scipy.special.voigt_profile(0.4, s, 0.1))(0.0) == 0


@pytest.mark.parametrize("place", range(2))
def test_from_central_distributions_on(place: int):
    """At nc = 0 the derivative is that of nc > 0, to any order."""
    f: Any = (
        lambda nc: scipy.special.ncfdtr(5.0, 3.0, nc, 1.0),
        lambda nc: scipy.special.nctdtr(5.0, nc, 1.0),
    )[place]
    h = 1e-4
    ahead = (-3 * f(0.0) + 4 * f(h) - f(2 * h)) / (2 * h)
    assert abs(grad(f)(0.0) - ahead) < 1e-6
    further = (-3 * grad(f)(0.0) + 4 * grad(f)(h) - grad(f)(2 * h)) / (2 * h)
    assert abs(grad(grad(f))(0.0) - further) < 1e-5


def test_sums_that_are_too_long():
    """Refuse no call of SciPy's: a value has no derivative where its series is too long."""
    for nc in (np.inf, 1e13):
        value, slope = value_and_grad(lambda nc: scipy.special.ncfdtr(5.0, 3.0, nc, 1.0))(nc)
        assert np.array_equal(value, scipy.special.ncfdtr(5.0, 3.0, nc, 1.0), equal_nan=True)
        assert np.isnan(slope)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_complex_softmax_is_scipys_to_the_last_bit(name, seed):
    """Shifted by a complex number; by its real part alone, imaginary parts were others by 2πk."""
    import array_api_strict as xp

    from chainrules_py import ops as v

    rng = np.random.default_rng(seed)
    x = (rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4))) * 10.0 ** rng.uniform(-1, 3)
    ours, theirs = getattr(v, name), getattr(scipy.special, name)
    for axis in (None, -1, 0, (0, 1)):
        want = theirs(x, axis=axis)
        assert ours(x, axis=axis).tobytes() == want.tobytes()
        found = np.asarray(ours(xp.asarray(x), axis=axis))  # of the standard's operations
        np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12)

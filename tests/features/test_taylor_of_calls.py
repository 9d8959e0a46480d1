"""Taylor coefficients of every call that was entered, against nested forward mode."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.stats

import chainrules_scipy
from chainrules_py import (
    NotDifferentiableError,
    TracerError,
    frule,
    primitive,
    rrule,
    scalar_rule,
)
from chainrules_tape import jvp
from chainrules_tape.tools import numeric_rule, taylor
from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.point import Point, dense, vector

pytest.importorskip("chainrules_numpy")
NAMES = (*names_with_calls("numpy"), *names_with_calls("scipy"))


def nested(f, start, way, order):
    """Taylor coefficients along a line, by nested forward mode."""

    def derivative(k):
        if k == 0:
            return lambda t: f(*[x + t * d for x, d in zip(start, way, strict=True)])
        lower = derivative(k - 1)
        return lambda t: jvp(lower, (t,), (1.0,))[1]

    return [derivative(k)(0.0) for k in range(order + 1)]


def check(f, start, way, order):
    """Compare the coefficients with those of nested derivatives."""
    found = taylor(lambda xs: f(*xs), tuple(start), tuple(way), order)
    expected = nested(f, start, way, order)
    for k, (have, truth) in enumerate(zip(found, expected, strict=True)):
        want = vector([dense(t, y) for t, y in zip(truth, expected[0], strict=True)])
        scale = np.max(np.abs(want), initial=1.0)
        np.testing.assert_allclose(
            vector(list(have)) * math.factorial(k), want, rtol=1e-6, atol=1e-7 * scale,
            err_msg=f"coefficient {k}",
        )  # fmt: skip


def check_calls(name, number=None):
    """Check the calls of a function that were entered, or the first of them."""
    for call in [*surface_calls(name)][:number]:
        point = Point(call)
        if point.is_smooth:
            check(point, point.xs, point.directions(), 3)


@pytest.mark.parametrize("name", NAMES[::10])
def test_coefficients_of_a_call_are_those_of_nested_derivatives(name):
    check_calls(name, 1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_coefficients_of_all_calls_are_those_of_nested_derivatives(name):
    if name == "chainrules_scipy.linalg.block_diag":  # SciPy writes the blocks to an array
        with pytest.raises(TracerError, match="has a Taylor series, and is written to"):
            check_calls(name)
    else:
        check_calls(name)


# ------------------------------------------------------------------- solutions of equations

ONE = np.eye(2)
KNOTS, HEIGHTS = np.arange(4.0), np.array([-1.0, 0.5, 1.0, 2.0])
MIXED = np.array([[1.0, 0.3], [0.2, 2.0]])
DISTRIBUTIONS = {
    "norm": (), "gamma": (2.3,), "beta": (2.3, 1.7), "t": (4.1,), "weibull_min": (1.9,),
    "gumbel_r": (), "lognorm": (0.6,), "skewnorm": (1.2,),
}  # fmt: skip
SOLVED = {
    "continuous riccati": (
        lambda a: scipy.linalg.solve_continuous_are(ONE * a, ONE, ONE, ONE),
        0.7,
    ),
    "discrete riccati": (lambda a: scipy.linalg.solve_discrete_are(MIXED * a, ONE, ONE, ONE), 0.7),
    "schur": (lambda a: scipy.linalg.schur(MIXED * a + MIXED.T * a * a)[0], 0.7),
}
SOLVED |= {
    f"{name}.{method}": (
        lambda a, name=name, method=method: getattr(getattr(scipy.stats, name), method)(
            a, *DISTRIBUTIONS[name], 0.2 * a, 1.3 + a
        ),
        0.3,
    )
    for name in DISTRIBUTIONS
    for method in ("ppf", "isf")
} | {
    "gamma.median": (lambda a: scipy.stats.gamma.median(a), 2.3),
    "beta.interval": (lambda a: scipy.stats.beta.interval(0.4, a, 2.0)[1], 2.3),
}
AT_ONCE = ("continuous riccati", "discrete riccati", "norm.ppf", "norm.isf")


@pytest.fixture
def installed():
    with chainrules_scipy.install():
        yield


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in AT_ONCE else pytest.mark.slow) for n in SOLVED]
)
def test_solutions_have_all_their_coefficients(name):
    f, x = SOLVED[name]
    check(lambda a: [f(a)], [x], [1.0], 3)


@pytest.mark.parametrize("x", [0.3, -15.0, 20.0, 300.0])
def test_tanh_keeps_its_digits_where_it_rounds_to_1(x):
    rise = 1 / math.cosh(x) ** 2
    found = [float(c) for c in taylor(np.tanh, x, 1.0, 3)[1:]]
    t = math.tanh(x)
    truth = [rise, -t * rise, rise * (3 * t * t - 1) / 3]
    assert found == pytest.approx(truth, rel=1e-12, abs=0.0)


# ------------------------------------------------------------------- infinities and cuts

X, D = np.array([0.9, 0.23, 1.7, 1.13, 0.41]), np.array([0.3, -0.5, 0.7, 0.2, 0.9])
BRANCHES = {
    "max": (np.max, -np.inf), "min": (np.min, np.inf), "exp": (np.exp, -np.inf),
    "tanh": (np.tanh, -np.inf), "arctan": (np.arctan, np.inf),
    "reciprocal": (lambda x: 1 / x, np.inf),
    "logaddexp": (np.logaddexp.reduce, -np.inf), "median": (np.median, np.inf),
    "softmax": (lambda x: np.exp(x - np.max(x)) / np.sum(np.exp(x - np.max(x))), -np.inf),
    "hyperbolic": (lambda x: 1 / np.cosh(x), np.inf), "log": (lambda x: np.exp(np.log(x)), 0.0),
    "root": (lambda x: 1 / np.sqrt(x * x + 1), np.inf), "power": (lambda x: 1 / x**2.5, np.inf),
    "quotient": (lambda x: 1 / (1 + 1 / x), 0.0), "times": (lambda x: np.exp(-3 * x), np.inf),
    "constant": (lambda x: 1 / (X * x), np.inf), "nanmax": (np.nanmax, np.nan),
    "accumulate": (np.maximum.accumulate, -np.inf), "sort": (np.sort, np.inf),
    "maximum": (lambda x: np.maximum(x, 0.1), -np.inf),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", BRANCHES)
def test_what_stands_at_an_infinite_place_is_constant(name):
    g, away = BRANCHES[name]
    f = lambda x: g(np.where(x < 1.2, np.sin(x), away))
    truth = nested(f, [X], [D], 3)
    for k, (have, want) in enumerate(zip(taylor(f, X, D, 3), truth, strict=True)):
        expected = np.where(np.isnan(want), 0.0, want) if k else want
        np.testing.assert_allclose(have * math.factorial(k), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["arccos", "arcsin", "arccosh", "arctanh", "sqrt", "log", "log1p"])
def test_signs_on_a_cut_are_those_of_the_value(name):
    f = getattr(np, name)
    for at in (2.0, -2.0):
        above = taylor(f, complex(at, 0.0), 1.0 + 0.0j, 3)
        check(lambda z: [f(z)], [complex(at, 0.0)], [1.0 + 0.0j], 3)
        for z in (complex(at, -0.0), np.array([complex(at, -0.0)])):
            below = taylor(f, z, np.ones_like(z), 3)
            assert np.array_equal(np.ravel(f(z)), np.ravel(below[0]))
            on_the_cut = np.imag(f(complex(at, 0.0))) != 0
            mirrored = np.conj(above) if on_the_cut else above
            np.testing.assert_allclose(np.ravel(below), mirrored, rtol=1e-12, atol=1e-14)


@pytest.mark.filterwarnings("ignore:the derivative of:UserWarning")
@pytest.mark.parametrize("order", [2, 3])
def test_a_derivative_that_nobody_stated_is_no_coefficient(order):
    wave = primitive(lambda x: np.sin(x))
    numeric_rule(wave)
    with pytest.raises(NotDifferentiableError, match="numeric rule"):
        taylor(lambda x: wave(x), 0.3, 1.0, order)


def _scaled_by(x, form):
    """Multiply by x in a primitive that captures it."""
    scaled = primitive(lambda z: x * z)
    if form == "scalar_rule":
        scalar_rule(scaled, lambda y, z: x)
    elif form == "frule":
        frule.register(scaled)(lambda ts, z: (x * z, x * ts[0]))
    elif form == "rrule":
        rrule.register(scaled)(lambda z: (x * z, lambda c: (x * c,)))
    elif form == "slope alone":
        scaled = primitive(lambda z: 3.0 * z)
        scalar_rule(scaled, lambda y, z: x)
    return scaled(x)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("form", ["scalar_rule", "frule", "rrule", "slope alone"])
def test_a_rule_that_captures_the_variable_of_a_series_is_refused(form, order):
    with pytest.raises(TracerError, match="is no operand of it"):
        taylor(lambda x: _scaled_by(x, form), 3.0, 1.0, order)

"""Distributions of ``scipy.stats``: every one, in the value and all parameters."""

from __future__ import annotations

import copy
import warnings

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from scipy.stats._distr_params import distcont, distdiscrete

import chainrules_scipy
from chainrules_compile import compile
from chainrules_py import ChainRulesError, NotDifferentiableError, TracerError
from chainrules_py.ops import root
from chainrules_scipy import stats
from chainrules_scipy.stats import Distribution, distributions
from chainrules_scipy.stats.formulas import INTEGRATED
from chainrules_tape import grad, hessian, jacobian, jvp
from chainrules_tape.tools import taylor
from tests.libraries.scipy.samples.judge import samples

METHODS = ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")
CONTINUOUS = {name: shapes for name, shapes in distcont if isinstance(name, str)}
DISCRETE = {name: shapes for name, shapes in distdiscrete if isinstance(name, str)}
OFTEN = (
    "norm",
    "gamma",
    "beta",
    "t",
    "lognorm",
    "expon",
    "weibull_min",
    "uniform",
    "cauchy",
    "chi2",
)

REFUSED = {
    "irwinhall": "SciPy makes splines of its shape",
    "ksone": "a sum whose length is the shape",
    "kstwo": "a sum whose length is the shape",
    "landau": "SciPy has tables of it",
    "levy_stable": "SciPy integrates it numerically",
    "ncf": "sums that SciPy has in C alone",
    "nct": "sums that SciPy has in C alone",
    "studentized_range": "SciPy integrates it in C",
    "tukeylambda": "its density has the inverse of the distribution function inside",
}
"""Distributions without a derivative here, and why; what else is refused is an order or count."""
HELD = {
    "gausshyper": (1, 2, 3),  # parameters of the hypergeometric function
    "genhyperbolic": (1,),  # the order of a Bessel function
    "geninvgauss": (1,),
    "ncx2": (1,),
}
"""The shapes that no derivative is taken in."""


def _check(name, shapes, method):
    dist = getattr(scipy.stats, name)
    q = np.array([0.3, 0.6])
    x = q if method in ("ppf", "isf") else dist.ppf(q, *shapes) * 1.3 + 0.2
    given = [x, *(np.full(2, float(s)) for s in shapes), np.full(2, 0.2), np.full(2, 1.3)]
    for k, operand in enumerate(given):
        if k in HELD.get(name, ()) or (name == "kappa4" and k in (1, 2)):
            continue  # of kappa4 SciPy's own values lose their digits where a shape is near 0

        def f(z, of, k=k):
            return of(*[z if i == k else g for i, g in enumerate(given)])

        ours = lambda *a: getattr(distributions, method)(dist, *a)
        theirs = getattr(dist, method)
        value, slope = jvp(lambda z, f=f, ours=ours: f(z, ours), (operand,), (np.ones(2),))
        digits = 1e-7 if name == "kstwobign" else 1e-11  # so many has SciPy's density of it
        np.testing.assert_allclose(value, f(operand, theirs), rtol=digits)
        h = 1e-5 * np.maximum(abs(operand), 1e-2)
        far, near = (f(operand + s * h, theirs) - f(operand - s * h, theirs) for s in (2, 1))
        truth = (8 * near - far) / (12 * h)
        assert np.allclose(slope, truth, rtol=1e-4, atol=1e-6), (name, method, k, slope, truth)


@pytest.mark.parametrize("name", OFTEN)
def test_often(name):
    for method in METHODS:
        _check(name, CONTINUOUS[name], method)


@pytest.mark.parametrize("name", sorted(set(CONTINUOUS) - set(REFUSED)))
def test_density_and_distribution(name):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for method in ("logpdf", "cdf"):
            _check(name, CONTINUOUS[name], method)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", sorted(set(CONTINUOUS) - set(REFUSED)))
def test_every_method(name, method):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        _check(name, CONTINUOUS[name], method)


@pytest.mark.parametrize("name", sorted(INTEGRATED))
def test_several_shapes_at_one_place(name):
    """Where the density is integrated as well: an array, a list, and none at all."""
    dist, ours = getattr(scipy.stats, name), Distribution(getattr(scipy.stats, name))
    shapes = CONTINUOUS[name]
    x = float(dist.ppf(0.35, *shapes))
    last = np.array([shapes[-1], shapes[-1] * 1.01])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for method in ("cdf", "logsf"):
            whole = jacobian(lambda s, m=method: getattr(ours, m)(x, *shapes[:-1], s))(last)
            each = [
                grad(lambda s, m=method: getattr(ours, m)(x, *shapes[:-1], s))(float(s))
                for s in last
            ]
            np.testing.assert_allclose(whole, np.diag(each), rtol=1e-9)
        listed = grad(lambda z: np.sum(ours.cdf(x, *shapes[:-1], last.tolist(), scale=z)))(1.0)
        apart = grad(lambda z: np.sum(ours.cdf(x, *shapes[:-1], last, scale=z)))(1.0)
        assert listed == apart
        assert grad(lambda z: np.sum(ours.cdf(x, *shapes, scale=z)))(np.zeros(0)).shape == (0,)


def _places(dist, shapes):
    """Return the middle, the tails, the ends and what is beside them."""
    low, high = dist.support(*shapes)
    q = dist.ppf([1e-6, 0.3, 0.9, 1 - 1e-6], *shapes)
    w = q[2] - q[1]
    x = np.array(
        [*q, 0.0, low, high, q[1] - 50 * w, q[1] + 50 * w, low + 1e-9 * w, high - 1e-9 * w]
    )
    return np.unique(x[np.isfinite(x)]), (low, high)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [
        name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow)
        for name in sorted(set(CONTINUOUS) - {*REFUSED, "norminvgauss"})  # SciPy's ppf of it fails
    ],
)
def test_values_in_the_tails_and_at_the_ends(name):
    """Values are SciPy's there as well, and slopes are numbers wherever the density is smooth."""
    dist, ours, shapes = getattr(scipy.stats, name), getattr(stats, name), CONTINUOUS[name]
    x, ends = _places(dist, shapes)
    for method in METHODS:
        at = np.array([1e-12, 0.3, 0.999]) if method in ("ppf", "isf") else x
        known = getattr(dist, method)(at, *shapes)
        try:
            f = lambda z, m=method: getattr(ours, m)(z, *shapes)
            value, slope = jvp(f, (at,), (np.ones_like(at),))
        except NotDifferentiableError:  # the density is infinite, or underflows
            assert method in ("ppf", "isf")
            continue
        np.testing.assert_allclose(value, known, rtol=1e-7, err_msg=method)
        assert not np.isnan(slope[np.isfinite(known) & ~np.isin(at, ends)]).any(), method


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name, method, shapes",
    [
        ("betaprime", "pdf", (1.0, 2.0)),
        ("powerlaw", "logpdf", (0.5,)),
        ("ncx2", "pdf", (2.0, 1.0)),
        ("invgamma", "logpdf", (2.0,)),
        ("wald", "logpdf", ()),
        ("genhalflogistic", "pdf", (0.5,)),
    ],
)
def test_ends_that_scipy_leaves_out(name, method, shapes):
    end = 2.0 if name == "genhalflogistic" else 0.0
    known = getattr(getattr(scipy.stats, name), method)(end, *shapes)
    value, _ = jvp(lambda x: getattr(getattr(stats, name), method)(x, *shapes), (end,), (1.0,))
    assert value == known


def _at_800(x):
    return np.log(0.5 * stats.laplace.pdf(x) + 0.5 * stats.cauchy.pdf(x))


def _inverse_gaussian(x, mu):
    root = mpmath.sqrt(x)
    upper = mpmath.ncdf((1 - x / mu) / root)
    return mpmath.log(upper - mpmath.exp(2 / mu) * mpmath.ncdf(-(1 + x / mu) / root))


def _skewed(x):
    owen = lambda t: mpmath.exp(-x * x * (1 + t * t) / 2) / (1 + t * t)
    return mpmath.log(mpmath.ncdf(x) - mpmath.quad(owen, [0, 1, 4]) / mpmath.pi)


LOG = mpmath.log
FAR = {
    "genlogistic.logpdf": (
        lambda x: stats.genlogistic.logpdf(x, 2.0),
        lambda x: LOG(2) - x - 3 * LOG(1 + mpmath.exp(-x)),
        0.0,
    ),
    "gennorm.logpdf": (
        lambda x: stats.gennorm.logpdf(x, 2.0),
        lambda x: -x * x - LOG(mpmath.pi) / 2,
        0.0,
    ),
    "wrapcauchy.cdf": (
        lambda x: stats.wrapcauchy.cdf(x, 0.3),
        lambda x: mpmath.quad(
            lambda t: mpmath.mpf(0.91) / (1.09 - 0.6 * mpmath.cos(t)) / (2 * mpmath.pi), [0, x]
        ),
        np.pi,
    ),
    "weibull_min.logsf": (
        lambda s: stats.weibull_min.logsf(40.0, 2.0, scale=s),
        lambda s: -((40 / s) ** 2),
        1.0,
    ),
    "invgauss.logsf": (
        lambda mu: stats.invgauss.logsf(900.0, mu),
        lambda mu: _inverse_gaussian(900, mu),
        0.7,
    ),
    "geom.logsf": (lambda p: stats.geom.logsf(41, p), lambda p: 41 * LOG(1 - p), 1 - 1e-9),
    "planck.logsf": (lambda a: stats.planck.logsf(40, a), lambda a: -41 * a, 20.0),
    "nbinom.logcdf": (
        lambda p: stats.nbinom.logcdf(40, 2, p),
        lambda p: LOG(1 - (1 - p) ** 41 * (1 + 41 * p)),
        0.9,
    ),
    "expon.logcdf": (stats.expon.logcdf, lambda x: LOG(1 - mpmath.exp(-x)), 168.0),
    "genpareto.logsf": (
        lambda x: stats.genpareto.logsf(x, 0.1),
        lambda x: -LOG(1 + mpmath.mpf(0.1) * x) / 0.1,
        1000.0,
    ),
    "genlogistic.logsf": (
        lambda c: stats.genlogistic.logsf(36.0, c),
        lambda c: LOG(1 - (1 + mpmath.exp(-36)) ** -c),
        0.41,
    ),
    "genpareto.isf": (
        lambda c: stats.genpareto.isf(1e-50, c),
        lambda c: (mpmath.mpf(1e-50) ** -c - 1) / c,
        0.1,
    ),
    "kappa3.logsf": (
        lambda a: stats.kappa3.logsf(1e14, a),
        lambda a: LOG(1 - (1 + a * mpmath.mpf(1e14) ** -a) ** (-1 / a)),
        1.2,
    ),
    "exponweib.logsf": (
        lambda a: stats.exponweib.logsf(8.0, a, 1.9),
        lambda a: LOG(1 - (1 - mpmath.exp(-(mpmath.mpf(8) ** 1.9))) ** a),
        2.9,
    ),
    "pearson3.cdf": (
        lambda s: stats.pearson3.cdf(0.5, s),
        lambda s: mpmath.gammainc(4 / s**2, 0, 4 / s**2 + 1 / s, regularized=True),
        0.01,
    ),
    "pearson3.logpdf": (
        lambda s: stats.pearson3.logpdf(0.5, s),
        lambda s: (
            (LOG(2 / s) + (4 / s**2 - 1) * LOG(4 / s**2 + 1 / s) - (4 / s**2 + 1 / s))
            - mpmath.loggamma(4 / s**2)
        ),
        0.001,
    ),
    "bradford.cdf": (
        lambda c: stats.bradford.cdf(0.3, c),
        lambda c: mpmath.log1p(c * mpmath.mpf(0.3)) / mpmath.log1p(c),
        1e-10,
    ),
    "bradford.logpdf": (
        lambda c: stats.bradford.logpdf(0.3, c),
        lambda c: LOG(c / mpmath.log1p(c)) - mpmath.log1p(c * mpmath.mpf(0.3)),
        1e-10,
    ),
    "truncpareto.cdf": (
        lambda b: stats.truncpareto.cdf(1.5, b, 3.0),
        lambda b: (1 - mpmath.mpf(1.5) ** -b) / (1 - mpmath.mpf(3) ** -b),
        1e-8,
    ),
    "truncpareto.logpdf": (
        lambda b: stats.truncpareto.logpdf(1.5, b, 3.0),
        lambda b: LOG(b / (1 - mpmath.mpf(3) ** -b)) - (b + 1) * LOG(1.5),
        1e-10,
    ),
    "semicircular.cdf": (
        stats.semicircular.cdf,
        lambda x: (x * mpmath.sqrt(1 - x * x) + mpmath.asin(x)) / mpmath.pi + 0.5,
        1 - 1e-8,
    ),
    "loggamma.cdf": (
        lambda c: stats.loggamma.cdf(-744.4, c),
        lambda c: mpmath.gammainc(c, 0, mpmath.exp(-744.4), regularized=True),
        0.001,
    ),
    "skewnorm.logcdf": (lambda x: stats.skewnorm.logcdf(x, 4.0), _skewed, -2.3),
    "hypsecant.logpdf": (
        lambda s: stats.hypsecant.logpdf(400.0, scale=s),
        lambda s: -LOG(s * mpmath.pi * mpmath.cosh(400 / s)),
        1.0,
    ),
    "laplace.logpdf": (
        lambda s: stats.laplace.logpdf(400.0, scale=s),
        lambda s: -400 / s - LOG(2 * s),
        1.0,
    ),
    "rice.logpdf": (
        lambda x: stats.rice.logpdf(x, 1.0),
        lambda x: LOG(x * mpmath.besseli(0, x)) - (x * x + 1) / 2,
        28.0,
    ),
    "halfnorm.logsf": (
        stats.halfnorm.logsf,
        lambda x: LOG(mpmath.erfc(x / mpmath.sqrt(2))),
        27.0,
    ),
    "gamma.logcdf": (
        lambda x: stats.gamma.logcdf(x, 2.5),
        lambda x: LOG(mpmath.gammainc(2.5, 0, x, regularized=True)),
        1e-70,
    ),
    "poisson.logsf": (
        lambda m: stats.poisson.logsf(70, m),
        lambda m: LOG(mpmath.gammainc(71, 0, m, regularized=True)),
        0.01,
    ),
    "laplace_asymmetric.logsf": (
        lambda k: stats.laplace_asymmetric.logsf(356.0, k),
        lambda k: -356 * k - LOG(1 + k * k),
        2.0,
    ),
    "laplace_asymmetric.logcdf": (
        lambda x: stats.laplace_asymmetric.logcdf(x, 2.0),
        lambda x: LOG(1 - mpmath.exp(-2 * x) / 5),
        0.3,
    ),
    "a mixture": (
        _at_800,
        lambda x: LOG(mpmath.exp(-x) / 4 + 1 / (2 * mpmath.pi * (1 + x * x))),
        800.0,
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FAR)
def test_derivatives_far_out_and_where_a_formula_has_a_kink(name):
    f, exact, at = FAR[name]
    with mpmath.workdps(80):
        known = [float(mpmath.diff(exact, mpmath.mpf(at), n)) for n in (0, 1, 2, 2)]
    found = f(at), grad(f)(at), grad(grad(f))(at), jvp(grad(f), (at,), (1.0,))[1]
    cancels = {"wrapcauchy.cdf": 1e-12, "kappa3.logsf": 1e-12}  # of the second derivative
    np.testing.assert_allclose(found, known, rtol=1e-6, atol=cancels.get(name, 0.0))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["pdf", "cdf", "sf", "pmf"])
@pytest.mark.parametrize(
    "name, x, shapes",
    [
        *[("gumbel_r", -900.0, ()), ("gumbel_l", 900.0, ()), ("hypsecant", 900.0, ())],
        *[("moyal", -4e3, ()), ("loggamma", 900.0, (2.0,)), ("gompertz", 900.0, (1.0,))],
        *[("exponpow", 900.0, (2.0,)), ("rice", 900.0, (1.0,)), ("laplace", 900.0, ())],
        *[("pearson3", 7.0, (-2.0,)), ("pearson3", -7.0, (0.7,)), ("pearson3", 7.0, (-0.5,))],
        *[("planck", 40, (20.0,)), ("logser", 100, (1e-6,)), ("dlaplace", 2000, (1.0,))],
    ],
)
def test_what_underflows_is_constant(name, x, shapes, method):
    native, ours = getattr(scipy.stats, name), getattr(stats, name)
    if not hasattr(native, method):
        return
    if hasattr(native, "pmf"):
        f, at = (lambda s: getattr(ours, method)(x, s)), shapes[0]
    else:
        f, at = (lambda x: getattr(ours, method)(x, *shapes)), x
    value, slope = jvp(f, (at,), (1.0,))
    assert value == getattr(native, method)(x, *shapes)
    assert slope == 0


@pytest.mark.parametrize(
    "name, shapes",
    [
        *[("gennorm", (1.5,)), ("truncexpon", (4.7,)), ("trapezoid", (0.2, 0.8))],
        *[("jf_skew_t", (8.0, 4.0)), ("fisk", (5.1,))],
    ],
)
def test_moments_that_scipy_computes_number_by_number(name, shapes):
    native, h = getattr(scipy.stats, name), 1e-3
    for k, way in enumerate(np.eye(len(shapes))):
        value, slope = jvp(
            lambda *s: np.stack(getattr(stats, name).stats(*s, moments="mv")), shapes, tuple(way)
        )
        at = lambda t, way=way: np.array(native.stats(*(shapes + t * h * way), moments="mv"))
        np.testing.assert_allclose(value, at(0), rtol=1e-9, err_msg=str(k))
        truth = (at(-2) - 8 * at(-1) + 8 * at(1) - at(2)) / (12 * h)
        np.testing.assert_allclose(slope, truth, rtol=1e-6, atol=1e-9)
    with pytest.raises(NotDifferentiableError, match="crystalball of plain numbers"):
        grad(lambda b: stats.crystalball.mean(b, 3.0))(2.0)


def test_conditions_that_leave_a_shape_out():
    """Of an array u SciPy gives one element: another value, or an error."""
    dist = Distribution(scipy.stats.dpareto_lognorm)
    f = lambda x: grad(lambda u: np.sum(dist.logpdf(x, u, 1.0, 2.0, 1.5)))(np.array([0.1, 0.2]))
    with pytest.raises(NotDifferentiableError, match="one element"):
        f(0.5)
    assert f(np.array([0.5, 0.5])).shape == (2,)


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    dist, shapes = getattr(scipy.stats, name), CONTINUOUS[name]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        x = dist.ppf(0.4, *shapes)
        with pytest.raises(ChainRulesError):
            grad(lambda z: distributions.logpdf(dist, z, *shapes))(x)


@pytest.mark.parametrize(
    "name", ["binom", "poisson", "nbinom", "geom", "bernoulli", "logser", "zipf"]
)
def test_discrete(name):
    dist, shapes = getattr(scipy.stats, name), DISCRETE[name]
    k = dist.ppf([0.3, 0.6], *shapes)
    for i, shape in enumerate(shapes):
        if float(shape).is_integer():
            continue
        f = lambda z, of, i=i: of(k, *[z if j == i else s for j, s in enumerate(shapes)])
        for method in ("logpmf", "pmf"):
            ours = lambda *a, m=method: getattr(distributions, m)(dist, *a)
            z, h = np.full(2, shape), 1e-5
            value, slope = jvp(lambda z, f=f, ours=ours: f(z, ours), (z,), (np.ones(2),))
            theirs = getattr(dist, method)
            np.testing.assert_allclose(value, f(z, theirs), rtol=1e-11)
            truth = (f(z + h, theirs) - f(z - h, theirs)) / (2 * h)
            np.testing.assert_allclose(slope, truth, rtol=1e-6, atol=1e-8)


def test_outside_of_the_support():
    f = lambda p: distributions.logpdf(
        scipy.stats.gamma, np.array([-1.0, 0.5, np.nan]), p, scale=2.0
    )
    value, slope = jvp(f, (2.5,), (1.0,))
    np.testing.assert_array_equal(value, f(2.5))
    assert value[0] == -np.inf
    assert np.isnan(value[2])
    assert slope[0] == 0
    assert np.isfinite(slope[1])


def check_beside(name, methods):
    """Compare what is beside a NaN or an infinity with what it is alone.

    Of norminvgauss SciPy's own sf gives the first element in the place of all others there.
    """
    dist, shapes = getattr(scipy.stats, name), CONTINUOUS[name]
    x = dist.ppf(np.array([0.2, 0.4, 0.6, 0.8]), *shapes)
    for method in methods:
        ours = lambda z, method=method: getattr(distributions, method)(dist, z, *shapes)
        alone = jvp(ours, (x,), (np.ones(4),))
        for bad in (np.nan, np.inf, -np.inf):
            for at, shape in ((1, (4,)), (2, (2, 2)), (3, (4, 1))):
                moved = np.where(np.arange(4) == at, bad, x)
                given = moved.reshape(shape)
                for f in (lambda z: jvp(ours, (z,), (np.ones_like(z),)), compile(ours)):  # noqa: B023
                    found = f(given)
                    value, slope = found if isinstance(found, tuple) else (found, None)
                    want = getattr(dist, method)(given, *shapes)
                    both = value.reshape(-1), want.reshape(-1)
                    rest = [np.delete(y, at) for y in both]  # at infinity SciPy's are no limits
                    np.testing.assert_allclose(*rest, rtol=1e-7, atol=1e-300)
                    assert not np.isnan(bad) or np.isnan([y[at] for y in both]).all()
                    if slope is not None:
                        rest = np.delete(slope.reshape(-1), at)
                        np.testing.assert_array_equal(rest, np.delete(alone[1], at))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OFTEN)
def test_beside_what_is_not_finite(name):
    check_beside(name, ("logpdf", "cdf"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(set(CONTINUOUS) - {*REFUSED, "norminvgauss"}))
def test_beside_what_is_not_finite_by_every_method(name):
    check_beside(name, METHODS[:6])


def test_orders():
    q = lambda a: distributions.ppf(scipy.stats.gamma, 0.3, a)
    h = 0.02
    p = [scipy.stats.gamma.ppf(0.3, 2 + k * h) for k in (-2, -1, 0, 1, 2)]
    fourth = (p[0] - 4 * p[1] + 6 * p[2] - 4 * p[3] + p[4]) / h**4
    assert abs(hessian(hessian(q))(2.0) - fourth) < 1e-3 * abs(fourth)


@pytest.mark.parametrize("method", ["ppf", "isf"])
@pytest.mark.parametrize("name", ["gamma", "t", "beta", "genpareto", "skewnorm", "truncnorm"])
def test_quantiles_by_nested_differentiations(name, method):
    """Each operand has one level, and the mixed derivative the order 2."""
    dist, shapes = getattr(scipy.stats, name), CONTINUOUS[name]
    f = lambda q, scale, *s: getattr(distributions, method)(dist, q, *s, 0.1, scale)
    xs, h = (0.35, 1.4, *shapes), 1e-5
    for i in range(1, len(xs)):
        slope = lambda y, i=i: grad(f, 0)(*xs[:i], y, *xs[i + 1 :])
        other = lambda q, i=i: grad(f, i)(q, *xs[1:])
        truth = (slope(xs[i] + h) - slope(xs[i] - h)) / (2 * h)
        mixed = grad(slope)(xs[i]), grad(other)(0.35), jvp(slope, (xs[i],), (1.0,))[1]
        np.testing.assert_allclose(mixed, truth, rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method, q", [("ppf", 0.0), ("ppf", 1.0), ("isf", 1.0), ("ppf", 1e-20)])
@pytest.mark.parametrize(
    "name, shapes",
    [
        *[("truncnorm", (-1.1, 2.0)), ("anglit", ()), ("kappa3", (1.0,)), ("gamma", (2.0,))],
        *[("halfgennorm", (0.67,)), ("kappa4", (0.5, 0.7)), ("kappa4", (-0.5, -0.7))],
    ],
)
def test_quantiles_at_the_ends_of_the_support(name, shapes, method, q):
    native, ours = (getattr(getattr(of, name), method) for of in (scipy.stats, stats))
    xs, h = (*shapes, 0.3, 1.4), 1e-6
    if not np.isfinite(native(q, *xs)) or (q == 1e-20 and name != "truncnorm"):
        return
    for i, way in enumerate(np.eye(len(xs))):
        truth = (native(q, *(xs + h * way)) - native(q, *(xs - h * way))) / (2 * h)
        pushed = jvp(lambda *xs: ours(q, *xs), xs, tuple(way))[1]
        np.testing.assert_allclose([grad(ours, i + 1)(q, *xs), pushed], truth, rtol=1e-7, atol=1e-9)


def test_quantiles_at_an_end_in_the_probability():
    """Of the first order by the density, of the second one by differences of the first."""
    f, h = lambda q, a, s: stats.truncnorm.ppf(q, a, 2.0, 0.3, s), 1e-5
    slope = lambda a, s: 1 / scipy.stats.truncnorm.pdf(a, a, 2.0) * s
    np.testing.assert_allclose(grad(f)(0.0, -1.1, 1.4), slope(-1.1, 1.4), rtol=1e-12)
    truth = (slope(-1.1 + h, 1.4) - slope(-1.1 - h, 1.4)) / (2 * h)
    assert grad(lambda a: grad(f)(0.0, a, 1.4))(-1.1) == pytest.approx(truth, rel=1e-7)
    bend = (grad(f)(2 * h, -1.1, 1.4) - grad(f)(0.0, -1.1, 1.4)) / (2 * h)
    assert grad(grad(f))(h, -1.1, 1.4) == pytest.approx(bend, rel=1e-5)
    assert grad(grad(f))(0.0, -1.1, 1.4) == pytest.approx(bend, rel=1e-3)


@pytest.mark.parametrize(
    "name, shapes",
    [
        *[("gamma", (2.0,)), ("rice", (0.77,)), ("triang", (0.16,)), ("exponweib", (2.9, 1.9))],
        *[("ncx2", (21.0, 1.06)), ("loglaplace", (3.25,)), ("arcsine", ()), ("rayleigh", ())],
    ],
)
def test_logarithms_of_densities_at_an_end(name, shapes):
    """In both modes what they are beside it: infinite in the place, in all else differences."""
    native, ours = getattr(scipy.stats, name), getattr(stats, name)
    xs, h = (*shapes, 0.0, 1.4), 1e-6
    f = lambda *xs: ours.logpdf(0.0, *xs)
    for i in (*range(len(shapes)), len(shapes) + 1):
        way = np.eye(len(xs))[i]
        beside = lambda t, way=way: native.logpdf(1e-30, *(xs + t * way))
        truth = (beside(h) - beside(-h)) / (2 * h)
        found = grad(f, i)(*xs), jvp(f, xs, tuple(way))[1]
        if np.isfinite(found[0]):
            np.testing.assert_allclose(found, truth, rtol=1e-6)
        else:  # the logarithm of the place itself
            assert found[0] == found[1] == -np.inf
            assert truth < -30
    up = -np.inf if name == "arcsine" else np.inf
    g = lambda x: ours.logpdf(x, *shapes)
    assert grad(g)(0.0) == jvp(g, (0.0,), (1.0,))[1] == up


@pytest.mark.filterwarnings("ignore")  # of a result that depends on nothing
@pytest.mark.parametrize(
    "f, slope",
    [
        (lambda p: stats.binom.logsf(5, 5, p), 0.0),
        (lambda p: stats.poisson.logcdf(-1, p), 0.0),
        (lambda b: stats.johnsonsb.logpdf(0.0, 4.3, b), 0.0),
        (lambda b: stats.johnsonsb.logpdf(1.0, 4.3, b), 0.0),
        (lambda a: stats.invgamma.logpdf(0.0, a), 0.0),
        (lambda s: stats.rayleigh.logpdf(0.0, scale=s), -2 / 0.3),
        (lambda m: stats.truncnorm.ppf(0.0, -1.0, 2.0, m), 1.0),
    ],
)
def test_ends_raise_no_floating_point_error(f, slope):
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        assert grad(f)(0.3) == jvp(f, (0.3,), (1.0,))[1] == pytest.approx(slope)


def test_counts_in_lists():
    """SciPy takes lists for k, and so do sums of probabilities."""
    for method in ("pmf", "logpmf", "cdf", "sf", "logcdf", "logsf"):
        f = getattr(stats.poisson, method)
        for k in ([0, 2], (0, 2), [[0], [2]]):
            given = np.array(k)
            value, slope = jvp(lambda mu, k=k, f=f: f(k, mu), (2.3,), (1.0,))
            np.testing.assert_array_equal(value, f(given, 2.3))
            np.testing.assert_array_equal(slope, jvp(lambda mu: f(given, mu), (2.3,), (1.0,))[1])  # noqa: B023


@pytest.mark.filterwarnings("ignore")  # SciPy's own
@pytest.mark.parametrize("method", ["pmf", "logpmf"])
@pytest.mark.parametrize("name, p", [("geom", 0.5), ("dlaplace", 0.8), ("zipf", 2.5)])
def test_probabilities_are_constant_at_infinity(name, p, method):
    f = lambda p: getattr(getattr(stats, name), method)(np.inf, p)
    known = getattr(getattr(scipy.stats, name), method)(np.inf, p)
    assert jvp(f, (p,), (1.0,)) == (known, 0.0)
    assert grad(f)(p) == 0.0


@pytest.mark.parametrize("method", ["cdf", "sf"])
@pytest.mark.parametrize("name", ["poisson", "skellam"])
def test_sums_are_constant_at_infinity(name, method):
    k, rest = np.array([-np.inf, 3.0, np.inf, np.nan]), DISCRETE[name][1:]
    f = lambda k: lambda m: getattr(getattr(stats, name), method)(k, m, *rest)
    value, slope = jvp(f(k), (2.3,), (1.0,))
    np.testing.assert_array_equal(value, getattr(getattr(scipy.stats, name), method)(k, 2.3, *rest))
    np.testing.assert_array_equal(slope, [0.0, jvp(f(3.0), (2.3,), (1.0,))[1], 0.0, 0.0])


@pytest.mark.parametrize(
    "name, shapes",
    [
        *[("t", [3.0, 4.0]), ("triang", [0.3, 0.4])],
        *[("invgauss", [0.25, 3.0]), ("gompertz", [0.3, 8.0])],
    ],
)
def test_entropies_of_several_shapes(name, shapes):
    native, shapes = getattr(scipy.stats, name), np.array(shapes)
    value, slope = jvp(getattr(stats, name).entropy, (shapes,), (np.ones(2),))
    assert value.shape == (2,)
    np.testing.assert_allclose(value, native.entropy(shapes), rtol=1e-12)
    truth = (native.entropy(shapes + 1e-5) - native.entropy(shapes - 1e-5)) / 2e-5
    np.testing.assert_allclose(slope, truth, rtol=1e-8, atol=1e-12)
    known = scipy.stats.hypergeom.entropy([20, 22], 5, 4)
    np.testing.assert_allclose(stats.hypergeom.entropy([20, 22], 5, 4), known, rtol=1e-12)


@pytest.mark.parametrize(
    "statistic",
    [
        lambda x: scipy.stats.bws_test(x, [2.5, 3.5, 7.0]).statistic,
        lambda x: scipy.stats.page_trend_test(np.reshape(x, (2, 3))).statistic,
    ],
)
def test_statistics_of_ranks_are_constant(statistic):
    x = np.arange(6.0)
    with chainrules_scipy.install():
        slope = grad(lambda x: statistic(x) * x[0])(x)
    np.testing.assert_array_equal(slope, [statistic(x), *[0.0] * 5])


def test_names():
    from chainrules_scipy.stats import gamma, norm

    assert isinstance(norm, Distribution)
    assert norm.mean(3.0) == 3.0
    assert gamma(2.0, scale=3.0).mean() == 6.0
    assert grad(lambda s: norm.logpdf(1.0, 0.0, s))(2.0) == -0.375
    assert grad(lambda s: gamma(2.5, scale=s).logpdf(1.0))(2.0) == pytest.approx(-1.0)


def _regular(k, m):
    return mpmath.gammainc(k + 1, 0, m, regularized=True)


def _of_many(k, n, p):
    each = lambda j: mpmath.binomial(n, j) * p**j * (1 - p) ** (n - j)
    return mpmath.fsum([each(j) for j in range(k + 1, n + 1)])


TAILS = {
    "poisson.logsf": (stats.poisson.logsf, lambda k, m: mpmath.log(_regular(k, m)), (10,), 0.1),
    "poisson.sf": (stats.poisson.sf, _regular, (3,), 1e-6),
    "poisson.sf, most": (stats.poisson.sf, _regular, (3,), 9.0),
    "poisson.cdf, all": (stats.poisson.cdf, lambda k, m: 1 - _regular(k, m), (3,), 1e-9),
    "poisson.cdf, little": (stats.poisson.cdf, lambda k, m: 1 - _regular(k, m), (3,), 60.0),
    "binom.sf": (stats.binom.sf, _of_many, (20, 40), 0.05),
    "binom.logsf": (stats.binom.logsf, lambda *x: mpmath.log(_of_many(*x)), (3, 10), 1e-5),
    "binom.cdf": (stats.binom.cdf, lambda *x: 1 - _of_many(*x), (3, 10), 1e-5),
    "geom.sf": (stats.geom.sf, lambda k, p: (1 - p) ** k, (50,), 0.9),
    "geom.sf, far": (stats.geom.sf, lambda k, p: (1 - p) ** k, (50,), 1e-3),
}


@pytest.mark.parametrize("name", TAILS)
def test_tails_of_counts_have_all_digits(name):
    f, exact, before, p = TAILS[name]
    of = lambda p: f(*before, p)
    with mpmath.workdps(200):
        first = float(mpmath.diff(lambda p: exact(*before, p), mpmath.mpf(p)))
        second = float(mpmath.diff(lambda p: exact(*before, p), mpmath.mpf(p), 2))
    assert grad(of)(p) == pytest.approx(first, rel=1e-9, abs=0.0)
    assert jvp(of, (p,), (1.0,))[1] == pytest.approx(first, rel=1e-9, abs=0.0)
    assert grad(grad(of))(p) == pytest.approx(second, rel=1e-7, abs=0.0)


@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf"])
def test_sums_on_both_sides_at_once_and_of_long_tails(method):
    for of, shape, k in (
        (stats.poisson, 9.0, [0, 3, 9, 12, 40]),
        (stats.zipf, 2.5, [1, 3, 7]),
        (stats.logser, 0.5, [1, 10, 1000][: None if "log" not in method else 2]),
    ):
        f = lambda p, of=of, k=k: np.sum(getattr(of, method)(np.array(k), p))
        truth = (f(shape + 1e-5) - f(shape - 1e-5)) / 2e-5
        assert grad(f)(shape) == pytest.approx(truth, rel=1e-6)
        assert jvp(f, (shape,), (1.0,))[1] == pytest.approx(truth, rel=1e-6)


def _between(x, a, b):
    upper = a > 0
    low, high, at = (-b, -a, -x) if upper else (a, b, x)
    part = (mpmath.ncdf(at) - mpmath.ncdf(low)) / (mpmath.ncdf(high) - mpmath.ncdf(low))
    return 1 - part if upper else part


CUT = [
    *[(40.1, 40.0, 41.0), (38.0, 37.9, 39.0), (-40.1, -41.0, -40.0), (0.3, -1.0, 2.0)],
    *[(1.5, 1.0, 2.0), (-1.5, -2.0, -1.0), (-3.0, -np.inf, 0.0), (2.0, 1.0, np.inf)],
]


@pytest.mark.parametrize("at", CUT)
@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf"])
@pytest.mark.filterwarnings("error")
def test_a_normal_distribution_that_is_cut_far_out(method, at):
    below = {"cdf": lambda y: y, "sf": lambda y: 1 - y}
    below |= {f"log{name}": lambda y, f=f: mpmath.log(f(y)) for name, f in [*below.items()]}
    ours, known = getattr(stats.truncnorm, method), getattr(scipy.stats.truncnorm, method)
    assert ours(*at) == pytest.approx(known(*at), rel=1e-12, abs=0.0)
    places = [i for i in range(3) if np.isfinite(at[i])]
    exact = lambda *xs: below[method](_between(*map(mpmath.mpf, xs)))
    with mpmath.workdps(400 if abs(at[0]) > 30 else 60):
        truth = [float(mpmath.diff(exact, at, tuple(map(int, e)))) for e in np.eye(3)[places]]
    np.testing.assert_allclose(grad(ours, tuple(places))(*at), truth, rtol=1e-9)


SECOND = {
    "dgamma": (-0.889, 1.7),
    "norminvgauss": (0.108, 1.3, 0.4),
    "genhyperbolic": (0.3, 0.5, 1.5, 0.4),
    "geninvgauss": (1.2, 0.7, 1.3),
    "vonmises": (0.4, 1.3),
    "dpareto_lognorm": (1.2, 0.3, 0.8, 2.0, 1.5),
}


@pytest.mark.parametrize(
    "name",
    [
        name if k < 2 else pytest.param(name, marks=pytest.mark.slow)
        for k, name in enumerate(SECOND)
    ],
)
def test_second_derivatives_in_every_nesting(name):
    cdf, q, h = getattr(stats, name).cdf, np.array(SECOND[name]), 1e-4

    def f(q):
        return cdf(*q)

    ways = np.eye(len(q))
    truth = [(grad(f)(q + h * e) - grad(f)(q - h * e)) / (2 * h) for e in ways]
    again = [grad(lambda q, e=e: grad(f)(q) @ e)(q) for e in ways]
    pushed = [jvp(grad(f), (q,), (e,))[1] for e in ways]
    along = [grad(lambda q, e=e: jvp(f, (q,), (e,))[1])(q) for e in ways]
    for found in (again, pushed, along):
        np.testing.assert_allclose(found, truth, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("form", [list, tuple, range])
@pytest.mark.parametrize("method", ["logpmf", "pmf"])
def test_counts_in_any_form(form, method):
    counts = range(1, 4) if form is range else form([1, 3])
    f = lambda mu, k: np.sum(np.exp(0.3 * getattr(ours, method)(k, mu)))
    with chainrules_scipy.install():
        ours = scipy.stats.poisson
        assert grad(f)(2.3, counts) == grad(f)(2.3, np.array(counts))


@pytest.mark.parametrize("name", ["tmean", "tvar", "tstd", "tsem"])
def test_what_is_trimmed_gives_nothing(name):
    x = np.array([0.9, 0.23, 1.7, 1.13, 0.41])
    with chainrules_scipy.install():
        f = lambda x: getattr(scipy.stats, name)(x, (0.3, 1.5))
        found = [jacobian(f, mode=mode)(x) for mode in ("forward", "reverse")]
        steps = 1e-6 * np.eye(5)
        truth = [(f(x + step) - f(x - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(found, [truth] * 2, rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["invwishart", *stats.multivariate_and_sample_statistics.OF])
def test_several_variables(name):
    """By our name, where nothing is installed, as under SciPy's where it is."""
    checked = 0
    for sample in samples()[f"stats.{name}"]:
        ways = tuple(np.ones_like(x) for x in sample.operands)
        with chainrules_scipy.install():
            expected = jvp(sample.run, sample.operands, ways)
        found = jvp(lambda *xs, s=sample: s.call(getattr(stats, name), *xs), sample.operands, ways)
        for y, z in zip(found, expected, strict=True):
            np.testing.assert_array_equal(y, z)
        checked += 1
    assert checked


def test_several_variables_frozen():
    x, mean, cov = np.array([0.3, 0.4]), np.array([0.1, -0.2]), np.array([[1.0, 0.2], [0.2, 2.0]])
    before = stats.multivariate_normal(mean, cov)
    expected = -np.linalg.solve(cov, x - mean)
    np.testing.assert_allclose(grad(before.logpdf)(x), expected)
    slope = grad(lambda m: stats.multivariate_normal(m, cov).logpdf(x))(mean)
    np.testing.assert_allclose(slope, -expected)
    assert before.logpdf(x) == scipy.stats.multivariate_normal(mean, cov).logpdf(x)
    objects = scipy.stats.Covariance
    for given in (
        objects.from_cholesky(np.linalg.cholesky(cov)),
        objects.from_precision(np.linalg.inv(cov)),
    ):
        for f in (
            lambda x, c=given: stats.multivariate_normal.logpdf(x, mean, c),
            stats.multivariate_normal(mean, given).logpdf,
        ):
            np.testing.assert_allclose(grad(f)(x), expected)
    with pytest.raises(AttributeError, match=r"from scipy\.stats import qmc"):
        stats.qmc


@pytest.mark.parametrize("name", ["wishart", "invwishart"])
def test_matrices_of_a_frozen_distribution_are_those_of_the_function(name):
    of = getattr(stats, name)
    x, scale = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([[1.0, 0.2], [0.2, 2.0]])
    for method in ("logpdf", "pdf"):
        frozen = lambda s, method=method: getattr(of(5.0, s), method)(x)
        given = lambda s, method=method: getattr(of, method)(x, 5.0, s)
        assert frozen(scale) == given(scale)
        np.testing.assert_allclose(grad(frozen)(scale), grad(given)(scale), rtol=1e-13)
        np.testing.assert_allclose(hessian(frozen)(scale), hessian(given)(scale), rtol=1e-12)


def test_a_singular_covariance_that_is_constant():
    """On its support, in the place: SciPy's decomposition has it."""
    singular, x, way = np.ones((2, 2)), np.array([0.3, 0.3]), np.ones(2)
    with chainrules_scipy.install():
        density = lambda x: scipy.stats.multivariate_normal.pdf(
            x, np.zeros(2), singular, allow_singular=True
        )
        slope = grad(density)(x) @ way
    truth = (density(x + 1e-6 * way) - density(x - 1e-6 * way)) / 2e-6
    np.testing.assert_allclose(slope, truth, rtol=1e-6)


@pytest.mark.parametrize("n", [5, 1000])
def test_a_normal_distribution_is_fitted_by_its_formula(n):
    x = np.random.default_rng(n).normal(2.0, 3.0, size=n)
    with chainrules_scipy.install():
        loc, scale = (grad(lambda x, k=k: scipy.stats.norm.fit(x)[k])(x) for k in (0, 1))
    np.testing.assert_allclose(loc, np.full(n, 1 / n), rtol=1e-12)
    np.testing.assert_allclose(scale, (x - x.mean()) / n / x.std(), rtol=1e-9, atol=1e-12)


def test_a_fit_takes_first_guesses_of_its_data():
    x = np.array([0.4, 1.1, 1.7, 2.9, 0.8])
    fitted = lambda x: scipy.stats.gamma.fit(x, np.mean(x), floc=0.0, scale=np.std(x))[2]
    truth = [(fitted(x + 1e-5 * e) - fitted(x - 1e-5 * e)) / 2e-5 for e in np.eye(5)]
    with chainrules_scipy.install():
        np.testing.assert_allclose(grad(fitted)(x), truth, rtol=1e-6)
        with pytest.raises(ChainRulesError, match=r"fit\(x - a, floc=0\)"):
            grad(lambda x: scipy.stats.gamma.fit(x, floc=0.1 * x[0])[2])(x)


@pytest.mark.parametrize(
    "f, line",
    [
        (lambda p: scipy.stats.Normal(mu=p).logpdf(0.3), r"stats\.norm\(loc, scale\)"),
        (
            lambda p: scipy.stats.truncate(scipy.stats.Normal(), lb=p).pdf(0.7),
            r"pdf\(x\) / \(cdf\(b\) - cdf\(a\)\) for truncate",
        ),
        (lambda p: scipy.stats.siegelslopes(np.stack([p, 1.0, 3.0])).slope, r"np\.median\("),
        (
            lambda p: scipy.integrate.tanhsinh(lambda x: np.exp(-p * x), 0.0, 1.0).integral,
            r"quad\(f, a, b\)",
        ),
        (
            lambda p: scipy.stats.quantile([1.0, 2.0], 0.3, weights=np.stack([p - 0.5, 1.0])),
            "leave these points out",
        ),
    ],
)
def test_what_has_no_derivative_says_what_has(f, line):
    refusals = (TracerError, NotDifferentiableError)
    with chainrules_scipy.install(), pytest.raises(refusals, match=line):
        grad(f)(0.5)


def test_the_line_for_siegels_slopes():
    x, y = np.array([0.3, 1.2, 0.7, 2.0, 0.7]), np.array([1.0, 2.2, 0.6, 3.0, 0.9])

    def slope(y):
        return np.median(
            np.stack([np.median((y[x != a] - b) / (x[x != a] - a)) for a, b in zip(x, y)])  # noqa: B905
        )

    known = lambda y: scipy.stats.siegelslopes(y, x).slope
    assert slope(y) == known(y)
    truth = [(known(y + 1e-6 * e) - known(y - 1e-6 * e)) / 2e-6 for e in np.eye(5)]
    np.testing.assert_allclose(grad(slope)(y), truth, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    "of",
    [
        lambda d, t: d.norm.expect(loc=t),
        lambda d, t: d.norm(t, 2.0).expect(lambda x: x**3),
        lambda d, t: d.truncnorm.expect(np.exp, args=(-t, 2.0)),
        lambda d, t: d.gamma.expect(lambda x: x**2, args=(t,), lb=t, conditional=True),
        lambda d, t: d.norm(0.0, t).expect(eval("lambda z: z**2", {}), lb=0.0, ub=1.0),
    ],
)
def test_the_mean_of_a_function_of_a_draw(of):
    """Without a function it is that of the draw itself; ends of the support move."""
    value, slope = jvp(lambda t: of(stats, t), (0.7,), (1.0,))
    known, up, down = (of(scipy.stats, t) for t in (0.7, 0.7 + 1e-5, 0.7 - 1e-5))
    assert abs(value - known) < 1e-9
    assert abs(slope - (up - down) / 2e-5) < 1e-7


def test_a_frozen_distribution_of_counts_has_a_mean():
    assert abs(stats.poisson(1.2).expect(lambda k: k) - 1.2) < 1e-12


class Bell(scipy.stats.rv_continuous):
    def _pdf(self, x):
        return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


class Decay(scipy.stats.rv_continuous):
    def _pdf(self, x, a):
        return a * np.exp(-a * x)


BELL, DECAY = Bell(name="bell"), Decay(a=0.0, name="decay")
OF_DENSITIES = {
    "pdf far out": (
        lambda s: BELL.pdf(100.0, scale=s),
        lambda s: scipy.stats.norm.pdf(100.0, 0, s),
    ),
    "logpdf": (lambda s: BELL.logpdf(0.3, s), lambda s: scipy.stats.norm.logpdf(0.3, s)),
    "cdf": (lambda s: BELL.cdf(0.7, scale=s), lambda s: scipy.stats.norm.cdf(0.7, scale=s)),
    "sf": (lambda s: BELL.sf(0.7, loc=s), lambda s: scipy.stats.norm.sf(0.7, loc=s)),
    "ppf": (lambda s: BELL.ppf(s / 2), lambda s: scipy.stats.norm.ppf(s / 2)),
    "cdf of a shape": (lambda s: DECAY.cdf(0.7, s), lambda s: scipy.stats.expon.cdf(0.7 * s)),
    "expect": (lambda s: BELL.expect(lambda x: x**2, scale=s), lambda s: s**2),
    "expect of a shape": (lambda s: DECAY.expect(lambda x: x, args=(s,)), lambda s: 1 / s),
}


@pytest.mark.parametrize("name", OF_DENSITIES)
def test_a_distribution_that_states_its_density_alone(name):
    """Far out the density is 0, whose logarithm made NaN; functions of it were refused."""
    f, known = OF_DENSITIES[name]
    with chainrules_scipy.install():
        slope, pushed = grad(f)(1.3), jvp(f, (1.3,), (1.0,))[1]
        np.testing.assert_allclose([slope, pushed], grad(known)(1.3), rtol=1e-9)


@pytest.mark.parametrize("b", [1.0, 2.0, 4.0, 2.5])
@pytest.mark.parametrize("method", ["mean", "var", "std"])
def test_moments_where_scipys_formula_is_a_limit(method, b):
    """Where b is the order, SciPy takes another formula, whose slope is another."""
    with chainrules_scipy.install():
        f = lambda b: getattr(scipy.stats.truncpareto, method)(b, 5.3)
        h = 1e-3
        known = (f(b - 2 * h) - 8 * f(b - h) + 8 * f(b + h) - f(b + 2 * h)) / (12 * h)
        np.testing.assert_allclose(grad(f)(b), known, rtol=1e-8)


def test_moments_that_scipy_has_as_constants():
    with chainrules_scipy.install():
        mean = scipy.stats.genextreme.mean
        assert grad(lambda s: mean(0.0, scale=s))(2.0) == mean(0.0)
        with pytest.raises(NotDifferentiableError, match="gumbel_r"):
            grad(mean)(0.0)


LARGE = {
    "t.logpdf": (
        lambda df: stats.t.logpdf(1.3, df),
        lambda df: (
            -mpmath.log(df) / 2
            - mpmath.log(mpmath.beta(0.5, df / 2))
            - (df + 1) / 2 * mpmath.log1p(mpmath.mpf(1.3) ** 2 / df)
        ),
    ),
    "nbinom.logpmf": (
        lambda n: stats.nbinom.logpmf(3, n, 0.75),
        lambda n: mpmath.log(mpmath.rf(n, 3)) + n * mpmath.log(0.75),
    ),
}


@pytest.mark.parametrize("size", [60.0, 1e4, 1e6])
@pytest.mark.parametrize("name", LARGE)
def test_shapes_so_large_that_digamma_functions_cancel(name, size):
    """The derivative of Student's logarithm in its degrees 10⁶ had three digits."""
    f, exact = LARGE[name]
    with mpmath.workdps(60):
        known = [float(mpmath.diff(exact, mpmath.mpf(size), order)) for order in (1, 2)]
    np.testing.assert_allclose([grad(f)(size), grad(grad(f))(size)], known, rtol=1e-9)


@pytest.mark.parametrize(
    "draw", [lambda d: d.rvs(2.0, 4, random_state=1), lambda d: d.rvs(2.0, 0, 4, random_state=1)]
)
def test_the_size_of_a_draw_may_be_the_last_argument(draw):
    np.testing.assert_array_equal(draw(stats.poisson), draw(scipy.stats.poisson))
    norm = lambda m: stats.norm.rvs(m, 1.0, 4, random_state=1)
    np.testing.assert_array_equal(norm(0.1), scipy.stats.norm.rvs(0.1, 1.0, 4, random_state=1))
    assert grad(lambda m: np.sum(norm(m)))(0.1) == 4.0


def test_a_frozen_distribution_that_a_solver_captured():
    """It is copied with its parameters."""

    def f(m):
        d = stats.norm(m, 1.5)
        return root(lambda y: y - d.logpdf(0.5), 0.0)

    np.testing.assert_allclose(grad(f)(0.3), (0.5 - 0.3) / 1.5**2, rtol=1e-12)
    assert copy.deepcopy(stats.norm(0.0, 1.0)).cdf(0.0) == 0.5


@pytest.mark.parametrize("name", ["tstd", "tsem", "sem"])
@pytest.mark.parametrize("x", [np.full(3, 0.1), np.ones(4), np.array([2.0, 2.0, 9.0])[:2]])
def test_deviations_of_equal_numbers_have_no_slope(name, x):
    f = getattr(stats, name)
    np.testing.assert_array_equal(grad(f)(x), np.zeros(len(x)))
    assert jvp(f, (x,), (np.arange(len(x)) + 1.0,))[1] == 0.0


def _slopes(f, p):
    """Return differences of a function of an array of parameters."""
    return [(f(p + s) - f(p - s)) / 2e-5 for s in 1e-5 * np.eye(len(p))]


@pytest.mark.parametrize("name", OFTEN)
def test_medians_without_installation(name):
    f = lambda of, p: getattr(of, name).median(*CONTINUOUS[name], p[0], scale=p[1])
    frozen = lambda p: getattr(stats, name)(*CONTINUOUS[name], p[0], scale=p[1]).median()
    p = np.array([0.7, 1.9])
    truth = _slopes(lambda p: f(scipy.stats, p), p)
    for found in (grad(lambda p: f(stats, p))(p), grad(frozen)(p)):
        np.testing.assert_allclose(found, truth, rtol=1e-8, atol=1e-8)


def test_medians_of_counts_are_refused_by_name():
    with pytest.raises(NotDifferentiableError, match="the median of poisson jumps"):
        grad(lambda p: stats.poisson.median(p))(3.2)
    assert grad(lambda p: p * stats.poisson(3.2).median())(1.0) == scipy.stats.poisson.median(3.2)


@pytest.mark.parametrize("moment", ["mean", "var", "std"])
@pytest.mark.parametrize("name, p", [("lomax", [3.5]), ("truncnorm", [-1.0, 2.0])])
def test_moments_by_another_method_of_scipys(name, p, moment):
    f = lambda of, p: np.sum(getattr(getattr(of, name), moment)(*p, [0.3, 0.1], 1.7))
    p = np.array(p)
    assert np.isclose(f(stats, p), f(scipy.stats, p), rtol=1e-14)
    truth = _slopes(lambda p: f(scipy.stats, p), p)
    np.testing.assert_allclose(grad(lambda p: f(stats, p))(p), truth, rtol=1e-8)
    one = np.array([-1.0, 0.5])
    if name == "truncnorm":
        bend = _slopes(lambda p: np.sum(scipy.stats.truncnorm.mean(p, 2.0)), one)
        found = grad(lambda p: np.sum(stats.truncnorm.mean(p, 2.0)))(one)
        np.testing.assert_allclose(found, bend, rtol=1e-8)


@pytest.mark.parametrize(
    "name, p",
    [
        ("poisson", [0.6]),
        ("poisson", [30.0]),
        ("nbinom", [5.3, 0.5]),
        ("zipf", [6.5]),
        ("logser", [0.6]),
        ("skellam", [15.0, 8.0]),
        ("yulesimon", [11.0]),
    ],
)
def test_entropies_on_unbounded_supports(name, p):
    f, p = lambda of, p: getattr(of, name).entropy(*p), np.array(p)
    value = jvp(lambda p: f(stats, p), (p,), (p,))[0]
    assert value == f(scipy.stats, p)
    truth = _slopes(lambda p: f(scipy.stats, p), p)
    np.testing.assert_allclose(grad(lambda p: f(stats, p))(p), truth, rtol=1e-6)


@pytest.mark.parametrize("name, n", [("poisson", ()), ("binom", (1000,))])
def test_probabilities_that_underflow_add_nothing_to_entropies(name, n):
    p = np.array([0.3, 200.0]) / (1000 if n else 1)
    f = lambda of, p: np.sum(getattr(of, name).entropy(*n, p))
    truth = [(f(scipy.stats, p + s) - f(scipy.stats, p - s)) / 2e-6 for s in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(grad(lambda p: f(stats, p))(p), truth, rtol=1e-5, atol=1e-6)


def test_entropies_of_several_counts():
    whole = lambda p: np.concatenate([p, 1 - p[:1] - p[1:]])
    f = lambda of, p: np.sum(of.multinomial.entropy([6, 3], np.stack([whole(p)] * 2)))
    p = np.array([0.3, 0.45])
    truth = _slopes(lambda p: f(scipy.stats, p), p)
    np.testing.assert_allclose(grad(lambda p: f(stats, p))(p), truth, rtol=1e-8)


@pytest.mark.parametrize(
    "f",
    [
        lambda of, x: of.multivariate_normal.cdf(x, np.zeros(2), np.eye(2)),
        lambda of, x: of.multivariate_normal.logcdf(np.zeros(3), np.append(x, 0.0)),
        lambda of, x: of.multivariate_normal(x).cdf(np.zeros(2)),
    ],
)
def test_integrals_over_several_variables_are_refused(f):
    x = np.array([0.3, 0.4])
    with pytest.raises(NotDifferentiableError, match="integrate the density by quad"):
        grad(lambda x: f(stats, x))(x)
    with chainrules_scipy.install(), pytest.raises(NotDifferentiableError, match="by quad"):
        grad(lambda x: f(scipy.stats, x))(x)


def test_one_variable_of_several_is_integrated():
    f = lambda of, p: of.multivariate_normal.cdf(p[0], p[1], p[2])
    p = np.array([0.3, 0.1, 1.7])
    truth = _slopes(lambda p: f(scipy.stats, p), p)
    np.testing.assert_allclose(grad(lambda p: f(stats, p))(p), truth, rtol=1e-8)
    same = hessian(lambda p: stats.norm.cdf(p[0], p[1], p[2] ** 0.5))(p)
    np.testing.assert_allclose(hessian(lambda p: f(stats, p))(p), same, atol=1e-14)


def test_moments_of_plain_numbers_are_refused_by_name():
    with pytest.raises(NotDifferentiableError, match="entropy of dgamma of plain numbers"):
        grad(lambda a: stats.dgamma.entropy(a))(3.0)


@pytest.mark.parametrize("moments", ["m", "v", "mvsk"])
def test_moments_have_the_shape_of_all_parameters(moments):
    f = lambda of, p: of.gamma.stats(2.5, p, [[1.0], [2.0]], moments=moments)
    p = np.array([0.3, 0.7, 1.1])
    value, _ = jvp(lambda p: f(stats, p), (p,), (p,))
    np.testing.assert_allclose(value, f(scipy.stats, p), rtol=1e-12)
    assert np.shape(value) == np.shape(f(scipy.stats, p))


def test_a_taylor_series_of_an_entropy_that_is_written_names_its_line():
    with pytest.raises(TracerError, match=r"\(p\)\n  nest jvp, as no Taylor series"):
        taylor(lambda p: stats.gamma.entropy(p), 2.0, 1.0, 2)
    assert np.isfinite(hessian(lambda p: stats.gamma.entropy(p))(2.0))

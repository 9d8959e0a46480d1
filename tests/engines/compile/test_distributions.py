"""Compiled likelihoods of SciPy's distributions: programs, and SciPy's own words where they end.

Each is called again inside, at the ends, outside and beside the range of its parameters.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.stats._distr_params import distcont, distdiscrete

import chainrules_scipy
from chainrules_compile import RecordingWarning, compile
from chainrules_tape import grad, value_and_grad

CONTINUOUS = ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")
DISCRETE = ("pmf", "logpmf")
SLOW = ("levy_stable", "studentized_range")  # SciPy integrates each of their numbers
SHAPES = {
    name: tuple(map(float, shapes))
    for name, shapes in reversed(distcont + distdiscrete)
    if isinstance(name, str) and not any(map(np.ndim, shapes)) and name not in SLOW
}
EVERYDAY = (
    *("norm", "expon", "gamma", "beta", "t", "chi2", "laplace", "logistic", "lognorm", "uniform"),
    *("cauchy", "poisson", "binom", "bernoulli", "nbinom", "weibull_min"),
)
AS_THEY_ARE = {  # SciPy's code, or a rule, looks at single numbers
    "dpareto_lognorm", "genpareto", "vonmises", "dlaplace", "nchypergeom_fisher", "kappa4",
    "genextreme", "gausshyper", "vonmises_line", "genhyperbolic", "norminvgauss", "erlang",
    "geninvgauss", "ncf", "nct", "skellam", "tukeylambda", "zipfian",
}  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore")


def quietly(f, *xs):
    """Return what a call gives, or the class of what it raises; and whether it ran as it is."""
    with warnings.catch_warnings(record=True) as said, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            y = f(*xs)
        except Exception as error:
            y = type(error)
    return y, any(issubclass(w.category, RecordingWarning) for w in said)


def same(a, b):
    """Whether results are equal to rounding, with the signs of their zeros."""
    if isinstance(a, type) or isinstance(b, type):
        return a is b
    if isinstance(a, tuple):
        return all(map(same, a, b))
    signs = np.isnan(a) | (np.signbit(a) == np.signbit(b))
    return np.allclose(a, b, 1e-13, 0.0, equal_nan=True) and bool(np.all(signs))


def discrete(name):
    """Give shapes as SciPy draws from them: counts are whole."""
    return [int(x) if x == int(x) else x for x in SHAPES[name]]


def points(name, method):
    """Make arguments, of which the first are inside, twice."""
    dist, shapes = getattr(stats, name), np.array(SHAPES[name])
    if method in DISCRETE:
        k = dist.rvs(*discrete(name), size=4, random_state=1)
        odd = np.array([0, 1, 2, 10**6])
        return [
            *[(shapes, k), (shapes, k), (shapes, k - 50), (shapes, odd), (-shapes, k)],
            *[(shapes * 0.9, k), (shapes * 0, k)],
        ]
    p = np.array([*shapes, 0.1, 1.3])
    if method in ("ppf", "isf"):
        x, ends = np.array([0.12, 0.47, 0.81, 0.93]), np.array([0.0, 1.0, 0.5, -0.2])
    else:
        x = dist.rvs(*shapes, size=4, random_state=1) * 1.3 + 0.1
        low, high = np.clip(dist.support(*shapes), -1e3, 1e3)
        ends = np.array([low, high, 0.0, 1.0]) * 1.3 + 0.1
    wild = np.array([np.nan, x[0], x[1], np.inf])
    return [
        *[(p, x), (p, x), (p, -x), (p, ends), (p, wild), (np.append(p[:-1], -1.0), x), (-p, x)],
        *[(p * 1.01, x), (np.append(p[:-2], [np.inf, 1.0]), x), (p, x * 100)],
    ]


def likelihood(name, method, by):
    n = len(SHAPES[name])

    def f(p, x):
        place = {} if method in DISCRETE else {"loc": p[n], "scale": p[n + 1]}
        return np.sum(getattr(getattr(stats, name), method)(x, *[p[i] for i in range(n)], **place))

    return value_and_grad(f, argnums=by)


def check(name, method):
    for by in (0,) if method in DISCRETE else (0, 1):
        eager = likelihood(name, method, by)
        program = compile(eager)
        for i, point in enumerate(points(name, method)):
            want, _ = quietly(eager, *point)
            have, as_it_is = quietly(program, *point)
            assert same(have, want), (name, method, by, i, have, want)
            if i == 0 and name not in AS_THEY_ARE and not isinstance(want, type):
                assert program.programs, (name, method, by)
                assert not as_it_is, (name, method, by)


@pytest.mark.parametrize("name", EVERYDAY)
def test_everyday_likelihoods(name):
    methods = DISCRETE if isinstance(getattr(stats, name), stats.rv_discrete) else CONTINUOUS
    with chainrules_scipy.install():
        for method in methods if name in ("norm", "gamma") else methods[1:3]:
            check(name, method)


OF_VECTORS = {
    "logpdf": lambda q, z: stats.multivariate_normal.logpdf(z, np.zeros(2), q * np.eye(2)),
    "frozen": lambda q, z: stats.multivariate_normal(np.zeros(2), q * np.eye(2)).logpdf(z),
    "a mean": lambda q, z: stats.multivariate_normal.pdf(np.full(2, 0.3), z, q * np.eye(2)),
    "t": lambda q, z: stats.multivariate_t.logpdf(z, np.zeros(2), q * np.eye(2), df=3.0),
}


@pytest.mark.parametrize("name", OF_VECTORS)
def test_data_that_are_not_differentiated(name):
    f, z, h = OF_VECTORS[name], np.array([0.2, 0.3]), 1e-5
    with chainrules_scipy.install():
        program = compile(grad(f), strict=True)
        for k in (1.0, 2.0, 3.0):
            truth = (f(k + h, k * z) - f(k - h, k * z)) / (2 * h)
            np.testing.assert_allclose(program(k, k * z), truth, rtol=1e-8)
    assert len(program.programs) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SHAPES))
def test_all_distributions(name):
    methods = DISCRETE if isinstance(getattr(stats, name), stats.rv_discrete) else CONTINUOUS
    if methods is DISCRETE and not SHAPES[name]:
        pytest.skip("it has no parameters")
    with chainrules_scipy.install():
        for method in methods:
            check(name, method)

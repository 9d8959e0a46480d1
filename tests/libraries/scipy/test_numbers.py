"""Results of one number: an array without axes where SciPy gives one, a number where it gives that.

Programs ask `isinstance(y, float)` and `isinstance(y, np.ndarray)`, and go different ways.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial.distance
import scipy.special
import scipy.stats

import chainrules_scipy
from chainrules_py.extend import untraced
from chainrules_tape import jvp

K, Y = np.arange(6.0), np.array([0.3, 1.2, 0.7, 2.1, 1.4, 0.9])
A = np.array([[2.0, 0.3, 0.1], [0.4, 1.5, 0.2], [0.1, 0.6, 1.1]])
SPLINES = ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator", "make_interp_spline")
SPLINES += ("interp1d", "KroghInterpolator")
interpolate: Any = scipy.interpolate
CALLS: dict[str, tuple[Any, Any]] = {
    **{f"{n}(t)": (lambda t, n=n: getattr(interpolate, n)(K, Y)(t), 2.3) for n in SPLINES},
    **{f"{n} of y": (lambda y, n=n: getattr(interpolate, n)(K, y)(2.3), Y) for n in SPLINES},
    **{
        f"{n}.integrate": (lambda y, n=n: getattr(interpolate, n)(K, y).integrate(0.5, 2.3), Y)
        for n in SPLINES[:4]
    },
    **{
        f"{n}.derivative": (lambda y, n=n: getattr(interpolate, n)(K, y).derivative()(2.3), Y)
        for n in SPLINES[:4]
    },
    "BSpline": (lambda c: interpolate.BSpline(np.arange(9.0), c, 2)(3.3), Y),
    "PPoly": (lambda c: interpolate.PPoly(c.reshape(3, 2), [0.0, 1.0, 2.0])(1.3), Y),
    "RegularGridInterpolator": (
        lambda y: interpolate.RegularGridInterpolator((K,), y)([2.3]),
        Y,
    ),
    **{
        f"norm {o} {k}": (lambda a, o=o, k=k: scipy.linalg.norm(a, o, keepdims=k), A)
        for o, k in itertools.product((None, "fro", 1, 2, np.inf, -2), (False, True))
    },
    **{f"norm of a vector {o}": (lambda a, o=o: scipy.linalg.norm(a, o), Y) for o in (None, 1, 3)},
    **{n: (lambda a, n=n: getattr(scipy.linalg, n)(a), A) for n in ("det", "expm", "svdvals")},
    **{
        n: (lambda x, n=n: getattr(scipy.special, n)(x), Y)
        for n in ("logsumexp", "softmax", "log_softmax")
    },
    "polygamma": (lambda x: scipy.special.polygamma(1, x), 2.3),
    "multigammaln": (lambda x: scipy.special.multigammaln(x, 2), 2.3),
    "comb": (lambda x: scipy.special.comb(x, 2.0), 5.3),
    **{
        f"special.{n}": (lambda x, n=n: getattr(scipy.special, n)(x), 0.3)
        for n in ("gamma", "erf", "expit", "ndtri", "j0", "ellipk")
    },
    "trapezoid": (lambda y: scipy.integrate.trapezoid(y), Y),
    "simpson": (lambda y: scipy.integrate.simpson(y), Y),
    "romb": (lambda y: scipy.integrate.romb(y[:5]), Y),
    "quad": (lambda t: scipy.integrate.quad(lambda x: np.exp(-x), 0.0, t)[0], 2.3),
    "fixed_quad": (lambda t: scipy.integrate.fixed_quad(np.exp, 0.0, t)[0], 2.3),
    "brentq": (lambda t: scipy.optimize.brentq(lambda x: x - t, 0.0, 9.0), 2.3),
    "newton": (lambda t: scipy.optimize.newton(lambda x: x - t, 1.0), 2.3),
    "fsolve": (lambda t: scipy.optimize.fsolve(lambda x: x - t, 1.0), 2.3),
    "minimize_scalar": (lambda t: scipy.optimize.minimize_scalar(lambda x: (x - t) ** 2).x, 2.3),
    "root_scalar": (
        lambda t: scipy.optimize.root_scalar(lambda x: x - t, bracket=(0, 9)).root, 2.3,
    ),
    **{
        f"norm.{n}": (lambda x, n=n: getattr(scipy.stats.norm, n)(x, 0.1, 1.3), 0.3)
        for n in ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf", "ppf", "isf")
    },
    **{
        f"gamma.{n}": (lambda x, n=n: getattr(scipy.stats.gamma, n)(x), 2.3)
        for n in ("mean", "var", "std", "entropy", "median")
    },
    **{
        f"poisson.{n}": (lambda x, n=n: getattr(scipy.stats.poisson, n)(2, x), 2.3)
        for n in ("pmf", "logpmf", "cdf", "sf")
    },
    "multivariate_normal": (lambda x: scipy.stats.multivariate_normal.logpdf(x, np.zeros(6)), Y),
    "multinomial": (lambda p: scipy.stats.multinomial.logpmf([1, 2, 1], 4, p / p.sum()), Y[:3]),
    "dirichlet": (lambda a: scipy.stats.dirichlet.logpdf([0.2, 0.3, 0.5], a), Y[:3]),
    **{
        n: (lambda y, n=n: getattr(scipy.stats, n)(y), Y)
        for n in ("skew", "kurtosis", "sem", "iqr", "gmean", "hmean", "entropy", "tmean", "tstd")
    },
    "pearsonr": (lambda y: scipy.stats.pearsonr(K, y).statistic, Y),
    "ttest_1samp": (lambda y: list(scipy.stats.ttest_1samp(y, 0.1)), Y),
    "linregress": (lambda y: list(scipy.stats.linregress(K, y)), Y),
    "kde": (lambda y: scipy.stats.gaussian_kde(y)(0.3), Y),
    **{
        n: (lambda y, n=n: getattr(scipy.spatial.distance, n)(K, y), Y)
        for n in ("euclidean", "cosine", "cityblock", "correlation", "chebyshev", "minkowski")
    },
    "ndimage.sum": (lambda y: scipy.ndimage.sum_labels(y), Y),
    "ndimage.mean": (lambda y: scipy.ndimage.mean(y), Y),
    "ndimage.maximum": (lambda y: scipy.ndimage.maximum(y), Y),
    "vectorstrength": (lambda y: list(scipy.signal.vectorstrength(y, 0.7)), Y),
}  # fmt: skip


def _kinds(y: Any) -> list[str]:
    if isinstance(y, (list, tuple)):
        return [kind for part in y for kind in _kinds(part)]
    y = untraced(y)
    return ["array" if isinstance(y, np.ndarray) else "number"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_kind(name):
    call, at = CALLS[name]
    known, found = _kinds(call(at)), []

    def f(x):
        y = call(x)
        found.extend(_kinds(y))
        return [z * 1.0 for z in y] if isinstance(y, (list, tuple)) else y * 1.0

    with chainrules_scipy.install():
        jvp(f, (at,), (np.ones_like(at) if np.ndim(at) else 1.0,))
    assert found == known

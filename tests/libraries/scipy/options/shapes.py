"""Calls of what changes data and polynomials into other forms, at hard places too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.interpolate
import scipy.special
import scipy.stats

from tests.libraries.scipy.options.judge import Call

stats: Any = scipy.stats
interpolate: Any = scipy.interpolate
X = np.array([-0.4, 0.3, 1.2, -2.0, 0.0, 2.5])
P = abs(X) + 0.2
K, Y = np.arange(6.0), np.array([0.3, 1.2, 0.7, 2.1, 1.4, 0.9])


def powers() -> Iterator[Call]:
    """Go through the transformations of Box and Cox, and of Yeo and Johnson."""
    for power in (-1.3, 0.0, 0.5, 1.0, 2.0):
        at = np.float64(power)
        for name, f in {
            "yeojohnson": stats.yeojohnson,
            "boxcox": stats.boxcox,
            "special.boxcox": scipy.special.boxcox,
            "special.boxcox1p": scipy.special.boxcox1p,
            "special.inv_boxcox": scipy.special.inv_boxcox,
            "special.inv_boxcox1p": scipy.special.inv_boxcox1p,
        }.items():
            for x in (P, X):
                name += " of any sign" if x is X else ""
                yield Call(f"{name} {power}", lambda x, p, f=f: _now(f)(x, p), (x, at))
        for f in (stats.yeojohnson_llf, stats.boxcox_llf):
            for x in (P, X):
                yield Call(f"{f.__name__} {power}", lambda p, x, f=f: _now(f)(p, x), (at, x))
                yield Call(
                    f"{f.__name__} {power} rows",
                    lambda p, x, f=f: _now(f)(p, x.reshape(2, 3), axis=1),
                    (at, x),
                )
    loose: Any = {"steps": (1e-4, 3e-5), "tolerance": 1e-6}
    for x in (P, X):
        for f in (stats.yeojohnson, stats.boxcox, stats.yeojohnson_normmax):
            yield Call(f"{f.__name__} of the best", lambda x, f=f: _now(f)(x), (x,), **loose)
        for method in ("mle", "pearsonr", "all"):
            yield Call(
                f"boxcox_normmax {method}",
                lambda x, m=method: stats.boxcox_normmax(x, method=m),
                (x,),
                **loose,
            )


def _now(f: Any) -> Any:
    """Return what stands under SciPy's name now."""
    if isinstance(f, np.ufunc):
        return f
    return getattr(stats, f.__name__)


MAKERS: dict[str, Any] = {
    "PPoly": lambda c: interpolate.PPoly(c.reshape(3, 2), [0.0, 1.0, 2.5]),
    "PPoly of several": lambda c: interpolate.PPoly(c.reshape(3, 1, 2), [0.0, 2.5]),
    "BSpline": lambda c: interpolate.BSpline(np.arange(9.0), c, 2),
    "CubicSpline": lambda y: interpolate.CubicSpline(K, y),
    "PchipInterpolator": lambda y: interpolate.PchipInterpolator(K, y),
    "make_interp_spline": lambda y: interpolate.make_interp_spline(K, y),
    "interp1d": lambda y: interpolate.interp1d(K, y),
    "RegularGridInterpolator": lambda y: interpolate.RegularGridInterpolator((K,), y),
}
ASKED: dict[str, Any] = {
    **{
        name: lambda p, name=name: getattr(p, name)
        for name in (
            *("c", "x", "t", "k", "axis", "extrapolate", "y", "values", "fill_value", "xi", "yi"),
            *("method", "bounds_error"),
        )
    },
    "derivative.c": lambda p: p.derivative().c,
    "antiderivative.c": lambda p: p.antiderivative().c,
    "second": lambda p: p.derivative(2)(1.3),
    "(x)": lambda p: p(np.array([0.3, 1.2])),
    "outside": lambda p: p(2.6),
    "integrate": lambda p: p.integrate(0.2, 1.3),
    "tck": lambda p: list(p.tck[:2]),
}


def attributes() -> Iterator[Call]:
    """Go through what objects of polynomials hold, and what they are made into."""
    for maker, make in MAKERS.items():
        for asked, ask in ASKED.items():
            if asked != "tck" or "BSpline" in maker:
                yield Call(
                    f"{maker} {asked}", lambda q, a=ask, m=make: a(m(q)), (Y,), tolerance=1e-9
                )


ALL = (powers, attributes)

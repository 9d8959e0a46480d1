"""Interpolation of ``scipy.interpolate``, in values, places, and knots.

What is linear in the values is computed from what SciPy makes of the unit vectors, which has all of
its options; where the knots are differentiated as well, it is written in words.
"""

from chainrules_scipy.interpolate.cubic import (
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
)
from chainrules_scipy.interpolate.grids import RegularGridInterpolator, interpn
from chainrules_scipy.interpolate.polynomials import PiecewisePolynomial
from chainrules_scipy.interpolate.radial import RBFInterpolator
from chainrules_scipy.interpolate.splines import interp1d, make_interp_spline

__all__ = [
    "Akima1DInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "PchipInterpolator",
    "PiecewisePolynomial",
    "RBFInterpolator",
    "RegularGridInterpolator",
    "interp1d",
    "interpn",
    "make_interp_spline",
]

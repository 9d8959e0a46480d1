"""Interpolation of ``scipy.interpolate``, in values, places, and knots.

What is linear in the values is computed from what SciPy makes of the unit vectors, which has all of
its options; where the knots are differentiated as well, it is written in words.
"""

from typing import Any

from chainrules_scipy.interpolate.cubic import (
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
)
from chainrules_scipy.interpolate.fitpack import (
    InterpolatedUnivariateSpline,
    LSQUnivariateSpline,
    Univariate,
    UnivariateSpline,
    spalde,
    splantider,
    splder,
    splev,
    splint,
    splprep,
    splrep,
    sproot,
)
from chainrules_scipy.interpolate.fitted import (
    FOLLOWED,
    BarycentricInterpolator,
    BPoly,
    BSpline,
    KroghInterpolator,
    NdBSpline,
    NdPPoly,
    PPoly,
    barycentric_interpolate,
    lagrange,
    make_lsq_spline,
    make_smoothing_spline,
)
from chainrules_scipy.interpolate.grids import RegularGridInterpolator, interpn
from chainrules_scipy.interpolate.knots import Spline
from chainrules_scipy.interpolate.polynomials import PiecewisePolynomial
from chainrules_scipy.interpolate.radial import RBFInterpolator
from chainrules_scipy.interpolate.scattered import (
    CloughTocher2DInterpolator,
    LinearNDInterpolator,
    NearestNDInterpolator,
    Rbf,
    griddata,
)
from chainrules_scipy.interpolate.splines import interp1d, make_interp_spline
from chainrules_scipy.interpolate.surfaces import RectBivariateSpline

__all__ = [
    "barycentric_interpolate",
    "lagrange",
    "Akima1DInterpolator",
    "BPoly",
    "BSpline",
    "BarycentricInterpolator",
    "CloughTocher2DInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "InterpolatedUnivariateSpline",
    "KroghInterpolator",
    "LSQUnivariateSpline",
    "LinearNDInterpolator",
    "NdBSpline",
    "NdPPoly",
    "NearestNDInterpolator",
    "PPoly",
    "PchipInterpolator",
    "PiecewisePolynomial",
    "RBFInterpolator",
    "Rbf",
    "RectBivariateSpline",
    "RegularGridInterpolator",
    "Spline",
    "Univariate",
    "UnivariateSpline",
    "griddata",
    "interp1d",
    "interpn",
    "make_interp_spline",
    "make_lsq_spline",
    "make_smoothing_spline",
    "spalde",
    "splantider",
    "splder",
    "splev",
    "splint",
    "splprep",
    "splrep",
    "sproot",
]


def __getattr__(name: str) -> Any:
    if name in FOLLOWED:
        return FOLLOWED[name]
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)

"""Interpolation of ``scipy.interpolate``, in values and places."""

import functools

from chainrules_scipy.interpolate.grids import (
    CloughTocher2DInterpolator,
    LinearNDInterpolator,
    NearestNDInterpolator,
    Rbf,
    RBFInterpolator,
    RegularGridInterpolator,
    griddata,
    interpn,
)
from chainrules_scipy.interpolate.polynomials import (
    FOLLOWED,
    Akima1DInterpolator,
    BarycentricInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    KroghInterpolator,
    PchipInterpolator,
    PPoly,
    barycentric_interpolate,
)
from chainrules_scipy.interpolate.splines import (
    BSpline,
    interp1d,
    make_interp_spline,
    make_lsq_spline,
    make_smoothing_spline,
)
from chainrules_scipy.rows import attribute

__all__ = [
    "Akima1DInterpolator",
    "BSpline",
    "BarycentricInterpolator",
    "CloughTocher2DInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "KroghInterpolator",
    "LinearNDInterpolator",
    "NearestNDInterpolator",
    "PPoly",
    "PchipInterpolator",
    "RBFInterpolator",
    "Rbf",
    "RegularGridInterpolator",
    "barycentric_interpolate",
    "griddata",
    "interp1d",
    "interpn",
    "make_interp_spline",
    "make_lsq_spline",
    "make_smoothing_spline",
]


__getattr__ = functools.partial(attribute, __name__, FOLLOWED)

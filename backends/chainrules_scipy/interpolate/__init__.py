"""Interpolation of ``scipy.interpolate``, in values and places."""

import functools

from chainrules_scipy.interpolate.grids import (
    CloughTocher2DInterpolator,
    LinearNDInterpolator,
    NearestNDInterpolator,
    RBFInterpolator,
    RegularGridInterpolator,
    griddata,
    interpn,
)
from chainrules_scipy.interpolate.polynomials import (
    FOLLOWED,
    Akima1DInterpolator,
    CubicHermiteSpline,
    CubicSpline,
    KroghInterpolator,
    PchipInterpolator,
    PPoly,
)
from chainrules_scipy.interpolate.splines import (
    BSpline,
    interp1d,
    make_interp_spline,
)
from chainrules_scipy.rows import attribute

__all__ = [
    "Akima1DInterpolator",
    "BSpline",
    "CloughTocher2DInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "KroghInterpolator",
    "LinearNDInterpolator",
    "NearestNDInterpolator",
    "PPoly",
    "PchipInterpolator",
    "RBFInterpolator",
    "RegularGridInterpolator",
    "griddata",
    "interp1d",
    "interpn",
    "make_interp_spline",
]


__getattr__ = functools.partial(attribute, __name__, FOLLOWED)

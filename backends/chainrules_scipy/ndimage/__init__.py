"""Filters and interpolation of ``scipy.ndimage``, in images, coefficients and coordinates."""

import functools

from chainrules_scipy.ndimage.linear import (
    affine_transform,
    convolve,
    convolve1d,
    correlate,
    correlate1d,
    gaussian_filter,
    gaussian_filter1d,
    gaussian_gradient_magnitude,
    gaussian_laplace,
    laplace,
    map_coordinates,
    prewitt,
    rotate,
    shift,
    sobel,
    spline_filter,
    spline_filter1d,
    uniform_filter,
    uniform_filter1d,
    zoom,
)
from chainrules_scipy.ndimage.ranks import (
    FOLLOWED,
    fourier_ellipsoid,
    fourier_gaussian,
    fourier_shift,
    fourier_uniform,
    generic_filter,
    generic_gradient_magnitude,
    geometric_transform,
    maximum_filter1d,
    minimum_filter1d,
)
from chainrules_scipy.rows import attribute

__all__ = [
    "affine_transform",
    "convolve",
    "convolve1d",
    "correlate",
    "correlate1d",
    "fourier_ellipsoid",
    "fourier_gaussian",
    "fourier_shift",
    "fourier_uniform",
    "gaussian_filter",
    "gaussian_filter1d",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "generic_filter",
    "generic_gradient_magnitude",
    "geometric_transform",
    "laplace",
    "map_coordinates",
    "maximum_filter1d",
    "minimum_filter1d",
    "prewitt",
    "rotate",
    "shift",
    "sobel",
    "spline_filter",
    "spline_filter1d",
    "uniform_filter",
    "uniform_filter1d",
    "zoom",
]


__getattr__ = functools.partial(attribute, __name__, FOLLOWED)

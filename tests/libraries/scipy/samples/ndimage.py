"""Calls of ``scipy.ndimage``."""

from __future__ import annotations

import numpy as np

from tests.libraries.scipy.samples.common import draw, sample

X, K = draw(6, 7), draw(3, 3)
LABELS = np.repeat([[0, 1, 1, 2, 2, 2, 1]], 6, axis=0)
M = np.array([[0.9, 0.1], [-0.1, 1.1]])

for _name in ("convolve", "correlate"):
    sample(f"ndimage.{_name}", X, K)
    sample(f"ndimage.{_name}1d", X, K[0])
sample("ndimage.correlate", X, K, call=lambda f, x, k: f(x, k, mode="constant", cval=1.0))
for _name in ("gaussian_filter", "gaussian_laplace", "gaussian_gradient_magnitude"):
    sample(f"ndimage.{_name}", X, np.array(1.1))
sample("ndimage.gaussian_filter1d", X, np.array(1.1))
for _name in ("laplace", "prewitt", "sobel", "spline_filter", "spline_filter1d"):
    sample(f"ndimage.{_name}", X)
for _name in (
    *("uniform_filter", "maximum_filter", "minimum_filter", "median_filter", "grey_dilation"),
    *("grey_erosion", "grey_opening", "grey_closing", "morphological_gradient"),
    *("morphological_laplace", "white_tophat", "black_tophat"),
):
    sample(f"ndimage.{_name}", X, call=lambda f, x: f(x, size=3))
for _name in ("uniform_filter1d", "maximum_filter1d", "minimum_filter1d"):
    sample(f"ndimage.{_name}", X, call=lambda f, x: f(x, 3))
sample("ndimage.percentile_filter", X, call=lambda f, x: f(x, 30, size=3))
sample("ndimage.rank_filter", X, call=lambda f, x: f(x, 2, size=3))
sample("ndimage.generic_filter", X, call=lambda f, x: f(x, lambda w: (w**2).sum(), size=3))
sample(
    "ndimage.vectorized_filter", X, call=lambda f, x: f(x, lambda w, axis: (w**2).sum(axis), size=3)
)
sample(
    "ndimage.generic_gradient_magnitude",
    X,
    call=lambda f, x: f(x, __import__("scipy").ndimage.sobel),
)
sample(
    "ndimage.generic_laplace", X, call=lambda f, x: f(x, lambda y, axis, *_: np.roll(y, 1, axis))
)
sample("ndimage.map_coordinates", X, 2 + 0.7 * draw(2, 5))
sample("ndimage.map_coordinates", X, 2 + 0.7 * draw(2, 5), call=lambda f, x, c: f(x, c, order=1))
sample("ndimage.affine_transform", X, M, np.array([0.3, -0.2]))
sample(
    "ndimage.geometric_transform",
    X,
    call=lambda f, x: f(x, lambda at: (at[0] * 0.9, at[1] * 0.8 + 0.3)),
)
sample("ndimage.shift", X, np.array([0.3, 0.6]))
sample("ndimage.zoom", X, call=lambda f, x: f(x, 1.5))
sample("ndimage.rotate", X, np.array(20.0), call=lambda f, x, a: f(x, a, reshape=False))
for _name in ("fourier_gaussian", "fourier_uniform", "fourier_shift"):
    sample(f"ndimage.{_name}", X, np.array([0.7, 1.2]), call=lambda f, x, s: f(x + 0j, s))
for _name in (
    "sum",
    "sum_labels",
    "mean",
    "variance",
    "standard_deviation",
    "maximum",
    "minimum",
    "median",
):
    sample(f"ndimage.{_name}", X, call=lambda f, x: f(x, LABELS, [1, 2]))
sample("ndimage.extrema", X, call=lambda f, x: f(x, LABELS, [1, 2])[0])
sample("ndimage.center_of_mass", X + 5, call=lambda f, x: np.stack(f(x)))
sample(
    "ndimage.labeled_comprehension", X, call=lambda f, x: f(x, LABELS, [1, 2], np.mean, float, 0)
)
sample("ndimage.histogram", X, call=lambda f, x: f(x, -3, 3, 5))
sample("ndimage.label", X, call=lambda f, x: f(x > 0)[0])
sample("ndimage.distance_transform_edt", X, call=lambda f, x: f(x > 0))

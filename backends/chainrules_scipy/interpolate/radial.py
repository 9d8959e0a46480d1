"""Interpolation of scattered points by radial functions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as native
from scipy.spatial import KDTree

from chainrules_py import vocabulary as v
from chainrules_scipy.interpolate.common import constructs, has_method
from chainrules_scipy.rows import array_of, readable

_RADIAL: dict[str, Callable[[Any], Any]] = {
    "linear": lambda r: -r,
    "cubic": lambda r: r**3,
    "quintic": lambda r: -(r**5),
    "thin_plate_spline": lambda r: v.xlogy(r * r, v.where(readable(r) > 0, r, 1.0)),
    "multiquadric": lambda r: -v.sqrt(r * r + 1),
    "inverse_multiquadric": lambda r: 1 / v.sqrt(r * r + 1),
    "inverse_quadratic": lambda r: 1 / (r * r + 1),
    "gaussian": lambda r: v.exp(-r * r),
}
_DEGREES = {"multiquadric": 0, "linear": 0, "thin_plate_spline": 1, "cubic": 1, "quintic": 2}


@constructs(native.RBFInterpolator)
def RBFInterpolator(  # noqa: N802
    y: Any,
    d: Any,
    neighbors: Any = None,
    smoothing: Any = 0.0,
    kernel: str = "thin_plate_spline",
    epsilon: Any = None,
    degree: Any = None,
) -> Callable[..., Any]:
    """Interpolate scattered points by radial functions and a polynomial."""
    if neighbors is not None and neighbors < len(y):
        return functools.partial(_nearest, y, d, int(neighbors), smoothing, kernel, epsilon, degree)
    points, values = array_of(y), array_of(d)
    epsilon = 1.0 if epsilon is None else epsilon
    degree = max(_DEGREES.get(kernel, -1), 0) if degree is None else int(degree)
    if degree >= 0 and kernel in _DEGREES:
        degree = max(degree, 0)
    powers = _monomials(points.shape[1], degree)
    known = readable(points)
    low, high = known.min(axis=0), known.max(axis=0)
    shift, scale = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
    n, size = points.shape[0], len(powers)
    columns = v.reshape(values, shape=(n, math.prod(values.shape[1:])))

    def functions(x: Any) -> Any:
        gaps = v.expand_dims(x, axis=1) - v.expand_dims(points, axis=0)
        radial = _RADIAL[kernel](epsilon * v.vector_norm(gaps, axis=-1))
        if not size:
            return radial
        return v.concat(radial, _polynomials((x - shift) / scale, powers), axis=1)

    top = functions(points)
    top = top + np.eye(n, n + size) * v.reshape(array_of(smoothing), shape=(-1, 1))
    below = v.concat(v.matrix_transpose(top[:, n:]), np.zeros((size, size)), axis=1)
    matrix = v.concat(top, below, axis=0) if size else top
    right = v.concat(columns, np.zeros((size, columns.shape[1])), axis=0) if size else columns
    weights = v.solve(matrix, right)

    def interpolated(x: Any) -> Any:
        found = v.matmul(functions(array_of(x)), weights)
        return v.reshape(found, shape=(found.shape[0], *values.shape[1:]))

    return interpolated


def _nearest(
    y: Any, d: Any, count: int, smoothing: Any, kernel: str, epsilon: Any, degree: Any, x: Any
) -> Any:
    """Interpolate between the points that are nearest to each place."""
    points, values, x = array_of(y), array_of(d), array_of(x)
    smoothing = v.broadcast_to(array_of(smoothing), shape=(points.shape[0],))
    near = KDTree(readable(points)).query(readable(x), count)[1].reshape(len(x), -1)
    groups, which = np.unique(np.sort(near, axis=1), axis=0, return_inverse=True)
    rows: list[Any] = [None] * len(x)
    for k, group in enumerate(groups):
        (places,) = np.nonzero(which.reshape(-1) == k)
        given = (v.take(part, group, axis=0) for part in (points, values))
        fit = RBFInterpolator(
            *given, None, v.take(smoothing, group, axis=0), kernel, epsilon, degree
        )
        found = fit(v.take(x, places, axis=0))
        for i, place in enumerate(places):
            rows[place] = found[i]
    return v.stack(*rows)


def _monomials(m: int, degree: int) -> list[tuple[int, ...]]:
    return [p for p in np.ndindex(*(degree + 1,) * m) if sum(p) <= degree] if degree >= 0 else []


def _polynomials(x: Any, powers: list[tuple[int, ...]]) -> Any:
    parts = []
    for p in powers:
        part: Any = v.ones_like(x[:, 0])
        for k, n in enumerate(p):
            part = part * x[:, k] ** n if n else part
        parts.append(part)
    return v.stack(*parts, axis=1)


@has_method(native.RBFInterpolator)
def _radial(self: Any, x: Any) -> Any:
    degree = max((int(sum(p)) for p in self.powers), default=-1)
    values = np.reshape(self.d, (len(self.d), *self.d_shape))
    found = RBFInterpolator(
        self.y, values, self.neighbors, self.smoothing, self.kernel, self.epsilon, degree
    )
    return found(x)

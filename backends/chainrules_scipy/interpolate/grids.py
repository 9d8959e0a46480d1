"""Interpolation on grids, and between points that lie anywhere."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as native
from scipy.spatial import Delaunay, KDTree

from chainrules_py import vocabulary as v
from chainrules_py.extend import varies
from chainrules_scipy.following import follow_class
from chainrules_scipy.interpolate.polynomials import (
    PchipInterpolator,
    computes,
    constructs,
    has_method,
)
from chainrules_scipy.interpolate.splines import Spline, interp1d
from chainrules_scipy.rows import anchored, array_of, readable, reject


@constructs(native.RegularGridInterpolator)
def RegularGridInterpolator(  # noqa: N802
    points: Any,
    values: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = math.nan,
    **options: Any,
) -> Callable[..., Any]:
    """Interpolate on a grid, by the corners of the box that a point is in."""
    axes = [array_of(p) for p in points]
    values = array_of(values)
    made = _Interpolators(axes, values)

    def interpolated(xi: Any, method: Any = method, *, nu: Any = None) -> Any:
        if isinstance(xi, tuple):
            xi = v.stack(*_broadcast(xi), axis=-1)
        xi = array_of(xi)
        if xi.ndim == 1:
            xi = v.reshape(xi, shape=(-1, len(axes)))
        unknown = np.any(np.isnan(readable(xi)), axis=-1)
        outside = np.zeros(unknown.shape, bool)
        for k, axis in enumerate(map(readable, axes)):
            at = readable(xi)[..., k]
            outside = outside | (at < np.min(axis)) | (at > np.max(axis))
        if unknown.any():
            xi = v.where(unknown[..., None], np.stack([readable(axis)[0] for axis in axes]), xi)
        y = made.at(xi, method or given, nu)
        shape = outside.shape + (1,) * (values.ndim - len(axes))
        if fill_value is not None and not bounds_error and outside.any():
            y = v.where(np.reshape(outside, shape), fill_value, y)
        return v.where(np.reshape(unknown, shape), math.nan, y) if unknown.any() else y

    given = method
    if method in DEGREES:
        made.splines(method)
    return interpolated


def _broadcast(parts: Any) -> list[Any]:
    parts = [array_of(p) for p in parts]
    shape = np.broadcast_shapes(*[p.shape for p in parts])
    return [v.broadcast_to(p, shape=shape) for p in parts]


class _Interpolators:
    """What interpolates values on one grid, by method."""

    def __init__(self, axes: list[Any], values: Any) -> None:
        self.corners = axes, values
        turned = [k for k, axis in enumerate(axes) if readable(axis)[-1] < readable(axis)[0]]
        self.axes = [v.flip(a, axis=0) if k in turned else a for k, a in enumerate(axes)]
        self.values = v.flip(values, axis=tuple(turned)) if turned else values
        self.known: dict[str, Any] = {}

    def splines(self, method: str) -> Any:
        """Return the splines along each axis, and their coefficients."""
        if method not in self.known:
            self.known[method] = _splines(self.axes, self.values, method)
        return self.known[method]

    def at(self, xi: Any, method: str, nu: Any) -> Any:
        """Interpolate at places of which no coordinate is NaN."""
        if method == "pchip":
            return _folded(self.axes, self.values, xi)
        if method in DEGREES:
            bases, coefficients = self.splines(method)
            orders = (0,) * len(bases) if nu is None else nu
            parts = [b.at(xi[..., k], orders[k], True) for k, b in enumerate(bases)]
            return _of_splines(coefficients, parts, xi.ndim - 1)
        places: list[Any] = []
        parts = []
        for k, axis in enumerate(self.axes):
            x, known = xi[..., k], readable(axis)
            j = np.clip(np.searchsorted(known, readable(x), "right") - 1, 0, len(known) - 2)
            start, end = v.take(axis, j, axis=0), v.take(axis, j + 1, axis=0)
            places.append(j)
            parts.append((x - start) / (end - start))
        return _of_corners(self.values, places, parts, method)


_ONCE = {"slinear": 1, "cubic": 3, "quintic": 5}
DEGREES = {name + end: k for name, k in _ONCE.items() for end in ("", "_legacy")}
"""Methods that are splines along every axis."""


def _splines(axes: list[Any], values: Any, method: str) -> tuple[list[Spline], Any]:
    """Return the splines along each axis, and their coefficients.

    SciPy solves for these step by step, to some five digits: so the coefficients have its values,
    of which the places are differentiated, and the derivatives of those that are exact.
    """
    if any(map(varies, axes)):
        reject(f"RegularGridInterpolator(method={method!r}) has no derivative in its points")
    plain, degree = tuple(map(readable, axes)), DEGREES[method]
    fits = [native.make_interp_spline(x, np.eye(len(x)), degree) for x in plain]
    bases = [Spline(fit.t, np.eye(len(x)), degree) for fit, x in zip(fits, plain, strict=True)]
    exact = values
    for k, fit in enumerate(fits):
        exact = v.tensordot(fit.c, exact, axes=((1,), (k,)))
        exact = v.permute_dims(exact, axes=(*range(1, k + 1), 0, *range(k + 1, exact.ndim)))
    if method not in _ONCE:
        return bases, exact
    theirs = native.RegularGridInterpolator(plain, readable(values), method)
    known = getattr(getattr(theirs, "_spline", None), "c", None)
    return bases, exact if known is None else anchored(np.asarray(known), exact)


def _of_splines(coefficients: Any, parts: Any, n: int) -> Any:
    y = v.tensordot(parts[0], coefficients, axes=((-1,), (0,)))
    for basis in parts[1:]:
        basis = v.reshape(basis, shape=(*basis.shape, *(1,) * (y.ndim - n - 1)))
        y = v.sum(basis * y, axis=n)
    return y


def _folded(axes: list[Any], values: Any, xi: Any) -> Any:
    """Interpolate along the last axis, of what comes out along the one before, and so on."""
    found = []
    for x in v.reshape(xi, shape=(-1, len(axes))):
        y = values
        for k in reversed(range(len(axes))):
            y = PchipInterpolator(axes[k], y, axis=k)(x[k])
        found.append(y)
    return v.reshape(v.stack(*found), shape=(*xi.shape[:-1], *values.shape[len(axes) :]))


def _of_corners(values: Any, places: Any, parts: Any, method: str) -> Any:
    if method == "nearest":
        at = tuple(j + (readable(t) > 0.5) for j, t in zip(places, parts, strict=True))
        return values[at]
    total: Any = 0.0
    for corner in np.ndindex(*(2,) * len(places)):
        weight: Any = 1.0
        for up, t in zip(corner, parts, strict=True):
            weight = weight * (t if up else 1 - t)
        at = tuple(j + up for j, up in zip(places, corner, strict=True))
        weight = v.reshape(weight, shape=(*weight.shape, *(1,) * (values.ndim - len(places))))
        total = total + weight * values[at]
    return total


@computes(native.interpn)
def interpn(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = math.nan,
) -> Any:
    """Interpolate on a grid, as `RegularGridInterpolator` does."""
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


@has_method(native.RegularGridInterpolator)
def _grid(self: Any, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
    """Interpolate at traced places."""
    found = RegularGridInterpolator(
        self.grid, self.values, method or self.method, self.bounds_error, self.fill_value
    )
    return found(xi, nu=nu)


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
        return functools.partial(
            _by_nearest, y, d, int(neighbors), smoothing, kernel, epsilon, degree
        )
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


def _by_nearest(
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


Rbf = follow_class(native.Rbf, "__call__")


def _places(args: tuple[Any, ...]) -> Any:
    """Return points with their coordinates along the last axis, as people give them."""
    if len(args) == 1 and not isinstance(args[0], tuple):
        return array_of(args[0])
    parts = list(map(array_of, args[0] if len(args) == 1 else args))
    shape = np.broadcast_shapes(*[p.shape for p in parts])
    return v.stack(*[v.broadcast_to(p, shape=shape) for p in parts], axis=-1)


def _plain(points: Any) -> Any:
    if varies(points):
        reject(
            "interpolation of scattered points has derivatives in values and places; not in points"
        )
    return points


def _scaled(points: Any, rescale: bool) -> tuple[Any, Any, Any]:
    points = np.asarray(_places((_plain(points),)), float)
    if not rescale:
        return points, 0.0, 1.0
    offset, size = points.mean(axis=0), np.ptp(points, axis=0)
    size = np.where(size > 0, size, 1.0)
    return (points - offset) / size, offset, size


@constructs(native.LinearNDInterpolator)
def LinearNDInterpolator(  # noqa: N802
    points: Any, values: Any, fill_value: Any = math.nan, rescale: bool = False
) -> Callable[..., Any]:
    """Interpolate in triangles: as ``scipy.interpolate.LinearNDInterpolator``."""
    given, offset, size = (
        (None, 0.0, 1.0) if isinstance(points, Delaunay) else _scaled(points, rescale)
    )
    triangles = points if given is None else Delaunay(given)
    values, d = array_of(values), triangles.points.shape[1]

    def interpolated(*args: Any) -> Any:
        x = (_places(args) - offset) / size
        x = v.reshape(x, shape=(*x.shape, 1)) if d == 1 and x.ndim == 1 else x
        which = triangles.find_simplex(readable(x))
        change = triangles.transform[which]
        inner = v.squeeze(
            change[..., :d, :] @ v.expand_dims(x - change[..., d, :], axis=-1), axis=-1
        )
        parts = v.concat(inner, 1 - v.sum(inner, axis=-1, keepdims=True), axis=-1)
        corners = v.take(values, triangles.simplices[which], axis=0)
        parts = v.reshape(parts, shape=(*parts.shape, *(1,) * (values.ndim - 1)))
        y = v.sum(parts * corners, axis=which.ndim)
        outside: Any = np.reshape(which < 0, which.shape + (1,) * (values.ndim - 1))
        return v.where(outside, fill_value, y) if outside.any() else y

    return interpolated


@constructs(native.NearestNDInterpolator)
def NearestNDInterpolator(  # noqa: N802
    x: Any, y: Any, rescale: bool = False, tree_options: Any = None
) -> Callable[..., Any]:
    """Take the nearest value: as ``scipy.interpolate.NearestNDInterpolator``."""
    points, offset, size = _scaled(x, rescale)
    tree, values = KDTree(points, **(tree_options or {})), array_of(y)

    def interpolated(*args: Any, **how: Any) -> Any:
        at = (readable(_places(args)) - offset) / size
        nearest: Any = tree.query(at, **how)[1]
        return v.take(values, nearest, axis=0)

    return interpolated


@constructs(native.CloughTocher2DInterpolator, tolerance=1e-4)
def CloughTocher2DInterpolator(  # noqa: N802
    points: Any,
    values: Any,
    fill_value: Any = math.nan,
    tol: float = 1e-6,
    maxiter: int = 400,
    rescale: bool = False,
) -> Callable[..., Any]:
    """Interpolate smoothly: as ``scipy.interpolate.CloughTocher2DInterpolator``, in the values."""
    values = array_of(values)
    units = np.eye(values.shape[0])
    unit = native.CloughTocher2DInterpolator(_plain(points), units, math.nan, 1e-12, 4000, rescale)

    def interpolated(*args: Any) -> Any:
        at = _places(args)
        if varies(at):
            reject(
                "CloughTocher2DInterpolator has derivatives in the values, and none in the places"
            )
        basis = unit(at)
        outside = np.isnan(basis).any(axis=-1)
        y = v.tensordot(np.where(outside[..., None], 0.0, basis), values, axes=((-1,), (0,)))
        mask = np.reshape(outside, outside.shape + (1,) * (values.ndim - 1))
        return v.where(mask, fill_value, y) if outside.any() else y

    return interpolated


@computes(native.griddata)
def griddata(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    fill_value: Any = math.nan,
    rescale: bool = False,
) -> Any:
    """Interpolate between points that lie anywhere: as ``scipy.interpolate.griddata``."""
    place = _places((points,))
    if place.ndim < 2 or place.shape[-1] == 1:
        x, at = (
            v.reshape(array_of(a[0] if isinstance(a, tuple) else a), shape=(-1,))
            for a in (points, xi)
        )
        fill: Any = "extrapolate" if method == "nearest" else fill_value
        return interp1d(x, values, method, 0, bounds_error=False, fill_value=fill)(at)
    if method == "nearest":
        return NearestNDInterpolator(points, values, rescale)(xi)
    made = LinearNDInterpolator if method == "linear" else CloughTocher2DInterpolator
    return made(points, values, fill_value, rescale=rescale)(xi)


def _values(self: Any) -> Any:
    return np.reshape(self.values, (self.values.shape[0], *self.values_shape))


@has_method(native.LinearNDInterpolator)
def _linear(self: Any, *args: Any) -> Any:
    """Interpolate at traced places."""
    offset, scale = (0.0, 1.0) if self.scale is None else (self.offset, self.scale)
    found = LinearNDInterpolator(self.tri, _values(self), self.fill_value)
    return found((_places(args) - offset) / scale)


@has_method(native.NearestNDInterpolator)
def _nearest(self: Any, *args: Any, **how: Any) -> Any:
    """Interpolate at traced places: constant."""
    return array_of(self(readable(_places(args)), **how))

"""Interpolation on grids, and between points that lie anywhere."""

from __future__ import annotations

import copy
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import varies
from chainrules_scipy.interpolate.polynomials import (
    PchipInterpolator,
    computes,
    constructs,
)
from chainrules_scipy.interpolate.splines import Spline, interp1d
from chainrules_scipy.rows import anchored, array_of, readable, refused, reject


@constructs(
    native.RegularGridInterpolator,
    lambda f: (f.grid, f.values, f.method, f.bounds_error, f.fill_value),
)
def RegularGridInterpolator(  # noqa: N802
    known: Any,
    points: Any,
    values: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = math.nan,
    **_: Any,
) -> Callable[..., Any]:
    """Interpolate on a grid, by the corners of the box that a point is in."""
    axes, values = [array_of(p) for p in points], array_of(values)
    turned = [k for k, axis in enumerate(axes) if readable(axis)[-1] < readable(axis)[0]]
    axes = [v.flip(axis, axis=0) if k in turned else axis for k, axis in enumerate(axes)]
    values = v.flip(values, axis=tuple(turned)) if turned else values
    low, high = (np.stack([readable(axis)[end] for axis in axes]) for end in (0, -1))
    splines = functools.cache(functools.partial(_splines, axes, values))
    if method in DEGREES:
        splines(method)

    def interpolated(xi: Any, method: str | None = method, *, nu: Any = None) -> Any:
        x = _places((xi,))
        x = v.reshape(x, shape=(-1, len(axes))) if x.ndim == 1 else x
        at, how = readable(x), method or known.method
        unknown = np.any(np.isnan(at), axis=-1)
        outside = np.any((at < low) | (at > high), axis=-1)
        if unknown.any():
            x = v.where(unknown[..., None], low, x)
        if how in DEGREES:
            bases, coefficients = splines(how)
            orders = (0,) * len(bases) if nu is None else nu
            parts = [b.at(x[..., k], orders[k], True) for k, b in enumerate(bases)]
            y = _of_splines(coefficients, parts, x.ndim - 1)
        elif how == "pchip":
            y = _folded(axes, values, x)
        else:
            y = _of_corners(axes, values, x, how)
        shape = outside.shape + (1,) * (values.ndim - len(axes))
        if fill_value is not None and not bounds_error and outside.any():
            y = v.where(np.reshape(outside, shape), fill_value, y)
        return v.where(np.reshape(unknown, shape), math.nan, y) if unknown.any() else y

    return interpolated


DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}
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
    theirs = native.RegularGridInterpolator(plain, readable(values), method)
    known = getattr(getattr(theirs, "_spline", None), "c", None)
    return bases, exact if known is None else anchored(np.asarray(known), exact)


def _of_splines(coefficients: Any, parts: Any, n: int) -> Any:
    y = v.tensordot(parts[0], coefficients, axes=((-1,), (0,)))
    for basis in parts[1:]:
        basis = v.reshape(basis, shape=(*basis.shape, *(1,) * (y.ndim - n - 1)))
        y = v.sum(basis * y, axis=n)
    return y


def _folded(axes: list[Any], values: Any, x: Any) -> Any:
    """Interpolate along the last axis, of what comes out along the one before, and so on."""
    along = lambda at, y, k: PchipInterpolator(axes[k], y, axis=k)(at[k])
    order, places = range(len(axes))[::-1], v.reshape(x, shape=(-1, len(axes)))
    found = [functools.reduce(functools.partial(along, at), order, values) for at in places]
    return v.reshape(v.stack(*found), shape=(*x.shape[:-1], *values.shape[len(axes) :]))


def _of_corners(axes: list[Any], values: Any, x: Any, method: str) -> Any:
    if method not in ("linear", "nearest"):
        reject(f"RegularGridInterpolator(method={method!r}) has no derivative; take 'cubic'")
    places: list[Any] = []
    parts: list[Any] = []
    for k, axis in enumerate(axes):
        knots = readable(axis)
        j = np.clip(np.searchsorted(knots, readable(x[..., k]), "right") - 1, 0, len(knots) - 2)
        start, end = v.take(axis, j, axis=0), v.take(axis, j + 1, axis=0)
        places.append(j)
        parts.append((x[..., k] - start) / (end - start))
    if method == "nearest":
        return values[tuple(j + (readable(t) > 0.5) for j, t in zip(places, parts, strict=True))]
    total: Any = 0.0
    for corner in np.ndindex(*(2,) * len(axes)):
        weight: Any = math.prod([t if up else 1 - t for up, t in zip(corner, parts, strict=True)])
        weight = v.reshape(weight, shape=(*weight.shape, *(1,) * (values.ndim - len(axes))))
        total = total + weight * values[tuple(map(operator.add, places, corner))]
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


@constructs(
    native.RBFInterpolator,
    lambda f: (
        *(f.y, np.reshape(f.d, (len(f.d), *f.d_shape)), f.neighbors, f.smoothing, f.kernel),
        f.epsilon,
    ),
)
def RBFInterpolator(  # noqa: N802
    known: Any,
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
        reject(
            "RBFInterpolator(neighbors=...) has no derivative here; leave it out",
            UnsupportedKeywordError,
        )
    points, values = array_of(y), array_of(d)
    epsilon = 1.0 if epsilon is None else epsilon
    plain = readable(points)
    low, high = plain.min(axis=0), plain.max(axis=0)
    shift, scale = (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)
    n, size = len(plain), len(known.powers)
    columns = v.reshape(values, shape=(n, math.prod(values.shape[1:])))

    def functions(x: Any) -> Any:
        gaps = v.expand_dims(x, axis=1) - v.expand_dims(points, axis=0)
        radial = _RADIAL[kernel](epsilon * v.vector_norm(gaps, axis=-1))
        if not size:
            return radial
        z, one = (x - shift) / scale, v.ones_like(x[:, 0])
        powers = [[z[:, k] ** m for k, m in enumerate(p.tolist()) if m] for p in known.powers]
        return v.concat(radial, v.stack(*[math.prod(p, start=one) for p in powers], axis=1), axis=1)

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


refused(native, {"Rbf": "write RBFInterpolator(points, values)(places)"})


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


def _values(f: Any) -> tuple[Any, Any]:
    return None, np.reshape(f.values, (f.values.shape[0], *f.values_shape))


@constructs(native.LinearNDInterpolator, _values)
def LinearNDInterpolator(  # noqa: N802
    known: Any, points: Any, values: Any, *_: Any, **__: Any
) -> Callable[..., Any]:
    """Interpolate in triangles: as ``scipy.interpolate.LinearNDInterpolator``."""
    _plain(points)
    triangles, values = known.tri, array_of(values)
    d = triangles.points.shape[1]
    offset, size = (0.0, 1.0) if known.scale is None else (known.offset, known.scale)

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
        return v.where(outside, known.fill_value, y) if outside.any() else y

    return interpolated


@constructs(native.NearestNDInterpolator, lambda f: (None, f.values))
def NearestNDInterpolator(  # noqa: N802
    known: Any, x: Any, y: Any, *_: Any, **__: Any
) -> Callable[..., Any]:
    """Take the nearest value: as ``scipy.interpolate.NearestNDInterpolator``."""
    _plain(x)
    values, number = array_of(y), copy.copy(known)
    number.values = np.arange(len(values))
    return lambda *args, **how: v.take(
        values, number(readable(_places(args)), **how).astype(int), axis=0
    )


@constructs(native.CloughTocher2DInterpolator, tolerance=1e-4)
def CloughTocher2DInterpolator(  # noqa: N802
    known: Any,
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

"""Interpolation on grids."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import vocabulary as v
from chainrules_py.extend import varies
from chainrules_scipy.interpolate.polynomials import (
    PchipInterpolator,
    computes,
    constructs,
    has_method,
)
from chainrules_scipy.interpolate.splines import Spline
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

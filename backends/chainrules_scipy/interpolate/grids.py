"""Interpolation on grids."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import NotDifferentiableError, UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import varies
from chainrules_scipy.installing import place_method
from chainrules_scipy.interpolate.common import called, constructs
from chainrules_scipy.interpolate.cubic import PchipInterpolator
from chainrules_scipy.interpolate.fitted import Spline
from chainrules_scipy.rows import anchored, array_of, readable, stands_for


@constructs(native.RegularGridInterpolator)
def RegularGridInterpolator(  # noqa: N802
    points: Any,
    values: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = math.nan,
    **options: Any,
) -> Callable[..., Any]:
    """Interpolate on a grid, by the corners of the box that a point is in.

    Parameters
    ----------
    points : sequence of arrays
        The coordinates of the grid, increasing or decreasing, along each axis.
    values : array, shape (n1, n2, ...)
        What is known there.
    method : {"linear", "nearest", "slinear", "cubic", "quintic", "pchip"}
        How.
    bounds_error : bool
        Whether points outside are an error.
    fill_value : number or None
        What is outside; None extrapolates.
    **options
        Not taken.

    Returns
    -------
    callable
        Of points, shape (..., number of axes).

    Raises
    ------
    UnsupportedKeywordError
        If the method is another one.

    Examples
    --------
    >>> grid = np.array([0.0, 1.0])
    >>> print(RegularGridInterpolator((grid, grid), np.eye(2))([[0.5, 0.0]]))
    [0.5]
    """
    if method not in ("linear", "nearest", "pchip", *DEGREES) or any(
        value is not None for value in options.values()
    ):
        msg = f"RegularGridInterpolator(method={method!r}) has no derivative here; take 'linear'"
        raise UnsupportedKeywordError(msg)
    axes = [array_of(p) for p in points]
    values = array_of(values)
    if method in DEGREES or method == "pchip":
        turned = [k for k, axis in enumerate(axes) if readable(axis)[-1] < readable(axis)[0]]
        axes = [v.flip(a, axis=0) if k in turned else a for k, a in enumerate(axes)]
        values = v.flip(values, axis=tuple(turned)) if turned else values
    bases: list[Spline] = []
    coefficients: Any = None
    if method in DEGREES:
        bases, coefficients = _splines(axes, values, method)

    def interpolated(xi: Any, **given: Any) -> Any:
        if given.get("method") not in (None, method):
            msg = "another method than that of RegularGridInterpolator; make one of that method"
            raise UnsupportedKeywordError(msg)
        xi = v.stack(*xi, axis=-1) if isinstance(xi, tuple) else array_of(xi)
        places: list[Any] = []
        parts: list[Any] = []
        outside: Any = False
        for k, axis in enumerate(axes):
            x, known = xi[..., k], readable(axis)
            sign = 1 if known[-1] >= known[0] else -1
            at = readable(x)
            inside = (np.min(known) <= at) & (at <= np.max(known))
            outside = outside | ~inside
            j = np.clip(np.searchsorted(sign * known, sign * at, "right") - 1, 0, len(known) - 2)
            start, end = v.take(axis, j, axis=0), v.take(axis, j + 1, axis=0)
            places.append(j)
            parts.append(bases[k](x) if method in DEGREES else (x - start) / (end - start))
        if bounds_error and np.any(outside):
            msg = "One of the requested xi is out of bounds"
            raise ValueError(msg)
        if method == "pchip":
            y = _folded(axes, values, xi)
        elif method in DEGREES:
            y = _of_splines(coefficients, parts, xi.ndim - 1)
        else:
            y = _of_corners(values, places, parts, method)
        if fill_value is None or not np.any(outside):
            return y
        shape = outside.shape + (1,) * (values.ndim - len(axes))
        return v.where(np.reshape(outside, shape), fill_value, y)

    return interpolated


DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}
"""Methods that are splines along every axis."""


def _splines(axes: list[Any], values: Any, method: str) -> tuple[list[Spline], Any]:
    """Return the splines along each axis, and their coefficients.

    SciPy solves for these step by step, to some five digits: so the coefficients have its values,
    of which the places are differentiated, and the derivatives of those that are exact.
    """
    if any(map(varies, axes)):
        msg = f"RegularGridInterpolator(method={method!r}) has no derivative in its points"
        raise NotDifferentiableError(msg)
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


@stands_for(native.interpn)
def interpn(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = math.nan,
) -> Any:
    """Interpolate on a grid, as `RegularGridInterpolator` does.

    Parameters
    ----------
    points, values, method, bounds_error, fill_value
        Those of `RegularGridInterpolator`.
    xi : array, shape (..., number of axes)
        Where.

    Returns
    -------
    array
        As ``scipy.interpolate.interpn``.

    Examples
    --------
    >>> grid = np.array([0.0, 1.0])
    >>> print(interpn((grid, grid), np.eye(2), np.array([[0.5, 0.0]])))
    [0.5]
    """
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


@functools.partial(place_method, native.RegularGridInterpolator)
@called
def _grid(self: Any, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
    found = RegularGridInterpolator(
        self.grid, self.values, method or self.method, self.bounds_error, self.fill_value
    )
    return found(xi)

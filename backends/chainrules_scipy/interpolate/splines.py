"""Interpolation by splines of a degree, and by lines."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import NotDifferentiableError
from chainrules_py import vocabulary as v
from chainrules_py.extend import varies
from chainrules_scipy.interpolate.common import (
    computes,
    constructs,
    first,
    has_method,
    steps,
    times,
)
from chainrules_scipy.interpolate.cubic import CubicSpline
from chainrules_scipy.interpolate.knots import Spline
from chainrules_scipy.interpolate.polynomials import PiecewisePolynomial
from chainrules_scipy.rows import array_of, readable


@computes(native.make_interp_spline)
def make_interp_spline(
    x: Any,
    y: Any,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> Any:
    """Interpolate by splines of a degree, in the values."""
    if varies((x, t)):
        msg = "make_interp_spline has derivatives in y; CubicSpline has them in x as well"
        raise NotDifferentiableError(msg)
    y, axis = first(y, axis)
    n, start = y.shape[0], 0.0
    unit = np.eye(n)
    if isinstance(bc_type, tuple):  # of numbers, which stand for themselves
        start = native.make_interp_spline(x, np.zeros(y.shape), k, t, bc_type, 0, check_finite).c
        bc_type = tuple(_without_numbers(end, n) for end in bc_type)
    if bc_type == "periodic":  # the last value is the first one
        unit, y = np.concatenate([unit[:-1, :-1], unit[:1, :-1]]), y[:-1]
    fit = native.make_interp_spline(x, unit, k, t, bc_type, 0, check_finite)
    found = Spline(fit.t, times(fit.c, y) + start, fit.k, fit.extrapolate)
    found.axis = axis
    return found


def _without_numbers(end: Any, n: int) -> Any:
    """Return the conditions at an end with values 0, which are linear in y."""
    return end if end is None or isinstance(end, str) else [(nu, np.zeros(n)) for nu, _ in end]


@constructs(native.interp1d)
def interp1d(
    x: Any,
    y: Any,
    kind: Any = "linear",
    axis: int = -1,
    copy: bool = True,
    bounds_error: bool | None = None,
    fill_value: Any = math.nan,
    assume_sorted: bool = False,
) -> Callable[..., Any]:
    """Interpolate by lines or splines."""
    degrees = {"linear": 1, "slinear": 1, "quadratic": 2, "cubic": 3, "zero": 0}
    degree: Any = degrees.get(kind, kind)
    y, axis = first(y, axis)
    x = array_of(x)
    if not assume_sorted:
        order = np.argsort(readable(x), kind="mergesort")
        x, y = v.take(x, order, axis=0), v.take(y, order, axis=0)
    if degree == 0 or isinstance(degree, str):
        line: Any = functools.partial(_stepped, x, y, degree, axis)
    elif degree == 1:
        _, slope = steps(x, y)
        line = PiecewisePolynomial(v.stack(slope, y[:-1], axis=0), x, True, axis)
    else:
        line = CubicSpline(x, y) if degree == 3 and varies(x) else make_interp_spline(x, y, degree)
        line.axis, line.theirs = axis, None
        if isinstance(line, Spline):
            line.pieces.axis = axis
    ends = _ends(y, fill_value, kind)
    low, high = readable(x)[0], readable(x)[-1]

    def interpolated(at: Any) -> Any:
        at = array_of(at)
        below, above = readable(at) < low, readable(at) > high
        outside = below | above
        if ends is None or not np.any(outside):
            return line(at)
        found = line(v.where(outside, low, at))
        for end, beyond in zip(ends, (below, above), strict=True):
            rest = y.shape[1:]
            end = v.broadcast_to(array_of(end), shape=rest)
            end = v.reshape(end, shape=rest[:axis] + (1,) * at.ndim + rest[axis:])
            shape = (1,) * axis + at.shape + (1,) * (len(rest) - axis)
            found = v.where(np.reshape(beyond, shape), end, found)
        return found

    return interpolated


def _ends(y: Any, fill_value: Any, kind: Any) -> Any:
    """Return what stands before and behind the places, or None where the line goes on."""
    if isinstance(fill_value, str) and fill_value == "extrapolate":
        goes_on = {"previous": (math.nan, y[-1]), "next": (y[0], math.nan)}
        return goes_on.get(kind)
    both = (
        fill_value if isinstance(fill_value, tuple) and len(fill_value) == 2 else [fill_value] * 2
    )
    return [v.reshape(e, shape=()) if y.ndim == 1 else e for e in map(array_of, both)]


def _stepped(x: Any, y: Any, kind: Any, axis: int, at: Any) -> Any:
    """Take a value beside each place: it jumps, and is constant between."""
    knots, at = readable(x), readable(at)
    if kind in ("nearest", "nearest-up"):
        side: Any = "right" if kind == "nearest-up" else "left"
        places = np.searchsorted(knots[1:] / 2 + knots[:-1] / 2, at, side)
    elif kind == "next":
        places = np.searchsorted(knots, at, "left")
    else:
        places = np.searchsorted(knots, at, "right") - 1
    found = v.take(y, np.clip(places, 0, len(knots) - 1), axis=0)
    n = np.ndim(at)
    order = (*range(n, n + axis), *range(n), *range(n + axis, found.ndim))
    return v.permute_dims(found, axes=order)


@has_method(native.interp1d)
def _line(self: Any, x: Any) -> Any:
    """Interpolate at traced places."""
    kind = self._kind if self._kind != "spline" else self._spline.k
    return interp1d(self.x, self.y, kind, self.axis, True, False, self.fill_value, True)(x)


@has_method(native.PPoly)
def _piecewise(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """Evaluate a polynomial of SciPy's at traced places."""
    return _of_scipy(self)(x, nu, extrapolate)


@has_method(native.PPoly, "integrate")
def _integrated(self: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    """Integrate a polynomial of SciPy's between traced limits."""
    return _of_scipy(self).integrate(a, b, extrapolate)


@has_method(native.PPoly, "solve")
def _solved(self: Any, y: Any = 0.0, discontinuity: bool = True, extrapolate: Any = None) -> Any:
    """Find the places where a polynomial of SciPy's is a traced number."""
    return _of_scipy(self).solve(y, discontinuity, extrapolate)


def _of_scipy(self: Any) -> PiecewisePolynomial:
    return PiecewisePolynomial(self.c, self.x, self.extrapolate, self.axis)

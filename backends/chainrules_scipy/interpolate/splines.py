"""Interpolation by splines of a degree, and by lines."""

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
from chainrules_scipy.interpolate.common import called, constructs, first, steps, times
from chainrules_scipy.interpolate.cubic import CubicSpline
from chainrules_scipy.interpolate.polynomials import PiecewisePolynomial
from chainrules_scipy.rows import array_of, readable, stands_for


@stands_for(native.make_interp_spline)
def make_interp_spline(
    x: Any,
    y: Any,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> Any:
    """Interpolate by splines of a degree, in the values.

    Parameters
    ----------
    x : array, shape (n,)
        The places.
    y : array
        The values, n of them along the axis.
    k : int
        The degree.
    t : array, optional
        The knots.
    bc_type : str, optional
        What holds at the ends: None, "natural", "clamped", "not-a-knot" or "periodic".
    axis : int
        Along which they are.
    check_finite : bool
        As SciPy has it.

    Returns
    -------
    PiecewisePolynomial
        To be called as what ``scipy.interpolate.make_interp_spline`` gives.

    Raises
    ------
    NotDifferentiableError
        If x or t is differentiated.

    Examples
    --------
    >>> round(float(make_interp_spline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0], k=2)(1.5)), 9)
    2.25
    """
    if varies((x, t)):
        msg = "make_interp_spline has derivatives in y; CubicSpline has them in x as well"
        raise NotDifferentiableError(msg)
    y, axis = first(y, axis)
    n, start = y.shape[0], 0.0
    if isinstance(bc_type, tuple):  # of numbers, which stand for themselves
        given = native.make_interp_spline(x, np.zeros(y.shape), k, t, bc_type, 0, check_finite)
        start = pieces(given)[0]
        bc_type = tuple(_without_numbers(end, n) for end in bc_type)
    unit = native.make_interp_spline(x, np.eye(n), k, t, bc_type, 0, check_finite)
    c, knots = pieces(unit)
    return PiecewisePolynomial(times(c, y) + start, knots, unit.extrapolate, axis)


def _without_numbers(end: Any, n: int) -> Any:
    """Return the conditions at an end with values 0, which are linear in y."""
    return end if end is None or isinstance(end, str) else [(nu, np.zeros(n)) for nu, _ in end]


def pieces(spline: Any) -> tuple[Any, Any]:
    """Return the coefficients of the polynomials that a spline consists of, and the knots."""
    k = spline.k
    knots = np.unique(spline.t[k : len(spline.t) - k])
    parts = [spline(knots[:-1], nu=m) / math.factorial(m) for m in range(k, -1, -1)]
    return np.stack(parts), knots


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
    """Interpolate by lines or splines.

    Parameters
    ----------
    x : array, shape (n,)
        The places.
    y : array
        The values, n of them along the axis.
    kind : str or int
        "linear", "slinear", "quadratic", "cubic", "nearest", "nearest-up", "previous", "next",
        "zero", or the degree.
    axis : int
        Along which they are.
    copy, bounds_error, assume_sorted
        As SciPy has them.
    fill_value : number, tuple of two or "extrapolate"
        What is outside, where that is no error.

    Returns
    -------
    callable
        As ``scipy.interpolate.interp1d``.

    Raises
    ------
    UnsupportedKeywordError
        If ``kind`` is another one.

    Examples
    --------
    >>> print(interp1d([0.0, 1.0], [0.0, 2.0])(0.25))
    0.5
    """
    degrees = {"linear": 1, "slinear": 1, "quadratic": 2, "cubic": 3}
    degree: Any = degrees.get(kind, kind)
    if degree not in (1, 2, 3, 4, 5) and kind not in _STEPS:
        msg = f"interp1d(kind={kind!r}) has no derivative here"
        raise UnsupportedKeywordError(msg)
    extrapolate = isinstance(fill_value, str)
    y, axis = first(y, axis)
    x = array_of(x)
    if not assume_sorted:
        order = np.argsort(readable(x), kind="mergesort")
        x, y = v.take(x, order, axis=0), v.take(y, order, axis=0)
    if kind in _STEPS:
        line: Any = functools.partial(_stepped, x, y, kind, axis)
    elif degree == 1:
        _, slope = steps(x, y)
        line = PiecewisePolynomial(v.stack(slope, y[:-1], axis=0), x, True, axis)
    else:
        line = (
            make_interp_spline(x, y, degree) if degree != 3 or not varies(x) else CubicSpline(x, y)
        )
        line.axis = axis
    low, high = readable(x)[0], readable(x)[-1]

    def interpolated(at: Any) -> Any:
        at = array_of(at)
        outside = (readable(at) < low) | (readable(at) > high)
        if extrapolate or not np.any(outside):
            return line(at)
        if bounds_error is not False:
            msg = "A value in x_new is outside the interpolation range."
            raise ValueError(msg)
        shape = (1,) * axis + outside.shape + (1,) * (y.ndim - 1 - axis)
        ends = fill_value if isinstance(fill_value, tuple) else (fill_value, fill_value)
        found = line(v.where(outside, low, at))
        for end, beyond in zip(ends, (readable(at) < low, readable(at) > high), strict=True):
            found = v.where(np.reshape(beyond, shape), array_of(end), found)
        return found

    return interpolated


_STEPS = ("nearest", "nearest-up", "previous", "next", "zero")


def _stepped(x: Any, y: Any, kind: str, axis: int, at: Any) -> Any:
    """Take a value beside each place: it jumps, and is constant between."""
    knots, at = readable(x), readable(at)
    if kind.startswith("nearest"):
        side: Any = "right" if kind == "nearest-up" else "left"
        places = np.searchsorted((knots[1:] + knots[:-1]) / 2, at, side)
    elif kind == "next":
        places = np.searchsorted(knots, at, "left")
    else:
        places = np.searchsorted(knots, at, "right") - 1
    found = v.take(y, np.clip(places, 0, len(knots) - 1), axis=0)
    n = np.ndim(at)
    order = (*range(n, n + axis), *range(n), *range(n + axis, found.ndim))
    return v.permute_dims(found, axes=order)


@functools.partial(place_method, native.interp1d)
@called
def _line(self: Any, x: Any) -> Any:
    kind = self._kind if self._kind != "spline" else self._spline.k or "zero"
    found = interp1d(
        self.x, self.y, kind, self.axis, True, self.bounds_error, self.fill_value, True
    )
    return found(x)


@functools.partial(place_method, native.PPoly)
@called
def _piecewise(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    return PiecewisePolynomial(self.c, self.x, self.extrapolate, self.axis)(x, nu, extrapolate)


def _integrated(self: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    """Integrate what is SciPy's between traced limits."""
    parts = pieces(self) if isinstance(self, native.BSpline) else (self.c, self.x)
    return PiecewisePolynomial(*parts, self.extrapolate, self.axis).integrate(a, b, extrapolate)


for _cls in (native.PPoly, native.BSpline):
    place_method(_cls, _integrated, "integrate")


@functools.partial(place_method, native.BSpline)
@called
def _spline(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    axis, spline = self.axis, native.BSpline(self.t, self.c, self.k)
    return PiecewisePolynomial(*pieces(spline), self.extrapolate, axis)(x, nu, extrapolate)

"""Splines of knots and coefficients, and interpolation by them and by lines."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import vocabulary as v
from chainrules_scipy.interpolate.polynomials import (
    PiecewisePolynomial,
    computes,
    constructs,
    first,
    fitted,
    placed,
    refuse,
    steps,
    times,
)
from chainrules_scipy.rows import array_of, readable, refused


class Spline(PiecewisePolynomial):
    """A spline of knots and coefficients, as ``scipy.interpolate.BSpline``.

    Parameters
    ----------
    t : array, shape (n + k + 1,)
        The knots, which are constant.
    c : array, shape (>= n, ...)
        The coefficients.
    k : int
        The degree.
    extrapolate : bool or "periodic"
        Whether the first and the last polynomial go on; False gives NaN outside.
    axis : int
        Where the axis of the coefficients stands.
    """

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        refuse(t)
        c, axis = first(c, axis)
        t, k = np.asarray(t, float), int(k)
        n = len(t) - k - 1
        knots, basis = t[k : n + 1], native.BSpline(t, np.eye(n), k)
        parts = [basis(knots[:-1], nu=m) / math.factorial(m) for m in range(k, -1, -1)]
        super().__init__(times(np.stack(parts), c[:n]), knots, extrapolate, axis)
        self.t, self.c, self.k, self.tck = t, c[:n], k, (t, c[:n], k)

    def _like(self, c: Any, extrapolate: Any) -> PiecewisePolynomial:
        found = super()._like(c, extrapolate)
        del found.c, found.x  # SciPy's object has those of a spline
        return found


def _spline(fit: Callable[[Any, Any], Any], y: Any, axis: int, bc_type: Any = None) -> Spline:
    """Fit by what SciPy makes of the unit vectors."""
    y, axis = first(y, axis)
    unit, c = fitted(fit, y, bc_type)
    found = Spline(unit.t, c, unit.k, unit.extrapolate)
    found.axis = axis
    return found


@constructs(
    native.BSpline,
    lambda s: (s.t, np.moveaxis(s.c, 0, s.axis), s.k, s.extrapolate, s.axis),
    ("__call__", "integrate"),
)
def BSpline(known: Any, *args: Any, **options: Any) -> Spline:  # noqa: N802
    """Make a spline, in coefficients and places."""
    return Spline(*args, **options)


@computes(native.make_interp_spline)
def make_interp_spline(
    x: Any,
    y: Any,
    k: int = 3,
    t: Any = None,
    bc_type: Any = None,
    axis: int = 0,
    *_: Any,
    **__: Any,
) -> Any:
    """Interpolate by splines of a degree, in the values."""
    refuse(x, t)
    return _spline(lambda e, ends: native.make_interp_spline(x, e, k, t, ends), y, axis, bc_type)


def _kind(line: Any) -> Any:
    return line._spline.k if line._kind == "spline" else line._kind


@constructs(
    native.interp1d, lambda f: (f.x, f.y, _kind(f), f.axis, True, False, f.fill_value, True)
)
def interp1d(
    known: Any,
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
        line: Any = functools.partial(_stepped, x, y, degree)
    elif degree == 1:
        _, slope = steps(x, y)
        line = PiecewisePolynomial(v.stack(slope, y[:-1], axis=0), x)
    else:
        line = make_interp_spline(x, y, degree)
        line.theirs = None
    ends = _ends(y, fill_value, kind)
    low, high = readable(x)[0], readable(x)[-1]

    def interpolated(at: Any) -> Any:
        at = array_of(at)
        beyond = [readable(at) < low, readable(at) > high]
        outside = np.logical_or(*beyond)
        moves = ends is not None and outside.any()
        found = line(v.where(outside, low, at) if moves else at)
        for end, there in zip(ends or (), beyond, strict=False) if moves else ():
            shape = there.shape + (1,) * (found.ndim - there.ndim)
            found = v.where(np.reshape(there, shape), end, found)
        return placed(found, at.ndim, axis)

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


def _stepped(x: Any, y: Any, kind: Any, at: Any) -> Any:
    """Take a value beside each place, whose number SciPy finds; it is constant between jumps."""
    on: Any = "extrapolate"
    number = native.interp1d(readable(x), np.arange(len(x)), kind, fill_value=on)
    return v.take(y, np.nan_to_num(number(readable(at))).astype(int), axis=0)


_SPLINE = "write make_interp_spline(x, y), which has derivatives in values and places"
_FIT = "write BSpline(t, np.linalg.lstsq(BSpline(t, np.eye(n), k)(x), y)[0], k)"
_GRID = "write RegularGridInterpolator((x, y), z, method='cubic'), which has derivatives in both"
refused(
    native,
    {
        "InterpolatedUnivariateSpline": _SPLINE,
        "UnivariateSpline": _SPLINE,
        "splrep": _SPLINE,
        "LSQUnivariateSpline": _FIT,
        "make_lsq_spline": _FIT,
        "make_smoothing_spline": _FIT,
        "splev": "write BSpline(t, c, k)(x), which has derivatives in coefficients and places",
        "splint": "write BSpline(t, c, k).integrate(a, b)",
        "splder": "write BSpline(t, c, k).derivative()(x)",
        "splantider": "write BSpline(t, c, k).antiderivative()(x)",
        "RectBivariateSpline": _GRID,
        "SmoothBivariateSpline": _GRID,
        "LSQBivariateSpline": _GRID,
    },
)

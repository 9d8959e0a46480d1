"""Interpolation by cubic polynomials, in values, places and knots."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import varies
from chainrules_scipy.interpolate.common import constructs, first, steps, times
from chainrules_scipy.interpolate.polynomials import PiecewisePolynomial, hermite
from chainrules_scipy.rows import array_of, readable

_cubic: Any = native.CubicSpline


@constructs(native.CubicSpline)
def CubicSpline(  # noqa: N802
    x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
) -> Any:
    """Interpolate by cubic polynomials with two continuous derivatives."""
    y, axis = first(y, axis)
    if extrapolate is None:
        extrapolate = "periodic" if bc_type == "periodic" else True
    if not varies((x, bc_type)):
        knots = np.asarray(x, float)
        given = np.zeros(y.shape[1:]) if isinstance(bc_type, tuple) else None
        start = 0.0 if given is None else _cubic(knots, np.zeros(y.shape), bc_type=bc_type).c
        unit = np.eye(len(knots))
        if bc_type == "periodic":  # the last value is the first one
            unit, y = np.concatenate([unit[:-1, :-1], unit[:1, :-1]]), y[:-1]
        conditions = _homogeneous(bc_type, len(knots))
        linear = _cubic(knots, unit, bc_type=conditions).c
        return PiecewisePolynomial(times(linear, y) + start, knots, extrapolate, axis)
    x = array_of(x)
    return hermite(x, y, _spline_slopes(x, y, bc_type), extrapolate, axis)


def _homogeneous(bc_type: Any, n: int) -> Any:
    """Return the conditions with values 0, which are linear in y."""
    if not isinstance(bc_type, tuple):
        return bc_type
    return tuple(b if isinstance(b, str) else (b[0], np.zeros(n)) for b in bc_type)


def _spline_slopes(x: Any, y: Any, bc_type: Any) -> Any:
    """Solve for the slopes at the knots: the second derivative is continuous there."""
    n = x.shape[0]
    if bc_type not in ("not-a-knot", "natural", "clamped") or n < 4:
        msg = f"CubicSpline(bc_type={bc_type!r}) of {n} knots that are differentiated; take 4, or "
        raise UnsupportedKeywordError(msg + "more, and 'not-a-knot', 'natural' or 'clamped'")
    h = x[1:] - x[:-1]
    wide = v.reshape(h, shape=(-1,) + (1,) * (y.ndim - 1))
    slope = (y[1:] - y[:-1]) / wide
    one, zero = v.ones_like(h[:1]), v.zeros_like(h[:1])
    inner = 3 * (wide[1:] * slope[:-1] + wide[:-1] * slope[1:])
    if bc_type == "clamped":
        ends = [(one, zero, 0 * y[:1]), (one, zero, 0 * y[:1])]
    elif bc_type == "natural":
        ends = [(2 * one, one, 3 * slope[:1]), (2 * one, one, 3 * slope[-1:])]
    else:
        ends = [
            _no_knot(h[:1], h[1:2], wide[:1], wide[1:2], slope[:1], slope[1:2]),
            _no_knot(h[-1:], h[-2:-1], wide[-1:], wide[-2:-1], slope[-1:], slope[-2:-1]),
        ]
    (d0, u0, b0), (d1, l1, b1) = ends
    diagonal = v.concat(d0, 2 * (h[:-1] + h[1:]), d1, axis=0)
    upper, lower = v.concat(u0, h[:-1], axis=0), v.concat(h[1:], l1, axis=0)
    eye, ones = np.eye(n), np.ones((1,))
    matrix = (
        v.expand_dims(diagonal, axis=-1) * eye
        + v.expand_dims(v.concat(upper, ones, axis=0), axis=-1) * np.eye(n, k=1)
        + v.expand_dims(v.concat(ones, lower, axis=0), axis=-1) * np.eye(n, k=-1)
    )
    right = v.concat(b0, inner, b1, axis=0)
    columns = v.reshape(right, shape=(n, math.prod(right.shape[1:])))
    return v.reshape(v.solve(matrix, columns), shape=right.shape)


def _no_knot(h0: Any, h1: Any, w0: Any, w1: Any, s0: Any, s1: Any) -> tuple[Any, Any, Any]:
    """Make the third derivative continuous at the second knot."""
    return h1, h0 + h1, ((w0 + 2 * (w0 + w1)) * w1 * s0 + w0 * w0 * s1) / (w0 + w1)


@constructs(native.CubicHermiteSpline)
def CubicHermiteSpline(  # noqa: N802
    x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None
) -> Any:
    """Interpolate values and slopes by cubic polynomials."""
    (y, axis), (s, _) = first(y, axis), first(dydx, axis)
    return hermite(array_of(x), y, s, extrapolate, axis)


@constructs(native.PchipInterpolator)
def PchipInterpolator(x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> Any:  # noqa: N802
    """Interpolate by cubic polynomials that are monotone where the values are.

    F. N. Fritsch and J. Butland, SIAM J. Sci. Comput. 5 (1984) 300.
    """
    x = array_of(x)
    y, axis = first(y, axis)
    h, m = steps(x, y)
    if x.shape[0] == 2:
        return hermite(x, y, v.concat(m, m, axis=0), extrapolate, axis)
    sign = np.sign(readable(m))
    flat = (sign[1:] != sign[:-1]) | (sign[1:] == 0) | (sign[:-1] == 0)
    a, b = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    safe = [v.where(flat, 1.0, part) for part in (m[:-1], m[1:])]
    mean = (a / safe[0] + b / safe[1]) / (a + b)
    inner = v.where(flat, 0.0, 1 / mean)
    ends = [
        _pchip_end(h[:1], h[1:2], m[:1], m[1:2]),
        _pchip_end(h[-1:], h[-2:-1], m[-1:], m[-2:-1]),
    ]
    return hermite(x, y, v.concat(ends[0], inner, ends[1], axis=0), extrapolate, axis)


def _pchip_end(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    """Three points, kept in the shape."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    plain, p0, p1 = readable(d), readable(m0), readable(m1)
    other = np.sign(plain) != np.sign(p0)
    steep = (np.sign(p0) != np.sign(p1)) & (abs(plain) > 3 * abs(p0)) & ~other
    return v.where(other, 0.0, v.where(steep, 3 * m0, d))


@constructs(native.Akima1DInterpolator)
def Akima1DInterpolator(  # noqa: N802
    x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
) -> Any:
    """Interpolate by cubic polynomials whose slopes weigh those on both sides.

    H. Akima, J. ACM 17 (1970) 589.
    """
    x = array_of(x)
    y, axis = first(y, axis)
    _, inner = steps(x, y)
    if x.shape[0] == 2:
        slopes = v.concat(inner, inner, axis=0)
        return hermite(x, y, slopes, extrapolate or False, axis)
    before = [2 * inner[:1] - inner[1:2]]
    before.insert(0, 2 * before[0] - inner[:1])
    after = [2 * inner[-1:] - inner[-2:-1]]
    after.append(2 * after[0] - inner[-1:])
    m = v.concat(*before, inner, *after, axis=0)
    jumps = v.abs(m[1:] - m[:-1])
    if method == "makima":
        jumps = jumps + v.abs(m[1:] + m[:-1]) / 2
    left, right = jumps[2:], jumps[:-2]
    total = left + right
    some = readable(total) > 1e-9 * np.max(readable(total), initial=-math.inf)
    mixed = (left * m[1:-2] + right * m[2:-1]) / v.where(some, total, 1.0)
    flat = 0.0 if method == "makima" else 0.5 * (m[3:] + m[:-3])
    slopes = v.where(some, mixed, flat)
    return hermite(x, y, slopes, extrapolate or False, axis)

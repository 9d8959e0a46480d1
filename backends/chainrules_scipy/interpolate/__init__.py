"""Interpolation of ``scipy.interpolate``, in values, places, and knots.

What is linear in the values is computed from what SciPy makes of the unit vectors, which has all of
its options; where the knots are differentiated as well, it is written in words.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import NotDifferentiableError, UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import advise, varies
from chainrules_scipy.installing import place_constructor, place_method
from chainrules_scipy.interpolate.polynomials import PiecewisePolynomial, hermite
from chainrules_scipy.rows import array_of, readable, stands_for

__all__ = [
    "Akima1DInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "PchipInterpolator",
    "PiecewisePolynomial",
    "RBFInterpolator",
    "RegularGridInterpolator",
    "interp1d",
    "interpn",
    "make_interp_spline",
]


def _constructs(cls: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say that a function makes what a class of SciPy's makes (a decorator)."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        place_constructor(cls, function)
        advise(
            cls.__init__,
            f"scipy.interpolate.{cls.__name__} makes plain arrays of its arguments: write "
            f"'from chainrules_scipy.interpolate import {cls.__name__}', which takes the same, or "
            "call chainrules_scipy.install() before",
        )
        return function

    return enter


def _first(y: Any, axis: int) -> tuple[Any, int]:
    """Return the values with the axis of the knots first, and which one that was."""
    y = array_of(y)
    axis = range(y.ndim)[axis]
    return v.permute_dims(y, axes=(axis, *(i for i in range(y.ndim) if i != axis))), axis


def _times(matrices: Any, y: Any) -> Any:
    """Return Σ_j T_..j y_j."""
    return v.tensordot(matrices, y, axes=((matrices.ndim - 1,), (0,)))


@_constructs(native.CubicSpline)
def CubicSpline(  # noqa: N802
    x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
) -> Any:
    """Interpolate by cubic polynomials with two continuous derivatives.

    Parameters
    ----------
    x : array, shape (n,)
        The knots, increasing.
    y : array
        The values, n of them along the axis.
    axis : int
        Along which they are.
    bc_type : str or tuple
        What holds at the ends; while x is differentiated "not-a-knot", "natural" or "clamped".
    extrapolate : bool or "periodic", optional
        Whether it goes on outside.

    Returns
    -------
    PiecewisePolynomial
        As ``scipy.interpolate.CubicSpline``, to be called.

    Raises
    ------
    UnsupportedKeywordError
        If x is differentiated, and other conditions hold at the ends.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> print(grad(lambda y: CubicSpline(x, y)(1.5))(x * x).round(4))
    [-0.0625  0.5625  0.5625 -0.0625]
    """
    y, axis = _first(y, axis)
    if extrapolate is None:
        extrapolate = "periodic" if bc_type == "periodic" else True
    if not varies((x, bc_type)):
        knots = np.asarray(x, float)
        given = np.zeros(y.shape[1:]) if isinstance(bc_type, tuple) else None
        start = 0.0 if given is None else native.CubicSpline(
            knots, np.zeros(y.shape), bc_type=bc_type
        ).c
        unit = _homogeneous(bc_type, len(knots))
        linear = native.CubicSpline(knots, np.eye(len(knots)), bc_type=unit).c
        return PiecewisePolynomial(_times(linear, y) + start, knots, extrapolate, axis)
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
        msg = f"CubicSpline(bc_type={bc_type!r}) of {n} knots that are differentiated; take 4 or more, "
        raise UnsupportedKeywordError(msg + "and 'not-a-knot', 'natural' or 'clamped'")
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
    """The third derivative is continuous at the second knot."""
    return h1, h0 + h1, ((w0 + 2 * (w0 + w1)) * w1 * s0 + w0 * w0 * s1) / (w0 + w1)


@_constructs(native.CubicHermiteSpline)
def CubicHermiteSpline(  # noqa: N802
    x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None
) -> Any:
    """Interpolate values and slopes by cubic polynomials.

    Parameters
    ----------
    x : array, shape (n,)
        The knots.
    y, dydx : array
        Values and slopes, n of them along the axis.
    axis : int
        Along which they are.
    extrapolate : bool or "periodic", optional
        Whether it goes on outside.

    Returns
    -------
    PiecewisePolynomial
        As ``scipy.interpolate.CubicHermiteSpline``.

    Examples
    --------
    >>> CubicHermiteSpline([0.0, 1.0], [0.0, 1.0], [1.0, 1.0])(0.5)
    0.5
    """
    (y, axis), (s, _) = _first(y, axis), _first(dydx, axis)
    return hermite(array_of(x), y, s, extrapolate, axis)


def _steps(x: Any, y: Any) -> tuple[Any, Any]:
    h = v.reshape(x[1:] - x[:-1], shape=(-1,) + (1,) * (y.ndim - 1))
    return h, (y[1:] - y[:-1]) / h


@_constructs(native.PchipInterpolator)
def PchipInterpolator(x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> Any:  # noqa: N802
    """Interpolate by cubic polynomials that are monotone where the values are.

    F. N. Fritsch and J. Butland, SIAM J. Sci. Comput. 5 (1984) 300.

    Parameters
    ----------
    x : array, shape (n,)
        The knots.
    y : array
        The values, n of them along the axis.
    axis : int
        Along which they are.
    extrapolate : bool or "periodic", optional
        Whether it goes on outside.

    Returns
    -------
    PiecewisePolynomial
        As ``scipy.interpolate.PchipInterpolator``.

    Examples
    --------
    >>> PchipInterpolator([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])(1.0)
    1.0
    """
    x = array_of(x)
    y, axis = _first(y, axis)
    h, m = _steps(x, y)
    if x.shape[0] == 2:
        return hermite(x, y, v.concat(m, m, axis=0), extrapolate, axis)
    sign = np.sign(readable(m))
    flat = (sign[1:] != sign[:-1]) | (sign[1:] == 0) | (sign[:-1] == 0)
    a, b = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    safe = [v.where(flat, 1.0, part) for part in (m[:-1], m[1:])]
    mean = (a / safe[0] + b / safe[1]) / (a + b)
    inner = v.where(flat, 0.0, 1 / mean)
    ends = [_pchip_end(h[:1], h[1:2], m[:1], m[1:2]), _pchip_end(h[-1:], h[-2:-1], m[-1:], m[-2:-1])]
    return hermite(x, y, v.concat(ends[0], inner, ends[1], axis=0), extrapolate, axis)


def _pchip_end(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    """Three points, kept in the shape."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    plain, p0, p1 = readable(d), readable(m0), readable(m1)
    other = np.sign(plain) != np.sign(p0)
    steep = (np.sign(p0) != np.sign(p1)) & (abs(plain) > 3 * abs(p0)) & ~other
    return v.where(other, 0.0, v.where(steep, 3 * m0, d))


@_constructs(native.Akima1DInterpolator)
def Akima1DInterpolator(  # noqa: N802
    x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
) -> Any:
    """Interpolate by cubic polynomials whose slopes weigh those on both sides.

    H. Akima, J. ACM 17 (1970) 589.

    Parameters
    ----------
    x : array, shape (n,)
        The knots.
    y : array
        The values, n of them along the axis.
    axis : int
        Along which they are.
    method : {"akima", "makima"}
        How they are weighed.
    extrapolate : bool, optional
        Whether it goes on outside: not by default.

    Returns
    -------
    PiecewisePolynomial
        As ``scipy.interpolate.Akima1DInterpolator``.

    Examples
    --------
    >>> Akima1DInterpolator([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])(1.0)
    1.0
    """
    x = array_of(x)
    y, axis = _first(y, axis)
    _, inner = _steps(x, y)
    if x.shape[0] == 2:
        slopes = v.concat(inner, inner, axis=0)
        return hermite(x, y, slopes, bool(extrapolate), axis)
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
    return hermite(x, y, slopes, bool(extrapolate), axis)


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
    y, axis = _first(y, axis)
    unit = native.make_interp_spline(x, np.eye(y.shape[0]), k, t, bc_type, 0, check_finite)
    c, knots = _pieces(unit)
    return PiecewisePolynomial(_times(c, y), knots, unit.extrapolate, axis)


def _pieces(spline: Any) -> tuple[Any, Any]:
    """Return the coefficients of the polynomials that a spline of SciPy's consists of, and knots."""
    k = spline.k
    knots = np.unique(spline.t[k : len(spline.t) - k])
    parts = [spline(knots[:-1], nu=m) / math.factorial(m) for m in range(k, -1, -1)]
    return np.stack(parts), knots


@_constructs(native.interp1d)
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
        "linear", "zero", "slinear", "quadratic", "cubic", or the degree.
    axis : int
        Along which they are.
    copy, bounds_error, assume_sorted
        As SciPy has them.
    fill_value : number or "extrapolate"
        What is outside, where that is no error.

    Returns
    -------
    callable
        As ``scipy.interpolate.interp1d``.

    Raises
    ------
    UnsupportedKeywordError
        If ``kind`` or ``fill_value`` is another one.

    Examples
    --------
    >>> print(interp1d([0.0, 1.0], [0.0, 2.0])(0.25))
    0.5
    """
    degrees = {"linear": 1, "slinear": 1, "quadratic": 2, "cubic": 3}
    degree = degrees.get(kind, kind)
    if degree not in (1, 2, 3, 4, 5) or isinstance(fill_value, tuple) or varies(fill_value):
        msg = f"interp1d(kind={kind!r}, fill_value={fill_value!r}) has no derivative here"
        raise UnsupportedKeywordError(msg)
    extrapolate = isinstance(fill_value, str)
    y, axis = _first(y, axis)
    x = array_of(x)
    if not assume_sorted:
        order = np.argsort(readable(x), kind="mergesort")
        x, y = v.take(x, order, axis=0), v.take(y, order, axis=0)
    if degree == 1:
        _, slope = _steps(x, y)
        line = PiecewisePolynomial(v.stack(slope, y[:-1], axis=0), x, True, axis)
    else:
        line = make_interp_spline(x, y, degree) if degree != 3 or not varies(x) else CubicSpline(x, y)
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
        return v.where(np.reshape(outside, shape), fill_value, line(at))

    return interpolated


@_constructs(native.RegularGridInterpolator)
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
    method : {"linear", "nearest"}
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
    if method not in ("linear", "nearest") or any(value is not None for value in options.values()):
        msg = f"RegularGridInterpolator(method={method!r}) has no derivative here; take 'linear'"
        raise UnsupportedKeywordError(msg)
    axes = [array_of(p) for p in points]
    values = array_of(values)

    def interpolated(xi: Any, **given: Any) -> Any:
        if given.get("method") not in (None, method):
            msg = "another method than that of RegularGridInterpolator; make one of that method"
            raise UnsupportedKeywordError(msg)
        xi = v.stack(*xi, axis=-1) if isinstance(xi, tuple) else array_of(xi)
        places, parts, outside = [], [], False
        for k, axis in enumerate(axes):
            x, known = xi[..., k], readable(axis)
            sign = 1 if known[-1] >= known[0] else -1
            at = readable(x)
            inside = (np.min(known) <= at) & (at <= np.max(known))
            outside = outside | ~inside
            j = np.clip(np.searchsorted(sign * known, sign * at, "right") - 1, 0, len(known) - 2)
            start, end = v.take(axis, j, axis=0), v.take(axis, j + 1, axis=0)
            places.append(j)
            parts.append((x - start) / (end - start))
        if bounds_error and np.any(outside):
            msg = "One of the requested xi is out of bounds"
            raise ValueError(msg)
        y = _of_corners(values, places, parts, method, xi.ndim - 1)
        if fill_value is None or not np.any(outside):
            return y
        shape = outside.shape + (1,) * (values.ndim - len(axes))
        return v.where(np.reshape(outside, shape), fill_value, y)

    return interpolated


def _of_corners(values: Any, places: Any, parts: Any, method: str, n: int) -> Any:
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


# -------------------------------------------------------------------------- radial functions

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


@_constructs(native.RBFInterpolator)
def RBFInterpolator(  # noqa: N802
    y: Any,
    d: Any,
    neighbors: Any = None,
    smoothing: Any = 0.0,
    kernel: str = "thin_plate_spline",
    epsilon: Any = None,
    degree: Any = None,
) -> Callable[..., Any]:
    """Interpolate scattered points by radial functions and a polynomial.

    Parameters
    ----------
    y : array, shape (n, m)
        The points.
    d : array, shape (n, ...)
        The values there.
    neighbors : None
        Not taken: all points are.
    smoothing : number or array, shape (n,)
        What is added to the diagonal.
    kernel : str
        Which function of the distance.
    epsilon : number, optional
        What distances are multiplied by.
    degree : int, optional
        That of the polynomial, -1 for none.

    Returns
    -------
    callable
        Of points, shape (k, m).

    Raises
    ------
    UnsupportedKeywordError
        If ``neighbors`` is given.

    Examples
    --------
    >>> found = RBFInterpolator([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> print(found([[0.5]]).round(9))
    [0.5]
    """
    if neighbors is not None:
        msg = "RBFInterpolator(neighbors=...) has no derivative here; leave it out"
        raise UnsupportedKeywordError(msg)
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


# ------------------------------------------------- what SciPy made, at places that are traced


def _called(function: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = "__call__"
    return function


@functools.partial(place_method, native.PPoly)
@_called
def _piecewise(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    return PiecewisePolynomial(self.c, self.x, self.extrapolate, self.axis)(x, nu, extrapolate)


@functools.partial(place_method, native.BSpline)
@_called
def _spline(self: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    axis, spline = self.axis, native.BSpline(self.t, self.c, self.k)
    return PiecewisePolynomial(*_pieces(spline), self.extrapolate, axis)(x, nu, extrapolate)


@functools.partial(place_method, native.RegularGridInterpolator)
@_called
def _grid(self: Any, xi: Any, method: Any = None, *, nu: Any = None) -> Any:
    found = RegularGridInterpolator(
        self.grid, self.values, method or self.method, self.bounds_error, self.fill_value
    )
    return found(xi)

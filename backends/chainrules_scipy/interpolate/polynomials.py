"""Piecewise polynomials of traced coefficients, knots and places, and those through points."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import vocabulary as v
from chainrules_py.extend import advise, varies
from chainrules_scipy.agreeing import Beside, agreeing, of_both, plainly
from chainrules_scipy.following import follow_all, follow_class
from chainrules_scipy.installing import place_constructor, place_method
from chainrules_scipy.rows import (
    array_of,
    described,
    readable,
    refused,
    reject,
    stands_for,
)


class Calling(Beside):
    """A function of places, which stands for an object of SciPy's that is called."""

    def __init__(
        self, function: Callable[..., Any], theirs: Callable[..., Any], tolerance: float = 1e-6
    ) -> None:
        self.function, self.theirs, self.tolerance = function, theirs, tolerance

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call both."""
        return of_both(self.function, self.theirs, args, options, self.tolerance)


def method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have a method look at that of SciPy's object beside it (a decorator)."""

    @functools.wraps(function)
    def both(self: Any, *args: Any, **options: Any) -> Any:
        if self.theirs is None:
            return function(self, *args, **options)
        theirs = getattr(self.theirs, function.__name__)
        return of_both(functools.partial(function, self), theirs, args, options)

    return both


def constructs(
    cls: Any,
    made_of: Callable[[Any], tuple[Any, ...]] | None = None,
    methods: tuple[str, ...] = ("__call__",),
    tolerance: float = 1e-6,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say that a function makes what a class of SciPy's makes (a decorator).

    Parameters
    ----------
    cls : type
        The class; the function is given an instance of plain values, and then the arguments.
    made_of : callable, optional
        Returns the arguments of which an instance of SciPy's was made; so its methods take traced
        places.
    methods : tuple of str
        The names of these methods.
    tolerance : float
        How far values may be from SciPy's.
    """

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(cls, updated=())
        def made(*args: Any, **options: Any) -> Any:
            theirs = cls(*map(plainly, args), **{k: plainly(x) for k, x in options.items()})
            found = function(theirs, *args, **options)
            if not isinstance(found, Beside):
                return Calling(found, theirs, tolerance)
            found.theirs = theirs
            return found

        def of_instances(name: str, theirs: Any) -> Callable[..., Any]:
            @functools.wraps(theirs)
            def both(self: Any, *args: Any, **options: Any) -> Any:
                ours = getattr(function(self, *made_of(self)), name)  # type: ignore[misc]
                return of_both(ours, theirs.__get__(self), args, options)

            return both

        place_constructor(cls, made)
        for name in methods if made_of else ():
            place_method(cls, of_instances(name, getattr(cls, name)), name)
        advise(
            cls.__init__,
            f"use {cls.__name__}, which takes the same, by "
            f"'from chainrules_scipy.interpolate import {cls.__name__}'",
        )
        made.__doc__, made.__module__ = function.__doc__, function.__module__
        return described(made, cls)

    return enter


def computes(native: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say that a function computes what one of SciPy's does (a decorator)."""
    return lambda function: stands_for(native)(agreeing(native, function))


def refuse(*xs: Any) -> None:
    """Refuse places, knots and weights that are differentiated."""
    if varies(xs):
        reject(
            "this spline has derivatives in values, coefficients and the places where it is taken; "
            "PchipInterpolator and Akima1DInterpolator have them in their knots as well"
        )


def first(y: Any, axis: int) -> tuple[Any, int]:
    """Return the values with the axis of the knots first, and which one that was."""
    y = array_of(y)
    axis = range(y.ndim)[axis]
    return v.permute_dims(y, axes=(axis, *(i for i in range(y.ndim) if i != axis))), axis


def placed(y: Any, n: int, axis: int) -> Any:
    """Put the first n axes, of places, where the axis of the knots stood."""
    order = (*range(n, n + axis), *range(n), *range(n + axis, y.ndim))
    return v.permute_dims(y, axes=order)


def times(matrices: Any, y: Any) -> Any:
    """Return ``Σ_j T[..., j] y[j]``."""
    return v.tensordot(matrices, y, axes=((matrices.ndim - 1,), (0,)))


def steps(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the distances of the knots, and the slopes between them."""
    h = v.reshape(x[1:] - x[:-1], shape=(-1,) + (1,) * (y.ndim - 1))
    return h, (y[1:] - y[:-1]) / h


class PiecewisePolynomial(Beside):
    """A polynomial of (x - x_i) between each knot and the next, as ``scipy.interpolate.PPoly``.

    Parameters
    ----------
    c : array, shape (k, m, ...)
        The coefficients, that of the highest power first.
    x : array, shape (m + 1,)
        The knots, increasing or decreasing.
    extrapolate : bool or "periodic"
        Whether the first and the last one go on; False gives NaN outside.
    axis : int
        Where the axis of the places stands in the results.
    """

    def __init__(self, c: Any, x: Any, extrapolate: Any = True, axis: int = 0) -> None:
        self.c = self.powers = array_of(c)
        self.x = self.knots = array_of(x)
        self.axis = axis
        self.extrapolate = True if extrapolate is None else extrapolate

    @method
    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Evaluate it, or a derivative, at places of any shape."""
        x, how = array_of(x), self.extrapolate if extrapolate is None else extrapolate
        if how == "periodic":
            start, period = self.knots[0], self.knots[-1] - self.knots[0]
            x, how = start + (x - start) % period, False
        return self.at(x, nu, bool(how))

    @method
    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Integrate from a to b."""
        how = self.extrapolate if extrapolate is None else extrapolate
        whole, start, end = self.antiderivative(), self.knots[0], self.knots[-1]

        def up_to(x: Any) -> Any:
            x = array_of(x)
            if how != "periodic":
                return whole.at(x, 0, bool(how))
            turns = np.floor_divide(readable(x - start), readable(end - start))
            x = start + (x - start) % (end - start)
            return turns * whole.at(end, 0, True) + whole.at(x, 0, True)

        return up_to(b) - up_to(a)

    def _like(self, c: Any, extrapolate: Any) -> PiecewisePolynomial:
        return PiecewisePolynomial(c, self.knots, extrapolate, self.axis)

    @method
    def derivative(self, nu: int = 1) -> Any:
        """Return the derivative, a polynomial as well."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.powers
        for _ in range(nu):
            powers = np.arange(c.shape[0] - 1, 0, -1.0)
            shape = (-1,) + (1,) * (c.ndim - 1)
            c = c[:-1] * np.reshape(powers, shape) if len(powers) else 0.0 * c
        return self._like(c, self.extrapolate)

    @method
    def antiderivative(self, nu: int = 1) -> Any:
        """Return the integral from the first knot on, a polynomial as well."""
        if nu <= 0:
            return self.derivative(-nu)
        c = self.powers
        for _ in range(nu):
            powers = np.reshape(np.arange(c.shape[0], 0, -1.0), (-1,) + (1,) * (c.ndim - 1))
            high = c / powers
            h = v.reshape(self.knots[1:] - self.knots[:-1], shape=(-1,) + (1,) * (c.ndim - 2))
            areas: Any = sum(high[i] * h ** (c.shape[0] - i) for i in range(c.shape[0]))
            before = v.cumulative_sum(areas, axis=0)[:-1]
            low = v.concat(v.zeros_like(areas[:1]), before, axis=0)
            c = v.concat(high, v.expand_dims(low, axis=0), axis=0)
        return self._like(c, False if self.extrapolate == "periodic" else self.extrapolate)

    def at(self, x: Any, nu: int, beyond: bool) -> Any:
        """Evaluate it, or a derivative, at places; outside of the knots NaN, or what goes on."""
        x, knots = array_of(x), readable(self.knots)
        places = readable(x)
        unknown = np.isnan(places)
        low, high = min(knots[0], knots[-1]), max(knots[0], knots[-1])
        outside = unknown if beyond else unknown | ~((low <= places) & (places <= high))
        if unknown.any():
            x = v.where(unknown, low, x)
        sign = 1.0 if knots[-1] >= knots[0] else -1.0
        piece = np.searchsorted(sign * knots, sign * readable(x), "right") - 1
        piece = np.clip(piece, 0, len(knots) - 2)
        t, c = x - v.take(self.knots, piece, axis=0), self.powers
        t = v.reshape(t, shape=(*t.shape, *(1,) * (c.ndim - 2)))
        y: Any = None
        for i in range(c.shape[0] - nu):
            power = c.shape[0] - 1 - i
            term = v.take(c[i], piece, axis=0) * math.perm(power, nu)
            y = term if y is None else y * t + term
        if y is None:
            y = 0.0 * v.take(c[0], piece, axis=0)
        if outside.any():
            y = v.where(np.reshape(outside, t.shape), math.nan, y)
        return placed(y, x.ndim, self.axis) if self.axis else y


def hermite(x: Any, y: Any, s: Any, extrapolate: Any, axis: int) -> PiecewisePolynomial:
    """Make the cubic polynomials of values and slopes at knots, along the first axis."""
    h = v.reshape(x[1:] - x[:-1], shape=(-1,) + (1,) * (y.ndim - 1))
    slope = (y[1:] - y[:-1]) / h
    t = (s[:-1] + s[1:] - 2 * slope) / h
    c = v.stack(t / h, (slope - s[:-1]) / h - t, s[:-1], y[:-1], axis=0)
    return PiecewisePolynomial(c, x, extrapolate, axis)


@constructs(
    native.PPoly,
    lambda p: (np.moveaxis(p.c, (0, 1), (p.axis, p.axis + 1)), p.x, p.extrapolate, p.axis),
    ("__call__", "integrate"),
)
def PPoly(known: Any, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> Any:  # noqa: N802
    """Make a piecewise polynomial, in coefficients, knots and places."""
    c = array_of(c)
    others = (i for i in range(c.ndim) if i not in (axis, axis + 1))
    c = v.permute_dims(c, axes=(axis, axis + 1, *others))
    return PiecewisePolynomial(c, x, extrapolate, axis)


def fitted(fit: Callable[[Any, Any], Any], y: Any, bc_type: Any) -> tuple[Any, Any]:
    """Return what SciPy fits to unit vectors, and the coefficients: they are linear in y.

    Parameters
    ----------
    fit : callable
        SciPy's fit of plain values, with conditions at both ends.
    y : array
        The values, along the first axis.
    bc_type : str, tuple or None
        The conditions; the values of derivatives in them are constant.
    """
    n, start = y.shape[0], 0.0
    unit = np.eye(n)
    if isinstance(bc_type, tuple):
        start = fit(np.zeros(y.shape), bc_type).c
        bc_type = tuple(_without_values(end, n) for end in bc_type)
    elif bc_type == "periodic":  # the last value is the first one
        unit[-1], unit[:, -1] = unit[0], 0.0
    linear = fit(unit, bc_type)
    return linear, times(linear.c, y) + start


def _without_values(end: Any, n: int) -> Any:
    """Return the conditions at an end with values 0, which are linear in y."""
    if end is None or isinstance(end, str):
        return end
    if isinstance(end[0], int):
        return end[0], np.zeros(n)
    return [(nu, np.zeros(n)) for nu, _ in end]


_cubic: Any = native.CubicSpline


@constructs(native.CubicSpline)
def CubicSpline(  # noqa: N802
    known: Any, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", *_: Any, **__: Any
) -> Any:
    """Interpolate by cubic polynomials with two continuous derivatives."""
    refuse(x, bc_type)
    y, axis = first(y, axis)
    _, c = fitted(lambda y, ends: _cubic(known.x, y, bc_type=ends), y, bc_type)
    return PiecewisePolynomial(c, known.x, known.extrapolate, axis)


@constructs(native.CubicHermiteSpline)
def CubicHermiteSpline(  # noqa: N802
    known: Any, x: Any, y: Any, dydx: Any, axis: int = 0, *_: Any, **__: Any
) -> Any:
    """Interpolate values and slopes by cubic polynomials."""
    y, s = first(y, axis)[0], first(dydx, axis)[0]
    return hermite(array_of(x), y, s, known.extrapolate, known.axis)


@constructs(native.PchipInterpolator)
def PchipInterpolator(known: Any, x: Any, y: Any, axis: int = 0, *_: Any, **__: Any) -> Any:  # noqa: N802
    """Interpolate by cubic polynomials that are monotone where the values are.

    F. N. Fritsch and J. Butland, SIAM J. Sci. Comput. 5 (1984) 300.
    """
    x = array_of(x)
    y, axis = first(y, axis)
    h, m = steps(x, y)
    if x.shape[0] == 2:
        return hermite(x, y, v.concat(m, m, axis=0), known.extrapolate, axis)
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
    return hermite(x, y, v.concat(ends[0], inner, ends[1], axis=0), known.extrapolate, axis)


def _pchip_end(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    """Three points, kept in the shape."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    plain, p0, p1 = readable(d), readable(m0), readable(m1)
    other = np.sign(plain) != np.sign(p0)
    steep = (np.sign(p0) != np.sign(p1)) & (abs(plain) > 3 * abs(p0)) & ~other
    return v.where(other, 0.0, v.where(steep, 3 * m0, d))


@constructs(native.Akima1DInterpolator)
def Akima1DInterpolator(  # noqa: N802
    known: Any, x: Any, y: Any, axis: int = 0, *, method: str = "akima", **_: Any
) -> Any:
    """Interpolate by cubic polynomials whose slopes weigh those on both sides.

    H. Akima, J. ACM 17 (1970) 589.
    """
    x = array_of(x)
    y, axis = first(y, axis)
    _, inner = steps(x, y)
    if x.shape[0] == 2:
        slopes = v.concat(inner, inner, axis=0)
        return hermite(x, y, slopes, known.extrapolate, axis)
    (a, b), (c, d) = (inner[:1], inner[1:2]), (inner[-2:-1], inner[-1:])
    m = v.concat(3 * a - 2 * b, 2 * a - b, inner, 2 * d - c, 3 * d - 2 * c, axis=0)
    jumps = v.abs(m[1:] - m[:-1])
    if method == "makima":
        jumps = jumps + v.abs(m[1:] + m[:-1]) / 2
    left, right = jumps[2:], jumps[:-2]
    total = left + right
    some = readable(total) > 1e-9 * np.max(readable(total), initial=-math.inf)
    mixed = (left * m[1:-2] + right * m[2:-1]) / v.where(some, total, 1.0)
    flat = 0.0 if method == "makima" else 0.5 * (m[3:] + m[:-3])
    slopes = v.where(some, mixed, flat)
    return hermite(x, y, slopes, known.extrapolate, axis)


FOLLOWED: dict[str, Any] = follow_all(native, "krogh_interpolate", "make_splprep", "make_splrep")
KroghInterpolator = follow_class(native.KroghInterpolator, "__call__", "derivative", "derivatives")


_KROGH = "write KroghInterpolator(x, y), which is the same polynomial"
refused(
    native,
    {
        "lagrange": "write np.linalg.solve(np.vander(x), w), and np.polyval",
        "BarycentricInterpolator": _KROGH,
        "barycentric_interpolate": _KROGH,
    },
)

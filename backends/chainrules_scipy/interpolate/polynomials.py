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
from chainrules_scipy.agreeing import Beside, of_both, plainly
from chainrules_scipy.following import follow_all, follow_class
from chainrules_scipy.installing import place_constructor, place_method
from chainrules_scipy.rows import (
    anchored,
    array_of,
    described,
    readable,
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
    cls: Any, tolerance: float = 1e-6
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say that a function makes what a class of SciPy's makes (a decorator)."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def made(*args: Any, **options: Any) -> Any:
            theirs = cls(*map(plainly, args), **{k: plainly(x) for k, x in options.items()})
            found = function(*args, **options)
            if not isinstance(found, Beside):
                return Calling(found, theirs, tolerance)
            found.theirs = theirs
            return found

        place_constructor(cls, made)
        advise(
            cls.__init__,
            f"use {cls.__name__}, which takes the same, by "
            f"'from chainrules_scipy.interpolate import {cls.__name__}'",
        )
        return described(made, cls)

    return enter


def computes(native: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Say that a function computes what one of SciPy's does (a decorator)."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def both(*args: Any, **options: Any) -> Any:
            return of_both(function, native, args, options)

        return stands_for(native)(both)

    return enter


def has_method(cls: Any, name: str = "__call__") -> Callable[..., Any]:
    """Say that a function is a method of a class of SciPy's, at traced places (a decorator)."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        theirs = getattr(cls, name)

        @functools.wraps(function)
        def both(self: Any, *args: Any, **options: Any) -> Any:
            @functools.wraps(theirs)
            def known(*args: Any, **options: Any) -> Any:
                return theirs(self, *args, **options)

            return of_both(functools.partial(function, self), known, args, options)

        place_method(cls, both, name)
        return function

    return enter


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


def times(matrices: Any, y: Any) -> Any:
    """Return ``Σ_j T[..., j] y[j]``."""
    return v.tensordot(matrices, y, axes=((matrices.ndim - 1,), (0,)))


def steps(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the distances of the knots, and the slopes between them."""
    h = v.reshape(x[1:] - x[:-1], shape=(-1,) + (1,) * (y.ndim - 1))
    return h, (y[1:] - y[:-1]) / h


def _remainder(x: Any, period: Any) -> Any:
    """Return ``x % period``, of exactly NumPy's value."""
    turns, rest = np.divmod(readable(x), readable(period))
    return anchored(rest, x - turns * period)


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
            x, how = start + _remainder(x - start, period), False
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
            x = start + _remainder(x - start, end - start)
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
        if self.axis:
            n = x.ndim
            order = (*range(n, n + self.axis), *range(n), *range(n + self.axis, y.ndim))
            y = v.permute_dims(y, axes=order)
        return y


def hermite(x: Any, y: Any, s: Any, extrapolate: Any, axis: int) -> PiecewisePolynomial:
    """Make the cubic polynomials of values and slopes at knots, along the first axis."""
    h = v.reshape(x[1:] - x[:-1], shape=(-1,) + (1,) * (y.ndim - 1))
    slope = (y[1:] - y[:-1]) / h
    t = (s[:-1] + s[1:] - 2 * slope) / h
    c = v.stack(t / h, (slope - s[:-1]) / h - t, s[:-1], y[:-1], axis=0)
    return PiecewisePolynomial(c, x, extrapolate, axis)


@constructs(native.PPoly)
def PPoly(c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> PiecewisePolynomial:  # noqa: N802
    """Make a piecewise polynomial, in coefficients, knots and places."""
    c = array_of(c)
    others = (i for i in range(c.ndim) if i not in (axis, axis + 1))
    c = v.permute_dims(c, axes=(axis, axis + 1, *others))
    return PiecewisePolynomial(c, x, extrapolate, axis)


def _method_of_polynomials(name: str) -> None:
    """Have a polynomial of SciPy's take traced places."""

    def function(self: Any, *args: Any, **options: Any) -> Any:
        ours = PiecewisePolynomial(self.c, self.x, self.extrapolate, self.axis)
        return getattr(ours, name)(*args, **options)

    has_method(native.PPoly, name)(function)


for _name in ("__call__", "integrate"):
    _method_of_polynomials(_name)


_cubic: Any = native.CubicSpline


@constructs(native.CubicSpline)
def CubicSpline(  # noqa: N802
    x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
) -> Any:
    """Interpolate by cubic polynomials with two continuous derivatives."""
    y, axis = first(y, axis)
    if extrapolate is None:
        extrapolate = "periodic" if bc_type == "periodic" else True
    refuse(x, bc_type)
    knots = np.asarray(x, float)
    given = np.zeros(y.shape[1:]) if isinstance(bc_type, tuple) else None
    start = 0.0 if given is None else _cubic(knots, np.zeros(y.shape), bc_type=bc_type).c
    unit = np.eye(len(knots))
    if bc_type == "periodic":  # the last value is the first one
        unit, y = np.concatenate([unit[:-1, :-1], unit[:1, :-1]]), y[:-1]
    linear = _cubic(knots, unit, bc_type=_homogeneous(bc_type, len(knots))).c
    return PiecewisePolynomial(times(linear, y) + start, knots, extrapolate, axis)


def _homogeneous(bc_type: Any, n: int) -> Any:
    """Return the conditions with values 0, which are linear in y."""
    if not isinstance(bc_type, tuple):
        return bc_type
    return tuple(b if isinstance(b, str) else (b[0], np.zeros(n)) for b in bc_type)


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


FOLLOWED: dict[str, Any] = follow_all(native, "krogh_interpolate", "make_splprep", "make_splrep")
KroghInterpolator = follow_class(native.KroghInterpolator, "__call__", "derivative", "derivatives")


# SciPy's text of the barycentric formula has no derivative at the nodes; Krogh's has.
@constructs(native.BarycentricInterpolator)
def BarycentricInterpolator(xi: Any, yi: Any = None, axis: int = 0, **_: Any) -> Any:  # noqa: N802
    """Interpolate by a polynomial, in nodes, values and places."""
    return KroghInterpolator(xi, yi, axis)


@computes(native.barycentric_interpolate)
def barycentric_interpolate(
    xi: Any, yi: Any, x: Any, axis: int = 0, *, der: Any = 0, rng: Any = None
) -> Any:
    """Interpolate by a polynomial, in nodes, values and places."""
    return FOLLOWED["krogh_interpolate"](xi, yi, x, der, axis)


@has_method(native.BarycentricInterpolator)
def _barycentric(self: Any, x: Any) -> Any:
    values = np.reshape(self.yi, (self.n, *self._y_extra_shape))
    axis = self._y_axis
    return KroghInterpolator(self.xi, np.moveaxis(values, 0, axis), axis)(x)


class _Polynomial:
    """A polynomial of traced coefficients, none of which is left out for being 0."""

    def __init__(self, c: Any) -> None:
        self.c = self.coef = self.coeffs = c
        self.order = len(c) - 1

    def __call__(self, x: Any) -> Any:
        return np.polyval(self.c, array_of(x))


@computes(native.lagrange)
def lagrange(x: Any, w: Any) -> Any:
    """Interpolate by a polynomial, in nodes and values."""
    return _Polynomial(v.solve(np.vander(array_of(x)), array_of(w)))

"""Piecewise polynomials of traced coefficients, knots and places."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import vocabulary as v
from chainrules_scipy.agreeing import Beside
from chainrules_scipy.interpolate.common import constructs, has_method, method
from chainrules_scipy.rows import anchored, array_of, nested, readable, reject


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

    @method
    def solve(self, y: Any = 0.0, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Find the places where it is y."""
        how = self.extrapolate if extrapolate is None else extrapolate
        theirs = self.theirs or native.PPoly(
            readable(self.powers), readable(self.knots), self.extrapolate
        )
        places = theirs.solve(readable(y), discontinuity, how)
        if self.powers.ndim > 2 or np.isnan(places).any():
            reject("roots have derivatives of one polynomial, which is not constant between knots")
        return self.found(places, y)

    def found(self, places: Any, y: Any) -> Any:
        """Return places where it is y, and those at which it jumps through y, as they move."""
        if not places.size:
            return places
        knots, slope = self.knots, self.derivative()
        near = np.argmin(abs(places[:, None] - readable(knots)), axis=1)
        left, right = (readable(self.at(p, 0, True) - y) for p in _beside(places))
        jumps = (left * right < 0) & (places == readable(knots)[near])
        size = np.max(abs(readable(self.at(readable(knots), 0, True))), initial=0.0)
        jumps &= abs(right - left) > 1e-9 * (size + abs(readable(y)))
        moving = places
        for _ in range(max(map(nested, (self.powers, knots, y))).bit_length()):  # Newton's
            gap = (y - self.at(moving, 0, True)) / v.where(jumps, 1.0, slope.at(moving, 0, True))
            moving = moving + v.where(jumps, 0.0, gap)
        return v.where(jumps, v.take(knots, near, axis=0), moving)

    @method
    def roots(self, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Find the places where it is 0."""
        return self.solve(0.0, discontinuity, extrapolate)

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


def _beside(places: Any) -> tuple[Any, Any]:
    """Return places that are next to others on both sides."""
    return np.nextafter(places, -math.inf), np.nextafter(places, math.inf)


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


def _method_of_scipys(name: str) -> None:
    """Have a polynomial of SciPy's take traced places."""

    def function(self: Any, *args: Any, **options: Any) -> Any:
        ours = PiecewisePolynomial(self.c, self.x, self.extrapolate, self.axis)
        return getattr(ours, name)(*args, **options)

    has_method(native.PPoly, name)(function)


for _name in ("__call__", "integrate", "solve"):
    _method_of_scipys(_name)

"""Piecewise polynomials of traced coefficients, knots and places."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import NotDifferentiableError
from chainrules_py import vocabulary as v
from chainrules_scipy.agreeing import Beside
from chainrules_scipy.interpolate.common import method
from chainrules_scipy.rows import anchored, array_of, nested, readable


class Piecewise(Beside):
    """A function of pieces between knots: how it goes on outside of them, and its integrals.

    Attributes
    ----------
    knots : array
        The knots between which it is given.
    extrapolate : bool or "periodic"
        Whether the first and the last piece go on; False gives NaN outside.
    """

    knots: Any
    extrapolate: Any

    def at(self, x: Any, nu: int, beyond: bool) -> Any:
        """Evaluate it, or a derivative, at places; outside of the knots NaN, or what goes on."""
        raise NotImplementedError

    def antiderivative(self, nu: int = 1) -> Any:
        """Return an integral, of the same kind."""
        raise NotImplementedError

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
        how, sign = self.extrapolate if extrapolate is None else extrapolate, 1.0
        a, b = array_of(a), array_of(b)
        if readable(b) < readable(a):
            a, b, sign = b, a, -1.0
        if how != "periodic":
            return sign * self.between(a, b, bool(how))
        start, end = self.knots[0], self.knots[-1]
        period = end - start
        periods = np.divmod(readable(b) - readable(a), readable(period))[0]
        left = _remainder(b - a, period)
        a = start + _remainder(a - start, period)
        whole = periods * self.between(start, end, False) if periods else 0.0
        if readable(a + left) <= readable(end):
            return sign * (whole + self.between(a, a + left, False))
        rest = self.between(start, start + left + a - end, False)
        return sign * (whole + self.between(a, end, False) + rest)

    def between(self, a: Any, b: Any, beyond: bool) -> Any:
        """Integrate from a to b, which is not before it."""
        whole = self.antiderivative()
        return whole.at(b, 0, beyond) - whole.at(a, 0, beyond)


def _remainder(x: Any, period: Any) -> Any:
    """Return ``x % period``, of exactly NumPy's value."""
    turns, rest = np.divmod(readable(x), readable(period))
    return anchored(rest, x - turns * period)


class PiecewisePolynomial(Piecewise):
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

    Examples
    --------
    >>> print(PiecewisePolynomial(np.array([[1.0], [0.0]]), np.array([0.0, 1.0]))(0.5))
    0.5
    """

    def __init__(self, c: Any, x: Any, extrapolate: Any = True, axis: int = 0) -> None:
        self.c, self.x, self.axis = array_of(c), array_of(x), axis
        self.extrapolate = True if extrapolate is None else extrapolate
        self.knots = self.x

    def _like(self, c: Any, extrapolate: Any) -> PiecewisePolynomial:
        return PiecewisePolynomial(c, self.x, extrapolate, self.axis)

    @method
    def derivative(self, nu: int = 1) -> Any:
        """Return the derivative, a polynomial as well."""
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.c
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
        c = self.c
        for _ in range(nu):
            powers = np.reshape(np.arange(c.shape[0], 0, -1.0), (-1,) + (1,) * (c.ndim - 1))
            high = c / powers
            h = v.reshape(self.x[1:] - self.x[:-1], shape=(-1,) + (1,) * (c.ndim - 2))
            areas: Any = sum(high[i] * h ** (c.shape[0] - i) for i in range(c.shape[0]))
            before = v.cumulative_sum(areas, axis=0)[:-1]
            low = v.concat(v.zeros_like(areas[:1]), before, axis=0)
            c = v.concat(high, v.expand_dims(low, axis=0), axis=0)
        return self._like(c, False if self.extrapolate == "periodic" else self.extrapolate)

    @method
    def solve(self, y: Any = 0.0, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Find the places where it is y."""
        how = self.extrapolate if extrapolate is None else extrapolate
        theirs = self.theirs or native.PPoly(readable(self.c), readable(self.x), self.extrapolate)
        places = theirs.solve(readable(y), discontinuity, how)
        if self.c.ndim > 2 or np.isnan(places).any():
            msg = "roots have derivatives of one polynomial, which is not constant between knots"
            raise NotDifferentiableError(msg)
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
        for _ in range(max(map(nested, (self.coefficients, knots, y))).bit_length()):  # Newton's
            gap = (y - self.at(moving, 0, True)) / v.where(jumps, 1.0, slope.at(moving, 0, True))
            moving = moving + v.where(jumps, 0.0, gap)
        return v.where(jumps, v.take(knots, near, axis=0), moving)

    @method
    def roots(self, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Find the places where it is 0."""
        return self.solve(0.0, discontinuity, extrapolate)

    @property
    def coefficients(self) -> Any:
        """The numbers in which it is linear."""
        return self.c

    def at(self, x: Any, nu: int, beyond: bool) -> Any:
        """Evaluate it, or a derivative, at places; outside of the knots NaN, or what goes on."""
        x, knots = array_of(x), readable(self.x)
        places = readable(x)
        unknown = np.isnan(places)
        low, high = min(knots[0], knots[-1]), max(knots[0], knots[-1])
        outside = unknown if beyond else unknown | ~((low <= places) & (places <= high))
        if unknown.any():
            x = v.where(unknown, low, x)
        sign = 1.0 if knots[-1] >= knots[0] else -1.0
        piece = np.searchsorted(sign * knots, sign * readable(x), "right") - 1
        piece = np.clip(piece, 0, len(knots) - 2)
        t, c = x - v.take(self.x, piece, axis=0), self.c
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

"""Piecewise polynomials of traced coefficients, knots and places."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.interpolate as native

from chainrules_py import vocabulary as v
from chainrules_scipy.rows import array_of, nested, readable


class PiecewisePolynomial:
    """A polynomial of (x - x_i) between each knot and the next, as ``scipy.interpolate.PPoly``.

    Parameters
    ----------
    c : array, shape (k, m, ...)
        The coefficients, that of the highest power first.
    x : array, shape (m + 1,)
        The knots, increasing.
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

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """Evaluate it, or a derivative, at places of any shape."""
        return _evaluated(self, array_of(x), nu, extrapolate)

    def derivative(self, nu: int = 1) -> PiecewisePolynomial:
        """Return the derivative, a polynomial as well."""
        c = self.c
        for _ in range(nu):
            powers = np.arange(c.shape[0] - 1, 0, -1.0)
            shape = (-1,) + (1,) * (c.ndim - 1)
            c = c[:-1] * np.reshape(powers, shape) if len(powers) else 0.0 * c
        return PiecewisePolynomial(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> PiecewisePolynomial:
        """Return the integral from the first knot on, a polynomial as well."""
        c = self.c
        for _ in range(nu):
            powers = np.reshape(np.arange(c.shape[0], 0, -1.0), (-1,) + (1,) * (c.ndim - 1))
            high = c / powers
            h = v.reshape(self.x[1:] - self.x[:-1], shape=(-1,) + (1,) * (c.ndim - 2))
            areas: Any = sum(high[i] * h ** (c.shape[0] - i) for i in range(c.shape[0]))
            before = v.cumulative_sum(areas, axis=0)[:-1]
            low = v.concat(v.zeros_like(areas[:1]), before, axis=0)
            c = v.concat(high, v.expand_dims(low, axis=0), axis=0)
        return PiecewisePolynomial(c, self.x, self.extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Integrate from a to b."""
        whole = self.antiderivative()
        return whole(b, 0, extrapolate) - whole(a, 0, extrapolate)

    def solve(self, y: Any = 0.0, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Find the places where it is y, of a polynomial of numbers."""
        how = self.extrapolate if extrapolate is None else extrapolate
        theirs = native.PPoly(readable(self.c), readable(self.x), self.extrapolate)
        places = theirs.solve(readable(y), discontinuity, how)
        if places.size == 0 or np.isnan(places).any():
            return places
        slope = self.derivative()
        for _ in range(max(map(nested, (self.c, self.x, y))).bit_length()):  # Newton's
            places = places + (y - self(places, 0, how)) / slope(places, 0, how)
        return places

    def roots(self, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Find the places where it is 0."""
        return self.solve(0.0, discontinuity, extrapolate)


def _evaluated(self: Any, x: Any, nu: int, extrapolate: Any) -> Any:
    knots, extrapolate = readable(self.x), self.extrapolate if extrapolate is None else extrapolate
    if extrapolate == "periodic":
        period = self.x[-1] - self.x[0]
        turns = np.floor((readable(x) - knots[0]) / readable(period))
        x = x - turns * period
    places = np.clip(np.searchsorted(knots, readable(x), "right") - 1, 0, len(knots) - 2)
    t = x - v.take(self.x, places, axis=0)
    c = self.c
    t = v.reshape(t, shape=(*t.shape, *(1,) * (c.ndim - 2)))
    y: Any = None
    for i in range(c.shape[0] - nu):
        power = c.shape[0] - 1 - i
        term = v.take(c[i], places, axis=0) * math.perm(power, nu)
        y = term if y is None else y * t + term
    if y is None:
        y = 0.0 * v.take(c[0], places, axis=0)
    if extrapolate is False:
        outside = (readable(x) < knots[0]) | (readable(x) > knots[-1])
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

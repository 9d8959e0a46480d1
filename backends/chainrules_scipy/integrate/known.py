"""Integrals of what is known at places, and by one formula."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.integrate

from chainrules_py import vocabulary as v
from chainrules_scipy.rows import array_of, part, stands_for


def _distances(y: Any, x: Any, dx: Any, axis: int) -> Any:
    """Return the steps between the places, of shapes that fit y along the axis."""
    if x is None:
        return array_of(dx)
    x = array_of(x)
    if x.ndim == 1:
        h = x[1:] - x[:-1]
        return v.reshape(h, shape=(-1,) + (1,) * (y.ndim - 1 - axis % y.ndim))
    return part(x, axis, 1, None) - part(x, axis, None, -1)


def _over(a: Any, b: Any) -> Any:
    """Divide, where places are one by zero, as SciPy does: to nothing."""
    return a / v.where(b != 0, b, np.inf)


@functools.cache
def _truths_have_no_order() -> bool:
    """Tell whether SciPy takes distances of truth values by `np.diff`, as before its 1.18."""
    return bool(scipy.integrate.simpson(np.ones(3), x=np.array([True, False, False])) > 0)


@stands_for(scipy.integrate.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate what is known at places by straight lines."""
    y = array_of(y)
    pairs = part(y, axis, 1, None) + part(y, axis, None, -1)
    return v.sum(0.5 * _distances(y, x, dx, axis) * pairs, axis=axis)


@stands_for(scipy.integrate.cumulative_trapezoid)
def cumulative_trapezoid(
    y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None
) -> Any:
    """Integrate up to each place, by straight lines."""
    y = array_of(y)
    pairs = part(y, axis, 1, None) + part(y, axis, None, -1)
    total = v.cumulative_sum(0.5 * _distances(y, x, dx, axis) * pairs, axis=axis)
    if initial is None:
        return total
    if initial != 0:
        msg = f"initial is {initial!r}, and has to be None or 0"
        raise ValueError(msg)
    return v.concat(v.zeros_like(part(total, axis, 0, 1)), total, axis=axis)


@stands_for(scipy.integrate.simpson)
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Integrate by parabolas, and where one interval is left, by Cartwright's correction."""
    y = array_of(y)
    n = y.shape[axis]
    if n < 3:
        return trapezoid(y, x, dx, axis)
    odd, last = n - 1 + n % 2, n % 2 == 0
    y0, y1, y2 = (part(y, axis, k, odd - 2 + k, 2) for k in (0, 1, 2))
    at_end = [part(y, axis, k, k + 1) for k in (n - 3, n - 2, n - 1)]
    if x is None:
        h = array_of(dx)
        total = h / 3 * v.sum(y0 + 4 * y1 + y2, axis=axis)
        rest = h / 12 * (8 * at_end[1] + 5 * at_end[2] - at_end[0])
        return total + v.sum(rest, axis=axis) if last else total
    steps = _distances(y, x, dx, axis)
    if str(getattr(x, "dtype", "")) == "bool" and _truths_have_no_order():
        steps = v.abs(steps)
    at = axis if steps.ndim == y.ndim else 0
    h0, h1 = (part(steps, at, k, odd - 1, 2) for k in (0, 1))
    whole = h0 + h1
    parts = y0 * (2 - _over(h1, h0)) + y2 * (2 - _over(h0, h1))
    parts = parts + y1 * (whole * _over(whole, h0 * h1))
    total = v.sum(whole / 6 * parts, axis=axis)
    if not last:
        return total
    a, b = part(steps, at, n - 3, n - 2), part(steps, at, n - 2, n - 1)
    rest = (
        at_end[2] * _over(2 * b * b + 3 * a * b, 6 * (a + b))
        + at_end[1] * _over(b * b + 3 * a * b, 6 * a)
        - at_end[0] * _over(b * b * b, 6 * a * (a + b))
    )
    return total + v.sum(rest, axis=axis)


@stands_for(scipy.integrate.romb)
def romb(y: Any, dx: Any = 1.0, axis: int = -1, show: bool = False) -> Any:
    """Integrate 2^k + 1 values by Romberg's extrapolation."""
    y = array_of(y)
    weights = scipy.integrate.romb(np.eye(y.shape[axis]), axis=0, show=show)
    factors = np.reshape(weights, (-1,) + (1,) * (y.ndim - 1 - axis % y.ndim))
    return v.sum(y * factors, axis=axis) * dx


@stands_for(scipy.integrate.fixed_quad)
def fixed_quad(func: Any, a: Any, b: Any, args: Any = (), n: int = 5) -> Any:
    """Integrate a function by Gauss's formula of some order."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    y = (b - a) * (nodes + 1) / 2.0 + a
    return (b - a) / 2.0 * v.sum(weights * func(y, *args), axis=-1), None

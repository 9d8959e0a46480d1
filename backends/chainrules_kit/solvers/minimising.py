"""The least value of a function near a point."""

from __future__ import annotations

import math
from collections.abc import Callable

from chainrules_kit.solvers.vectors import Vector, combine, dot, eps_of, norm
from chainrules_py import ConvergenceError

Slope = Callable[[Vector], tuple[float, Vector]]

_MEMORY = 10
"""How many steps the curvature is read from."""


def descended(slope: Slope, x: Vector, max_steps: int) -> Vector:
    """Find a point near which a function is least, by L-BFGS.

    J. Nocedal, "Updating quasi-Newton matrices with limited storage" (1980).

    Parameters
    ----------
    slope : callable
        The value and the gradient at a point.
    x : list
        Where to start.
    max_steps : int
        After so many, what was reached is given.

    Raises
    ------
    ConvergenceError
        If there is no end to the descent.
    """
    start, eps = norm(x), eps_of(x)
    value, g = slope(x)
    steps: list[tuple[Vector, Vector, float]] = []
    for _ in range(max_steps):
        if norm(g) == 0.0:
            break
        direction = _direction(g, steps)
        if not dot(g, direction) < 0.0:
            steps, direction = [], [-y for y in g]
        found = _searched(slope, x, value, g, direction, 1.0 if steps else min(1.0, 1.0 / norm(g)))
        if found is None:  # rounding leaves no descent
            break
        moved, after, there = found
        s, y = combine(moved, -1.0, x), combine(there, -1.0, g)
        steps = [*steps[1 - _MEMORY :], (s, y, dot(s, y))] if dot(s, y) > 0.0 else steps
        settled = norm(s) <= eps**0.5 * max(norm(moved), start) or value - after <= eps * abs(value)
        x, value, g = moved, after, there
        if settled:
            break
    return x


def _direction(g: Vector, steps: list[tuple[Vector, Vector, float]]) -> Vector:
    """Return the gradient times the inverse Hessian that the last steps show, downwards."""
    q = [-y for y in g]
    shares = []
    for s, y, product in reversed(steps):
        shares.append(dot(s, q) / product)
        q = combine(q, -shares[-1], y)
    if steps:
        _, y, product = steps[-1]
        q = [product / dot(y, y) * z for z in q]
    for (s, y, product), share in zip(steps, reversed(shares), strict=True):
        q = combine(q, share - dot(y, q) / product, s)
    return q


def _searched(
    slope: Slope, x: Vector, value: float, g: Vector, direction: Vector, length: float
) -> tuple[Vector, float, Vector] | None:
    """Find by bisection a step to a smaller value and a less steep slope; None if there is none.

    A. S. Lewis and M. L. Overton, "Nonsmooth optimization via quasi-Newton methods" (2013), 3.2.
    """
    descent = dot(g, direction)
    low, high = 0.0, math.inf
    for _ in range(60):
        moved = combine(x, length, direction)
        try:
            after, there = slope(moved)
        except ConvergenceError:  # of a solver inside: as beyond the edge of the domain
            after, there = math.inf, g
        if not after <= value + 1e-4 * length * descent:
            high = length
        elif dot(there, direction) < 0.9 * descent:
            low = length
        else:
            return moved, after, there
        length = 2 * low if high == math.inf else 0.5 * (low + high)
    if high == math.inf:
        msg = (
            f"minimize found no minimum: the value falls without end, and is {value:.6g}; "
            f"the function may not be bounded from below"
        )
        raise ConvergenceError(msg)
    return None

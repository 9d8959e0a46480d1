"""Local minimization of a function by SciPy's L-BFGS."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from chainrules_kit.optional_scipy import on_host, scipy_part
from chainrules_kit.solvers.dense import Coordinates
from chainrules_kit.solvers.vectors import Vector, eps_of
from chainrules_py import ConvergenceError, space


def descended(slope: Callable[[Vector], tuple[float, Vector]], x: Vector, max_steps: int) -> Vector:
    """Find a local minimum of a function.

    Parameters
    ----------
    slope : callable
        Returns the value and the gradient at a point.
    x : list
        The start.
    max_steps : int
        The largest number of steps; the point reached by then is returned.

    Raises
    ------
    ConvergenceError
        If the function decreases without bound.
    """
    # In the type of the gradient where it is wider: of a start 0.5 beside arrays an array's number.
    first = slope(x)
    x = [a + space(b).zeros() for a, b in zip(x, first[1], strict=True)]
    coordinates = Coordinates(x)
    start = on_host(coordinates.flat(x)).astype(float)
    known = {start.tobytes(): first}
    far = 1e15 * (1.0 + abs(start).max(initial=0.0))

    def at(z: Any) -> tuple[float, Any]:
        try:
            value, g = known.get(z.tobytes()) or slope(coordinates.vector(coordinates.lent(z)))
        except ConvergenceError:  # from a solver inside: treat as outside the domain
            return math.inf, 0.0 * z
        if abs(z).max(initial=0.0) > far:
            raise ConvergenceError(
                f"minimize found no minimum: the value falls without end, and is {value:.6g}; "
                f"the function may not be bounded from below"
            )
        return value, on_host(coordinates.flat(g)).astype(float)

    how = {"maxiter": max_steps, "maxfun": 60 * max_steps, "ftol": eps_of(x), "gtol": 0.0}
    found = scipy_part("optimize").minimize(at, start, jac=True, method="L-BFGS-B", options=how)
    return coordinates.vector(coordinates.lent(found.x))

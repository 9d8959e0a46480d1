"""Linear systems with a matrix that is known by its products only: SciPy's Krylov methods."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_kit.optional_scipy import on_host, scipy_part
from chainrules_kit.solvers.dense import Coordinates
from chainrules_kit.solvers.vectors import Vector
from chainrules_py import ConvergenceError


def iterated(
    solver: str,
    apply: Callable[[Vector], Vector],
    b: Vector,
    tol: float,
    max_steps: int | None,
) -> Vector:
    """Find the x with ``apply(x) = b``, by GMRES or conjugate gradients.

    The residual has to be small relative to ‖b‖ + ‖A‖‖x‖, with a lower bound of ‖A‖ from the
    products: finite precision allows no smaller one.

    Raises
    ------
    ConvergenceError
        After ``max_steps`` products, by default 10 times the number of unknowns, or if the residual
        stops decreasing.
    """
    linalg, coordinates = scipy_part("sparse.linalg"), Coordinates(b)
    n, rhs = coordinates.size, on_host(coordinates.flat(b))
    largest: Any = 0.0
    left = max(10 * n, 20) if max_steps is None else max_steps

    def product(x: Any) -> Any:
        nonlocal left, largest
        y = on_host(coordinates.flat(apply(coordinates.vector(coordinates.lent(x)))))
        left, largest = left - 1, max(largest, np.linalg.norm(y) / (np.linalg.norm(x) or 1.0))
        return np.array(y)  # SciPy writes to it, and an array of JAX is read-only

    operator = linalg.LinearOperator((n, n), matvec=product, dtype=rhs.dtype)
    before: Any = math.inf
    x, residual = 0.0 * rhs, rhs
    while True:
        length, scale = np.linalg.norm(residual), np.linalg.norm(rhs)
        target = tol * (scale + largest * np.linalg.norm(x))
        if length <= target:
            return coordinates.vector(coordinates.lent(x))
        if left <= 0 or not length < 0.9 * before:
            raise ConvergenceError(
                f"{solver!r} did not converge: the norm of the residual is {length:.3g}, that of "
                f"the right-hand side {scale:.3g}; the operator may be singular, badly scaled, or, "
                f"for 'cg', not positive definite: solver='dense' says so, or is precise enough"
            )
        how = {"rtol": target / length, "atol": 0.0}
        with np.errstate(all="ignore"):
            if solver == "gmres":
                cycle = min(100, left, n)
                step, _ = linalg.gmres(operator, residual, restart=cycle, maxiter=1, **how)
            else:
                step, _ = linalg.cg(operator, residual, maxiter=left, **how)
        x, before = x + step, length
        residual = rhs - product(x)

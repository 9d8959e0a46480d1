"""Linear systems of which only products with vectors are known: GMRES, and conjugate gradients."""

from __future__ import annotations

import math
from collections.abc import Callable

from chainrules_kit.solvers.vectors import Vector, combine, dot, norm, size
from chainrules_py import ConvergenceError

Apply = Callable[[Vector], Vector]


def gmres(apply: Apply, b: Vector, tol: float, max_steps: int | None, restart: int = 100) -> Vector:
    """Find the x with ``apply(x) = b``, where the norm of the residual is least in a Krylov space.

    Y. Saad and M. H. Schultz, "GMRES" (1986). The residual is asked to be small beside ‖b‖ +
    ‖A‖‖x‖, with what the products have shown of ‖A‖: less is not to be had in finite precision.

    Raises
    ------
    ConvergenceError
        After ``max_steps`` products, 10 times the number of unknowns by default; or where the
        space grows no further, for the operator is singular.
    """
    x = [0.0 * y for y in b]
    left = max(10 * size(b), 20) if max_steps is None else max_steps
    residual, largest, scale = b, 0.0, norm(b)
    while True:
        target = tol * (scale + largest * norm(x))
        length = norm(residual)
        if length <= target:
            return x
        if left <= 0 or not math.isfinite(length):
            raise ConvergenceError(_failed("GMRES", length, scale))
        step, used, largest = _arnoldi(
            apply, residual, length, target, min(restart, left, size(b)), largest
        )
        left -= used
        x = combine(x, 1.0, step)
        before, residual = length, combine(b, -1.0, apply(x))
        left = left if norm(residual) < 0.9 * before else 0  # no restart would help


def _arnoldi(
    apply: Apply, residual: Vector, length: float, target: float, most: int, largest: float
) -> tuple[Vector, int, float]:
    """Run one cycle: find an orthonormal basis and the projected operator's triangular factor."""
    basis = [combine([0.0 * r for r in residual], 1.0 / length, residual)]
    columns: list[list[float]] = []
    turns: list[tuple[float, float]] = []
    rhs = [length]
    for k in range(most):
        w = apply(basis[k])
        largest = max(largest, norm(w))
        column = [0.0] * (k + 1)
        for _ in range(2):  # the second time removes what rounding left of the first
            for i, q in enumerate(basis):
                c = dot(q, w)
                column[i] += c
                w = combine(w, -c, q)
        below = norm(w)
        for i, (c, s) in enumerate(turns):
            upper, lower = column[i], column[i + 1]
            column[i], column[i + 1] = c * upper + s * lower, c * lower - s * upper
        diagonal = math.hypot(column[k], below)
        if diagonal <= 2.0**-50 * largest:
            break  # the operator maps this space into itself, and is singular in it
        turns.append((column[k] / diagonal, below / diagonal))
        column[k] = diagonal
        columns.append(column)
        c, s = turns[-1]
        rhs[k:] = [c * rhs[k], -s * rhs[k]]
        if abs(rhs[-1]) <= target or below <= 2.0**-50 * largest:
            break
        basis.append(combine([0.0 * x for x in w], 1.0 / below, w))
    weights = _back_substituted(columns, rhs)
    step = [0.0 * r for r in residual]
    for weight, q in zip(weights, basis, strict=False):
        step = combine(step, weight, q)
    return step, len(columns) + 1, largest


def _back_substituted(columns: list[list[float]], rhs: list[float]) -> list[float]:
    x = [0.0] * len(columns)
    for i in reversed(range(len(columns))):
        rest = sum(columns[j][i] * x[j] for j in range(i + 1, len(columns)))
        x[i] = (rhs[i] - rest) / columns[i][i]
    return x


def conjugate_gradients(apply: Apply, b: Vector, tol: float, max_steps: int | None) -> Vector:
    """Find the x with ``apply(x) = b``, for an operator that is symmetric and positive definite.

    M. R. Hestenes and E. Stiefel (1952). The residual is asked to be small as in `gmres`.

    Raises
    ------
    ConvergenceError
        After ``max_steps`` products, 10 times the number of unknowns by default; or where the
        operator is seen not to be positive definite.
    """
    x = [0.0 * y for y in b]
    residual = direction = b
    squared, scale, largest = dot(b, b), norm(b), 0.0
    for _ in range(max(10 * size(b), 20) if max_steps is None else max_steps):
        if math.sqrt(squared) <= tol * (scale + largest * norm(x)):
            return x
        product = apply(direction)
        curvature, along = dot(direction, product), dot(direction, direction)
        if not curvature > 0.0:
            msg = (
                f"conjugate gradients met a direction of curvature {curvature / along:.3g}, and "
                f"work for positive definite operators; write solver='gmres'"
            )
            raise ConvergenceError(msg)
        largest = max(largest, norm(product) / math.sqrt(along))
        step = squared / curvature
        x = combine(x, step, direction)
        residual = combine(residual, -step, product)
        squared, before = dot(residual, residual), squared
        direction = combine(residual, squared / before, direction)
    raise ConvergenceError(_failed("the conjugate gradients", math.sqrt(squared), scale))


def _failed(name: str, length: float, scale: float) -> str:
    return (
        f"{name} did not converge: the norm of the residual is {length:.3g}, that of the "
        f"right-hand side {scale:.3g}; the operator may be singular, or badly scaled, and then "
        f"solver='dense' says so, or is precise enough"
    )

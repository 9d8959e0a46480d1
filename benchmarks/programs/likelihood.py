"""The marginal likelihood of a Gaussian process, by a Cholesky factorisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.programs.program import Program

__all__ = ["CHOLESKY"]

POINTS = 500


def likelihood(xp: Any) -> Callable[..., Any]:
    """Of length, amplitude and noise, all as logarithms."""
    # PyTorch's own way; NumPy's names have no solver for triangles.
    triangle = getattr(xp.linalg, "solve_triangular", None)

    def loss(length: Any, amplitude: Any, noise: Any, distances: Any, eye: Any, y: Any) -> Any:
        k = xp.exp(2.0 * amplitude - 0.5 * distances / xp.exp(2.0 * length))
        factor = xp.linalg.cholesky(k + xp.exp(2.0 * noise) * eye)
        if triangle is not None:
            z = triangle(factor, y[:, None], upper=False)[:, 0]
        else:
            z = xp.linalg.solve(factor, y)
        return 0.5 * (z @ z) + xp.sum(xp.log(xp.diagonal(factor)))

    return loss


def by_hand(
    length: Any, amplitude: Any, noise: Any, distances: Any, eye: Any, y: Any
) -> tuple[Any, tuple[Any, ...]]:
    """The same with its gradient: half of K⁻¹ - αα', times the derivative of K."""
    scale = np.exp(2.0 * length)
    k = np.exp(2.0 * amplitude - 0.5 * distances / scale)
    factor = np.linalg.cholesky(k + np.exp(2.0 * noise) * eye)
    z = np.linalg.solve(factor, y)
    value = 0.5 * (z @ z) + np.sum(np.log(np.diagonal(factor)))
    inverse = np.linalg.inv(factor)
    a = z @ inverse
    k_bar = 0.5 * (inverse.T @ inverse - np.outer(a, a))
    weighted = k_bar * k
    return value, (
        np.vdot(weighted, distances) / scale,
        2.0 * np.sum(weighted),
        2.0 * np.exp(2.0 * noise) * np.trace(k_bar),
    )


def inputs() -> tuple[Any, ...]:
    """The three parameters, squared distances of points, the identity, and observations."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(POINTS, 3))
    distances = np.sum((x[:, None] - x[None]) ** 2, axis=-1)
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=POINTS)
    parameters = [np.asarray(p) for p in (0.1, -0.2, -1.5)]
    return (*parameters, distances, np.eye(POINTS), y)


CHOLESKY = Program(
    f"Cholesky log-likelihood n = {POINTS}", inputs, 3, likelihood, by_hand, budget=2.6, aim=1.8
)

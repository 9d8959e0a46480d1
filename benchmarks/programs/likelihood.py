"""The marginal likelihood of a Gaussian process, by a Cholesky factorisation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.programs.program import Program


def likelihood(xp: Any, triangle: Any = None) -> Callable[..., Any]:
    """Build the loss in length, amplitude and noise, all as logarithms."""
    # PyTorch's own way; NumPy's names have no solver for triangles.
    triangle = triangle or getattr(xp.linalg, "solve_triangular", None)

    def loss(length: Any, amplitude: Any, noise: Any, distances: Any, eye: Any, y: Any) -> Any:
        k = xp.exp(2.0 * amplitude - 0.5 * distances / xp.exp(2.0 * length))
        factor = xp.linalg.cholesky(k + xp.exp(2.0 * noise) * eye)
        if triangle is not None:
            z = triangle(factor, y[:, None], upper=False)[:, 0]
        else:
            z = xp.linalg.solve(factor, y)
        return 0.5 * (z @ z) + xp.sum(xp.log(xp.diagonal(factor, 0, -1, -2)))

    return loss


def by_hand(
    length: Any, amplitude: Any, noise: Any, distances: Any, eye: Any, y: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Compute the loss and its gradient: half of K⁻¹ - αα', times the derivative of K.

    One factorisation gives the value, the solution and the inverse; of symmetric matrices one
    triangle is computed.
    """
    from scipy.linalg import lapack

    scale = np.exp(2.0 * length)
    k = np.exp(2.0 * amplitude - 0.5 * distances / scale)
    factor, _ = lapack.dpotrf(k + np.exp(2.0 * noise) * eye, lower=1, clean=0)
    alpha, _ = lapack.dpotrs(factor, y, lower=1)
    value = 0.5 * (y @ alpha) + np.sum(np.log(np.diagonal(factor)))
    inverse, _ = lapack.dpotri(factor, lower=1)
    diagonal = np.diagonal(inverse) - alpha * alpha
    k_bar = np.tril(inverse - np.outer(alpha, alpha), -1)  # twice the half, of one triangle
    weighted = k_bar * k
    trace = 0.5 * np.sum(diagonal)
    return value, (
        np.vdot(weighted, distances) / scale,
        2.0 * (np.sum(weighted) + trace * np.exp(2.0 * amplitude)),
        2.0 * np.exp(2.0 * noise) * trace,
    )


def inputs(points: int) -> tuple[Any, ...]:
    """Make the three parameters, squared distances of points, the identity, and observations."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(points, 3))
    distances = np.sum((x[:, None] - x[None]) ** 2, axis=-1)
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=points)
    parameters = [np.asarray(p) for p in (0.1, -0.2, -1.5)]
    return (*parameters, distances, np.eye(points), y)


CHOLESKY, SMALL = (
    Program(
        f"Cholesky log-likelihood n = {points}",
        functools.partial(inputs, points),
        3,
        likelihood,
        by_hand,
        budget=budget,
        aim=aim,
        elements=points * points,
        without={"MyGrad": "has no Cholesky factorisation"},
    )
    for points, budget, aim in ((500, 2.6, 1.8), (50, 4.0, 3.0))
)

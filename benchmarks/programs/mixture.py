"""ADBench's Gaussian mixture: the log-likelihood of points, with a Wishart prior.

Srajer, Kukelova, Fitzgibbon (2018), A benchmark of selected algorithmic differentiation tools.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.programs.program import Program

GAMMA, EXTRA = 1.0, 0


def mixture(xp: Any) -> Callable[..., Any]:
    """Build the loss in the logarithms of weights, means, and factors of inverse covariances."""

    def logsumexp(x: Any, axis: int) -> Any:
        return xp.log(xp.sum(xp.exp(x), axis=axis))

    def loss(a: Any, means: Any, logs: Any, lower: Any, points: Any, places: Any) -> Any:
        parts, dimension = means.shape
        q = xp.exp(logs)
        triangles = xp.reshape(lower @ places, (parts, dimension, dimension))
        centred = points[None, :, :] - means[:, None, :]
        moved = centred * q[:, None, :] + xp.matmul(centred, triangles)
        weights = a + xp.sum(logs, axis=1)
        inner = weights[:, None] - 0.5 * xp.sum(moved * moved, axis=2)
        size = dimension + EXTRA + 1
        prior = 0.5 * GAMMA**2 * (xp.sum(q * q) + xp.sum(lower * lower)) - EXTRA * xp.sum(logs)
        return xp.sum(logsumexp(inner, 0)) - points.shape[0] * logsumexp(a, 0) + prior / size

    return loss


def by_hand(
    a: Any, means: Any, logs: Any, lower: Any, points: Any, places: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Compute the loss of the bundle adjustment and its gradient, in NumPy."""
    (parts, dimension), n = means.shape, points.shape[0]
    q = np.exp(logs)
    triangles = np.reshape(lower @ places, (parts, dimension, dimension))
    centred = points[None] - means[:, None]
    moved = centred * q[:, None] + np.matmul(centred, triangles)
    weights = a + np.sum(logs, axis=1)
    e = np.exp(weights[:, None] - 0.5 * np.sum(moved * moved, axis=2))
    total = np.sum(e, axis=0)
    size = dimension + EXTRA + 1
    prior = 0.5 * GAMMA**2 * (np.sum(q * q) + np.sum(lower * lower)) - EXTRA * np.sum(logs)
    ea = np.exp(a)
    value = np.sum(np.log(total)) - n * np.log(np.sum(ea)) + prior / size
    inner_bar = e / total
    weights_bar = np.sum(inner_bar, axis=1)
    moved_bar = -inner_bar[:, :, None] * moved
    q_bar = np.sum(moved_bar * centred, axis=1) + GAMMA**2 * q / size
    triangles_bar = np.matmul(np.swapaxes(centred, 1, 2), moved_bar)
    centred_bar = moved_bar * q[:, None] + np.matmul(moved_bar, np.swapaxes(triangles, 1, 2))
    return value, (
        weights_bar - n * ea / np.sum(ea),
        -np.sum(centred_bar, axis=1),
        weights_bar[:, None] + q_bar * q - EXTRA / size,
        triangles_bar.reshape(parts, -1) @ places.T + GAMMA**2 * lower / size,
    )


def inputs(n: int, dimension: int, parts: int) -> tuple[Any, ...]:
    """Parameters, points, and where the elements of a triangle stand in its matrix."""
    rng = np.random.default_rng(0)
    rows, columns = np.tril_indices(dimension, -1)
    places = np.zeros((len(rows), dimension * dimension))
    places[np.arange(len(rows)), columns * dimension + rows] = 1.0  # transposed, for x @ L'
    return (
        rng.normal(size=parts),
        rng.normal(size=(parts, dimension)),
        0.1 * rng.normal(size=(parts, dimension)),
        0.1 * rng.normal(size=(parts, len(rows))),
        rng.normal(size=(n, dimension)),
        places,
    )


GMM, SMALL = (
    Program(
        f"ADBench GMM N={n}, d={dimension}, K={parts}",
        functools.partial(inputs, n, dimension, parts),
        4,
        mixture,
        by_hand,
        budget=budget,
        aim=1.5,
        elements=n * dimension * parts,
    )
    for n, dimension, parts, budget in ((1000, 10, 25, 1.5), (200, 5, 10, 3.0))
)

"""Programs of matrix products: a perceptron of two sizes, and a logistic regression."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.programs.program import Program


def perceptron(xp: Any) -> Callable[..., Any]:
    """Two hidden layers of tanh, cross-entropy of a softmax."""

    def loss(w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, labels: Any) -> Any:
        h = xp.tanh(x @ w1 + b1)
        h = xp.tanh(h @ w2 + b2)
        z = h @ w3 + b3
        normal = xp.log(xp.sum(xp.exp(z), axis=1, keepdims=True))
        return -xp.sum((z - normal) * labels) / x.shape[0]

    return loss


def perceptron_by_hand(
    w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, labels: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Compute the loss of the perceptron and its gradient, in NumPy."""
    h1 = np.tanh(x @ w1 + b1)
    h2 = np.tanh(h1 @ w2 + b2)
    z = h2 @ w3 + b3
    e = np.exp(z)
    total = np.sum(e, axis=1, keepdims=True)
    n = x.shape[0]
    value = -np.sum((z - np.log(total)) * labels) / n
    z_bar = (e / total - labels) / n
    h2_bar = (z_bar @ w3.T) * (1 - h2 * h2)
    h1_bar = (h2_bar @ w2.T) * (1 - h1 * h1)
    return value, (
        x.T @ h1_bar,
        np.sum(h1_bar, axis=0),
        h1.T @ h2_bar,
        np.sum(h2_bar, axis=0),
        h2.T @ z_bar,
        np.sum(z_bar, axis=0),
    )


def perceptron_inputs(batch: int, *sizes: int) -> Callable[[], tuple[Any, ...]]:
    """Weights, biases, a batch and its labels."""

    def inputs() -> tuple[Any, ...]:
        rng = np.random.default_rng(0)
        parameters: list[Any] = []
        for before, after in itertools.pairwise(sizes):
            parameters.append(rng.normal(size=(before, after)) / np.sqrt(before))
            parameters.append(0.1 * rng.normal(size=after))
        labels = np.eye(sizes[-1])[rng.integers(0, sizes[-1], batch)]
        return (*parameters, rng.normal(size=(batch, sizes[0])), labels)

    return inputs


SMALL = Program(
    "MLP 10-32-32-10, batch 32",
    perceptron_inputs(32, 10, 32, 32, 10),
    6,
    perceptron,
    perceptron_by_hand,
    budget=1.5,
    aim=1.5,
    elements=1024,
)
LARGE = Program(
    "MLP 784-512-512-10, batch 1024",
    perceptron_inputs(1024, 784, 512, 512, 10),
    6,
    perceptron,
    perceptron_by_hand,
    budget=1.05,
    aim=1.05,
    elements=1024 * 512,
)


def logistic(xp: Any) -> Callable[..., Any]:
    """Build the loss, which is the mean of log(1 + exp(-label margin))."""

    def loss(w: Any, x: Any, labels: Any) -> Any:
        return xp.sum(xp.log1p(xp.exp(-(labels * (x @ w))))) / x.shape[0]

    return loss


def logistic_by_hand(w: Any, x: Any, labels: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the logistic loss and its gradient, in NumPy."""
    e = np.exp(-(labels * (x @ w)))
    n = x.shape[0]
    return np.sum(np.log1p(e)) / n, (((-labels * e / (1 + e)) / n) @ x,)


def logistic_inputs(points: int = 20000, width: int = 500) -> tuple[Any, ...]:
    """Weights, points, and labels of 1 and -1."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(points, width))
    return 0.05 * rng.normal(size=width), x, np.sign(rng.normal(size=points))


LOGISTIC = Program(
    "logistic regression 20000 x 500",
    logistic_inputs,
    1,
    logistic,
    logistic_by_hand,
    budget=1.05,
    aim=1.05,
    elements=20000,
)

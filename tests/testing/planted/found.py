"""Plants from rules of strangers: of whole arrays, and of kinds of operands."""

from __future__ import annotations

import numpy as np

from chainrules_py import primitive, rrule
from tests.testing.planted.build import (
    SQUARE,
    VECTOR,
    Plant,
    X,
    numpy_pair,
    numpy_rule,
    slope,
)

REGULAR = SQUARE @ SQUARE.T + 3.0 * np.eye(3)


def swish(x, b):
    return x / (1.0 + np.exp(-b * x))


def swish_pull_b(t, x, b):
    s = 1.0 / (1.0 + np.exp(-b * x))
    return np.full_like(b, np.sum(t * x * x * s * (1.0 - s)))


def swish_pull_x(t, x, b):
    s = 1.0 / (1.0 + np.exp(-b * x))
    return t * (s + x * b * s * (1.0 - s))


def from_lower(a):
    return np.tril(a) + np.tril(a, -1).T


def solved(a, b):
    """The solution, of the lower triangle of a symmetric matrix."""
    return np.linalg.solve(from_lower(a), b)


def solved_pull_a(t, a, b):
    return -np.outer(np.linalg.solve(from_lower(a), t), solved(a, b))


def solved_pull_b(t, a, _b):
    return np.linalg.solve(from_lower(a), t)


def density(x, c):
    return -0.5 * x @ np.linalg.solve(c, x) - 0.5 * np.linalg.slogdet(c)[1]


def density_pull_c(t, x, c):
    s = np.linalg.solve(c, x)
    return 0.5 * t * (np.linalg.inv(c) - np.outer(s, s))


@primitive
def softplus(x, /, *, beta=2.0):
    return np.log1p(np.exp(beta * x)) / beta


@rrule.register(softplus)
def softplus_rrule(x: np.ndarray, *, beta):
    return softplus(x, beta=beta), lambda t: (t / (1.0 + np.exp(-x)),)


WRONG: dict[str, Plant] = {
    "slope of each column summed to one number": Plant(
        numpy_pair(swish, swish_pull_x, swish_pull_b),
        (X, VECTOR),
        "sum along axis 0 of the operand instead of single numbers",
        cites="tensorflow/tensorflow#127690",
    ),
    "one triangle is read, and both have derivatives": Plant(
        numpy_pair(solved, solved_pull_a, solved_pull_b),
        (REGULAR, VECTOR),
        "wrong numbers for argument 1",
        cites="jax-ml/jax#1458",
    ),
    "sign of the derivative in a covariance": Plant(
        numpy_pair(density, lambda t, x, c: -t * np.linalg.solve(c, x), density_pull_c),
        (VECTOR, REGULAR),
        "wrong sign",
        cites="HIPS/autograd#412",
    ),
    "minimum at the place of the maximum": Plant(
        numpy_rule(np.min, lambda t, x: t * (x == x.max())), (VECTOR,), "wrong places"
    ),
    "derivative of the other operand": Plant(
        numpy_pair(lambda a, b: np.stack([a, b]), lambda t, _a, _b: t[0], lambda t, _a, _b: t[0]),
        (VECTOR, VECTOR[::-1].copy()),
        "the derivative of a for b",
    ),
    "exponential and one": Plant(slope(np.exp, lambda y, _x: y + 1.0), (X,), "the constant 1"),
}

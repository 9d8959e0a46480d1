"""Three kinds of gradient descent, for containers of arrays.

``grad(x, i)`` is a gradient at step i; ``callback(x, i, gradient)`` is called at each step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_autograd.misc.flatten import flatten

Function = Callable[..., Any]


def unflatten_optimizer(optimize: Function) -> Function:
    """Make an optimizer of vectors accept containers (a decorator)."""

    @functools.wraps(optimize)
    def of_containers(
        grad: Function, x0: Any, callback: Function | None = None, *args: Any, **options: Any
    ) -> Any:
        start, unflatten = flatten(x0)

        def told(x: Any, i: int, g: Any) -> None:
            if callback is not None:
                callback(unflatten(x), i, unflatten(g))

        def slope(x: Any, i: int) -> Any:
            return flatten(grad(unflatten(x), i))[0]

        return unflatten(optimize(slope, start, told, *args, **options))

    return of_containers


@unflatten_optimizer
def sgd(
    grad: Function,
    x: Any,
    callback: Function,
    num_iters: int = 200,
    step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:
    """Descend with momentum.

    Examples
    --------
    >>> print(round(sgd(lambda x, i: 2 * (x - 3.0), 0.0), 3))
    3.0
    """
    velocity = np.zeros(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        callback(x, i, g)
        velocity = mass * velocity - (1.0 - mass) * g
        x = x + step_size * velocity
    return x


@unflatten_optimizer
def rmsprop(
    grad: Function,
    x: Any,
    callback: Function,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """Descend by gradients divided by the root of a running mean of squares."""
    squares = np.ones(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        callback(x, i, g)
        squares = squares * gamma + g**2 * (1.0 - gamma)
        x = x - step_size * g / (np.sqrt(squares) + eps)
    return x


@unflatten_optimizer
def adam(
    grad: Function,
    x: Any,
    callback: Function,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:
    """Descend by running means of gradients and their squares.  Kingma, Ba (2015), algorithm 1."""
    mean, squares = np.zeros(len(x)), np.zeros(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        callback(x, i, g)
        mean = (1.0 - b1) * g + b1 * mean
        squares = (1.0 - b2) * g**2 + b2 * squares
        step = mean / (1.0 - b1 ** (i + 1))
        x = x - step_size * step / (np.sqrt(squares / (1.0 - b2 ** (i + 1))) + eps)
    return x

"""Test functions of optimisers, with their Hessians, and Jacobians of a small network."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import derivatives
from benchmarks.others.chains import vector
from benchmarks.others.other import Other


def beale(xp: Any) -> Callable[..., Any]:
    """Build Beale's function of two numbers."""

    def loss(x: Any, y: Any) -> Any:
        return (1.5 - x + x * y) ** 2 + (2.25 - x + x * y**2) ** 2 + (2.625 - x + x * y**3) ** 2

    return loss


def beale_by_hand(x: float, y: float) -> tuple[float, tuple[float, float]]:
    """Compute Beale's function and its gradient, in Python's numbers."""
    y2 = y * y
    y3 = y2 * y
    a, b, c = 1.5 - x + x * y, 2.25 - x + x * y2, 2.625 - x + x * y3
    x_bar = 2.0 * (a * (y - 1.0) + b * (y2 - 1.0) + c * (y3 - 1.0))
    return a * a + b * b + c * c, (x_bar, 2.0 * x * (a + 2.0 * b * y + 3.0 * c * y2))


def rosenbrock(xp: Any) -> Callable[..., Any]:
    """Build Rosenbrock's function of a vector."""
    return lambda x: derivatives.rosenbrock(xp, x)


def rosenbrock_by_hand(x: Any) -> tuple[Any, tuple[Any]]:
    """Compute Rosenbrock's function and its gradient."""
    a = x[:-1]
    u, v = x[1:] - a * a, 1.0 - a
    value, x_bar = 100.0 * (u @ u) + v @ v, np.zeros_like(x)
    u *= 200.0
    x_bar[1:] = u
    x_bar[:-1] -= 2.0 * (a * u + v)
    return value, (x_bar,)


def product_by_hand(x: Any, v: Any) -> Any:
    """Compute the Hessian's product with v: the Hessian has three diagonals."""
    a, va, beside = x[:-1], v[:-1], -400.0 * x[:-1]
    product = np.zeros_like(x)
    product[1:] = 200.0 * v[1:] + beside * va
    product[:-1] += (1200.0 * a * a - 400.0 * x[1:] + 2.0) * va + beside * v[1:]
    return product


def hessian_by_hand(x: Any) -> Any:
    """Compute the Hessian from its three diagonals, as SciPy's `rosen_hess` does."""
    beside, diagonal = -400.0 * x[:-1], np.empty_like(x)
    diagonal[0] = 0.0
    diagonal[1:] = 200.0
    diagonal[:-1] += 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
    found = np.diag(beside, 1)
    found += np.diag(beside, -1)
    found += np.diag(diagonal)
    return found


def network(xp: Any) -> Callable[..., Any]:
    """Build two layers, from n numbers to n."""
    return lambda x, a, b: derivatives.network(xp, x, a, b)


def layers(size: int) -> tuple[Any, ...]:
    """Make a point and two matrices."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, size, size)) / np.sqrt(size)
    return rng.normal(size=size), a, b


def point_and_direction(size: int) -> tuple[Any, ...]:
    """Make a point and a direction."""
    return tuple(np.random.default_rng(0).normal(size=(2, size)))


def _of(size: int) -> tuple[Other, ...]:
    jacobian = derivatives.jacobian_by_hand
    return (
        Other(
            f"hvp_rosen{size}",
            functools.partial(point_and_direction, size),
            1,
            rosenbrock,
            product_by_hand,
            "hvp",
        ),
        Other(
            f"hessian_rosen{size}",
            functools.partial(vector, size),
            1,
            rosenbrock,
            hessian_by_hand,
            "hessian",
        ),
        Other(f"jac_fwd_{size}", functools.partial(layers, size), 1, network, jacobian, "forward"),
        Other(f"jac_rev_{size}", functools.partial(layers, size), 1, network, jacobian, "reverse"),
    )


SECOND = (
    Other("scalar_beale", lambda: (3.1, 0.4), 2, beale, beale_by_hand),
    Other("scalar_rosen1000", functools.partial(vector, 1000), 1, rosenbrock, rosenbrock_by_hand),
    *_of(10),
    *_of(100),
)

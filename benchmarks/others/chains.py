"""Chains of elementwise operations, of short and of long arrays, and one array of many uses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.others.other import Other
from benchmarks.programs import many, small

STEPS = 60


def along_by_hand(
    operations: int, h: Any, w: Any, b: Any, h_dot: Any, w_dot: Any, b_dot: Any
) -> Any:
    """Compute the value of the chain of sines and its derivative along a direction."""
    sin, cos = np.sin, np.cos
    for _ in range(operations // 3):
        sine = sin(h)
        h_dot = cos(h) * h_dot * w + sine * w_dot + b_dot
        h = sine * w + b
    return np.sum(h), np.sum(h_dot)


def both(size: int) -> tuple[Any, ...]:
    """Make where the chain starts, and a direction."""
    return (*many.three(size), *np.random.default_rng(1).normal(size=(3, size)))


def sines(name: str, operations: int, size: int, *, small: bool = True, jvp: bool = False) -> Other:
    """Build a program of sines, products and sums, one after the other."""
    return Other(
        name,
        functools.partial(both if jvp else many.three, size),
        3,
        functools.partial(many.deep, operations),
        functools.partial(along_by_hand if jvp else many.deep_by_hand, operations),
        "jvp" if jvp else "gradient",
        functools.partial(many.deep_scanned, operations),
        small,
        rtol=1e-8,
    )


def linear(xp: Any) -> Callable[..., Any]:
    """Build the sum of an array that is scaled and moved again and again: memory alone is slow."""

    def loss(x: Any) -> Any:
        for _ in range(STEPS):
            x = x * 0.999 + 0.001
        return xp.sum(x)

    return loss


def linear_scanned(jax: Any) -> Callable[..., Any]:
    """Build the same, its loop a scan."""

    def loss(x: Any) -> Any:
        body = lambda x, _: (x * 0.999 + 0.001, None)
        return jax.numpy.sum(jax.lax.scan(body, x, length=STEPS)[0])

    return loss


def linear_by_hand(x: Any) -> tuple[Any, tuple[Any]]:
    """Compute the sum and its gradient, in place after the first step."""
    y, x_bar = x * 0.999 + 0.001, np.ones_like(x)
    for _ in range(STEPS - 1):
        y *= 0.999
        y += 0.001
    for _ in range(STEPS):
        x_bar *= 0.999
    return np.sum(y), (x_bar,)


def vector(size: int) -> tuple[Any, ...]:
    """Make one array."""
    return (np.random.default_rng(0).normal(size=size),)


def _linear(name: str, size: int, small: bool) -> Other:
    return Other(
        name,
        functools.partial(vector, size),
        1,
        linear,
        linear_by_hand,
        scanned=linear_scanned,
        small=small,
    )


def fan(name: str, size: int, small_enough: bool) -> Other:
    """Build a program that scales one array a thousand times."""
    return Other(
        name,
        functools.partial(vector, size),
        1,
        small.fan_out,
        small.fan_out_by_hand,
        scanned=small.fan_out_scanned,
        small=small_enough,
        rtol=1e-6,
    )


CHAINS = (
    sines("chain_small", 1000, 4),
    sines("jvp_small", 1000, 4, jvp=True),
    _linear("chain_bw_1e4", 10_000, True),
    _linear("chain_bw_1e6", 1_000_000, False),
    sines("chain_1e6", 21, 1_000_000, small=False),
    sines("jvp_1e6", 21, 1_000_000, small=False, jvp=True),
    fan("fan1000_n10", 10, True),
    fan("fan1000_n1e5", 100_000, False),
    Other(
        "deep_10k",
        lambda: (0.5,),
        1,
        functools.partial(small.scalars, turns=5000),
        functools.partial(small.scalars_by_hand, turns=5000),
        scanned=functools.partial(small.scalars_scanned, turns=5000),
    ),
)

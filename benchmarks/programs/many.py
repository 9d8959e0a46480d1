"""Programs of many operations on small arrays: a tree, deep chains, rows gathered from a table."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import chain
from benchmarks.programs.program import Program

LEAVES, WIDTH = 256, 8
ROWS, COLUMNS, LOOKUPS, TAKEN = 1000, 8, 200, 32
UNROLLED = {"JAX, jit": "unrolled, it compiles for minutes"}


# ------------------------------------------------------------------------------------- a tree


def tree(xp: Any) -> Callable[..., Any]:
    """Arrays joined two by two until one is left."""

    def loss(xs: Any) -> Any:
        xs = list(xs)
        while len(xs) > 1:
            xs = [xp.tanh(xs[i] * xs[i + 1] + xs[i]) for i in range(0, len(xs), 2)]
        return xp.sum(xs[0])

    return loss


def tree_by_hand(xs: list[Any]) -> tuple[Any, tuple[list[Any]]]:
    """Compute the value of the tree and its gradient, in NumPy."""
    levels = [xs]
    while len(xs) > 1:
        xs = [np.tanh(xs[i] * xs[i + 1] + xs[i]) for i in range(0, len(xs), 2)]
        levels.append(xs)
    value, bars = np.sum(xs[0]), [np.ones_like(xs[0])]
    for level, results in zip(levels[-2::-1], levels[:0:-1], strict=True):
        below = []
        for i, (y, y_bar) in enumerate(zip(results, bars, strict=True)):
            bar = y_bar * (1.0 - y * y)
            below += [bar * level[2 * i + 1] + bar, bar * level[2 * i]]
        bars = below
    return value, (bars,)


TREE = Program(
    f"tree of small operations, {LEAVES} leaves",
    lambda: (list(np.random.default_rng(0).normal(size=(LEAVES, WIDTH))),),
    1,
    tree,
    tree_by_hand,
    budget=6,
    aim=5,
    elements=WIDTH,
)


# -------------------------------------------------------------------------------- deep chains


def deep(operations: int, xp: Any) -> Callable[..., Any]:
    """Build the chain of sine, multiply and add."""
    return lambda h, w, b: chain.program(xp, h, w, b, operations)


def deep_scanned(operations: int, jax: Any) -> Callable[..., Any]:
    """Build the chain of sine, multiply and add, its loop a scan."""

    def loss(h: Any, w: Any, b: Any) -> Any:
        body = lambda h, _: (jax.numpy.sin(h) * w + b, None)
        return jax.numpy.sum(jax.lax.scan(body, h, length=operations // 3)[0])

    return loss


def deep_by_hand(operations: int, h: Any, w: Any, b: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the value of the chain and its gradient, in NumPy."""
    return chain.by_hand(h, w, b, operations)


def three(size: int) -> tuple[Any, ...]:
    """Where the chain starts, what it multiplies by, and what it adds.

    The factors are below one: above it the chain is chaotic, and the last bit of a sine decides.
    """
    rng = np.random.default_rng(0)
    return rng.normal(size=size), rng.uniform(0.98, 1.0, size), 0.01 * rng.normal(size=size)


CHAIN, CHAIN_OF_THOUSANDS = (
    Program(
        f"chain of {operations} operations, length {size}",
        functools.partial(three, size),
        3,
        functools.partial(deep, operations),
        functools.partial(deep_by_hand, operations),
        budget=budget,
        aim=budget,
        elements=size,
        without=UNROLLED if operations > 900 else {},
        scanned=functools.partial(deep_scanned, operations),
    )
    for operations, size, budget in ((1000, 4, 3.0), (300, 10_000, 1.5))
)


# ---------------------------------------------------------------------------------- a table


def gathers(xp: Any) -> Callable[..., Any]:
    """Rows of a table, added up; the sums squared."""

    def loss(table: Any, places: Any) -> Any:
        total = 0.0
        for ix in places:
            h = xp.sum(table[ix], axis=0)
            total = total + xp.sum(h * h)
        return total

    return loss


def gathers_scanned(jax: Any) -> Callable[..., Any]:
    """Build the sum of squared sums of gathered rows, its loop a scan."""

    def loss(table: Any, places: Any) -> Any:
        def body(total: Any, ix: Any) -> tuple[Any, None]:
            h = jax.numpy.sum(table[ix], axis=0)
            return total + jax.numpy.sum(h * h), None

        return jax.lax.scan(body, 0.0, places)[0]

    return loss


def gathers_by_hand(table: Any, places: Any) -> tuple[Any, tuple[Any]]:
    """Compute the sum of squared sums of gathered rows and its gradient, in NumPy."""
    total, table_bar = 0.0, np.zeros_like(table)
    for ix in places:
        h = np.sum(table[ix], axis=0)
        total = total + np.sum(h * h)
        np.add.at(table_bar, ix, 2.0 * h)
    return total, (table_bar,)


def table_and_places() -> tuple[Any, ...]:
    """Make a table, and the rows that are taken at a time; some of them twice."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(ROWS, COLUMNS)), rng.integers(0, ROWS, (LOOKUPS, TAKEN))


GATHERS = Program(
    f"{LOOKUPS} gathers of {TAKEN} rows out of {ROWS}",
    table_and_places,
    1,
    gathers,
    gathers_by_hand,
    budget=4,
    aim=3,
    elements=ROWS * COLUMNS,
    without={"JAX, jit": "rows of an array on a device are not traced one by one"},
    scanned=gathers_scanned,
)

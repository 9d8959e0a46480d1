"""Parts of arrays: elements and rows that are gathered, and slices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.others.chains import vector
from benchmarks.others.other import Other
from benchmarks.programs import small


def gathered(xp: Any) -> Callable[..., Any]:
    """Build the sum of squares of elements or rows; some are taken more than once."""

    def loss(table: Any, places: Any) -> Any:
        rows = table[places]
        return xp.sum(rows * rows)

    return loss


def elements_by_hand(table: Any, places: Any) -> tuple[Any, tuple[Any]]:
    """Compute the sum of squares of elements and its gradient."""
    rows = table[places]
    return rows @ rows, (np.bincount(places, 2.0 * rows, len(table)),)


def rows_by_hand(table: Any, places: Any) -> tuple[Any, tuple[Any]]:
    """Compute the sum of squares of rows and its gradient."""
    rows, table_bar = table[places], np.zeros_like(table)
    value = np.vdot(rows, rows)
    rows *= 2.0
    np.add.at(table_bar, places, rows)
    return value, (table_bar,)


def inputs(taken: int, *shape: int) -> tuple[Any, ...]:
    """Make a table, and the places that are taken."""
    rng = np.random.default_rng(0)
    return rng.normal(size=shape), rng.integers(0, shape[0], taken)


def slices(name: str, size: int, stride: int) -> Other:
    """Build the sum of squares of 500 slices of 50 elements."""
    return Other(
        name,
        functools.partial(vector, size),
        1,
        functools.partial(small.slices, stride=stride),
        functools.partial(small.slices_by_hand, stride=stride),
        scanned=functools.partial(small.slices_scanned, stride=stride),
    )


PARTS = (
    Other("gather_rows_100", functools.partial(inputs, 100, 1000, 16), 1, gathered, rows_by_hand),
    Other(
        "gather_1d_1e5",
        functools.partial(inputs, 100_000, 100_000),
        1,
        gathered,
        elements_by_hand,
    ),
    Other(
        "gather_rows_1e5",
        functools.partial(inputs, 100_000, 1000, 16),
        1,
        gathered,
        rows_by_hand,
        small=False,
    ),
    slices("slices500_n1000", 1000, 1),
    slices("slices500_n100000", 100_000, 100),
)

"""Detection: which results of a linear function depend on which of its arguments.

NaN is pushed through the function: a result that is NaN depends on an argument that is NaN. This
finds structural dependence, because 0 times NaN is NaN, and rules need not state it. Blocks of
arguments are halved level by level, and blocks that share no candidate are pushed at once. This
takes about log2(n) pushes for each color.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from chainrules_kit.optional_scipy import scipy_part
from chainrules_tape.tools.sparsity.coloring import color_columns, count_colors

Image: TypeAlias = Callable[[Any], Any]
"""Takes booleans (k, n), True for NaN, and returns booleans (k, m)."""

LEVEL = 256
"""Number of blocks at which a pattern counts as dense if half of the candidates remain."""


def detect(push: Image, pull: Image | None, n: int, m: int) -> Any:
    """Find the pattern of a linear function from n numbers to m numbers.

    Parameters
    ----------
    push : callable
        The linear function.
    pull : callable or None
        Its transpose, which finds rows with many more entries than the others.
    n, m : int
        The numbers of its arguments and results.

    Returns
    -------
    csr_array of bool, or None
        Of shape (m, n); None if it is dense.
    """
    edges = np.array([0, n])  # of the blocks
    rows = np.arange(m if n else 0)  # candidates: results that may depend on a block
    blocks = np.zeros_like(rows)
    found = [np.zeros((2, 0), np.intp)]  # rows that were pulled, and their columns
    pushes, rest = 0, m
    while len(rows):
        long = _long_rows(rows, m) if pull is not None else rows[:0]
        if pull is not None and len(long):
            at, columns = pull(np.arange(m) == long[:, None]).nonzero()
            found.append(np.stack([long[at], columns]))
            short = ~np.isin(rows, long)
            rows, blocks, rest = rows[short], blocks[short], rest - len(long)
        colors = color_columns(pattern_of(rows, blocks, (m, len(edges) - 1)).tocsc())
        k = count_colors(colors)
        pushes += k
        full = 2 * len(rows) > rest * len(colors) and len(colors) >= max(min(LEVEL, n / 4), 64)
        if full or pushes > max(1000, n / 8):
            return None
        hit, color, inside = (
            np.zeros(len(rows), bool),
            colors[blocks],
            colors.repeat(np.diff(edges)),
        )
        for first, last in chunks(k, max(n, m)):
            seen = push(inside == np.arange(first, last)[:, None])
            those = np.flatnonzero((first <= color) & (color < last))
            hit[those] = seen[color[those] - first, rows[those]]
        rows, blocks = rows[hit], blocks[hit]
        if len(colors) == n:
            break
        edges, rows, blocks = _halved(edges, rows, blocks)
    more, columns = np.concatenate(found, axis=1)
    return pattern_of(np.append(rows, more), np.append(blocks, columns), (m, n))


def csr_array(*given: Any) -> Any:
    """Build a csr array of SciPy."""
    return scipy_part("sparse").csr_array(*given)


def pattern_of(rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    """Build the pattern with entries at these indices."""
    return csr_array((np.ones(len(rows), bool), (rows, columns)), shape)


def chunks(k: int, size: int) -> list[tuple[int, int]]:
    """Split k directions of this size into parts that are pushed at once."""
    step = max(1, min(64, (1 << 21) // max(size, 1)))
    return [(first, min(first + step, k)) for first in range(0, k, step)]


def long_first(counts: Any) -> tuple[Any, int]:
    """Return the rows that are better pulled one by one, and the least number of directions.

    A row with c entries takes c colors of columns, or one pull.
    """
    order = np.argsort(-counts, kind="stable")
    cost = np.arange(len(counts) + 1) + np.append(counts[order], 0)
    best = int(cost.argmin())
    if 2 * cost[best] >= cost[0]:
        return order[:0], int(cost[0])
    return order[:best], int(cost[best])


def _long_rows(rows: Any, m: int) -> Any:
    counts = np.bincount(rows, minlength=m)
    return long_first(counts)[0] if counts.max() > 16 else rows[:0]


def _halved(edges: Any, rows: Any, blocks: Any) -> tuple[Any, Any, Any]:
    """Halve each block, and pair its candidates with both halves."""
    middles = (edges[:-1] + edges[1:] + 1) // 2
    wide = np.diff(edges) > 1
    finer = np.sort(np.append(edges, middles[wide]))
    left, two = np.searchsorted(finer, edges[:-1])[blocks], wide[blocks]
    return finer, np.append(rows, rows[two]), np.append(left, left[two] + 1)

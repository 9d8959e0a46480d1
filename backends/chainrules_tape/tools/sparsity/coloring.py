"""Colorings: columns, or rows, of one color are computed by one product.

A. H. Gebremedhin, F. Manne, A. Pothen, "What color is your Jacobian?" (2005). A set of colors is
the bits of one integer, so that the smallest free color takes a few operations.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def color_columns(columns: Any) -> Any:
    """Color the columns of a pattern, so that no row has two of one color (distance 2).

    The coloring is greedy, and starts with the columns that have the most entries.

    Parameters
    ----------
    columns : csc_array
        The pattern.

    Returns
    -------
    array of int
        A color for each column; -1 for columns without entries.

    Examples
    --------
    >>> from scipy import sparse
    >>> color_columns(sparse.eye_array(4, format="csc") + sparse.eye_array(4, k=1, format="csc"))
    array([1, 0, 1, 0])
    """
    starts, rows = columns.indptr.tolist(), columns.indices.tolist()
    counts = np.diff(columns.indptr)
    if counts.min(initial=columns.shape[0]) == columns.shape[0]:  # the pattern is full
        return np.arange(len(counts)) if columns.shape[0] else np.full(len(counts), -1)
    colors, used = [-1] * len(counts), [0] * columns.shape[0]
    for j in np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].tolist():
        mine = rows[starts[j] : starts[j + 1]]
        taken = 0
        for i in mine:
            taken |= used[i]
        bit = ~taken & (taken + 1)
        for i in mine:
            used[i] |= bit
        colors[j] = bit.bit_length() - 1
    return np.array(colors, np.intp)


def color_stars(rows: Any) -> Any:
    """Color the columns of a symmetric pattern so that each entry or its mirror can be read.

    Neighbours have two colors, and a path of four vertices has three or more. All vertices of two
    colors therefore form stars, and the entry of an edge is read in the row of the spoke.

    Parameters
    ----------
    rows : csr_array
        The pattern.

    Returns
    -------
    array of int
        A color for each column; -1 for columns without entries.

    Examples
    --------
    >>> from scipy import sparse
    >>> arrow = sparse.csr_array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]])
    >>> color_stars(arrow)
    array([0, 1, 1, 1])
    """
    starts, others = rows.indptr.tolist(), rows.indices.tolist()
    counts = np.diff(rows.indptr)
    n = len(counts)
    if counts.min(initial=n) == n:
        return np.arange(n)
    bits = [0] * n
    around = [0] * n  # colors of the neighbours
    hubs = [0] * n  # colors of neighbours that are the hub of a star with this spoke and others
    spokes: dict[tuple[int, int], int] = {}  # the first neighbour of a vertex with a color
    for v in np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].tolist():
        mine = [w for w in others[starts[v] : starts[v + 1]] if bits[w] and w != v]
        taken = once = twice = 0
        for w in mine:
            taken |= bits[w] | hubs[w]
            twice |= once & bits[w]
            once |= bits[w]
        for w in mine:
            if bits[w] & twice:  # v is between two of one color
                taken |= around[w]
        bits[v] = bit = ~taken & (taken + 1)
        around[v] = once
        for w in mine:
            around[w] |= bit
            spokes.setdefault((v, bits[w]), w)
            if bits[w] & twice:
                hubs[w] |= bit
            first = spokes.setdefault((w, bit), v)
            if first != v:
                hubs[v] |= bits[w]
                hubs[first] |= bits[w]
    return np.array([bit.bit_length() - 1 for bit in bits], np.intp)


def count_colors(colors: Any) -> int:
    """Return the number of colors."""
    return int(colors.max(initial=-1)) + 1

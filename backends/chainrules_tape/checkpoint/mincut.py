"""Minimal cut: the fewest bytes from which all else can be computed again without dear calls.

Values flow from the dear ones, which are not computed again, to those that a gradient reads. What
is kept cuts all ways between them.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Collection, Mapping
from typing import Any

_MOST = 1 << 29
"""How much flows at most: SciPy counts in 32 bits."""
_DEEPEST = 16
"""How many cheap calls in a row are made again at most: all that they give is there at once."""


def check_solver() -> None:
    """Raise where there is nothing that finds a cut.

    Raises
    ------
    ImportError
        With the remedy.
    """
    if importlib.util.find_spec("scipy") is None:
        msg = (
            "save='mincut' asks SciPy for a maximal flow, and there is no SciPy here; install it, "
            "or write save='cheap'"
        )
        raise ImportError(msg)


def least_kept(
    sizes: Mapping[int, int],
    operands: Mapping[int, Collection[int]],
    cheap: Collection[int],
    read: Collection[int],
) -> set[int]:
    """Choose which values are kept, of the fewest bytes in all.

    Parameters
    ----------
    sizes : mapping
        The bytes of each value.
    operands : mapping
        Those that each is computed of; what is not among the sizes is there in any case.
    cheap : collection
        Those that may be computed again.
    read : collection
        Those that are read later.

    Returns
    -------
    set
        Each that is read is among these, or is computed from them by cheap calls.

    Examples
    --------
    A sum of two dear values is read through a chain: the sum is kept, and neither of the two.

    >>> sizes = {0: 8, 1: 8, 2: 8, 3: 8, 4: 8}
    >>> operands = {0: (), 1: (), 2: (0, 1), 3: (2,), 4: (3,)}
    >>> least_kept(sizes, operands, {2, 3, 4}, {2, 3, 4})
    {2}
    """
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    cheap = _shallow(operands, cheap)
    order: dict[int, int] = {}
    wanted = list(read)
    while wanted:  # what nobody reads plays no part
        i = wanted.pop()
        if i in sizes and i not in order:
            order[i] = len(order)
            if i in cheap:
                wanted += operands[i]
    if not order:
        return set()
    n, total = len(order), sum([sizes[i] for i in order])
    scale, source, sink, endless = min(1.0, _MOST / max(total, 1)), 2 * n, 2 * n + 1, 2 * _MOST
    edges: dict[tuple[int, int], int] = {}
    for i, k in order.items():
        edges[2 * k, 2 * k + 1] = max(1, int(sizes[i] * scale))
        if i not in cheap:
            edges[source, 2 * k] = endless
        else:
            edges.update({(2 * order[j] + 1, 2 * k): endless for j in operands[i] if j in order})
        if i in read:
            edges[2 * k + 1, sink] = endless
    places, capacity = np.array(list(edges)).T, np.array(list(edges.values()), np.int32)
    graph: Any = csr_array((capacity, (places[0], places[1])), shape=(2 * n + 2, 2 * n + 2))
    left: Any = graph - maximum_flow(graph, source, sink).flow
    left.eliminate_zeros()
    # Of all least cuts the one next to what is read: least is computed again.
    behind = set(breadth_first_order(left.T.tocsr(), sink, return_predecessors=False).tolist())
    return {i for i, k in order.items() if 2 * k not in behind and 2 * k + 1 in behind}


def _shallow(operands: Mapping[int, Collection[int]], cheap: Collection[int]) -> set[int]:
    """Return the cheap values without those at which a row of cheap calls becomes too long."""
    depth: dict[int, int] = {}
    for i, xs in operands.items():
        depth[i] = 1 + max([depth[x] for x in xs if x in depth], default=0) if i in cheap else 0
        if depth[i] > _DEEPEST:
            depth[i] = 0
    return {i for i in cheap if depth[i]}

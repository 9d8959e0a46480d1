"""Policies: which values of a stretch of calls are kept."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, TypeAlias, final

from chainrules_py.extend import Tracer, flatten, is_structure_type, type_info
from chainrules_py.vocabulary.views import read, sharing

Save: TypeAlias = Literal["all", "nothing", "cheap", "mincut"] | Collection[str] | int
Packing: TypeAlias = tuple[Callable[[Any], Any], Callable[[Any], Any]]


def nbytes(x: Any) -> int:
    """Count the bytes of an array, or of the one that a tracer stands for; 0 of anything else."""
    while isinstance(x, Tracer):
        x = x.__payload__
    if is_structure_type(type(x)):
        return sum(map(nbytes, flatten(x)[0]))
    found = getattr(x, "nbytes", 0) if type_info(type(x)).is_array else 0
    return found if type(found) is int else int(found)


def check_save(save: Save) -> None:
    """Raise for what is no policy, and where nothing finds a cut."""
    is_listed = isinstance(save, Collection) and not isinstance(save, str)
    names = is_listed and all([isinstance(n, str) for n in save])  # type: ignore[union-attr]
    budget = type(save) is int and save >= 0
    if not (names or budget or save in ("all", "nothing", "cheap", "mincut")):
        msg = (
            f"save={save!r}; write 'nothing', 'cheap', 'mincut' or 'all', a list of names, or a "
            f"number of bytes"
        )
        raise ValueError(msg)
    if save == "mincut" and importlib.util.find_spec("scipy") is None:
        msg = (
            "save='mincut' asks SciPy for a maximal flow, and there is no SciPy here; install it, "
            "or write save='cheap'"
        )
        raise ImportError(msg)


@final
class Policy:
    """Policy: decides call by call which values are kept, while they come.

    Of a budget, what is dear is kept as long as it fits, and the rest evenly: each time that the
    budget is full every other one of these goes, so that nobody has to know how many come.

    Attributes
    ----------
    gone : list of int
        Places of values that were kept and are to go: whoever asks empties it.
    cheap : set of int
        Places of values that a cut may have computed again.
    sizes : dict
        The bytes of all values that a cut may keep.
    """

    __slots__ = ("cheap", "even", "gone", "left", "save", "seen", "sizes", "step")

    def __init__(self, save: Save) -> None:
        self.save = save
        self.left = save if isinstance(save, int) else 0
        self.seen, self.step = 0, 1
        self.even: list[tuple[int, int]] = []
        self.gone: list[int] = []
        self.cheap: set[int] = set()
        self.sizes: dict[int, int] = {}

    def keeps(self, i: int, call: Any, record: tuple[Any, ...], label: str | None) -> bool:
        """Tell whether the value of a call is kept."""
        save = self.save
        if save == "mincut":  # for which all has to be known
            self.sizes[i] = nbytes(call.value)
            if _is_word(call) and _is_cheap(record):
                self.cheap.add(i)
            return i not in self.cheap
        if save == "all" or not _is_word(call):
            self.left -= nbytes(call.value)
            return True
        cheap = _is_cheap(record)
        if save == "cheap":
            return not cheap
        if not isinstance(save, int):
            return label is not None and label in save
        size = nbytes(call.value) + (0 if cheap else _beside(record, call))
        if not cheap:
            self._thin(size)
            fits = size <= self.left
            self.left -= size if fits else 0
            return fits
        self.seen += 1
        if not size or self.seen % self.step:
            return False
        self.even.append((i, size))
        self.left -= size
        self._thin(0)
        return (i, size) in self.even

    def _thin(self, size: int) -> None:
        """Let every other one of those go that are kept evenly, until so much is left."""
        while self.left < size and self.even:
            gone, self.even = self.even[::2], self.even[1::2]
            self.step *= 2
            self.left += sum([n for _, n in gone])
            self.gone += [i for i, _ in gone]


def _is_word(call: Any) -> bool:
    """Tell whether a call gives the same whenever it is made: people's own may draw numbers."""
    f = call.primitive
    return f.__module__.startswith("chainrules_") and not f.fixed


_CHEAP = {*sharing, read}


def _is_cheap(record: tuple[Any, ...]) -> bool:
    statement = record[0].statement
    recipe = statement.recipe
    views = recipe.is_linear and statement.primal in _CHEAP
    return bool(recipe.is_elementwise or views)


def _beside(record: tuple[Any, ...], call: Any) -> int:
    """Count the bytes that the record of a rule holds that cannot stand by references."""
    if record[0].statement.recipe.saves_values:
        return 0
    return sum([nbytes(s) for s in flatten(record[2:])[0] if s is not call.value])


_MOST = 1 << 29
"""How much flows at most: SciPy counts in 32 bits."""
_DEEPEST = 16
"""How many cheap calls in a row are made again at most: all that they give is there at once."""


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

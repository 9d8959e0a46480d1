"""Structures as lists of their arrays and numbers, with conversion of tangents both ways."""

from collections.abc import Iterable, Iterator
from typing import Any, final

from chainrules_py.ops.higher_order import arrayed
from chainrules_py.tangents.arithmetic import canonicalize
from chainrules_py.tangents.flatten_tangents import flatten_tangent, unflatten_tangent
from chainrules_py.tangents.space import kind_of, zero_tangent
from chainrules_py.tangents.zeros import is_zero
from chainrules_py.values.find_tracers import find_tracers, untraced
from chainrules_py.values.pytree import LEAF, TreeDef, partition, unflatten
from chainrules_py.values.structure import structure_of
from chainrules_py.values.type_info import namespace_of, type_info


@final
class Tree:
    """A structure as the list of its arrays and numbers, for the unknown of a solver.

    Attributes
    ----------
    like
        The structure.
    leaves : list
        The arrays and numbers in it, without booleans, strings and other constants: in order, but
        those of a dict by sorted keys, as functions may return a dict with its keys in any order.

    Examples
    --------
    >>> tree = Tree({"w": (1.0, 2.0), "name": "b"})
    >>> tree.leaves
    [1.0, 2.0]
    >>> tree.build([3.0, 4.0])
    {'w': (3.0, 4.0), 'name': 'b'}
    >>> tree.tangent([3.0, 4.0])
    Tangent[dict]({'w': Tangent[tuple](3.0, 4.0), 'name': NoTangent()})
    >>> tree.read({"w": (5.0, 6.0)})
    [5.0, 6.0]
    """

    __slots__ = ("_order", "_treedef", "leaves", "like")

    def __init__(self, like: Any) -> None:
        self.like = like
        self._order: list[int] | None = None
        if _moves(like):
            self.leaves, self._treedef = [like], LEAF
            return
        found, self._treedef = partition(like, _moves)
        # None for the order of the structure, which spares arrays some calls.
        if len(found) > 1:
            self._order = _by_keys(self._treedef, iter(range(len(found))))
        self.leaves = found if self._order is None else [found[i] for i in self._order]

    def _placed(self, leaves: Iterable[Any]) -> list[Any]:
        """Return leaves in the order of the structure."""
        pairs = zip(self._order or (), leaves, strict=True)
        return [x for _, x in sorted(pairs, key=lambda pair: pair[0])]

    def build(self, leaves: Iterable[Any]) -> Any:
        """Build the structure around other arrays and numbers."""
        return unflatten(self._treedef, self._placed(leaves) if self._order else leaves)

    def tangent(self, leaves: Iterable[Any]) -> Any:
        """Build the tangent of the structure with these entries."""
        # A number in place of a 0-d array would not be broadcast.
        pairs = zip(leaves, self.leaves, strict=True)
        ts = [arrayed(t, x) if hasattr(x, "dtype") else t for t, x in pairs]
        return unflatten_tangent(self._treedef, self._placed(ts) if self._order else ts)

    def read(self, t: Any) -> list[Any]:
        """List the entries of a tangent, or of a plain container like it, with dense zeros."""
        ts = flatten_tangent(self._treedef, canonicalize(self.like, t))
        pairs = zip([ts[i] for i in self._order] if self._order else ts, self.leaves, strict=True)
        # The tangent of a complex number may be a real number.
        return [
            zero_tangent(x)
            if is_zero(t)
            else (t + 0j if kind_of(x) == "complex" and kind_of(t) in ("real", "int") else t)
            for t, x in pairs
        ]

    def __repr__(self) -> str:
        return f"Tree({self.like!r})"


def _by_keys(of: TreeDef, places: Iterator[int]) -> list[int]:
    """List the places of the leaves of a structure, those of a dict by sorted keys."""
    if of.structure is None:
        return [next(places) for _ in range(of.num_leaves)]
    parts = [(repr(k), _by_keys(c, places)) for k, c in zip(of.keys, of.children, strict=True)]
    return [
        i for _, part in (sorted(parts) if of.structure.kind == "keys" else parts) for i in part
    ]


def _moves(x: Any) -> bool:
    if structure_of(type(x)) is not None:
        return False
    kind = kind_of(x)
    if kind == "none" and hasattr(x, "dtype") and hasattr(x, "shape"):
        namespace_of(type(x))  # raises: an array of an unregistered class would be ignored
    is_object = kind == "other" and x.dtype is type_info(type(x)).library.objects
    return kind in ("real", "complex", "int") or (
        is_object and bool(find_tracers(x.ravel().tolist()))
    )


def plain(x: Any) -> Any:
    """Replace the tracers of all levels in a value by their payloads."""
    return untraced(x) if find_tracers(x) else x


def mirrored(primals: tuple[Any, ...], bars: tuple[Any, ...]) -> tuple[Any, ...]:
    """Rewrite an engine's cotangents with `Tangent[P]` for each structure at every level."""
    return tuple([canonicalize(x, bar) for x, bar in zip(primals, bars, strict=True)])

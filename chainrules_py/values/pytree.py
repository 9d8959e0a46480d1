"""Pytrees: nested structures as a flat list of leaves and a `TreeDef`.

`flatten` takes a value apart, and `unflatten` rebuilds it around other leaves. `partition` takes
out some of the leaves only, and keeps the others in the `TreeDef`. For tangents see
`chainrules_py.tangents.flatten_tangents`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, final

from chainrules_py.values.caches import forgets, on_registration
from chainrules_py.values.structure import Structure, picture_of, structure_of

PLAIN: Final = (tuple, list, dict)
"""Structures whose tangents users get, and may pass, as the same plain containers."""


@final
class TreeDef:
    """The shape of a nested structure without its leaves; see `flatten`, `partition`, `unflatten`.

    Two are equal when classes and keys agree at every level, the order of keys included.

    Attributes
    ----------
    structure : Structure or None
        How values of its class are taken apart; None for a leaf, and for a kept value.
    cls : type
        Its class.
    like
        A value of its class, without the leaves, if rebuilding needs one; or the kept value.
    keys, children : sequence
        The keys, and the `TreeDef` of each entry.
    num_leaves : int
        The number of leaves at all levels.
    is_flat : bool
        Whether it is a tuple of leaves, as the arguments of a function most often are.
    """

    __slots__ = ("children", "cls", "is_flat", "keys", "like", "num_leaves", "structure")

    def __init__(
        self,
        structure: Structure[Any] | None,
        like: Any,
        keys: Sequence[Any] = (),
        children: tuple[TreeDef, ...] = (),
        cls: type | None = None,
    ) -> None:
        self.structure: Final = structure
        self.like: Final = like
        self.keys: Final = keys
        self.children: Final = children
        self.cls: Final = cls or type(like)
        n = len(children)
        flat = n == 0 or children == (LEAF,) * n  # tuples compare by identity first
        self.num_leaves: int = n if flat else sum([child.num_leaves for child in children])
        self.is_flat: Final = flat and self.cls is tuple

    def paths(self) -> list[tuple[Any, ...]]:
        """List the keys that lead to each leaf.

        Examples
        --------
        >>> flatten({"w": (1.0, 2.0), "b": 3.0})[1].paths()
        [('w', 0), ('w', 1), ('b',)]
        """
        if self.structure is None:
            return [()] * self.num_leaves
        pairs = zip(self.keys, self.children, strict=True)
        return [(key, *path) for key, child in pairs for path in child.paths()]

    def key(self) -> Any:
        """Return a key that is equal for equal leaves and kept values; None for structures.

        The key may be unhashable.
        """
        if self.structure is not None:
            return None
        return "leaf" if self.num_leaves else exactly(self.like)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeDef):
            return NotImplemented
        if self.structure is None or other.structure is None:
            same = self.structure is other.structure and self.like is other.like
            return same and self.num_leaves == other.num_leaves
        mine = self.cls, tuple(self.keys), self.children
        return mine == (other.cls, tuple(other.keys), other.children)

    def __hash__(self) -> int:
        return hash((self.cls, tuple(self.keys), self.children))

    def __repr__(self) -> str:
        return f"TreeDef({self._picture()})"

    def _picture(self) -> str:
        if self.structure is None:
            return "*" if self.num_leaves else repr(self.like)
        pairs = zip(self.keys, self.children, strict=True)
        return picture_of(self.cls, [(key, child._picture()) for key, child in pairs])


LEAF: Final = TreeDef(None, None)
"""The `TreeDef` of a leaf."""

LEAF.num_leaves = 1

_containers: dict[type, Structure[Any] | None] = {}
_leaf_types: set[type] = set()
"""Classes known to be leaves, so that flat tuples of arguments are recognised quickly."""


def _forget() -> None:
    global _containers, _leaf_types
    _containers, _leaf_types = {}, set()  # replaced: a lookup under way writes to the old ones


on_registration(_forget)
forgets(lambda: (_containers, _leaf_types))


def _container(cls: type) -> Structure[Any] | None:
    containers, leaf_types = _containers, _leaf_types
    # A tangent, which is no structure, has a container.
    found: Structure[Any] | None = structure_of(cls) or getattr(cls, "__container__", None)
    if found is None:
        leaf_types.add(cls)
    containers[cls] = found
    return found


def flatten(x: object, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeDef]:
    """Take a nested structure apart into its leaves and its `TreeDef`.

    Parameters
    ----------
    x : object
        A structure, or a leaf. A `Tangent`, such as a gradient, is taken apart as well.
    is_leaf : callable, optional
        Called with each value before it is taken apart; if True, the value is a leaf.

    Returns
    -------
    leaves : list
    treedef : TreeDef
        It keeps no leaf alive, except those of registered structures that are not ``hollow``.

    Examples
    --------
    >>> flatten({"w": (1.0, 2.0), "b": 3.0})
    ([1.0, 2.0, 3.0], TreeDef({'w': (*, *), 'b': *}))
    """
    if type(x) is tuple and is_leaf is None and _leaf_types.issuperset(map(type, x)):
        n = len(x)
        return [*x], _flat[n] if n < len(_flat) else _flat_tuple(n)
    leaves: list[Any] = []
    return leaves, _flatten(x, is_leaf, False, leaves)


def partition(x: object, is_leaf: Callable[[Any], bool]) -> tuple[list[Any], TreeDef]:
    """Take some leaves out of a nested structure, and keep all other values in its `TreeDef`.

    Parameters
    ----------
    x : object
        A structure, or a leaf.
    is_leaf : callable
        Called with structures, before they are taken apart, and with all other values.

    Returns
    -------
    leaves : list
        The values for which it is True.
    treedef : TreeDef

    Examples
    --------
    >>> leaves, treedef = partition({"w": 1.0, "name": "b"}, lambda x: type(x) is float)
    >>> leaves, treedef
    ([1.0], TreeDef({'w': *, 'name': 'b'}))
    >>> unflatten(treedef, [10.0])
    {'w': 10.0, 'name': 'b'}
    """
    leaves: list[Any] = []
    return leaves, _flatten(x, is_leaf, True, leaves)


def _flatten(
    x: Any, is_leaf: Callable[[Any], bool] | None, keeps: bool, leaves: list[Any]
) -> TreeDef:
    try:
        structure = _containers[type(x)]
    except KeyError:
        structure = _container(type(x))
    whole = structure is None and not keeps
    if whole or (is_leaf is not None and is_leaf(x)):
        leaves.append(x)
        return LEAF
    if structure is None:
        return TreeDef(None, x)
    cls, like = type(x), x  # a registered class may read the old values in rebuild
    if cls in PLAIN and structure.kind != "registered":
        like, keys = None, tuple(x) if cls is dict else range(len(x))
        values = tuple(x.values()) if cls is dict else x
    else:
        items = structure.items(x)
        keys, values = zip(*items, strict=True) if items else ((), ())
        like = structure.rebuild(x, [None] * len(values)) if structure.hollow else x
    if is_leaf is None and _leaf_types.issuperset(map(type, values)):
        leaves += values
        children = (LEAF,) * len(values)
    else:
        children = tuple([_flatten(value, is_leaf, keeps, leaves) for value in values])
    return TreeDef(structure, like, keys, children, cls)


def unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    """Rebuild a structure around leaves, by the `TreeDef` from `flatten` or `partition`.

    Examples
    --------
    >>> leaves, treedef = flatten({"w": (1.0, 2.0), "b": 3.0})
    >>> unflatten(treedef, [10 * leaf for leaf in leaves])
    {'w': (10.0, 20.0), 'b': 30.0}
    """
    leaves = tuple(leaves)
    if len(leaves) != treedef.num_leaves:
        raise ValueError(f"{treedef!r} takes {treedef.num_leaves} leaves, not {len(leaves)}")
    if treedef is LEAF:
        return leaves[0]
    return leaves if treedef.is_flat else _unflatten(treedef, iter(leaves))


def _unflatten(treedef: TreeDef, leaves: Iterator[Any]) -> Any:
    if treedef.structure is None:
        return next(leaves) if treedef.num_leaves else treedef.like
    values = [next(leaves) if c is LEAF else _unflatten(c, leaves) for c in treedef.children]
    return build(treedef, values)


def build(treedef: TreeDef, values: Sequence[Any]) -> Any:
    """Rebuild the outermost level of a structure."""
    if treedef.like is None:
        cls: Any = treedef.cls
        return dict(zip(treedef.keys, values, strict=True)) if cls is dict else cls(values)
    assert treedef.structure is not None
    return treedef.structure.rebuild(treedef.like, values)


def map_leaves(f: Callable[[Any], Any], x: Any) -> Any:
    """Replace each leaf by ``f(leaf)``; return the value itself if no leaf changes.

    Examples
    --------
    >>> map_leaves(lambda leaf: 10 * leaf, {"w": (1.0, 2.0), "b": 3.0})
    {'w': (10.0, 20.0), 'b': 30.0}
    """
    leaves, treedef = flatten(x)
    made = list(map(f, leaves))
    same = all([new is old for new, old in zip(made, leaves, strict=True)])
    return x if same else unflatten(treedef, made)


def _flat_tuple(n: int) -> TreeDef:
    return TreeDef(structure_of(tuple), None, range(n), (LEAF,) * n, tuple)


_flat: Final = [_flat_tuple(n) for n in range(16)]


def exactly(x: Any) -> Any:
    """Return a key that is equal for equal values of one type: not 1 and True, nor 0.0 and -0.0."""
    if issubclass(type(x), (float, complex)):
        return type(x), repr(x)
    return type(x), tuple(map(exactly, x)) if type(x) is tuple else x

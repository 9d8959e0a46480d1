"""Structures taken apart into leaves, and put together again: around values, or tangents."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, final

from chainrules_py import (
    AbstractTangent,
    AbstractZero,
    NotDifferentiableError,
    Space,
    Tangent,
    is_mutable_destination,
    is_zero,
    space,
    unthunk,
    zero_tangent,
)
from chainrules_py.extend import (
    deliver,
    describe,
    is_number_type,
    kind_of,
    memory_of,
    name_of,
    own,
    owners,
    rebuild,
    structure_of,
    when_registered,
)

__all__ = [
    "Tree",
    "can_vary",
    "flatten",
    "flatten_tangent",
    "lowered",
    "own_all",
    "paths_of",
    "split_aux",
    "tangents_of",
    "values_of",
]

PLAIN = (tuple, list, dict)
NUMBERS = frozenset((float, int, complex))
"""What programs of scalars have thousands of, so that they are recognised first."""


@final
class Tree:
    """The shape of a structure; that of a leaf is None.

    Attributes
    ----------
    like
        The structure itself.
    keys, children : sequence
        Its keys, and the shapes of what is there.
    flat : bool
        Whether it is a tuple of leaves, as the arguments of a function most often are.
    """

    __slots__ = ("children", "flat", "keys", "like")

    def __init__(self, like: Any, keys: Sequence[Any], children: list[Tree | None]) -> None:
        self.like = like
        self.keys = keys
        self.children = children
        self.flat = type(like) is tuple and not any(children)


def can_vary(x: Any) -> bool:
    """Tell whether a leaf is a number, or holds numbers, that a derivative can be taken in."""
    cls = type(x)
    if cls in NUMBERS:
        return True
    key = (cls, getattr(x, "dtype", None))
    if key in _varying:
        return True
    if kind_of(x) not in ("real", "complex", "int"):
        return False
    _varying.add(key)
    return True


_varying: set[tuple[type, Any]] = set()


def flatten(x: Any, leaves: list[Any]) -> Tree | None:
    """Append the leaves of a value; a `Tangent`, as gradients may be, is a structure as well."""
    cls, known = type(x), _leaves
    if cls is tuple:
        if known.issuperset(map(type, x)):
            leaves += x
            return Tree(x, range(len(x)), [None] * len(x))
        return Tree(x, range(len(x)), [flatten(field, leaves) for field in x])
    structure = structure_of(cls)
    if structure is not None:
        fields = structure.items(x)
    elif issubclass(cls, Tangent):
        fields = x.fields()
    else:
        known.add(cls)
        leaves.append(x)
        return None
    children = [flatten(field, leaves) for _, field in fields]
    return Tree(x, tuple([key for key, _ in fields]), children)


_leaves: set[type] = set()
"""Classes that are no structures: the arguments of most functions are recognised at once."""


def _forget(_: type) -> None:
    global _leaves
    _leaves = set()  # replaced, as whoever is at it adds to the old one


when_registered("leaves", _forget)


def paths_of(tree: Tree | None) -> list[tuple[Any, ...]]:
    """List the keys that lead to each leaf."""
    if tree is None:
        return [()]
    pairs = zip(tree.keys, tree.children, strict=True)
    return [(key, *path) for key, child in pairs for path in paths_of(child)]


def flatten_tangent(tree: Tree | None, t: Any, ts: list[Any]) -> None:
    """Append the tangents of the leaves: zeros where it is zero, or says nothing."""
    t = unthunk(t)
    if tree is None:
        ts.append(t)
        return
    for key, child in zip(tree.keys, tree.children, strict=True):
        flatten_tangent(child, t if is_zero(t) else t[key], ts)


def values_of(tree: Tree | None, leaves: Iterable[Any]) -> Any:
    """Rebuild the structure around other values."""
    return tuple(leaves) if tree is not None and tree.flat else _values(tree, iter(leaves))


def _values(tree: Tree | None, leaves: Iterator[Any]) -> Any:
    if tree is None:
        return next(leaves)
    fields = [next(leaves) if c is None else _values(c, leaves) for c in tree.children]
    if isinstance(tree.like, Tangent):
        return _like_tangent(tree, fields)
    return rebuild(tree.like, fields)


def tangents_of(tree: Tree | None, leaves: Iterable[Any]) -> Any:
    """Tangents of the leaves as people get them: in a tuple, list or dict, or in a `Tangent`."""
    return tuple(leaves) if tree is not None and tree.flat else _tangents(tree, iter(leaves))


def _tangents(tree: Tree | None, leaves: Iterator[Any]) -> Any:
    if tree is None:
        return next(leaves)
    fields = [next(leaves) if c is None else _tangents(c, leaves) for c in tree.children]
    cls = type(tree.like)
    if isinstance(tree.like, Tangent):
        return _like_tangent(tree, fields)
    if cls in PLAIN:
        return rebuild(tree.like, fields)
    return Tangent.of(cls, dict(zip(tree.keys, fields, strict=True)))


def _like_tangent(tree: Tree, fields: list[Any]) -> Any:
    entries = dict(zip(tree.keys, fields, strict=True))
    return tree.like.map_with(lambda key, _: entries[key])


def own_all(
    xs: Iterable[Any],
    ts: Sequence[Any],
    theirs: tuple[Any, ...],
    *,
    views: bool = False,
    dense: bool = True,
) -> list[Any]:
    """Give each leaf's tangent memory of its own, so that users may keep and write to it.

    Zeros are written out, unless they are not to be ``dense``, and there is nothing where there can
    be none. With ``views``, what can be written to is known to be nobody else's, though it be a
    view.
    """
    found: list[Any] = []
    for i, x in enumerate(xs):
        t = ts[i]
        cls = type(t)
        if cls in owners:
            # A view holds what it is a view of: memory that nobody else has needs no comparing.
            if sys.getrefcount(t) <= _ALONE and memory_of(cls) is not None:
                others: tuple[Any, ...] = ()
            else:
                others = (*theirs, *found)
            if not (views and is_mutable_destination(t)):
                t = owners[cls](t, others)
        elif isinstance(t, AbstractTangent):
            t = deliver(t)
            if isinstance(t, AbstractZero) and dense:
                of = space(x)
                t = of.zeros() if type(of) is Space else zero_tangent(of)
            elif not isinstance(t, AbstractZero):
                t = own(t, (*theirs, *found))
        elif cls not in _unwritable:
            t = own(t, (*theirs, *found))
            if is_number_type(cls):
                _unwritable.add(cls)
        found.append(t)
    return found


_unwritable: set[type] = {float, complex}
"""Classes of numbers, which are handed out as they are."""


def _references(ts: Sequence[Any], i: int) -> int:
    """Count the references to an element of a sequence, with those made here."""
    t = ts[i]
    return sys.getrefcount(t)


_ALONE = _references((object(),), 0)  # which depends on how Python counts its own


def split_aux(f: Any, answer: Any) -> tuple[Any, Any]:
    """Split the answer of a function said to return ``(result, aux)`` into these two."""
    if type(answer) is tuple and len(answer) == 2:
        return answer
    msg = (
        f"has_aux says that {name_of(f)} returns (result, aux), and it returned "
        f"{describe(answer)}; return a tuple of these two"
    )
    raise NotDifferentiableError(msg)


def lowered(aux: Any, payload: Callable[[Any], Any], leaves: Iterable[Any]) -> Any:
    """Make an auxiliary result plain: nothing in it is traced, or shares the primals' memory."""
    found: list[Any] = []
    tree = flatten(aux, found)
    plain = [payload(x) for x in found]
    if all([a is b for a, b in zip(plain, found, strict=True)]):
        return aux
    theirs = tuple(leaves)
    kept = [a if a is b else own(a, theirs) for a, b in zip(plain, found, strict=True)]
    return values_of(tree, kept)

"""Containers that a function is handed: a list, a dict or an object that it has by two names.

A function that is differentiated gets copies of the containers among its arguments, with tracers in
them. Python's own function would see a change that it makes by one name of a container by the
others; of a copy nobody does.
"""

from __future__ import annotations

import itertools
import operator
import threading
from collections.abc import Callable, Iterator
from typing import Any

from chainrules_py import MutationError
from chainrules_py.extend import TreeDef, flatten, knows, unflatten


class _Calls(threading.local):
    """Calls under way in this thread: the arguments, what f got instead, and their shape."""

    def __init__(self) -> None:
        self.handed: list[tuple[Any, Any, TreeDef]] = []


_calls = _Calls()


def on_copies(
    f: Callable[..., Any], primals: Any, tree: TreeDef, given: list[Any], traced: list[Any]
) -> Any:
    """Call a function on its arguments with other leaves, traced ones.

    Parameters
    ----------
    f : callable
        The function.
    primals : tuple
        Its arguments.
    tree, given : TreeDef, list
        These, taken apart.
    traced : list
        What f gets instead of the leaves that were given.

    Raises
    ------
    MutationError
        If a container was changed that the function has by another name as well.
    """
    args = unflatten(tree, traced)
    _calls.handed.append((primals, args, tree))
    try:
        y = f(*args)
    finally:
        _calls.handed.pop()
    if _differs(primals, tree, given):
        by = "by its name outside"
    elif _differs(args, tree, traced):
        changed = set(map(_original, _changed(primals, args, tree, iter(traced))))
        held = [*map(_original, _containers(primals, tree))]
        if any([held.count(each) > 1 for each in changed]):
            by = "which also stands elsewhere in them"
        elif knows(f, lambda x: _original(x) in changed):
            by = "which the function knows besides"
        else:
            return y
    else:
        return y
    msg = (
        f"a container among the arguments is changed {by}: the function gets copies of containers, "
        f"one for each place, where the change would not be seen; change a copy, as "
        f"d = {{**d, 'w': 2 * d['w']}} or dataclasses.replace, or pass copies"
    )
    raise MutationError(msg)


def _differs(x: Any, tree: TreeDef, leaves: list[Any]) -> bool:
    """Tell whether a structure has other leaves than it had, or another shape."""
    found, shape = flatten(x)
    return shape != tree or not all(map(operator.is_, found, leaves))


def _original(x: Any) -> int:
    """Return which container it is that runs under way have copied, maybe more than once."""
    copied = id(x)
    for theirs, mine, tree in reversed(_calls.handed):
        for old, new in zip(_containers(theirs, tree), _containers(mine, tree), strict=False):
            if id(new) == copied:
                copied = id(old)
                break
    return copied


def _containers(x: Any, tree: TreeDef) -> Iterator[Any]:
    """Yield what can be changed of a structure, as often as it stands there."""
    if tree.structure is not None and type(x) is tree.cls:
        if not isinstance(x, tuple):
            yield x
        for (_, value), child in zip(tree.structure.items(x), tree.children, strict=False):
            yield from _containers(value, child)


def _changed(x: Any, copy: Any, tree: TreeDef, leaves: Iterator[Any]) -> Iterator[Any]:
    """Yield the containers of a structure whose copy has got another entry."""
    assert tree.structure is not None
    new = tree.structure.items(copy)
    same = [key for key, _ in new] == [*tree.keys]
    values = [value for _, value in new] if same else [None] * len(tree.keys)
    for old, value, child in zip(tree.structure.items(x), values, tree.children, strict=True):
        if child.structure is None:
            same &= next(leaves) is value
        elif type(value) is child.cls:
            yield from _changed(old[1], value, child, leaves)
        else:
            same = False
            _ = [*itertools.islice(leaves, child.num_leaves)]
    if not same and not isinstance(x, tuple):
        yield x

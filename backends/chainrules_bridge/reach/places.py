"""Places: what a value held when it was looked at, where that was, and how it is written."""

from __future__ import annotations

import operator
import types
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from chainrules_bridge.reach.contents import CODE, PLAIN
from chainrules_bridge.reach.objects import WHOLE, pairs
from chainrules_py.extend import describe, type_info

Path: TypeAlias = tuple[Any, str, Any]
"""Where a value is: the path of what holds it, a mark (".", "[" or none), and a key.

It begins with None, the name of a function, and the names that the function changes itself.
"""


class Place(NamedTuple):
    """What a value holds, as it was.

    Attributes
    ----------
    x : object
        The value.
    read : callable
        ``read(x)`` gives what it holds: a dict from names or keys, a tuple, or a set.
    before : dict, tuple or frozenset
        What that was.
    path : tuple
        Where the value is.
    mark : str or None
        What stands before a key in a path; None where what it holds is not compared.
    fills : bool
        Whether it may come to know more by itself, as objects of libraries do.
    """

    x: Any
    read: Callable[[Any], Any]
    before: Any
    path: Path
    mark: str | None
    fills: bool


def held(place: Any) -> Any:
    """Read what a value holds; nothing where it cannot be read any more."""
    try:
        return place[1](place[0])
    except (LookupError, AttributeError, ValueError, RuntimeError):
        return {}


def entries(place: Any) -> dict[Any, Any]:
    """Read what a value holds, by names, keys or numbers; of a set each by itself."""
    found = held(place)
    return found if isinstance(found, dict) else dict(pairs(found))


def strong(x: list[Any]) -> tuple[Any, ...]:
    """List what a list holds, without weak references."""
    return tuple([y for y in list.__iter__(x) if not issubclass(type(y), weakref.ref)])


def referent(ref: weakref.ref[Any]) -> Any:
    """Return what a weak reference leads to: of a method its object."""
    x = ref()
    return x.__self__ if isinstance(x, types.MethodType) else x


def as_before(now: Any, before: Any) -> bool:
    """Tell whether a value holds the same objects, without asking any of them."""
    if isinstance(before, frozenset):
        return now is before or {*map(id, now)} == {*map(id, before)}
    if len(now) != len(before) or not all(map(operator.is_, now, before)):
        return False
    return not isinstance(before, dict) or all(map(operator.is_, now.values(), before.values()))


def equal(x: Any, y: Any) -> bool:
    """Tell whether two plain values are equal."""
    cls = type(x)
    if issubclass(cls, tuple) and cls is type(y):
        return len(x) == len(y) and all(map(equal, x, y))
    plain = [issubclass(c, PLAIN) or type_info(c).is_number for c in (cls, type(y))]
    return x is y or (all(plain) and bool(x == y))


def finds(x: Any, key: Any) -> bool:
    """Tell whether a new entry may come by looking for it."""
    if isinstance(x, dict):
        return hasattr(type(x), "__missing__")
    found = next((vars(base)[key] for base in type(x).__mro__ if key in vars(base)), None)
    return type(found) not in CODE and hasattr(found, "__get__")


NOTHING = object()
"""Stands for what there is not."""


def shown(x: Any) -> str:
    """Say in a few words what a place holds."""
    if x is NOTHING:
        return "nothing"
    if isinstance(x, frozenset) and all([issubclass(type(y), PLAIN) for y in x]) and len(x) < 9:
        return repr(set(x)) if x else "empty"
    return repr(x) if issubclass(type(x), PLAIN) else describe(x)


def step(path: Path, mark: str | None, key: Any) -> Path:
    """Return the path of what a value holds under a key."""
    return (path, "", "") if mark is None or mark is WHOLE else (path, mark, key)


def written(path: Path) -> str:
    """Write a path as the code has it."""
    steps = list[str]()
    while path[0] is not None:  # a list of nodes is as deep as it is long
        path, mark, key = path
        steps.append(f"[{key!r}]" if mark == "[" else f"{mark}{key}")
    return "".join(reversed(steps))


def owner(path: Path) -> str:
    """Return the name of the function that a path begins in."""
    while path[0] is not None:
        path = path[0]
    return path[1]

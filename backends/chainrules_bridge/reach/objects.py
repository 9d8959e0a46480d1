"""How objects of any class contain others: what they are read by, for `Reach` and its places."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import gc
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from chainrules_py.extend import attributes, cells, content, forgets, slots

MACHINERY = {"logging", "asyncio", "multiprocessing", "numba"}
"""Libraries whose objects are no values: they wait, write down what happens, or are compiled."""
COLLECTED = 1 << 14  # Py_TPFLAGS_HAVE_GC
_OF_C = types.GetSetDescriptorType, types.MemberDescriptorType


def walked(x: Any) -> list[Any]:
    """List what an object written in C refers to, which the collector does not see."""
    if isinstance(x, weakref.ref):
        return [x()]
    if type(x) in weakref.ProxyTypes:
        with contextlib.suppress(ReferenceError):
            return [x.__init__.__self__]  # which the proxy asks the other for
        return []
    names = [n for n in ("base", "operands", "iters") if type(getattr(type(x), n, None)) in _OF_C]
    asked = [(getattr(x, n), getattr(x, n)) for n in names]
    return [y for y, again in asked if y is again or type(y) is tuple]  # and is not made for us


@functools.cache
def of_c(cls: type) -> frozenset[str]:
    """Return the names of the attributes of a class that are written in C."""
    held = [item for base in cls.__mro__ for item in vars(base).items()]
    return frozenset([name for name, member in held if type(member) in _OF_C])


WHOLE = "{"
"""The mark of sets, of which all is one."""


class Kind(NamedTuple):
    """How values of a class contain others, besides their attributes.

    Attributes
    ----------
    read : callable
        ``read(x)`` gives what it contains; see `Place`.
    mark : str or None
        How a key of that is written.
    made : callable or None
        ``made(x, parts)`` makes another value around others.
    fill : callable or None
        ``fill(new, items)`` puts others into a copy, which may hold itself.
    """

    read: Callable[[Any], Any]
    mark: str | None = None
    made: Callable[[Any, list[Any]], Any] | None = None
    fill: Callable[[Any, list[tuple[Any, Any]]], Any] | None = None


def _filling(clear: Any, put: Any) -> Callable[[Any, list[tuple[Any, Any]]], Any]:
    return lambda new, items: (clear(new), put(new, [y for _, y in items]))


_KINDS: dict[type, Kind] = {
    dict: Kind(dict.copy, "[", fill=dict.update),
    list: Kind(lambda x: tuple(list.__iter__(x)), "[", fill=_filling(list.clear, list.extend)),
    tuple: Kind(
        lambda x: tuple(tuple.__iter__(x)), None, lambda x, parts: tuple.__new__(type(x), parts)
    ),
    deque: Kind(lambda x: tuple(deque.__iter__(x)), "[", fill=_filling(deque.clear, deque.extend)),
    set: Kind(lambda x: frozenset(set.__iter__(x)), WHOLE, fill=_filling(set.clear, set.update)),
    frozenset: Kind(
        lambda x: frozenset(frozenset.__iter__(x)), None, lambda x, parts: type(x)(parts)
    ),
    types.MethodType: Kind(
        lambda x: (x.__func__, x.__self__), None, lambda _, parts: types.MethodType(*parts)
    ),
    types.MappingProxyType: Kind(
        lambda x: tuple(gc.get_referents(x)), None, lambda _, p: types.MappingProxyType(*p)
    ),
    types.FunctionType: Kind(cells, "."),
    types.CellType: Kind(lambda x: {"": content(x)}, ""),
    contextvars.ContextVar: Kind(lambda x: {"": x.get()}, ""),
    weakref.ref: Kind(lambda x: (x(),)),
    memoryview: Kind(lambda x: (x.obj,)),
}


@functools.cache
def reader(cls: type) -> tuple[Kind | None, bool]:
    """Return how values of a class contain others, and whether they have attributes."""
    kind = next((_KINDS[base] for base in cls.__mro__ if base in _KINDS), None)
    return kind, bool(slots(cls)) or any(["__dict__" in vars(base) for base in cls.__mro__])


def _bytes(x: Any) -> dict[str, int]:
    return {" (its bytes, by a hash)": hash(memoryview(x).tobytes())}


def buffer_or_rest(x: Any) -> tuple[Callable[[Any], Any], str | None]:
    """Return how to read any object: its bytes, if it has any, or what the collector finds."""
    try:
        memoryview(x)
    except (TypeError, ValueError, BufferError):
        return rest, None
    return _bytes, ""


def pairs(held: Any) -> Iterable[tuple[Any, Any]]:
    """Return what is held, each with its name, key or number; of a set with itself."""
    if isinstance(held, dict):
        return held.items()
    return ((y, y) for y in held) if isinstance(held, frozenset) else enumerate(held)


def rest(x: Any) -> tuple[Any, ...]:
    """Return what the collector finds in an object besides its attributes and its class."""
    known = {id(type(x)), id(getattr(x, "__dict__", None)), *map(id, attributes(x).values())}
    return tuple([y for y in [*gc.get_referents(x), *walked(x)] if id(y) not in known])


forgets(lambda: (of_c, reader))

"""How objects of any class contain others: what they are read by."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import gc
import types
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from chainrules_py.extend import attributes, cells, content, forgets, slots

MACHINERY = {"logging", "asyncio", "multiprocessing", "numba"}
"""Libraries whose objects are no values: they wait, write down what happens, or are compiled."""
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


_READERS: dict[type, Callable[[Any], Any]] = {
    dict: dict.copy,
    list: lambda x: tuple(list.__iter__(x)),
    tuple: lambda x: tuple(tuple.__iter__(x)),
    deque: lambda x: tuple(deque.__iter__(x)),
    set: lambda x: frozenset(set.__iter__(x)),
    frozenset: lambda x: frozenset(frozenset.__iter__(x)),
    types.MethodType: lambda x: (x.__func__, x.__self__),
    types.MappingProxyType: lambda x: tuple(gc.get_referents(x)),
    types.FunctionType: cells,
    types.CellType: lambda x: (content(x),),
    contextvars.ContextVar: lambda x: (x.get(),),
    weakref.ref: lambda x: (x(),),
    memoryview: lambda x: (x.obj,),
}


@functools.cache
def reader(cls: type) -> tuple[Callable[[Any], Any] | None, bool]:
    """Return what reads others out of values of a class, and whether they have attributes."""
    read = next((_READERS[base] for base in cls.__mro__ if base in _READERS), None)
    return read, bool(slots(cls)) or any(["__dict__" in vars(base) for base in cls.__mro__])


def has_buffer(x: Any) -> bool:
    """Tell whether an object has bytes that can be read."""
    try:
        memoryview(x)
    except (TypeError, ValueError, BufferError):
        return False
    return True


def strong(x: list[Any]) -> tuple[Any, ...]:
    """List what a list holds, without weak references."""
    return tuple([y for y in list.__iter__(x) if not issubclass(type(y), weakref.ref)])


def rest(x: Any) -> tuple[Any, ...]:
    """Return what the collector finds in an object besides its attributes and its class."""
    known = {id(type(x)), id(getattr(x, "__dict__", None)), *map(id, attributes(x).values())}
    return tuple([y for y in [*gc.get_referents(x), *walked(x)] if id(y) not in known])


forgets(lambda: (of_c, reader))

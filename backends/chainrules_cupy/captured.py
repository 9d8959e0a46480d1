"""Values that a function reads besides its operands, and a check whether they have changed.

A kernel is written from one run of the function, with the numbers that this run saw. The function
itself sees them as they are now; so has the kernel to.
"""

from __future__ import annotations

import array
import collections
import contextvars
import functools
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np

from chainrules_bridge.reach import names_in
from chainrules_py import Primitive
from chainrules_py.extend import attributes, content

_LEAVES = (type(None), bool, int, float, complex, str, bytes, np.generic, np.dtype)
_LIBRARIES = frozenset(("numpy", "scipy", "cupy", "cupyx"))
_MOST = 10_000
_Read = Callable[[], tuple[Any, ...]]


@final
class Captured:
    """Snapshot of everything that a function reads by name, taken when this is made.

    The names of closures and modules, what is in lists and dicts, the attributes of objects: all
    that can be reached through functions of the program. Those of libraries stay as they are.
    """

    __slots__ = ("_reads", "_seen")

    def __init__(self, f: Callable[..., Any] | None) -> None:
        names: dict[str, None] = {}
        known = -1
        while known < len(names):  # which attributes are looked up, the functions found tell
            known = len(names)
            self._reads: tuple[_Read, ...] = tuple(_reads(f, names))
        self._seen = [read() for read in self._reads]

    def has_changed(self) -> bool:
        """Tell whether any captured value has been replaced since the snapshot."""
        for read, before in zip(self._reads, self._seen, strict=True):
            now = read()
            if len(now) != len(before) or not all(map(_same, now, before)):
                return True
        return False


def _same(a: Any, b: Any) -> bool:
    """Tell whether two values are one object or the same number; 0.0 and -0.0 are different."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (str, bytes)):
        return bool(a == b)
    return isinstance(a, (int, float, complex, np.generic)) and repr(a) == repr(b)


def _reads(f: Any, names: dict[str, None]) -> Iterator[_Read]:
    """Yield readers of the values a function knows: one for each value that may be replaced.

    ``names`` are those that functions look up; it grows by those of the functions found here.
    """
    waiting: list[Any] = [f]
    seen: dict[int, Any] = {}
    while waiting and len(seen) < _MOST:
        x = waiting.pop()
        if id(x) in seen or isinstance(x, _LEAVES):
            continue
        seen[id(x)] = x
        if isinstance(x, types.FunctionType):
            found = names_in(x.__code__)
            names.update(dict.fromkeys((*found.scope, *found.attributes)))
        for of_program, read in _of(x, names):
            if of_program:
                yield read
            waiting.extend(read())


def _of(x: Any, names: dict[str, None]) -> Iterator[tuple[bool, _Read]]:
    """Yield the readers of one value, each with whether a program may change what it gives."""
    if isinstance(x, types.FunctionType):
        yield from _of_function(x)
    elif isinstance(x, types.MethodType):
        yield False, lambda: (x.__func__, x.__self__)
    elif isinstance(x, functools.partial):
        yield False, lambda: (x.func, *x.args, *x.keywords.values())
    elif isinstance(x, Primitive):
        yield False, lambda: (x.__wrapped__,)
    elif isinstance(x, (types.ModuleType, type)):
        owner = x.__name__ if isinstance(x, types.ModuleType) else x.__module__
        if not _is_of_library(owner):
            yield True, lambda: tuple([vars(x)[n] for n in names if n in vars(x)])
            # Operators and calls are looked up without a name.
            own = [m for n, m in vars(x).items() if n[:2] == "__" and callable(m)]
            yield False, lambda: (*getattr(x, "__bases__", ()), *own)
    else:
        yield from _of_data(x)


def _of_function(x: types.FunctionType) -> Iterator[tuple[bool, _Read]]:
    changes = not _is_of_library(x.__globals__.get("__name__"))
    for cell in x.__closure__ or ():
        yield changes, functools.partial(_content_of, cell)
    if x.__defaults__ or x.__kwdefaults__:
        yield changes, lambda: (*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values())
    if changes:
        yield True, lambda: (x.__code__, *vars(x).values())
        wanted, outside = names_in(x.__code__).scope, x.__globals__
        yield True, lambda: tuple([outside[name] for name in wanted if name in outside])


def _content_of(cell: Any) -> tuple[Any, ...]:
    return (content(cell),)


def _of_data(x: Any) -> Iterator[tuple[bool, _Read]]:
    if isinstance(x, tuple):
        yield False, lambda: tuple(x)
    elif isinstance(x, (list, set, frozenset)):
        yield True, lambda: tuple(x)
    elif isinstance(x, dict):
        yield True, lambda: (*x.keys(), *x.values())
    elif isinstance(x, np.ndarray):
        yield True, lambda: (x.item(),) if x.ndim == 0 else (x.tobytes(),)
    elif isinstance(x, _HOLDERS):
        yield True, lambda: _held(x)
    elif not _is_of_library(type(x).__module__):
        yield True, lambda: tuple(attributes(x).values())
        yield False, lambda: (type(x),)


_HOLDERS = (
    types.SimpleNamespace,
    collections.UserDict,
    collections.UserList,
    collections.deque,
    array.array,
    contextvars.ContextVar,
    weakref.ref,
    property,
    functools.cached_property,
    staticmethod,
    classmethod,
)
"""Classes of Python's own that hold values of programs."""


def _held(x: Any) -> tuple[Any, ...]:
    if isinstance(x, (collections.deque, array.array)):
        return tuple(x)
    if isinstance(x, contextvars.ContextVar):
        return (x.get(None),)
    if isinstance(x, weakref.ref):
        return (x(),)
    if isinstance(x, property):
        return (x.fget,)
    if isinstance(x, functools.cached_property):
        return (x.func,)
    if isinstance(x, (staticmethod, classmethod)):
        return (x.__func__,)
    return tuple(vars(x).values())


@functools.cache
def _is_of_library(name: str | None) -> bool:
    """Tell whether a module is Python's own or of one of the libraries that compute arrays."""
    root = (name or "__main__").partition(".")[0]
    known = root in sys.stdlib_module_names or root in _LIBRARIES
    return root != "__main__" and (known or root.startswith("chainrules_"))

"""Values that a function reads besides its operands, and a check whether they have changed.

A kernel is written from one run of the function, with the numbers that this run saw. Compared are
the function's own cells, defaults and globals, the entries and attributes of these, and the same of
the functions among them. Any other value is a constant of the kernel: make it an operand.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np

from chainrules_py import Primitive
from chainrules_py.extend import attributes, content, is_library

_NUMBERS = (int, float, complex, np.generic)
_MOST = 32
"""How many entries a container has at most whose entries are compared."""


@final
class Captured:
    """Snapshot of what a function reads by name, taken when this is made."""

    __slots__ = ("_f", "_seen")

    def __init__(self, f: Callable[..., Any] | None) -> None:
        self._f = f
        self._seen = [*_values(f)]

    def has_changed(self) -> bool:
        """Tell whether any captured value has been replaced since the snapshot."""
        now = [*_values(self._f)]
        return len(now) != len(self._seen) or not all(map(_same, now, self._seen))


def _same(a: Any, b: Any) -> bool:
    """Tell whether two values are one object or the same number; 0.0 and -0.0 are different."""
    if a is b or type(a) is not type(b):
        return a is b
    return repr(a) == repr(b) if isinstance(a, _NUMBERS) else type(a) in (str, bytes) and a == b


def _values(f: Any) -> Iterator[Any]:
    """Yield what a function names, the entries of that, and what the functions among it name."""
    waiting, seen = [f], set[int]()
    while waiting:
        g = waiting.pop()
        if id(g) in seen:
            continue
        seen.add(id(g))
        if isinstance(g, types.FunctionType) and not is_library(g.__module__ or ""):
            found = [*_captured(g), *_globals(g)]
            yield from found
            for x in found:
                yield from _entries(x)
        else:
            found = _parts(g)
            for x in [] if isinstance(g, types.FunctionType) else found:
                yield from _entries(x)
        waiting += [x for x in found if callable(x)]


def _captured(f: types.FunctionType) -> list[Any]:
    """List what is in the cells and defaults of a function."""
    cells = map(content, f.__closure__ or ())
    return [*cells, *(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]


def _globals(f: types.FunctionType) -> Iterator[Any]:
    """Yield the globals that a function names, and what it may name of a program's modules."""
    names = f.__code__.co_names
    for x in [f.__globals__.get(name) for name in names]:
        yield x
        if isinstance(x, types.ModuleType) and not is_library(x.__name__):
            yield from [vars(x).get(name) for name in names]


def _parts(f: Any) -> list[Any]:
    """List what a callable is made of: it stays what it is."""
    if isinstance(f, types.FunctionType):  # of a library
        return _captured(f)
    if isinstance(f, types.MethodType):
        return [f.__func__, f.__self__]
    if isinstance(f, functools.partial):
        return [f.func, *f.args, *f.keywords.values()]
    return [f.__wrapped__] if isinstance(f, Primitive) else []


def _entries(x: Any) -> tuple[Any, ...]:
    """Return what a small container holds, or the attributes of an object of a program."""
    if isinstance(x, np.ndarray):
        return tuple(x.flat) if x.size <= _MOST else ()
    if isinstance(x, dict):
        return tuple(x.values()) if len(x) <= _MOST else ()
    if isinstance(x, (list, tuple, deque)):
        return tuple(x) if len(x) <= _MOST else ()
    return () if is_library(type(x).__module__) else tuple(attributes(x).values())

"""Held: what a captured value holds, and the details of it that only some code asks for."""

from __future__ import annotations

import functools
import gc
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from chainrules_compile.alike import bits_of
from chainrules_py.extend import Reach, is_library

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_LACKED = (
    "__bool__", "__len__", "__eq__", "__ne__", "__hash__", "__contains__", "__iter__",
    "__reversed__", "__call__", "__getattr__", "__getattribute__", "__index__", "__float__",
    "__radd__", "__rsub__", "__rmul__", "__rtruediv__", "__rpow__", "__rmatmul__", "__iadd__",
    "__isub__", "__imul__", "__itruediv__", "__instancecheck__",
)  # fmt: skip
"""Methods for which Python does something else where a class has none of its own."""
_NAMES = ("__name__", "__qualname__", "__doc__", "__module__")


class Held(NamedTuple):
    """What a value holds, and how to look whether it does.

    Attributes
    ----------
    same : callable
        Tells, as fast as may be, whether it holds what it held.
    read : callable
        Gives what it holds.
    before : dict
        What it held, by names, keys or numbers.
    fills : bool
        Whether it may come to know more by itself.
    own : set
        The names, keys and numbers that the function changes itself.
    keeps : bool
        Whether it forgets nothing by itself, though it fills.
    function : tuple or None
        A function, its code, defaults, cells and names, as they were: many are compared at once.
    """

    same: Callable[[], bool]
    read: Callable[[], dict[Any, Any]]
    before: dict[Any, Any]
    fills: bool
    own: set[Any]
    keeps: bool = False
    function: tuple[Any, ...] | None = None

    def changes(self) -> set[Any]:
        """Return the keys that stand for something else by now."""
        if self.same():
            return set()
        before, now = self.before, self.read()
        found = {k for k, x in before.items() if not (k in now and equal(x, now[k]))}
        order = [k for k in before if k in now], [k for k in now if k in before]
        found |= {k for k, other in zip(*order, strict=True) if k != other}
        if self.fills:  # objects of libraries remember, and forget
            return {k for k in found if (k in now or self.keeps) and before[k] is not None}
        return found | (now.keys() - before)


def holding(place: Any, keeps: bool) -> Held:
    """Return what is compared of a place."""
    x = place.x

    def read() -> dict[Any, Any]:
        try:
            held = place.read(x)
        except (LookupError, AttributeError, ValueError, RuntimeError):
            return {}
        if isinstance(held, dict):
            return held
        return {y: y for y in held} if isinstance(held, frozenset) else dict(enumerate(held))

    before = read()
    if type(x) is list:
        values = tuple(x)
        same = lambda: len(x) == len(values) and all(map(operator.is_, x, values))
    else:
        keys, values = tuple(before), tuple(before.values())

        def same() -> bool:
            now = read()
            held = len(now) == len(keys) and all(map(operator.is_, now, keys))
            return held and all(map(operator.is_, now.values(), values))

    return Held(same, read, before, place.fills, set(), keeps)


def memories(values: Iterable[Any]) -> set[int]:
    """Return the ids of what functions with a memory (`functools.lru_cache`) remember in."""
    found = [x for x in values if isinstance(x, functools._lru_cache_wrapper)]
    return {id(y) for x in found for y in gc.get_referents(x) if type(y) is dict}


def details(reach: Reach, values: Iterable[Any]) -> list[Held]:
    """Return what is compared of classes and arrays besides what they hold.

    The methods that a class has not; names, flags and subclasses where code names these.
    """
    found = []
    names = [name for name in _NAMES if name in reach.names]
    for x in {id(x): x for x in values}.values():
        if not isinstance(x, (type, types.FunctionType)) or is_library(x.__module__ or ""):
            continue
        if names:
            found.append(_asked(x, lambda x: {name: getattr(x, name) for name in names}))
        if isinstance(x, type):
            found.append(_lacking(x))
            if "__subclasses__" in reach.names:
                found.append(_asked(x, lambda x: {id(y): y for y in type.__subclasses__(x)}))
    if "flags" in reach.names:
        plain = [x for x in reach.arrays if isinstance(x, np.ndarray)]
        found += [_asked(x, lambda x: {"writeable": x.flags.writeable}) for x in plain]
    return found


def _asked(x: Any, ask: Callable[[Any], dict[Any, Any]]) -> Held:
    before = ask(x)
    return Held(lambda: ask(x) == before, lambda: ask(x), before, False, set())


def _lacking(cls: type) -> Held:
    """Return what tells whether a class has none of the methods yet that it had not."""
    own = vars(cls).keys()
    lacked = [name for name in _LACKED if name not in own]

    def read() -> dict[Any, Any]:
        return {name: vars(cls)[name] for name in lacked if name in own}

    return Held(lambda: own.isdisjoint(lacked), read, {}, False, set())


def equal(x: Any, y: Any) -> bool:
    """Tell whether two values are the same object, or plain and equal to the bit."""
    if x is y:
        return True
    if type(x) is not type(y):
        return False
    if type(x) is tuple:
        return len(x) == len(y) and all(map(equal, x, y))
    if isinstance(x, np.generic):
        return bool(x.dtype == y.dtype and x.tobytes() == y.tobytes())
    return type(x) in _PLAIN and bool(bits_of(x) == bits_of(y))

"""Held: what a captured value holds, and the details of it that only some code asks for."""

from __future__ import annotations

import abc
import functools
import gc
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from chainrules_bridge.reach import Reach, entries
from chainrules_compile.alike import PLAIN, bits_of
from chainrules_py.extend import is_library

_LACKED = (
    "__bool__", "__len__", "__eq__", "__ne__", "__hash__", "__contains__", "__iter__",
    "__reversed__", "__call__", "__getattr__", "__getattribute__", "__index__", "__float__",
    "__radd__", "__rsub__", "__rmul__", "__rtruediv__", "__rpow__", "__rmatmul__", "__iadd__",
    "__isub__", "__imul__", "__itruediv__", "__instancecheck__", "__missing__", "__lt__", "__le__",
    "__gt__", "__ge__", "__array__", "__array_ufunc__", "__array_function__", "__array_priority__",
)  # fmt: skip
"""Methods for which Python, or NumPy, does something else where a class has none of its own."""
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
        Whether it is of a library: what that changes as the function runs is its own.
    own : set
        The names, keys and numbers that the function changes itself.
    keeps : bool
        Whether it is a memory (`functools.lru_cache`), which says the same of what it knows later.
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
        found |= {k for k, other in zip(*order, strict=True) if not equal(k, other)}
        return found if self.keeps else found | (now.keys() - before)


def holding(place: Any, keeps: bool) -> Held:
    """Return what is compared of a place."""
    x = place.x

    read = functools.partial(entries, place)
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


def details(reach: Reach, values: Iterable[Any], functions: Iterable[Any]) -> list[Held]:
    """Return what is compared of classes and arrays besides what they hold.

    What a class has not, under the names of code or of methods that Python calls, and all that
    functions and modules have not where code may get along without; names, flags and subclasses
    where code names these.
    """
    found, lacked = [], list[tuple[Any, frozenset[str]]]()
    known = frozenset(reach.names)
    asked = known if any([may_lack(f.__code__) for f in functions]) else _NONE
    names = [name for name in _NAMES if name in reach.names]
    for x in filter(_is_peoples, {id(x): x for x in (*reach.defined, *values)}.values()):
        lacked.append((x, known.union(_LACKED, *_of_bases(x)) if isinstance(x, type) else asked))
        if isinstance(x, types.ModuleType):
            continue
        if names:
            found.append(_asked(x, lambda x: {name: getattr(x, name) for name in names}))
        if isinstance(x, type) and "__subclasses__" in reach.names:
            found.append(_asked(x, lambda x: {id(y): y for y in type.__subclasses__(x)}))
        if isinstance(x, abc.ABCMeta):
            found.append(_asked(x, lambda _: {"registered": abc.get_cache_token()}))
    lacked = [(x, names) for x, names in lacked if names]
    if lacked:
        found.append(_lacking(lacked))
    if "flags" in reach.names:
        plain = [x for x in reach.arrays if isinstance(x, np.ndarray)]
        found += [_asked(x, lambda x: {"writeable": x.flags.writeable}) for x in plain]
    return found


_NONE = frozenset[str]()


def _of_bases(cls: type) -> list[list[str]]:
    """List what a class's bases have for Python to call, in place of which it may get its own."""
    return [[n for n in vars(base) if n[:2] == n[-2:] == "__"] for base in cls.__mro__[1:-1]]


@functools.lru_cache(maxsize=1024)
def may_lack(code: types.CodeType) -> bool:
    """Tell whether code gets along without an attribute: it asks for it, or catches errors."""
    if code.co_exceptiontable or not {"getattr", "hasattr"}.isdisjoint(code.co_names):
        return True
    return any([isinstance(c, types.CodeType) and may_lack(c) for c in code.co_consts])


def _is_peoples(x: Any) -> bool:
    """Tell whether a value is a class, a function or a module of somebody's program."""
    if not isinstance(x, (type, types.FunctionType, types.ModuleType)):
        return False
    return not is_library((x.__name__ if isinstance(x, types.ModuleType) else x.__module__) or "")


def _asked(x: Any, ask: Callable[[Any], dict[Any, Any]]) -> Held:
    before = ask(x)
    return Held(lambda: ask(x) == before, lambda: ask(x), before, False, set())


def _lacking(found: list[tuple[Any, frozenset[str]]]) -> Held:
    """Return what tells whether values have none of the names yet that they had not."""
    each = [(vars(x), names.difference(vars(x))) for x, names in found]
    # A set looks at all that it is given: of a long one it is quicker to ask for the names.
    short = [(own, lacked) for own, lacked in each if len(own) <= len(lacked)]
    long = [(own.keys(), tuple(lacked)) for own, lacked in each if len(own) > len(lacked)]

    def same() -> bool:
        for own, lacked in short:
            if not lacked.isdisjoint(own):
                return False
        for keys, names in long:  # noqa: SIM110 (a generator takes longer than most of them)
            if not keys.isdisjoint(names):
                return False
        return True

    def read() -> dict[Any, Any]:
        return {(i, n): own[n] for i, (own, names) in enumerate(each) for n in names if n in own}

    return Held(same, read, {}, False, set())


def equal(x: Any, y: Any) -> bool:
    """Tell whether two values are the same object, or plain and equal to the bit."""
    if x is y:
        return True
    if type(x) is not type(y):
        return False
    if type(x) is tuple:
        return len(x) == len(y) and all(map(equal, x, y))
    if isinstance(x, np.generic) and type(x).__module__ == "numpy":  # and has no attributes
        return bool(x.dtype == y.dtype and x.tobytes() == y.tobytes())
    return type(x) in PLAIN and bool(bits_of(x) == bits_of(y))

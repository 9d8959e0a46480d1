"""Search through all that a function knows besides its arguments, noting who holds whom."""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from chainrules_py.config import Config
from chainrules_py.primitives.closures.contents import globals_of, is_of_library
from chainrules_py.primitives.plugins import see_class
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.values.holding import attributes, content
from chainrules_py.values.structure import fields_of, structure_of
from chainrules_py.values.type_info import type_info

_MOST = 10_000
"""How many values are looked at in one function; what lies beyond is left to `refuse_traced`."""

_LEAVES = (
    type(None), bool, int, float, complex, str, bytes, bytearray, range, slice, type,
    types.ModuleType, types.BuiltinFunctionType, types.CodeType, types.FrameType,
    types.GeneratorType, Primitive, Config,
)  # fmt: skip


class Search:
    """A walk over all that a function knows, which notes who holds whom."""

    def __init__(self, is_captured: Callable[[Any], bool]) -> None:
        self.is_captured = is_captured
        self.found: list[Any] = []
        self.holders: dict[int, list[int]] = {}
        self._seen: dict[int, Any] = {}  # which also keeps ids from being given again

    def look(self, f: Any) -> None:
        """Visit a function and all that can be reached from it, each once."""
        waiting = [f]
        while waiting and len(self._seen) < _MOST:
            x = waiting.pop()
            if id(x) in self._seen:
                continue
            self._seen[id(x)] = x
            see_class(type(x))
            if self.is_captured(x):
                self.found.append(x)
                continue
            found = [y for y in known(x) if not issubclass(type(y), _LEAVES)]
            for y in found:
                self.holders.setdefault(id(y), []).append(id(x))
            waiting.extend(reversed(found))  # so that values are found in the order of reading

    def tainted(self) -> set[int]:
        """Find the values from which a captured one can be reached."""
        reached: set[int] = set()
        waiting = [id(x) for x in self.found]
        while waiting:
            for holder in self.holders.get(waiting.pop(), ()):
                if holder not in reached:
                    reached.add(holder)
                    waiting.append(holder)
        return reached


def known(x: Any) -> Iterator[Any]:
    """Yield what a value knows directly, and a copy of it would know.

    Libraries know no values of a program, and there are very many names in them.
    """
    cls = type(x)
    if cls is types.FunctionType:
        yield from map(content, x.__closure__ or ())
        yield from (*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values())
        yield from () if is_of_library(x) else globals_of(x).values()
    elif cls is types.MethodType:
        yield from (x.__func__, x.__self__)
    elif isinstance(x, functools.partial):
        yield from (x.func, *x.args, *x.keywords.values())
    elif isinstance(x, Primitive):
        yield from () if x.opaque else (x.__wrapped__,)
    elif isinstance(x, (list, dict, deque)) and not cls.__module__.startswith("chainrules_"):
        yield from x.values() if isinstance(x, dict) else x
    elif not (type_info(cls).is_array or type_info(cls).is_number):
        own = attributes(x)
        inside = is_container(cls) and (cls.__module__.startswith("chainrules_") or not own)
        yield from [y for _, y in fields_of(x)] if inside else own.values()


def is_container(kind: type) -> bool:
    """Tell whether values of a class are taken apart into fields, and put together again."""
    structure: Any = structure_of(kind)
    if structure is None:
        return False
    # A class that derives from list or dict is somebody's own, a tape perhaps.
    return structure.kind not in ("positions", "keys") or kind in (tuple, list, dict)

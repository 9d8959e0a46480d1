"""Search through all that a function knows besides its arguments, noting who holds whom."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from chainrules_py.config import Config
from chainrules_py.primitives.closures.contents import looked_up
from chainrules_py.primitives.plugins import see_class
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.values.forgetting import forgets
from chainrules_py.values.holding import Kind, attributes, reader
from chainrules_py.values.structure import fields_of, rebuild, structure_of
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


def known(x: Any) -> list[Any]:
    """List what a value knows directly, and a copy of it would know.

    Libraries know no values of a program, and there are very many names in them.
    """
    cls = type(x)
    if cls is types.FunctionType:
        return [*looked_up(x).values(), *x.__dict__.values()]
    if isinstance(x, Primitive):
        return [] if x.opaque else [x.__wrapped__]
    if type_info(cls).is_array or type_info(cls).is_number:
        return []
    kind, has_attributes = kind_of(cls)  # type: ignore[arg-type]  # classes are hashable
    parts = kind.read(x)
    parts = parts.values() if type(parts) is dict else parts
    return [*parts, *(attributes(x).values() if has_attributes else ())]


def is_container(cls: type) -> bool:
    """Tell whether values of a class are taken apart into fields, and put together again."""
    structure: Any = structure_of(cls)
    if structure is None:
        return False
    # A class that derives from list or dict is somebody's own, a tape perhaps.
    return structure.kind not in ("positions", "keys") or cls in (tuple, list, dict)


def _partial(x: Any, parts: list[Any]) -> Any:
    n = 1 + len(x.args)
    return type(x)(*parts[:n], **dict(zip(x.keywords, parts[n:], strict=True)))


_STRUCTURE = Kind(lambda x: [y for _, y in fields_of(x)], made=rebuild)
_PARTIAL = Kind(lambda x: (x.func, *x.args, *x.keywords.values()), made=_partial)
_OBJECT = Kind(lambda _: ())
_COPIED_AS = Kind(lambda x: (x.__copied_as__(x),), made=lambda x, parts: parts[0])


@functools.cache
def kind_of(cls: type) -> tuple[Kind, bool]:
    """Return how copies are made of values of a class, and whether these have attributes."""
    if hasattr(cls, "__copied_as__"):  # as a function with memories: a copy has none
        return _COPIED_AS, False
    kind, has_attributes = reader(cls)
    ours = cls.__module__.startswith("chainrules_")
    if is_container(cls):
        return _STRUCTURE, has_attributes and not ours
    if issubclass(cls, functools.partial):
        return _PARTIAL, has_attributes
    if ours or kind is None or not (kind.made or kind.fill):
        return _OBJECT, True
    return kind, has_attributes


forgets(lambda: (kind_of,))

"""Search through all that a function knows besides its arguments, noting who holds whom."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from chainrules_py.config import Config
from chainrules_py.primitives.closures.freeze import global_names
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.values.structure import fields_of, structure_of
from chainrules_py.values.type_info import type_info

_MOST = 10_000
"""How many values are looked at in one function; what lies beyond is left to `refuse_traced`."""

_LEAVES = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    bytearray,
    range,
    slice,
    type,
    types.ModuleType,
    types.BuiltinFunctionType,
    types.CodeType,
    types.FrameType,
    types.GeneratorType,
    Primitive,
    Config,
)


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
            if self.is_captured(x):
                self.found.append(x)
                continue
            found = [y for y in (*held(x), *self._named(x)) if not issubclass(type(y), _LEAVES)]
            for y in found:
                self.holders.setdefault(id(y), []).append(id(x))
            waiting.extend(reversed(found))  # so that values are found in the order of reading

    def _named(self, x: Any) -> Iterable[Any]:
        """Return the globals that a function names, if it is part of the program.

        Those of libraries know no values of it, and there are very many of them.
        """
        if type(x) is not types.FunctionType or is_of_library(x):
            return ()
        return globals_of(x).values()

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


def knows(f: Any, is_it: Callable[[Any], bool]) -> bool:
    """Tell whether a function can reach a value that passes a test, besides its arguments."""
    search = Search(is_it)
    search.look(f)
    return bool(search.found)


def held(x: Any) -> Iterator[Any]:
    """Yield the values that a value knows directly."""
    kind = type(x)
    if kind is types.FunctionType:
        yield from (content(cell) for cell in x.__closure__ or ())
        yield from x.__defaults__ or ()
        yield from (x.__kwdefaults__ or {}).values()
    elif kind is types.MethodType:
        yield x.__func__
        yield x.__self__
    elif isinstance(x, functools.partial):
        yield x.func
        yield from x.args
        yield from x.keywords.values()
    elif is_container(kind):
        yield from (field for _, field in fields_of(x))
    elif not type_info(kind).is_array:
        yield from attributes(x).values()


def is_container(kind: type) -> bool:
    """Tell whether values of a class are taken apart into fields, and put together again."""
    structure: Any = structure_of(kind)
    if structure is None:
        return False
    # A class that derives from list or dict is somebody's own, a tape perhaps.
    return structure.kind not in ("positions", "keys") or kind in (tuple, list, dict)


def content(cell: Any) -> Any:
    """Return the content of a closure's cell, or None."""
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return None


def globals_of(f: types.FunctionType) -> dict[str, Any]:
    """Return the globals that a function, and the functions defined in it, may look up."""
    scope = f.__globals__
    return {name: scope[name] for name in global_names(f.__code__) if name in scope}


def is_of_library(f: types.FunctionType) -> bool:
    """Tell whether a function is installed, rather than part of somebody's program."""
    return _is_library(f.__globals__.get("__name__", "__main__"))


@functools.cache
def _is_library(name: str) -> bool:
    """Tell whether a module is installed, rather than part of somebody's program."""
    root = name.partition(".")[0]
    if root in sys.stdlib_module_names or root.startswith("chainrules_"):
        return root != "__main__"
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


def attributes(x: Any) -> dict[str, Any]:
    """Return the attributes of an object of somebody's own class."""
    found = dict(vars(x)) if hasattr(x, "__dict__") else {}
    for member in _slots(type(x)):  # type: ignore[arg-type]  # classes are hashable
        try:
            found[member.__name__] = member.__get__(x)
        except AttributeError:
            continue
    return found


@functools.cache
def _slots(cls: type) -> tuple[Any, ...]:
    return tuple(
        [
            member
            for base in cls.__mro__
            for member in base.__dict__.values()
            if isinstance(member, types.MemberDescriptorType)
        ]
    )

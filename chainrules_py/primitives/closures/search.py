"""Search through all that a function knows besides its arguments, noting who holds whom."""

from __future__ import annotations

import contextvars
import functools
import gc
import threading
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from chainrules_py.config import Config
from chainrules_py.primitives.closures.contents import (
    attributes,
    globals_of,
    is_library,
    is_of_library,
    names_of,
)
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.values.arrays import Tracer
from chainrules_py.values.structure import fields_of, structure_of
from chainrules_py.values.type_info import type_info

Step: TypeAlias = tuple[Callable[[Any], Any], Any]
"""``read(key)`` gives what is one step further."""

_MOST = 10_000
"""How many values are looked at in one function; what lies beyond is left to `refuse_traced`,
or taken for what is looked for."""

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
            found = [read_step(read, key) for read, key in steps(x)]
            found = [y for y in found if not issubclass(type(y), _LEAVES)]
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


def knows(f: Any, is_it: Callable[[Any], bool]) -> bool:
    """Tell whether a function holds a value that passes a test, however it would get there.

    It is not asked how a program reads a value, but what refers to what, as the garbage collector
    sees it; of modules, which hold all there is, what is held under a name that code uses. Of more
    values than can be looked at the answer is yes.
    """
    waiting, modules, names = [f], [], set[str]()
    seen: dict[int, Any] = {}  # which also keeps ids from being given again
    while waiting:
        x = waiting.pop()
        if id(x) not in seen and not issubclass(type(x), _PLAIN):
            seen[id(x)] = x
            if is_it(x) or len(seen) > 10 * _MOST:
                return True
            if type(x) is types.FunctionType:
                names.update(names_of(x).attributes)
            if type(x) is types.ModuleType:
                modules += [] if is_library(x.__name__) else [x]
            else:
                waiting.extend(_held(x))
        if not waiting:
            waiting = [vars(m)[name] for m in modules for name in names & vars(m).keys()]
            waiting = [y for y in waiting if id(y) not in seen and type(y) not in _PLAIN]
    return False


def _held(x: Any) -> Iterable[Any]:
    """Give what a value refers to; of a function, what it could read."""
    cls = type(x)
    if cls is types.FunctionType:
        held = x.__closure__, x.__defaults__, x.__kwdefaults__, vars(x)
        return (*held, *(() if is_of_library(x) else globals_of(x).values()))
    if issubclass(cls, (Tracer, Config, types.CodeType, types.FrameType, types.TracebackType)):
        return ()
    if isinstance(x, type) and is_library(x.__module__):
        return ()
    if type_info(cls).memory is not None:
        return x.ravel().tolist() if getattr(x.dtype, "hasobject", False) else ()
    # And what the collector does not see.
    for kind, read in _UNSEEN.items():
        if issubclass(cls, kind):
            return *gc.get_referents(x), read(x)
    return (x.__wrapped__,) if isinstance(x, Primitive) else gc.get_referents(x)


_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_UNSEEN: dict[type, Callable[[Any], Any]] = {
    contextvars.ContextVar: lambda x: x.get(None),
    weakref.ref: lambda x: x(),
    memoryview: lambda x: x.obj,
    threading.local: vars,
}


def steps(x: Any) -> Iterator[Step]:
    """Yield the steps to what a value knows directly, and a copy of it would know.

    Libraries know no values of a program, and there are very many names in them.
    """
    cls, get = type(x), functools.partial(getattr, x)
    if cls is types.FunctionType:
        yield from _of_function(x)
    elif cls is types.MethodType:
        yield get, "__func__"
        yield get, "__self__"
    elif isinstance(x, functools.partial):
        yield get, "func"
        yield from ((x.args.__getitem__, i) for i in range(len(x.args)))
        yield from ((x.keywords.__getitem__, name) for name in x.keywords)
    elif isinstance(x, Primitive):
        yield from () if x.opaque else ((get, "__wrapped__"),)
    elif isinstance(x, (list, dict, deque)) and not cls.__module__.startswith("chainrules_"):
        yield from ((x.__getitem__, key) for key in (x if isinstance(x, dict) else range(len(x))))
    elif not (type_info(cls).is_array or type_info(cls).is_number):
        yield from _of_object(x)


def _of_function(f: types.FunctionType) -> Iterator[Step]:
    for cell in f.__closure__ or ():
        yield functools.partial(getattr, cell), "cell_contents"
    given, named, scope = f.__defaults__ or (), f.__kwdefaults__ or {}, f.__globals__
    yield from ((given.__getitem__, i) for i in range(len(given)))
    yield from ((named.__getitem__, name) for name in named)
    yield from ((scope.__getitem__, n) for n in names_of(f).scope if n in scope)


def _of_object(x: Any) -> Iterator[Step]:
    cls, known = type(x), attributes(x)
    if is_container(cls) and (cls.__module__.startswith("chainrules_") or not known):
        known = dict(fields_of(x))
        yield from ((known.__getitem__, key) for key in known)
    else:
        yield from ((functools.partial(getattr, x), name) for name in known)


def read_step(read: Callable[[Any], Any], key: Any) -> Any:
    """Take a step; None where there is nothing yet, or any more."""
    try:
        return read(key)
    except (LookupError, AttributeError, ValueError):
        return None


def is_container(kind: type) -> bool:
    """Tell whether values of a class are taken apart into fields, and put together again."""
    structure: Any = structure_of(kind)
    if structure is None:
        return False
    # A class that derives from list or dict is somebody's own, a tape perhaps.
    return structure.kind not in ("positions", "keys") or kind in (tuple, list, dict)

"""The generators of random numbers that a function may come to when it is called.

There is no list of ways to look something up. What code can come to is what the garbage collector
can come to from it, less what it has no name for: of a function's globals, and of the attributes of
objects, classes and modules, those count that some code among it names, or has as a text.
"""

from __future__ import annotations

import functools
import itertools
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from chainrules_bridge.reach.contents import (
    PLAIN,
    called_by_python,
    counts_whole,
    imported,
    is_of_c,
    library_names,
    looked_up,
    members,
    names_of,
    of_extension,
    of_library,
    of_module,
    of_object,
    see,
    told,
)
from chainrules_bridge.reach.names import ANY, ATTRIBUTES, NO_NAMES, named_in
from chainrules_bridge.reach.objects import MACHINERY, has_buffer, reader, rest, strong
from chainrules_bridge.reach.ours import held_for_others
from chainrules_py import Primitive
from chainrules_py.extend import (
    Tracer,
    elements,
    holds_objects,
    is_generator,
    is_library,
    type_info,
)

_MOST = 10_000
"""How many values are looked at."""
_SKIPPED, _LEAVES = (types.CodeType, types.FrameType, *PLAIN), {*PLAIN} - {str}
_PLAIN_LIBRARIES = (
    "_contextvars",
    "_thread",
    "argparse",
    "array",
    "builtins",
    "collections",
    "types",
)
"""Libraries whose objects come to know nothing by themselves."""
_WAITING = {"Thread", "Executor"}
"""Classes whose objects wait."""
_NONE, _EVERY = frozenset[str](), frozenset({ANY})
_OF_MODULES = frozenset({"__getattr__"})  # which Python asks where a module lacks a name


class _Named(NamedTuple):
    """What is looked at by the names that are known of, which are still being found."""

    x: Any
    found: dict[str, Any]
    besides: frozenset[str]
    fills: bool
    taken: set[str]


def generators_of(f: Callable[..., Any]) -> list[Any]:
    """List the generators of random numbers that a function may come to."""
    walk = _Walk()
    walk.over(f)
    return walk.generators


class _Walk:
    """A walk over all that can be reached, while the names are found that count."""

    def __init__(self) -> None:
        self.generators: list[Any] = []
        self.names = set[str]()
        self.named: list[_Named] = []
        self.seen: dict[int, Any] = {}  # which keeps ids from being given again
        self.waiting: list[tuple[Any, bool]] = []
        self.weak: list[tuple[weakref.ref[Any], bool]] = []

    def over(self, f: Any) -> None:
        """Visit everything, each once."""
        self.push([f], False)
        done = 0
        while done < len(self.waiting) or self.weakly():
            for x, fills in itertools.islice(self.waiting, done, None):  # it grows meanwhile
                done += 1
                if id(x) not in self.seen and len(self.seen) <= _MOST:
                    self.seen[id(x)] = x
                    self.visit(x, fills)
            for named in self.named:
                self.take(named)

    def weakly(self) -> bool:
        """Have visited what only weak references lead to, after all else, if there is any."""
        found = [(_referent(ref), fills) for ref, fills in self.weak]
        self.weak.clear()
        before = len(self.waiting)
        for x, fills in found:
            self.push([x], fills)
        return len(self.waiting) > before

    def push(self, found: Iterable[Any], fills: bool) -> None:
        """Have values visited later."""
        for x in found:
            cls = type(x)
            if cls is str:
                self.names |= {x, *named_in((x,))}
            elif issubclass(cls, Primitive) and x.__module__.startswith("chainrules_"):
                continue  # a word, whose body knows no value of a program
            elif cls not in _SKIPPED and id(x) not in self.seen:
                self.waiting.append((x, fills))

    def hold(self, x: Any, read: Callable[[Any], Any], fills: bool) -> None:
        """Have visited what a value holds; nothing where it cannot be read any more."""
        try:
            found = read(x)
        except (LookupError, AttributeError, ValueError, RuntimeError):
            return
        if read is dict.copy:  # by whose keys code may look up attributes
            self.names |= {key for key in found if type(key) is str}
        values = found.values() if isinstance(found, dict) else found
        if not _LEAVES.issuperset(map(type, values)):
            self.push(values, fills)

    def visit(self, x: Any, fills: bool) -> None:
        """Look at one value, by what it is."""
        cls = type(x)
        if cls is types.FunctionType:
            self.function(x, fills)
        elif cls is types.ModuleType:
            if not is_library(x.__name__):
                self.by_names(x, of_module, fills, _OF_MODULES)
        elif issubclass(cls, type):
            if not is_library(x.__module__):
                self.by_names(x, members, fills, called_by_python(x) | library_names(x))
                self.push((*x.__bases__, cls), fills)
        else:
            self.object(x, cls, fills)

    def function(self, f: types.FunctionType, fills: bool) -> None:
        """Look at a function: what its code names, and has captured."""
        names = names_of(f)
        self.names |= names.attributes
        if names.imports:
            self.push(imported(f).values(), fills)
        self.hold(f, looked_up, fills)
        if f.__dict__ or names is not NO_NAMES:
            self.by_names(f, vars, fills, library_names(object))

    def by_names(
        self,
        x: Any,
        fields: Callable[[Any], dict[str, Any]],
        fills: bool,
        besides: frozenset[str] = _NONE,
    ) -> None:
        """Look at what somebody names, now or when the name is found."""
        named = _Named(x, dict(fields(x)), besides, fills, set())
        self.named.append(named)
        self.take(named)

    def take(self, named: _Named) -> None:
        """Have those fields visited whose names are known by now."""
        x, found, besides, fills, taken = named
        listed = ATTRIBUTES in self.names and type(x) is not types.ModuleType
        every = ANY in self.names or ANY in besides or listed
        wanted = found if every else [n for n in found if n in self.names]
        for name in [*wanted, *[n for n in besides if n in found]]:
            if name not in taken:
                taken.add(name)
                self.push([found[name]], fills)

    def object(self, x: Any, cls: type, fills: bool) -> None:
        """Look at an object: its memory, what it contains, its attributes and its class."""
        see(cls)
        info = type_info(cls)
        own, library = not is_library(cls.__module__), cls.__module__.partition(".")[0]
        if info.memory is not None:
            if holds_objects(x):
                self.hold(x, elements, fills)
        elif is_generator(cls):
            self.generators.append(x)
            return
        elif issubclass(cls, Tracer) or info.host is not None:
            return
        elif _is_ours(cls):
            self.hold(x, held_for_others, fills)
            return
        elif (info.is_array or info.is_number) and not own:
            if hasattr(cls, "__setitem__") and not has_buffer(x):  # a record: a row of a table
                self.hold(x, rest, fills)
            return
        waits = not own and not _WAITING.isdisjoint([base.__name__ for base in cls.__mro__])
        if waits or library == "threading" or library in MACHINERY:
            return
        if own:
            self.push([cls], fills)
        plain = cls.__module__ in _PLAIN_LIBRARIES or issubclass(cls, functools.partial)
        fills = fills or not (own or plain)
        if info.memory is None:
            self.contained(x, fills)
        if reader(cls)[1]:
            besides = library_names(cls) | ({"__class__"} if own and not fills else set())
            fields = of_object if own else of_library
            self.by_names(x, fields, fills, _EVERY if counts_whole(cls) else besides)

    def contained(self, x: Any, fills: bool) -> None:
        """Look at what an object contains besides its attributes."""
        cls: Any = type(x)
        read = reader(cls)[0]
        if issubclass(cls, weakref.ref):
            self.weak.append((x, fills))
            return
        if read is None or cls.__bases__ != (object,):  # which may hold more than its base does
            self.hold(x, rest, fills)
            self.written_in_c(x, fills)
        if read is None:
            return
        if fills and cls is list:  # a library's books of who looks at something come and go
            self.push([y for y in x if issubclass(type(y), weakref.ref)], fills)
            read = strong
        self.hold(x, read, fills)

    def written_in_c(self, x: Any, fills: bool) -> None:
        """Look at the attributes of an object that are written in C."""
        cls: Any = type(x)
        if told(cls):
            changes = is_of_c(cls)
            self.by_names(x, of_extension, fills, _EVERY if changes else _NONE)
            if not changes:  # an hour asks its time zone, whatever code names
                found = of_extension(x).values()
                self.push([y for y in found if not is_library(type(y).__module__)], fills)


def _referent(ref: weakref.ref[Any]) -> Any:
    """Return what a weak reference leads to: of a method its object."""
    x = ref()
    return x.__self__ if isinstance(x, types.MethodType) else x


def _is_ours(cls: type) -> bool:
    """Tell whether it is a class of this library, whose values say themselves what they hold."""
    return str(cls.__module__).startswith("chainrules_") and not issubclass(cls, functools.partial)

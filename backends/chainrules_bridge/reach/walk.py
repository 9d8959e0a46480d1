"""Reach: what functions look up when they are called, as it was, and being differentiated.

What a rule states is called long after the call that it was recorded for. Between the two, people
may write to arrays that it captured, and give names, attributes and items another value. And a
tracer that comes in by a name, and not as an operand, has no cotangent: its gradient would be lost.

There is no list of ways to look something up. What code can come to is what the garbage collector
can come to from it, less what it has no name for: of a function's globals, and of the attributes of
objects, classes and modules, those count that some code among it names, or has as a text.
"""

from __future__ import annotations

import functools
import itertools
import types
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, final

from chainrules_bridge.reach.contents import (
    PLAIN,
    called_by_python,
    chosen,
    counts_whole,
    imported,
    is_closed,
    is_of_c,
    kept,
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
from chainrules_bridge.reach.objects import (
    MACHINERY,
    WHOLE,
    buffer_or_rest,
    pairs,
    reader,
    rest,
)
from chainrules_bridge.reach.ours import held_for_others
from chainrules_bridge.reach.places import (
    NOTHING,
    Path,
    Place,
    as_before,
    equal,
    finds,
    held,
    referent,
    shown,
    step,
    strong,
    written,
)
from chainrules_py import Primitive
from chainrules_py.extend import (
    Tracer,
    elements,
    holds_objects,
    inside,
    is_generator,
    is_library,
    may_draw,
    slots,
    type_info,
)

_MOST = 10_000
"""How many values are looked at; see `Reach.whole`."""
_SKIPPED, _LEAVES = (types.CodeType, types.FrameType, *PLAIN), {*PLAIN} - {str}
_MAKERS = {"__init__", "__post_init__", "__new__"}
"""Methods that give a new object its attributes, which is no change."""
_ROOT: Path = (None, "", frozenset())
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
_LASTING = (type, types.FunctionType, types.ModuleType, type(None))
"""What a weak reference may be to, and nobody asks whether it is there."""
_WAITING = {"Thread", "Executor"}
"""Classes whose objects are not compared, for they wait; arrays in them are."""
_NONE, _EVERY = frozenset[str](), frozenset({ANY})
_OF_MODULES = frozenset({"__getattr__"})  # which Python asks where a module lacks a name


class _Named(NamedTuple):
    """What is looked at by the names that are known of, which are still being found."""

    x: Any
    fields: Callable[[Any], dict[str, Any]]
    found: dict[str, Any]
    besides: frozenset[str]
    path: Path
    fills: bool
    taken: set[str]


@final
class Reach:
    """What can be looked up from some values, functions among them.

    Attributes
    ----------
    arrays : list
        What has memory to be watched over.
    closed : list
        What holds something in C, of which nobody can tell what it is.
    defined : list
        The classes, functions and modules of people.
    generators : list
        What draws random numbers.
    names : set of str
        Those that code has for attributes, with some that were known before.
    places : list of Place
        What holds something else.
    roots : iterable
        From where.
    varies, whole, writes : bool
        Whether some of these hold more than what somebody has defined by name. Whether that is
        all: the search ends at 10,000 values. Whether places count that code only writes to.
    stores : bool
        Whether attributes count that code only gives a value.
    weak : list
        What weak references alone lead to, but for code.
    """

    __slots__ = (
        "libraries", "_own", "arrays", "closed", "defined", "generators", "names", "places",
        "roots", "stores", "varies", "weak", "whole", "writes",
    )  # fmt: skip

    def __init__(
        self, roots: Iterable[Any], *, writes: bool = False, stores: bool = False, names: Any = ()
    ) -> None:
        self.roots, self.writes, self.stores = roots, writes, stores
        self.arrays: list[Any] = []
        self.closed: list[Any] = []
        self.defined: list[Any] = []
        self.generators: list[Any] = []
        self.places: list[Place] = []
        self.weak: list[Any] = []
        self.varies, self.whole = False, True
        self.libraries, self._own, self.names = set[str](), set[str](), {*names}
        Walk(self).over(roots)

    def __bool__(self) -> bool:
        return bool(self.arrays) or self.varies

    def lasts(self) -> bool:
        """Tell whether everything holds the same objects as before: another search finds this."""
        for place in self.places:
            if place.mark is not None and not as_before(held(place), place.before):
                return False
        return self.whole

    def may_draw(self) -> bool:
        """Tell whether there is code that may draw from generators that everybody shares."""
        named = "random" in self.names or ANY in self.names
        return named or not self.whole or any(map(may_draw, self.libraries))

    def changed(self) -> str | None:
        """Tell of the first place where there is something else by now; None if there is none."""
        for path, was, x in self._changes(own=False):
            return f"{written(path)} was {shown(was)} and is {shown(x)}"
        return None

    def written(self) -> Iterator[tuple[str, Any]]:
        """Yield where something is another by now, and it; by whomever it was changed."""
        return ((written(path), x) for path, _, x in self._changes(own=True))

    def values(self) -> Iterator[tuple[Path, Any]]:
        """Yield where each value was, and what it was."""
        for place in self.places:
            for key, x in pairs(place.before):
                yield step(place.path, place.mark, key), x

    def digest(self) -> int:
        """Return a sum of all numbers, texts and arrays, the same in each process."""
        plain = [(path, x) for path, x in self.values() if issubclass(type(x), PLAIN)]
        found = [f"{written(path)} {x!r}" for path, x in plain if not self.is_own(path)]
        memories = [(type_info(type(x)).memory, x) for x in self.arrays]
        found += [repr(memory.fingerprint(x, True)) for memory, x in memories if memory]
        return zlib.crc32("".join(sorted(found)).encode())

    def _changes(self, *, own: bool) -> Iterator[tuple[Path, Any, Any]]:
        """Yield where there is something else by now, what it was, and is.

        That is what matters to a rule; with ``own`` also what code changes itself, or by an equal.
        """
        for place in self.places:
            x, _, before, path, mark, fills = place
            now = before if mark is None else held(place)
            if as_before(now, before):
                continue
            before, now = dict(pairs(before)), dict(pairs(now))
            if mark is WHOLE:
                before, now = {None: frozenset(before)}, {None: frozenset(now)}
            for key in [*before, *[key for key in now if key not in before]]:
                was, is_now = before.get(key, NOTHING), now.get(key, NOTHING)
                ours = step(path, mark, key)
                if was is is_now or (not own and (equal(was, is_now) or self.is_own(ours))):
                    continue
                if was is NOTHING and (fills or finds(x, key)):
                    continue
                if not (fills and (was is None or is_now is NOTHING)):
                    yield ours, was, is_now
            orders = [k for k in before if k in now], [k for k in now if k in before]
            if mark == "[" and orders[0] != orders[1] and (own or not self.is_own(path)):
                was, is_now = [", ".join(map(shown, order)) for order in orders]
                yield (path, "", " (its order)"), was, is_now

    def is_own(self, path: Path) -> bool:
        """Tell whether the code changes what is here itself: counts, memories of what it knows."""
        names = []
        while path[0] is not None:
            names += [path[2]] if path[1] != "[" else []
            path = path[0]
        return any([name in self._own or name in path[2] for name in names])


class Walk:
    """Walk over all that can be reached, while the names are found that count.

    With ``most`` over that many values, and over all that objects hold, named or not.
    """

    def __init__(self, reach: Reach, most: int = 0) -> None:
        self.reach = reach
        self.all, self.most = bool(most), most or _MOST
        self.names, self.own = reach.names, reach._own
        self.named: list[_Named] = []
        self.seen: dict[int, Any] = {}  # which keeps ids from being given again
        self.waiting: list[tuple[Any, Path, bool]] = []
        self.weak: list[tuple[weakref.ref[Any], Path, bool]] = []

    def over(self, roots: Iterable[Any]) -> None:
        """Visit everything, each once, and note what it holds."""
        seen, reach = self.seen, self.reach
        self.push(((x, _ROOT) for x in roots), False)
        done = 0
        while done < len(self.waiting) or self.weakly():
            for x, path, fills in itertools.islice(self.waiting, done, None):  # it grows meanwhile
                done += 1
                if id(x) not in seen and reach.whole:
                    reach.whole = len(seen) < self.most
                    seen[id(x)] = x
                    self.visit(x, path, fills)
            for named in self.named:
                self.take(named)
        of_objects = of_object, of_library, of_extension
        reach.defined = [each.x for each in self.named if each.fields not in of_objects]
        for x, fields, found, besides, path, fills, _ in self.named:
            wanted = self.names | besides if besides else self.names
            before = chosen(fields, wanted, x, found)
            lacks = not self.own & self.names <= found.keys()  # what code gives it later
            cls: Any = type(x)
            grows = bool(cls.__dictoffset__ or slots(cls)) and not fills
            place = Place(x, functools.partial(chosen, fields, wanted), before, path, ".", fills)
            inherits = isinstance(x, type) and _inherits(x, wanted, found)
            self.note(place, grows if fields in of_objects else lacks or inherits)

    def weakly(self) -> bool:
        """Have visited what only weak references lead to, after all else, if there is any."""
        found = [(referent(ref), path, fills) for ref, path, fills in self.weak]
        self.weak.clear()
        found = [each for each in found if id(each[0]) not in self.seen]
        self.reach.weak += [x for x, *_ in found if not isinstance(x, _LASTING)]
        before = len(self.waiting)
        for x, path, fills in found:
            self.push([(x, path)], fills)
        return len(self.waiting) > before

    def note(self, place: Place, always: bool) -> None:
        """Keep a place where there may be something else, or ``always``."""
        stand = () if always else [_stands(*p, place.mark is None) for p in pairs(place.before)]
        always = always or self.reach.writes
        if always or not all(stand):
            self.reach.places.append(place)
            self.reach.varies = self.reach.varies or always or False in stand

    def push(self, found: Iterable[tuple[Any, Path]], fills: bool) -> None:
        """Have values visited later."""
        for x, path in found:
            cls = type(x)
            if cls is str:
                self.names |= {x, *named_in((x,))}
            elif issubclass(cls, Primitive) and x.__module__.startswith("chainrules_"):
                continue  # a word, whose body knows no value of a program
            elif cls not in _SKIPPED and id(x) not in self.seen:
                self.waiting.append((x, path, fills))

    def hold(
        self, x: Any, read: Callable[[Any], Any], path: Path, mark: str | None, fills: bool
    ) -> None:
        """Note what a value holds, and have that visited."""
        before = held((x, read))
        if mark == "[" and isinstance(before, dict):  # by which code may look up attributes
            self.names |= {key for key in before if type(key) is str}
        if not _LEAVES.issuperset(map(type, before if isinstance(before, tuple) else [self])):
            self.push([(y, step(path, mark, key)) for key, y in pairs(before)], fills)
        self.note(Place(x, read, before, path, mark, fills), bool(mark))

    def visit(self, x: Any, path: Path, fills: bool) -> None:
        """Look at one value, by what it is."""
        cls = type(x)
        if cls is types.FunctionType:
            self.function(x, fills)
        elif cls is types.ModuleType:
            if is_library(x.__name__):
                self.reach.libraries.add(x.__name__)
            else:
                self.by_names(x, of_module, path, fills, _OF_MODULES)
        elif issubclass(cls, type):
            if is_library(home := x.__module__):
                self.reach.libraries.update([home] if type(home) is str else ())
            else:
                self.by_names(x, members, path, fills, called_by_python(x) | library_names(x))
                self.push([(base, path) for base in (*x.__bases__, cls)], fills)
        else:
            self.object(x, cls, path, fills)

    def function(self, f: types.FunctionType, fills: bool) -> None:
        """Look at a function: what its code names, and has captured."""
        names = names_of(f)
        if names is NO_NAMES:
            self.reach.libraries.add(f.__globals__.get("__name__", ""))
        path = (None, f.__name__, names.own)
        self.names |= names.attributes
        if self.reach.stores:
            self.names |= names.stores
        if f.__name__ not in _MAKERS:
            self.own |= names.shared
            if "global" in names.assigned and not names.own <= f.__globals__.keys():
                self.reach.varies = True  # by a global that it will assign
            if self.reach.writes:
                self.names |= names.shared
                if "global" in names.assigned:
                    read: Any = lambda f: {n: f.__globals__.get(n) for n in names.own}
                    self.hold(f, read, path, "", fills)
        if names.imports:
            self.push([(x, (path, "", name)) for name, x in imported(f).items()], fills)
        self.hold(f, looked_up, path, None if names is NO_NAMES else "", fills)
        if f.__dict__ or self.reach.writes or names is not NO_NAMES:
            self.by_names(f, vars, (path, "", f.__name__), fills, library_names(object))

    def by_names(
        self,
        x: Any,
        fields: Callable[[Any], dict[str, Any]],
        path: Path,
        fills: bool,
        besides: frozenset[str] = _NONE,
    ) -> None:
        """Look at what somebody names, now or when the name is found."""
        named = _Named(x, fields, dict(fields(x)), besides, path, fills, set())
        self.named.append(named)
        self.take(named)

    def take(self, named: _Named) -> None:
        """Have those fields visited whose names are known by now."""
        x, _, found, besides, path, fills, taken = named
        listed = self.all or ATTRIBUTES in self.names
        every = ANY in self.names or ANY in besides or (listed and type(x) is not types.ModuleType)
        wanted = found if every else [n for n in found if n in self.names]
        for name in [*wanted, *[n for n in besides if n in found]]:
            if name not in taken:
                taken.add(name)
                self.push([(found[name], (path, ".", name))], fills)

    def object(self, x: Any, cls: type, path: Path, fills: bool) -> None:
        """Look at an object: its memory, what it contains, its attributes and its class."""
        see(cls)
        has_attributes, info = reader(cls)[1], type_info(cls)
        own, library = not is_library(cls.__module__), cls.__module__.partition(".")[0]
        if info.memory is not None:
            self.reach.arrays.append(x)
            if holds_objects(x):
                self.hold(x, elements, path, None, fills)
        elif is_generator(cls):
            self.reach.generators.append(x)
            return
        elif issubclass(cls, Tracer) or info.host is not None:
            return
        elif _is_ours(cls):
            self.hold(x, held_for_others, path, None, fills)
            return
        elif (info.is_array or info.is_number) and not own:
            if hasattr(cls, "__setitem__"):  # a record: a row of a table
                self.hold(x, buffer_or_rest(x)[0], path, "", fills)
            return
        waits = not own and not _WAITING.isdisjoint([base.__name__ for base in cls.__mro__])
        if waits or (library == "threading" and not self.reach.stores):  # no rule's business
            self.reach.arrays += [y for y in inside(x) if type_info(type(y)).memory is not None]
            return
        if library in MACHINERY:
            return
        if own:
            self.push([(cls, path)], fills)
        else:
            self.reach.libraries.add(cls.__module__)
        if is_closed(cls) and not fills and not kept(x):  # what a library keeps so is its own
            self.reach.closed.append(x)
        plain = cls.__module__ in _PLAIN_LIBRARIES or issubclass(cls, functools.partial)
        fills = fills or not (own or plain)
        if info.memory is None:
            self.contained(x, path, fills)
        if has_attributes:
            besides = library_names(cls) | ({"__class__"} if own and not fills else set())
            fields, whole = of_object if own else of_library, counts_whole(cls)
            self.by_names(x, fields, path, fills, _EVERY if whole else besides)

    def contained(self, x: Any, path: Path, fills: bool) -> None:
        """Look at what an object contains besides its attributes."""
        cls: Any = type(x)
        kind = reader(cls)[0]
        if kind is None:
            read, mark = buffer_or_rest(x)
            # The frame of a generator goes on, and a memory says the same of what it knows later.
            goes_on = hasattr(cls, "__next__") or issubclass(cls, functools._lru_cache_wrapper)
            compared = read is rest and is_library(cls.__module__) and not goes_on and rest(x)
            self.hold(x, read, path, "" if compared else mark, fills)
            if read is not rest:  # what its bytes point to
                self.push([(y, path) for y in rest(x)], fills)
            self.written_in_c(x, path, fills)
            return
        if issubclass(cls, weakref.ref):
            self.weak.append((x, path, fills))
            self.note(Place(x, kind.read, kind.read(x), path, kind.mark, fills), False)
            return
        if cls.__bases__ != (object,):  # which may hold more than its base does
            self.push([(y, path) for y in rest(x)], fills)
            self.written_in_c(x, path, fills)
        read = kind.read
        if fills and cls is list:  # a library's books of who looks at something come and go
            self.push([(y, path) for y in x if issubclass(type(y), weakref.ref)], fills)
            read = strong
        self.hold(x, read, path, kind.mark, fills)

    def written_in_c(self, x: Any, path: Path, fills: bool) -> None:
        """Look at what an object holds in C: what it tells by name, or else to `pickle`."""
        cls: Any = type(x)
        changes = is_of_c(cls)
        if told(cls):
            self.by_names(x, of_extension, path, fills, _EVERY if changes else _NONE)
            if not changes:  # an hour asks its time zone, whatever code names
                found = [y for y in of_extension(x).values() if not is_library(type(y).__module__)]
                self.push([(y, path) for y in found], fills)
        if changes and reader(cls)[0] is None and kept(x):
            self.hold(x, kept, path, "", fills)


def _is_ours(cls: type) -> bool:
    """Tell whether it is a class of this library, whose values say themselves what they hold."""
    return str(cls.__module__).startswith("chainrules_") and not issubclass(cls, functools.partial)


def _inherits(cls: type, wanted: set[str], found: dict[str, Any]) -> bool:
    """Tell whether a class has values from its bases, in place of which it may get its own."""
    held = [each for base in cls.__mro__[1:-1] for each in vars(base).items()]
    lacking = [(n, y) for n, y in held if n not in found and (n in wanted or ANY in wanted)]
    return any([_stands(n, y) is False for n, y in lacking])


def _stands(name: Any, value: Any, always: bool = False) -> bool | None:
    """Tell whether something stands under a name for good, as what libraries define does.

    None of what somebody has defined under the name, and seldom defines again. With ``always``
    nothing is put in its place, so that all code stands for good, and what is plain.
    """
    cls = type(value)
    if always:
        return issubclass(cls, (*_DEFINED, *_SKIPPED))
    if cls is types.ModuleType:
        return is_library(value.__name__) or None
    if issubclass(cls, _DESCRIPTORS):
        return None
    if not issubclass(cls, _DEFINED) and not (callable(value) and is_library(cls.__module__)):
        return False
    if getattr(value, "__name__", None) != name:
        return False
    return is_library(getattr(value, "__module__", None) or cls.__module__) or None


_DESCRIPTORS: tuple[type, ...] = (property, classmethod, staticmethod, functools.cached_property)
_DESCRIPTORS += types.GetSetDescriptorType, types.MemberDescriptorType
_DEFINED = (types.FunctionType, types.BuiltinFunctionType, type, Primitive, types.ModuleType)

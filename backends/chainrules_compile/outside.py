"""Outside: what is the same at each call of a program, and what a function may not leave there.

A function that is recorded runs on noted values. What it changes outside is put back as it was, as
the function itself is run next; and a noted value that lives on anywhere but in a result is one
that would be another at the next call.
"""

from __future__ import annotations

import gc
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, final

import numpy as np

from chainrules_compile.alike import PLAIN, bits_of, is_cached
from chainrules_compile.errors import MISS, RecordingError, Unfit
from chainrules_py import Primitive
from chainrules_py.extend import (
    Cache,
    Mode,
    attributes,
    describe,
    entries,
    is_library,
    type_info,
    written,
)

RULES = Cache()
"""Another table, after any rule was stated of a primitive that somebody has asked about."""
_NOTHING = object()
_MOST = 1_000_000
"""How many elements a captured array has at most of which a copy is kept for a while."""


@final
class Known:
    """Rules and modes that a program was recorded with."""

    __slots__ = ("modes", "rules", "table")

    def __init__(self) -> None:
        self.table: Any = RULES.open()
        self.modes = modes()
        self.rules: list[tuple[Primitive[..., Any], Any]] = []

    def hold(self, words: Iterable[Primitive[..., Any]]) -> None:
        """Note what is stated of the words that were called."""
        self.rules = [(word, word.stated) for word in words]

    def differ(self) -> bool:
        """Tell whether other rules or modes hold by now."""
        if RULES.table is not self.table:
            table = RULES.open()
            if any([word.stated is not rules for word, rules in self.rules]):
                return True
            self.table = table
        return Mode.used and modes() != self.modes

    def lines(self, scope: Any) -> list[str]:
        """Return the statement that returns ``MISS`` where they do."""
        rules, mode = scope.name(RULES, "rules"), scope.name(Mode, "Mode")
        known, miss = scope.name(self, "known"), scope.name(MISS, "MISS")
        scope.tests.append(self.differ)
        test = f"({rules}.table is not {known}.table or {mode}.used) and {known}.differ()"
        return [f"if {test}:\n        return {miss}"]


def modes() -> list[bool]:
    """Return what holds here: whether it is strict, and whether there is a trap for NaN."""
    return [mode.get() for mode in Mode.every]


# ---------------------------------------------------------------------------- what is left outside


@final
class State:
    """What values hold that a function can come to, as it was before it was recorded."""

    def __init__(self, places: Iterable[Any], arrays: Iterable[Any]) -> None:
        places = [*places]
        self._records = [
            (place.x, place.x.copy()) for place in places if isinstance(place.x, np.void)
        ]
        self._places = [
            (place, entries(place))
            for place in places
            if place.mark is not None and not place.fills and not _is_ours(place.x)
        ]
        self._arrays = [
            (x, memory, _marks(x, memory), x.copy() if x.size <= _MOST else None)
            for x in arrays
            if (memory := None if hasattr(x, "recorder") else type_info(type(x)).memory) is not None
            and hasattr(x, "copy")
        ]

    def changes(self) -> Iterator[tuple[Any, Any, Any]]:
        """Yield what holds something else by now: its place, the key, and what it held."""
        for place, before in self._places:
            now = entries(place)
            for key in [*before, *[key for key in now if key not in before]]:
                was = before.get(key, _NOTHING)
                if was is not (found := now.get(key, _NOTHING)) and not _equal(was, found):
                    yield place, key, was

    def changed(self) -> list[str]:
        """Return how the code writes what was changed."""
        told = [shown(place, key) for place, key, _ in self.changes()]
        written = any([_marks(x, memory) != before for x, memory, before, _ in self._arrays])
        return [*dict.fromkeys(told), *(["an array that it captured"] if written else [])]

    def put_back(self) -> None:
        """Put everything back as it was."""
        for place, key, was in list(self.changes()):
            _put_back(place, key, was, self._held(place))
        for x, record in self._records:
            if x.tobytes() != record.tobytes():
                for name in x.dtype.names or ():
                    x[name] = record[name]
        for x, memory, before, kept in self._arrays:
            _lay_back(x, before[1:])
            if kept is not None and _marks(x, memory) != before and x.flags.writeable:
                x[...] = kept

    def _held(self, place: Any) -> Any:
        return next([*before.values()] for known, before in self._places if known is place)


_LAYOUT = ("dtype", "shape", "strides")
"""What of an array of NumPy's a program may assign, in the order in which it is put back."""


def _marks(x: Any, memory: Any) -> tuple[Any, ...]:
    """Return what tells whether an array was written to, and what tells how it lies in memory."""
    return (memory.fingerprint(x, True), *[getattr(x, name, None) for name in _LAYOUT])


def _lay_back(x: Any, layout: tuple[Any, ...]) -> None:
    """Have an array lie in memory as it did.

    Raises
    ------
    RecordingError
        If NumPy does not let it: what owns less memory than before takes no longer strides.
    """
    for name, was in zip(_LAYOUT, layout, strict=True):
        if getattr(x, name, None) == was:
            continue
        try:
            with warnings.catch_warnings():  # NumPy will not let them be assigned for ever
                warnings.simplefilter("ignore", DeprecationWarning)
                setattr(x, name, was)
        except (AttributeError, TypeError, ValueError) as error:
            msg = (
                f"the function assigns x.{name} of an array that it captured, {describe(x)}, which "
                f"cannot be undone; assign it to a view: x = x.view(); x.{name} = ..."
            )
            raise RecordingError(msg) from error


def _is_ours(x: Any) -> bool:
    """Tell whether a value is of this library, which knows itself what it remembers."""
    return str(type(x).__module__).startswith("chainrules_")  # of Cython's classes it is no text


def _equal(x: Any, y: Any) -> bool:
    return type(x) is type(y) and type(x) in PLAIN and bits_of(x) == bits_of(y)


def shown(place: Any, key: Any) -> str:
    """Return how the code writes a place; of a list or a set itself."""
    if place.mark in (".", "") and isinstance(key, str):
        return written((place.path, place.mark, key)).lstrip(".") or "what it captured"
    if isinstance(place.x, dict):
        return written((place.path, "[", key)).lstrip(".")
    return written(place.path).lstrip(".") or f"a {type(place.x).__name__}"


def _put_back(place: Any, key: Any, was: Any, held: list[Any]) -> None:
    x: Any = place.x
    if isinstance(x, types.FunctionType) and place.mark != ".":
        _put_name_back(x, key, was)
    elif isinstance(x, types.CellType):
        x.cell_contents = was
    elif isinstance(x, dict):
        if was is _NOTHING:
            dict.pop(x, key, None)
        else:
            dict.__setitem__(x, key, was)
    elif isinstance(x, list):
        list.__setitem__(x, slice(None), held)
    elif isinstance(x, (set, deque)):
        x.clear()
        (x.update if isinstance(x, set) else x.extend)(held)
    elif isinstance(key, str) and key.isidentifier():
        write: Any = type.__setattr__ if isinstance(x, type) else object.__setattr__
        remove: Any = type.__delattr__ if isinstance(x, type) else object.__delattr__
        if was is _NOTHING:
            remove(x, key)
        else:
            write(x, key, was)


def _put_name_back(f: types.FunctionType, name: str, was: Any) -> None:
    if name in f.__code__.co_freevars:
        cell = (f.__closure__ or ())[f.__code__.co_freevars.index(name)]
        if was is _NOTHING:
            del cell.cell_contents
        else:
            cell.cell_contents = was
    elif was is _NOTHING:
        f.__globals__.pop(name, None)
    elif name in f.__globals__:
        f.__globals__[name] = was


# ------------------------------------------------------------------------- arguments that are kept


class Contents:
    """What the containers hold in which a function is given noted values, as it was."""

    def __init__(self, given: Iterable[tuple[str, Any]]) -> None:
        self._held: list[tuple[str, Any, tuple[Any, ...]]] = []
        for path, x in given:
            self._look(path, x)

    def _look(self, path: str, x: Any) -> None:
        held = contents(x)
        if held is not None:
            self._held.append((path, x, held))
            for y in held:
                self._look(path, y)

    def changed(self) -> str | None:
        """Return the name of an argument that holds something else by now."""
        for path, x, before in self._held:
            now = contents(x) or ()
            same = len(now) == len(before)
            if not same or any([a is not b for a, b in zip(now, before, strict=True)]):
                return path
        return None


def contents(x: Any) -> tuple[Any, ...] | None:
    """Return what a container or an object of people's holds; None for what holds nothing.

    What a cached property keeps is no change: whoever is without it computes it.
    """
    cls = type(x)
    if cls in PLAIN or hasattr(cls, "payload_type"):
        return None
    if isinstance(x, dict):
        return (*dict.keys(x), *dict.values(x), *getattr(x, "__dict__", {}).values())
    if isinstance(x, (list, tuple, deque)):
        return (*x, *getattr(x, "__dict__", {}).values())
    if isinstance(x, (type, types.FunctionType, types.ModuleType)) or is_library(cls.__module__):
        return None
    found = {name: y for name, y in attributes(x).items() if not is_cached(cls, name)}
    return (*found, *found.values())


# ------------------------------------------------------------------------------------ what lives on


def refuse_living(find: Callable[[], list[Any]]) -> None:
    """Raise if noted values live on, of which nobody ought to know any more.

    Raises
    ------
    Unfit
        With what has one.
    """
    if not find():
        return
    gc.collect()  # what stood in a cycle
    found = find()
    if found:
        holder = holder_of(found[0], found)
        msg = (
            f"a value that is computed lives on after the call{holder}; return it, as an array, a "
            f"number, or in a tuple, list, dict or dataclass of them"
        )
        raise Unfit(msg)


def holder_of(x: Any, besides: Any) -> str:
    """Return a text that says what has a value."""
    for holder in gc.get_referrers(x):
        cls = type(holder)
        if holder is not besides and cls is not types.FrameType and cls.__name__ != "Reading":
            owner = holder
            if cls is dict:
                having = [
                    y for y in gc.get_referrers(holder) if getattr(y, "__dict__", 0) is holder
                ]
                owner = having[0] if having else holder
            return f", in a {type(owner).__qualname__}"
    return ""


def is_lasting(x: Any) -> bool:
    """Tell whether a result may be the same object at each call: it is plain, or never changes."""
    cls = type(x)
    if isinstance(x, slice):
        return all(map(is_lasting, (x.start, x.stop, x.step)))
    if isinstance(x, frozenset):
        return all(map(is_lasting, x))
    if isinstance(x, type) or cls in PLAIN or x is NotImplemented:
        return True
    if hasattr(cls, "__next__") or callable(x) or not is_library(cls.__module__):
        return False
    by_value: Any = cls.__hash__
    return cls.__module__.startswith("chainrules_") or by_value not in (None, object.__hash__)

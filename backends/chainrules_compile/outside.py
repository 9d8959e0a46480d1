"""Outside: what is the same at each call of a program, and what a function may not leave there.

A function that is recorded runs on noted values. One that lives on anywhere but in a result is one
that would be another at the next call.
"""

from __future__ import annotations

import gc
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, final

from chainrules_compile.alike import PLAIN, is_cached
from chainrules_compile.errors import MISS, Unfit
from chainrules_py import Primitive
from chainrules_py.extend import (
    Cache,
    Mode,
    attributes,
    is_library,
)

RULES = Cache()
"""Another table, after any rule was stated of a primitive that somebody has asked about."""


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
    if isinstance(x, type):  # and is not made in the function
        home = x.__module__
        return is_library(home) or member(sys.modules.get(home), x.__qualname__) is x
    if cls in PLAIN or x is NotImplemented:
        return True
    if hasattr(cls, "__next__") or callable(x) or not is_library(cls.__module__):
        return False
    by_value: Any = cls.__hash__
    return cls.__module__.startswith("chainrules_") or by_value not in (None, object.__hash__)


def member(home: Any, path: str) -> Any:
    """Return what a module has under a name with dots; None if it has not."""
    for name in path.split("."):
        home = getattr(home, name, None)
    return home

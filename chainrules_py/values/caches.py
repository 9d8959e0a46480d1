"""Caches of facts about classes and functions, and when they are cleared.

Facts about classes and functions are computed once and cached. The caches are cleared when a class
is registered, since that may change the facts. They would also keep alive every class that a
function creates, so they are cleared when they hold too many temporary classes; facts about the
others are computed again.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

_tables: list[Callable[[], Iterable[Any]]] = []
_forgetting: list[Callable[[], None]] = []
named: list[type] = [types.FunctionType]
"""Classes of objects that are found by module and name."""
HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
"""The flag of classes that are created while a program runs, such as those of Python code."""
_MOST = 2048
"""The most entries before the caches are cleared."""


class News:
    """Entries since the caches were last cleared; one that is a temporary class counts as eight."""

    entries = 0


def forgets(tables: Callable[[], Iterable[Any]]) -> Any:
    """Register a function that lists caches to clear: dicts, sets, and cached functions.

    Their keys are classes and functions, or tuples with these. A cache may be cleared at any time,
    so iterate over a copy.
    """
    _tables.append(tables)
    return tables


def on_registration(forget: Callable[[], None]) -> None:
    """Have a function called whenever a class is registered, to clear a cache of its own."""
    _forgetting.append(forget)


def forget_all() -> None:
    """Clear all caches after a class was registered."""
    for forget_those in _forgetting:
        forget_those()
    forget()


def forget() -> None:
    """Clear all tables, whose keys may be classes and functions that are no longer used."""
    News.entries = 0
    for table in [table for tables in _tables for table in tables()]:
        (table.cache_clear if hasattr(table, "cache_clear") else table.clear)()


def entering(x: Any, weight: int = 8) -> None:
    """Count what enters a cache, and clear the caches when they hold too many temporary things."""
    if not is_lasting(x):
        filling(weight)


def filling(weight: int = 1) -> None:
    """Count an entry of a table, and clear the caches when there are too many."""
    News.entries += weight
    if News.entries >= _MOST:
        forget()


def is_lasting(x: Any) -> bool:
    """Return whether an object is permanent: a class or function that its module has by its name.

    Examples
    --------
    >>> is_lasting(float), is_lasting(is_lasting), is_lasting(lambda: None)
    (True, True, False)
    """
    if isinstance(x, type):
        if not x.__flags__ & HEAP_TYPE:
            return True
        for base in x.__mro__:  # classes of tangents and tracers live as long as their primal class
            made_for = base.__dict__.get("__made_for__") or base.__dict__.get("__dispatch_type__")
            if made_for is not None:
                return made_for is not x and is_lasting(made_for)
    elif not isinstance(x, tuple(named)):
        return True
    found = found_by_name(x)
    # A library may keep its own object under another name.
    file = getattr(sys.modules.get(x.__module__ or ""), "__file__", None) or ""
    return found is x or (
        found is None and "-packages" in file and "<locals>" not in x.__qualname__
    )


def found_by_name(x: Any) -> Any:
    """Return what its module has under an object's name, or None."""
    found: Any = sys.modules.get(getattr(x, "__module__", None) or "")
    for name in getattr(x, "__qualname__", "").split("."):
        found = getattr(found, "__dict__", {}).get(name)
    return found

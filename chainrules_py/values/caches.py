"""Caches of facts about classes and functions, and when they are cleared.

Facts about classes and functions are computed once and cached. The caches are cleared when a class
is registered, since that may change the facts. They would also keep alive every class that a
function creates, so they are cleared when they hold too many temporary classes; facts about the
others are computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from chainrules_py.values.pickling_by_name import is_lasting

_tables: list[Callable[[], Iterable[Any]]] = []
_forgetting: list[Callable[[], None]] = []
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


def entering(cls: type) -> None:
    """Count a class that enters a cache, and clear the caches when there are too many."""
    if not is_lasting(cls):
        filling(8)


def filling(weight: int = 1) -> None:
    """Count an entry of a table, and clear the caches when there are too many."""
    News.entries += weight
    if News.entries >= _MOST:
        forget()

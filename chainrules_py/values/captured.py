"""Captured tracers: differentiated values that a function uses by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from chainrules_py.values.arrays import Tracer
from chainrules_py.values.members import parts_of
from chainrules_py.values.tracers import leaves_of


def captured(
    functions: Iterable[Any], level: int = 0, is_it: Callable[[Any], bool] | None = None
) -> list[str]:
    """List the names under which functions captured tracers of a level or above.

    ``is_it`` selects the values instead, for engines whose traced values are no `Tracer`.
    """
    found = is_it or (lambda x: isinstance(x, Tracer) and x.level >= level)
    owners: dict[str, list[str]] = {}
    waiting = list(functions)
    for f in waiting:  # functions that a function captured count as its own
        own = getattr(f, "__name__", "")
        for name, x in parts_of(f):
            if callable(x) and not isinstance(x, Tracer) and not any([x is g for g in waiting]):
                waiting.append(x)
            for leaf in leaves_of(x):
                if found(leaf) and own not in (by := owners.setdefault(name, [])):
                    by.append(own)
    return [f"{name} (captured by {', '.join(by)})" for name, by in owners.items()]


def in_operations(names: Iterable[str]) -> str:
    """Join the names that `captured` lists; an object or a partial adds no function's name."""
    shown = [x.removesuffix(" (captured by )").lstrip(".") or "a value" for x in names]
    return " and ".join(shown) or "a value"

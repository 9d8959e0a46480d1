"""Tables with labels: no arrays of a library, but with numbers that become one.

Beside what is traced they are the arrays of their values, and their labels are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from chainrules_py.values.structure import structure_of

tables: dict[type, Callable[[Any], Any]] = {}
"""By the class of a table, what gives the array of its numbers."""


def register_table(cls: type, numbers: Callable[[Any], Any]) -> None:
    """Say that instances of a class, or of its subclasses, count as ``numbers(x)``, an array."""
    tables[cls] = numbers


def is_table(cls: type) -> bool:
    """Whether instances of a class count as arrays; what speaks for its library is loaded."""
    structure_of(cls)
    return bool(tables) and any([base in tables for base in cls.__mro__])


def as_array(x: Any) -> Any:
    """Return the array of a table's numbers, and anything else as it is."""
    return next((tables[base](x) for base in type(x).__mro__ if base in tables), x)


def as_arrays(xs: Iterable[Any]) -> list[Any]:
    """Return values with the arrays of tables for these: nothing is called for the others."""
    classes = tuple(tables)
    return [as_array(x) if isinstance(x, classes) else x for x in xs]

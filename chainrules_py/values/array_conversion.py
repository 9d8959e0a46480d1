"""Values that count as arrays beside traced values, though no library has registered their class.

A labelled table counts as the array of its values; its labels are dropped. Sequences, buffers and
objects with NumPy's protocols count as the arrays that a library converts them to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from chainrules_py.values.structure import structure_of
from chainrules_py.values.type_info import type_info

tables: dict[type, Callable[[Any], Any]] = {}
"""Functions from a table to the array of its numbers, by the class of the table."""


def register_table(cls: type, numbers: Callable[[Any], Any]) -> None:
    """Declare that instances of a class and its subclasses count as the array ``numbers(x)``."""
    tables[cls] = numbers


def is_table(cls: type) -> bool:
    """Return whether instances count as arrays, or as the numbers that their class derives from."""
    structure_of(cls)  # loads the backend of its library
    info = type_info(cls)
    if issubclass(cls, (int, float, complex)) and info.base is None and not info.is_plain_number:
        return True
    return bool(tables) and any([base in tables for base in cls.__mro__])


def as_array(x: Any) -> Any:
    """Return the array of a table's numbers, or the Python number; anything else unchanged."""
    cls = type(x)
    if is_table(cls):
        reads = tables | {k: vars(k)[f"__{k.__name__}__"] for k in (int, float, complex)}
        return next(reads[base](x) for base in cls.__mro__ if base in reads)
    return x


def as_arrays(xs: Iterable[Any]) -> list[Any]:
    """Replace tables among values by their arrays; nothing is called for the others."""
    classes = tuple(tables)
    return [as_array(x) if isinstance(x, classes) else x for x in xs]


def _known(cls: type) -> bool:
    structure_of(cls)  # loads the backend of its library
    info = type_info(cls)
    return info.is_array or info.is_number or info.host is not None


def is_asked(cls: type) -> bool:
    """Return whether instances are not arrays, but implement ``__array_ufunc__`` themselves."""
    return not _known(cls) and not is_table(cls) and hasattr(cls, "__array_ufunc__")


_READ = ("__array__", "__array_interface__", "__array_struct__", "__buffer__")


def is_read(cls: type) -> bool:
    """Return whether libraries convert instances to arrays: lists, ranges, buffers, ..."""
    if _known(cls) or issubclass(cls, (str, bytes, dict)) or hasattr(cls, "__array_ufunc__"):
        return False
    sequence = hasattr(cls, "__getitem__") and hasattr(cls, "__len__")
    reads = sequence or any([hasattr(cls, name) for name in _READ])
    return reads and not getattr(cls, "__array_priority__", 0) > 0

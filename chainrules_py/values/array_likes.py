"""What counts as an array beside what is traced, though no library has registered it.

Tables with labels are the arrays of their values, and their labels are dropped. Sequences, buffers
and what has NumPy's protocols are the arrays that a library reads them as.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from chainrules_py.values.structure import structure_of
from chainrules_py.values.type_info import type_info

tables: dict[type, Callable[[Any], Any]] = {}
"""By the class of a table, what gives the array of its numbers."""


def register_table(cls: type, numbers: Callable[[Any], Any]) -> None:
    """Say that instances of a class, or of its subclasses, count as ``numbers(x)``, an array."""
    tables[cls] = numbers


def is_table(cls: type) -> bool:
    """Whether instances count as arrays, or as the numbers that their class derives from."""
    structure_of(cls)  # what speaks for its library is loaded
    info = type_info(cls)
    if issubclass(cls, (int, float, complex)) and info.base is None and not info.is_plain_number:
        return True
    return bool(tables) and any([base in tables for base in cls.__mro__])


def as_array(x: Any) -> Any:
    """Return the array of a table's numbers, or Python's number; anything else as it is."""
    cls = type(x)
    if is_table(cls):
        reads = tables | {k: vars(k)[f"__{k.__name__}__"] for k in (int, float, complex)}
        return next(reads[base](x) for base in cls.__mro__ if base in reads)
    return x


def as_arrays(xs: Iterable[Any]) -> list[Any]:
    """Return values with the arrays of tables for these: nothing is called for the others."""
    classes = tuple(tables)
    return [as_array(x) if isinstance(x, classes) else x for x in xs]


def _known(cls: type) -> bool:
    structure_of(cls)  # what speaks for its library is loaded
    info = type_info(cls)
    return info.is_array or info.is_number or info.host is not None


def is_asked(cls: type) -> bool:
    """Whether instances are no arrays, and say by themselves what NumPy's functions do of them."""
    return not _known(cls) and not is_table(cls) and hasattr(cls, "__array_ufunc__")


_READ = ("__array__", "__array_interface__", "__array_struct__", "__buffer__")


def is_read(cls: type) -> bool:
    """Whether a library reads instances of a class as arrays: lists, ranges, buffers, ..."""
    if _known(cls) or issubclass(cls, (str, bytes, dict)) or hasattr(cls, "__array_ufunc__"):
        return False
    sequence = hasattr(cls, "__getitem__") and hasattr(cls, "__len__")
    reads = sequence or any([hasattr(cls, name) for name in _READ])
    return reads and not getattr(cls, "__array_priority__", 0) > 0

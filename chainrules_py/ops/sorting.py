"""Sorting operations."""

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Array

__all__ = ["argsort", "partition", "sort"]


@primitive
def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Sort the elements along an axis, in ascending order by default."""


argsort = sort.alike("argsort", "Return the places that `sort` takes the elements from.")


@primitive
def partition(x: Array, /, *, kth: int | tuple[int, ...], axis: int = -1) -> Any:
    """Reorder elements along an axis: those at kth as if sorted, lesser ones before them."""

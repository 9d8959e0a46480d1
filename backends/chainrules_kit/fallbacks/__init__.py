"""Fallbacks for operations that the array-API standard lacks, written in its functions.

They serve libraries without implementations of their own, so that registering a namespace is enough
to support a library. A library that needs speed implements the operation. NumPy functions beyond
the operations are written in operations in `chainrules_kit.fallbacks.composites`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from chainrules_py import Primitive

__all__ = ["in_operations"]


def in_operations(table: Mapping[Primitive[..., Any], Callable[..., Any]]) -> None:
    """Register for each of several operations how other operations compute it."""
    for operation, computed in table.items():
        operation.fallback(computed)

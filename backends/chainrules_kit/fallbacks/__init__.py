"""Operations that the array-API standard has no function for, in words that it has.

They serve libraries that say nothing else, so that registering a namespace is enough to bring one.
None is as fast as what a library can do itself: one that minds implements the operation. What NumPy
has beside the operations is written in them in `chainrules_kit.fallbacks.composites`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from chainrules_py import Primitive

__all__ = ["in_operations"]


def in_operations(table: Mapping[Primitive[..., Any], Callable[..., Any]]) -> None:
    """Say for each of several operations how other operations compute it."""
    for operation, computed in table.items():
        operation.fallback(computed)

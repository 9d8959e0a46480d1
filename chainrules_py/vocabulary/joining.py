"""Words that join arrays."""

from __future__ import annotations

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.arrays import Array, Numeric

__all__ = ["concat", "stack"]


@primitive
def concat(*arrays: Array, axis: int | None = 0) -> Any:
    """Arrays one after the other along an axis they have; flattened first if it is None."""


@primitive
def stack(*arrays: Numeric, axis: int = 0) -> Any:
    """Arrays of one shape one after the other along a new axis."""

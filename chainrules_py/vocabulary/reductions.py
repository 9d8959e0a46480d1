"""Words that reduce along axes."""

from __future__ import annotations

from typing import Any

from chainrules_py.arrays import Numeric
from chainrules_py.primitive import primitive

__all__ = ["sum"]


@primitive
def sum(x: Numeric, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
    """The sum along axes, of all elements by default."""

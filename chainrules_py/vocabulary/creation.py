"""Words that make arrays on the device, and in the library, of another."""

from __future__ import annotations

from typing import Any

from chainrules_py.arrays import Numeric
from chainrules_py.primitive import primitive

__all__ = ["full_like"]


@primitive
def full_like(x: Numeric, /, *, shape: tuple[int, ...], fill: complex, dtype: Any = None) -> Any:
    """An array of this shape filled with one number, where x lives, of x's dtype by default.

    Of x only library, device and dtype count, so no derivative flows to it.
    """

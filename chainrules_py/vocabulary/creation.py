"""Words that make arrays on the device, and in the library, of another.

Of the operand only library, device and dtype (and, where no shape is given, shape) count, so no
derivative flows to it.
"""

from __future__ import annotations

from typing import Any

from chainrules_py.arrays import Array
from chainrules_py.primitive import primitive

__all__ = ["arange_like", "eye_like", "full_like", "ones_like", "zeros_like"]


@primitive
def full_like(x: Array, /, *, shape: tuple[int, ...], fill: complex, dtype: Any = None) -> Any:
    """An array of this shape filled with one number, where x lives, of x's dtype by default.

    Of x only library, device and dtype count, so no derivative flows to it.
    """


@primitive
def zeros_like(x: Array, /, *, dtype: Any = None) -> Any:
    """Zeros in the shape of x."""


@primitive
def ones_like(x: Array, /, *, dtype: Any = None) -> Any:
    """Ones in the shape of x."""


@primitive
def arange_like(x: Array, /, *, stop: int, start: int = 0, step: int = 1) -> Any:
    """The integers from start to before stop, where x lives: what indexes an axis."""


@primitive
def eye_like(
    x: Array, /, *, rows: int, columns: int | None = None, diagonal: int = 0, dtype: Any = None
) -> Any:
    """Ones on a diagonal and zeros elsewhere, where x lives, of x's dtype by default."""

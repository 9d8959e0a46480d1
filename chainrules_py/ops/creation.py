"""Operations that make arrays.

Of the operand of those that end in ``_like`` only library, device and dtype (and, where no shape is
given, shape) count, so no derivative flows to it.
"""

from __future__ import annotations

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.arrays import Array, Numeric

__all__ = [
    "arange_like",
    "eye_like",
    "full_like",
    "geomspace",
    "linspace",
    "ones_like",
    "zeros_like",
]


@primitive
def full_like(x: Array, /, *, shape: tuple[int, ...], fill: complex, dtype: Any = None) -> Any:
    """Fill an array of this shape with one number, where x lives, of x's dtype by default.

    Of x only library, device and dtype count, so no derivative flows to it.
    """


@primitive
def zeros_like(x: Array, /, *, shape: tuple[int, ...] | None = None, dtype: Any = None) -> Any:
    """Zeros in the shape of x, or another, where x lives."""


@primitive
def ones_like(x: Array, /, *, dtype: Any = None) -> Any:
    """Ones in the shape of x."""


@primitive
def arange_like(x: Array, /, *, stop: int, start: int = 0, step: int = 1) -> Any:
    """Return the integers from start to before stop, where x lives: indices along an axis."""


@primitive
def eye_like(
    x: Array, /, *, rows: int, columns: int | None = None, diagonal: int = 0, dtype: Any = None
) -> Any:
    """Ones on a diagonal and zeros elsewhere, where x lives, of x's dtype by default."""


@primitive
def linspace(
    start: Numeric, stop: Numeric, /, *, num: int, endpoint: bool = True, axis: int = 0
) -> Any:
    """Numbers at equal distances from start to stop, on a new axis; the last is stop, or before."""


@primitive
def geomspace(
    start: Numeric,
    stop: Numeric,
    /,
    *,
    num: int,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Numbers at equal ratios from start to stop, on a new axis; the last is stop, or before."""

"""Operations that create arrays.

Operations that end in ``_like`` use only the library, device and dtype of their operand, and its
shape if none is passed, so no derivative flows to it.
"""

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Array, Numeric

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
    """Fill an array of this shape with one number, on x's device, of x's dtype by default.

    Only the library, device and dtype of x are used, so no derivative flows to it.
    """


@primitive
def zeros_like(x: Array, /, *, shape: tuple[int, ...] | None = None, dtype: Any = None) -> Any:
    """Make zeros on the device of x, in its shape or another."""


@primitive
def ones_like(x: Array, /, *, dtype: Any = None) -> Any:
    """Make ones in the shape of x."""


@primitive
def arange_like(x: Array, /, *, stop: int, start: int = 0, step: int = 1) -> Any:
    """Make the integers from start to before stop, on the device of x: indices along an axis."""


@primitive
def eye_like(
    x: Array, /, *, rows: int, columns: int | None = None, diagonal: int = 0, dtype: Any = None
) -> Any:
    """Make ones on a diagonal and zeros elsewhere, on x's device, of x's dtype by default."""


@primitive
def linspace(
    start: Numeric, stop: Numeric, /, *, num: int, endpoint: bool = True, axis: int = 0
) -> Any:
    """Space numbers evenly from start to stop, on a new axis; without stop if not ``endpoint``."""


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
    """Space numbers geometrically from start to stop, on a new axis; see `linspace`."""

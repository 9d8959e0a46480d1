"""Words that rearrange elements, or change what they are stored as."""

from __future__ import annotations

from typing import Any

from chainrules_py.arrays import Array, Numeric
from chainrules_py.primitive import primitive

__all__ = ["astype", "broadcast_to", "expand_dims", "reshape", "squeeze", "to_device"]


@primitive
def reshape(x: Numeric, /, *, shape: tuple[int, ...]) -> Any:
    """The same elements, in C order, in another shape; one length may be -1."""


@primitive
def broadcast_to(x: Numeric, /, *, shape: tuple[int, ...]) -> Any:
    """x repeated along new axes and along axes of length one, until it has this shape."""


@primitive
def expand_dims(x: Numeric, /, *, axis: int | tuple[int, ...]) -> Any:
    """x with new axes of length one, at these places of the result."""


@primitive
def squeeze(x: Array, /, *, axis: int | tuple[int, ...]) -> Any:
    """x without these axes, which have length one."""


@primitive
def astype(x: Numeric, /, *, dtype: Any) -> Any:
    """x with another dtype; x itself if it has it already."""


@primitive
def to_device(x: Array, /, *, device: Any) -> Any:
    """x on another device; x itself if it is there already."""

"""Operations that rearrange elements, or change their dtype or device."""

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Array, Numeric

__all__ = [
    "astype",
    "broadcast_to",
    "copy",
    "expand_dims",
    "flip",
    "matrix_transpose",
    "pad",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "sliding_window_view",
    "squeeze",
    "tile",
    "to_device",
]


@primitive
def reshape(x: Array, /, *, shape: tuple[int, ...]) -> Any:
    """Return the same elements, in C order, in another shape; one length may be -1."""


@primitive
def permute_dims(x: Array, /, *, axes: tuple[int, ...] | None = None) -> Any:
    """Return x with its axes in another order, reversed by default."""


@primitive
def matrix_transpose(x: Array, /) -> Any:
    """Return x with its last two axes exchanged."""


broadcast_to = reshape.alike(
    "broadcast_to",
    "x repeated along new axes and along axes of length one, until it has this shape.",
)


@primitive
def expand_dims(x: Array, /, *, axis: int | tuple[int, ...]) -> Any:
    """Return x with new axes of length one, at these positions in the result."""


@primitive
def squeeze(x: Array, /, *, axis: int | tuple[int, ...] | None = None) -> Any:
    """Return x without these axes of length one; by default without all axes of length one."""


flip = squeeze.alike("flip", "x in reverse order along axes, all by default.")


@primitive
def roll(
    x: Array, /, *, shift: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None
) -> Any:
    """Shift x along axes; elements that leave at the end enter at the beginning.

    Without an axis, x is shifted in C order.
    """


@primitive
def tile(x: Array, /, *, repetitions: tuple[int, ...]) -> Any:
    """Repeat x as a whole along each axis; the repetitions are for the last axes."""


@primitive
def repeat(x: Array, repeats: Numeric, /, *, axis: int | None = None) -> Any:
    """Repeat each element, or each slice along an axis, several times in a row."""


@primitive
def pad(x: Array, value: Numeric, /, *, widths: tuple[tuple[int, int], ...]) -> Any:
    """Pad x along each axis with elements of one value: the numbers before and after it."""


@primitive
def sliding_window_view(
    x: Array, /, *, window_shape: tuple[int, ...], axis: tuple[int, ...]
) -> Any:
    """Return all windows of these lengths along the axes, on new axes behind the others."""


@primitive
def astype(x: Array, /, *, dtype: Any) -> Any:
    """Convert x to a dtype; return x itself if it has it already."""


copy = matrix_transpose.alike("copy", "x in memory of its own.")


@primitive
def to_device(x: Array, /, *, device: Any) -> Any:
    """Move x to a device; return x itself if it is there already."""

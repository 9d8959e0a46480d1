"""Words whose function in the standard has other parameters, for libraries that keep to it."""

from __future__ import annotations

from typing import Any

from chainrules_py import vocabulary as v
from chainrules_py.values.arrays import Array, namespace

__all__: list[str] = []


def _device(x: Any) -> Any:
    return x.device


@v.concat.implement
def concat_standard(*arrays: Array, axis: int | None = 0) -> Any:
    """Join arrays, of which the standard's function takes a sequence."""
    return namespace(arrays[0]).concat(arrays, axis=axis)


@v.stack.implement
def stack_standard(*arrays: Array, axis: int = 0) -> Any:
    """Stack arrays, of which the standard's function takes a sequence."""
    return namespace(arrays[0]).stack(arrays, axis=axis)


@v.tile.implement
def tile_standard(x: Array, *, repetitions: tuple[int, ...]) -> Any:
    """Tile x; the standard's function takes the repetitions by position."""
    return namespace(x).tile(x, repetitions)


@v.permute_dims.implement
def permute_dims_standard(x: Array, *, axes: tuple[int, ...] | None = None) -> Any:
    """Permute the axes; the standard has no default, and wants no negative axes."""
    ndim = x.ndim
    order = range(ndim)[::-1] if axes is None else [axis % ndim for axis in axes]
    return namespace(x).permute_dims(x, tuple(order))


@v.squeeze.implement
def squeeze_standard(x: Array, *, axis: int | tuple[int, ...] | None = None) -> Any:
    """Remove axes of length one; the standard has no default for which."""
    if axis is None:
        axis = tuple(i for i, length in enumerate(x.shape) if length == 1)
    return namespace(x).squeeze(x, axis)


@v.expand_dims.implement
def expand_dims_standard(x: Array, *, axis: int | tuple[int, ...]) -> Any:
    """Insert axes of length one; the standard's function makes one."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    ndim = x.ndim + len(axes)
    for a in sorted(a % ndim for a in axes):
        x = namespace(x).expand_dims(x, axis=a)
    return x


@v.cumulative_sum.implement
def cumulative_sum_standard(
    x: Array, *, axis: int | None = None, include_initial: bool = False
) -> Any:
    """Compute cumulative sums; the standard has a default for arrays of one axis only."""
    xp = namespace(x)
    x, axis = (xp.reshape(x, (-1,)), 0) if axis is None else (x, axis)
    return xp.cumulative_sum(x, axis=axis, include_initial=include_initial)


@v.cumulative_prod.implement
def cumulative_prod_standard(
    x: Array, *, axis: int | None = None, include_initial: bool = False
) -> Any:
    """Compute cumulative products; the standard has a default for arrays of one axis only."""
    xp = namespace(x)
    x, axis = (xp.reshape(x, (-1,)), 0) if axis is None else (x, axis)
    return xp.cumulative_prod(x, axis=axis, include_initial=include_initial)


@v.take.implement
def take_standard(x: Array, indices: Array, *, axis: int | None = None) -> Any:
    """Take elements at indices of any shape; the standard's indices have one axis."""
    xp = namespace(x)
    x, axis = (xp.reshape(x, (-1,)), 0) if axis is None else (x, axis % x.ndim)
    taken = xp.take(x, xp.reshape(indices, (-1,)), axis=axis)
    return xp.reshape(taken, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


@v.copy.implement
def copy_standard(x: Array) -> Any:
    """Copy x, by what is an option in the standard."""
    return namespace(x).asarray(x, copy=True)


@v.arange_like.implement
def arange_like_standard(x: Array, *, stop: int, start: int = 0, step: int = 1) -> Any:
    """On the device of x."""
    return namespace(x).arange(start, stop, step, device=_device(x))


@v.eye_like.implement
def eye_like_standard(
    x: Array, *, rows: int, columns: int | None = None, diagonal: int = 0, dtype: Any = None
) -> Any:
    """On the device of x."""
    dtype = x.dtype if dtype is None else dtype
    return namespace(x).eye(rows, columns, k=diagonal, dtype=dtype, device=_device(x))

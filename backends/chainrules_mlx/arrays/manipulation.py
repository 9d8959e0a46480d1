"""Words that shape, make, join, sort and index, as MLX computes them."""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from chainrules_mlx.array_types import ARRAY, alike, dtype_of, entered, number_as
from chainrules_mlx.arrays.reductions import summed
from chainrules_mlx.arrays.select import select
from chainrules_mlx.namespace import astyped, kept, tracing
from chainrules_py import NoRuleError
from chainrules_py import vocabulary as v

_mx: Any = mx

# --------------------------------------------------------------------------------- shapes


@v.permute_dims.implement
def permute_dims_mlx(x: mx.array, *, axes: Any = None) -> Any:
    """Reversed by default."""
    return _mx.transpose(x, axes)


@v.matrix_transpose.implement
def matrix_transpose_mlx(x: mx.array) -> Any:
    """Swap the last two axes."""
    return _mx.swapaxes(x, -1, -2)


@v.squeeze.implement
def squeeze_mlx(x: mx.array, *, axis: Any = None) -> Any:
    """Drop axes, all of length one by default."""
    return _mx.squeeze(x, axis)


@v.flip.implement
def flip_mlx(x: mx.array, *, axis: Any = None) -> Any:
    """Subscript with steps back."""
    axes = range(x.ndim) if axis is None else (axis,) if type(axis) is int else axis
    back = {a % x.ndim for a in axes}
    return x[tuple([slice(None, None, -1 if i in back else 1) for i in range(x.ndim)])]


@v.roll.implement
def roll_mlx(x: mx.array, *, shift: Any, axis: Any = None) -> Any:
    """Roll along one axis after the other."""
    if axis is None:
        return _mx.roll(x, shift if isinstance(shift, int) else sum(shift))
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    shifts = (shift,) * len(axes) if isinstance(shift, int) else tuple(shift)
    for one, at in zip(shifts, axes * len(shifts), strict=False):
        x = _mx.roll(x, one, at)
    return x


@v.tile.implement
def tile_mlx(x: mx.array, *, repetitions: Any) -> Any:
    """Tile, which MLX names its repetitions otherwise for."""
    return _mx.tile(x, repetitions)


def _repeat(x: Any, repeats: Any, *, axis: int | None = None) -> Any:
    if isinstance(repeats, mx.array) and repeats.size == 1:
        repeats = kept(repeats.item)
    if isinstance(repeats, int):
        return _mx.repeat(x, repeats, axis)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    counts: Any = kept(repeats.tolist) if isinstance(repeats, mx.array) else list(repeats)
    places = [i for i, n in enumerate(counts) for _ in range(n)]
    return _mx.take(x, _mx.array(places, mx.int32), axis)


v.repeat.implement(_repeat, types=(ARRAY, object))


def _pad(x: Any, value: Any, *, widths: Any) -> Any:
    if not x.ndim:
        return x
    if not tracing():
        return _mx.pad(x, list(widths), constant_values=value)
    inside = _mx.pad(_mx.ones(x.shape, _mx.bool_), list(widths))
    return select(inside, _mx.pad(x, list(widths)), _mx.array(value, x.dtype))


entered(v.pad, _pad)


@v.copy.implement
def copy_mlx(x: mx.array) -> Any:
    """Return another handle: whoever writes to it leaves the first as it is."""
    return _mx.array(x)


@v.to_device.implement
def to_device_mlx(x: mx.array, *, device: Any) -> Any:
    """Return x: arrays are wherever something is done with them."""
    return x


# ------------------------------------------------------------------------------- creation


@v.full_like.implement
def full_like_mlx(x: mx.array, *, shape: Any, fill: Any, dtype: Any = None) -> Any:
    """Fill an array of a given shape."""
    return _mx.full(tuple(shape), fill, x.dtype if dtype is None else dtype_of(dtype))


@v.zeros_like.implement
def zeros_like_mlx(x: mx.array, *, shape: Any = None, dtype: Any = None) -> Any:
    """Make zeros of a given shape and dtype."""
    return full_like_mlx(x, shape=x.shape if shape is None else shape, fill=0, dtype=dtype)


@v.ones_like.implement
def ones_like_mlx(x: mx.array, *, dtype: Any = None) -> Any:
    """Make ones of a given dtype."""
    return _mx.ones(x.shape, x.dtype if dtype is None else dtype_of(dtype))


@v.arange_like.implement
def arange_like_mlx(x: mx.array, *, stop: int, start: int = 0, step: int = 1) -> Any:
    """Count in integers."""
    return _mx.arange(start, stop, step, dtype=mx.int32)


@v.eye_like.implement
def eye_like_mlx(
    x: mx.array, *, rows: int, columns: int | None = None, diagonal: int = 0, dtype: Any = None
) -> Any:
    """Make a matrix with ones on a diagonal."""
    return _mx.eye(rows, columns, diagonal, x.dtype if dtype is None else dtype_of(dtype))


def _linspace(start: Any, stop: Any, *, num: int, endpoint: bool = True, axis: int = 0) -> Any:
    start, stop = alike(start, stop)
    if _mx.issubdtype(start.dtype, mx.integer):
        start, stop = start.astype(mx.float32), stop.astype(mx.float32)
    start, stop = _mx.broadcast_arrays(start, stop)
    t = _mx.arange(num).astype(start.dtype).reshape(num, *(1,) * start.ndim)
    parts = num - 1 if endpoint else num
    y = start + (stop - start) * (t / parts if parts > 0 else t)
    if endpoint and num > 1:
        y = _mx.concatenate([y[:-1], stop[None]])
    return _mx.moveaxis(y, 0, axis)


entered(v.linspace, _linspace)

# ----------------------------------------------------------------------- joining, sorting


def _concat(*arrays: Any, axis: int | None = 0) -> Any:
    arrays = alike(*arrays)
    if axis is None:
        return _mx.concatenate([x.reshape(-1) for x in arrays])
    return _mx.concatenate(list(arrays), axis)


v.concat.implement(_concat, types=(ARRAY,))


def _stack(*arrays: Any, axis: int = 0) -> Any:
    return _mx.stack(list(alike(*arrays)), axis)


v.stack.implement(_stack, types=(ARRAY,))


def _order(x: Any, axis: int, descending: bool) -> Any:
    if not descending:
        return _mx.argsort(x, axis).astype(mx.int32)
    turned = flip_mlx(x, axis=axis)  # so that equal ones stay in their order
    return x.shape[axis] - 1 - flip_mlx(_mx.argsort(turned, axis), axis=axis).astype(mx.int32)


@v.argsort.implement
def argsort_mlx(
    x: mx.array, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Any:
    """Sort places; MLX's own sort ascending."""
    return _order(x, axis, descending)


@v.sort.implement
def sort_mlx(x: mx.array, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Sort; MLX's own sorts ascending."""
    y = _mx.sort(x, axis)
    return flip_mlx(y, axis=axis) if descending else y


def _searchsorted(x1: Any, x2: Any, *, side: str = "left") -> Any:
    return _mx.searchsorted(*alike(x1, x2), side=side).astype(mx.int32)


entered(v.searchsorted, _searchsorted)


@v.partition.implement
def partition_mlx(x: mx.array, *, kth: Any, axis: int = -1) -> Any:
    """All in order: MLX's partition takes one place."""
    return _mx.sort(x, axis)


# ------------------------------------------------------------------------------- indexing


def _joined(index: Any, arrays: tuple[Any, ...]) -> Any:
    """Return what MLX is subscripted with: places for masks, of which it knows none."""
    where: list[Any] = []
    for entry in index.join(arrays):
        if isinstance(entry, bool):
            msg = f"nothing computes {index}: of MLX, {entry} is the place {int(entry)}"
            raise NoRuleError(msg)
        if not hasattr(entry, "dtype"):
            where.append(entry)
            continue
        e = entry if isinstance(entry, mx.array) else _mx.array(entry)
        where += _places(e) if e.dtype == mx.bool_ else [e]
    return tuple(where)


def _places(mask: Any) -> list[Any]:
    """Where a mask holds, an array for each axis; how many they are has to be waited for."""
    n = mask.size
    flat = mask.reshape(-1)
    every = _mx.sort(_mx.where(flat, _mx.arange(n), n))[: int(kept(summed(flat).item))]
    found = []
    for length in reversed(mask.shape):
        found.append(every % length)
        every = every // length
    return found[::-1]


def _getitem(x: Any, *arrays: Any, index: Any) -> Any:
    return x[_joined(index, arrays)]


def _scatter_add(x: Any, y: Any, *arrays: Any, index: Any) -> Any:
    x, y = alike(x, y)
    return _added(x, _joined(index, arrays), y)


def _added(x: Any, where: Any, y: Any) -> Any:
    """Add at places; MLX's does not take that there are none."""
    return x.at[where].add(y) if x.size and x[where].size else x


def _put_at(x: Any, y: Any, *arrays: Any, index: Any) -> Any:
    z, where = _mx.array(x), _joined(index, arrays)
    y = astyped(number_as(y, x), x.dtype)
    extra = max(0, y.ndim - x[where].ndim)  # leading axes of length one, as NumPy takes them
    z[where] = y.reshape(y.shape[extra:])
    return z


def _add_at(buffer: Any, y: Any, *arrays: Any, index: Any) -> None:
    buffer[...] = _scatter_add(buffer, y, *arrays, index=index)


v.getitem.implement(_getitem, types=(ARRAY, object))
v.scatter_add.implement(_scatter_add, types=(ARRAY, object, object))
v.put_at.implement(_put_at, types=(ARRAY, object, object))
v.add_at.implement(_add_at, types=(ARRAY, object, object))


def _take(x: Any, indices: Any, *, axis: int | None = None) -> Any:
    return _mx.take(x, indices, axis)


v.take.implement(_take, types=(ARRAY, object))


@v.take_along_axis.implement
def take_along_axis_mlx(x: mx.array, indices: mx.array, *, axis: int = -1) -> Any:
    """Take along an axis; the other axes broadcast."""
    x, indices = _fitted(x, indices, axis)
    return _mx.take_along_axis(x, indices, axis)


def _fitted(x: Any, indices: Any, axis: int) -> tuple[Any, Any]:
    axis %= x.ndim
    shape = [max(m, n) if m and n else 0 for m, n in zip(x.shape, indices.shape, strict=True)]
    ahead = [n if i != axis else x.shape[axis] for i, n in enumerate(shape)]
    other = [n if i != axis else indices.shape[axis] for i, n in enumerate(shape)]
    return _mx.broadcast_to(x, ahead), _mx.broadcast_to(indices, other)

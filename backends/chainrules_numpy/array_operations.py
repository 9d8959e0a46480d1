"""NumPy implementations of shaping, reducing, indexing and joining with little overhead.

A function of NumPy's Python layer costs more than the operation on a small array: ``np.sum`` of
four elements takes 1.4 us, ``np.add.reduce`` 0.6; ``np.expand_dims`` 1.4, indexing with None 0.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_numpy.gathers import add_along, read_columns, read_rows
from chainrules_py import Scalar
from chainrules_py import ops as v

# --------------------------------------------------------------------------------- reductions

_ARRAY = np.ndarray | np.generic
_add: Any = np.add.reduce
_mean: Any = np.mean
_add_up: Any = np.add.accumulate


@v.sum.implement
def sum_numpy(x: np.ndarray | np.generic, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Compute np.sum without its Python layer."""
    return _add(x, axis, None, None, keepdims)


@v.mean.implement
def mean_numpy(x: np.ndarray | np.generic, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Compute np.mean without its Python layer for all elements, in double precision."""
    if axis is None and not keepdims and x.dtype == np.float64 and x.size:
        return _add(x, None) / x.size
    return _mean(x, axis, keepdims=keepdims)


def _reduction(ufunc: Any) -> Callable[..., Any]:
    """Return a reduction by a ufunc, without NumPy's Python layer."""
    reduced = ufunc.reduce

    def reduction_numpy(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        return reduced(x, axis=axis, keepdims=keepdims)

    return reduction_numpy


for _operation, _ufunc in (
    (v.prod, np.multiply),
    (v.max, np.maximum),
    (v.min, np.minimum),
    (v.nanmax, np.fmax),
    (v.nanmin, np.fmin),
):
    _operation.implement(_reduction(_ufunc), types=(_ARRAY,))


_BACK = (..., slice(None, None, -1))


@v.flip.implement
def flip_numpy(x: np.ndarray | np.generic, *, axis: Any = None) -> Any:
    """Compute np.flip without its Python layer."""
    if type(x) is not np.ndarray or type(axis) is not int or not -x.ndim <= axis < x.ndim:
        return np.flip(x, axis)
    return x[_BACK if axis == -1 else (*(slice(None),) * (axis % x.ndim), _BACK[1])]


@v.roll.implement
def roll_numpy(x: np.ndarray | np.generic, *, shift: Any, axis: Any = None) -> Any:
    """Compute np.roll along one axis by joining two parts, in a third of its time."""
    k = 0 if axis is None and x.ndim == 1 else axis
    if type(k) is not int or type(shift) is not int or not -x.ndim <= k < x.ndim:
        return np.roll(x, shift, axis)
    # Joining would convert to native byte order.
    if not (type(x) is np.ndarray and x.flags.c_contiguous and x.size and x.dtype.isnative):
        return np.roll(x, shift, axis)
    k %= x.ndim
    lead, first = (slice(None),) * k, x.shape[k] - shift % x.shape[k]
    return np.concatenate((x[(*lead, slice(first, None))], x[(*lead, slice(first))]), k)


@v.cumulative_sum.implement
def cumulative_sum_numpy(
    x: np.ndarray | np.generic, *, axis: int | None = None, include_initial: bool = False
) -> Any:
    """Compute cumulative sums without the Python layer of np.cumulative_sum."""
    if include_initial:
        return np.cumulative_sum(x, axis=axis, include_initial=True)
    if x.ndim and (axis is not None or x.ndim == 1):
        return _add_up(x, axis or 0)
    return x.cumsum(axis)


@v.cumulative_prod.implement
def cumulative_prod_numpy(
    x: np.ndarray | np.generic, *, axis: int | None = None, include_initial: bool = False
) -> Any:
    """Compute cumulative products without the Python layer of np.cumulative_prod."""
    if include_initial:
        return np.cumulative_prod(x, axis=axis, include_initial=True)  # type: ignore[arg-type]
    return x.cumprod(axis)


# ------------------------------------------------------------------------------- manipulation


@v.reshape.implement
def reshape_numpy(x: np.ndarray | np.generic, *, shape: Any) -> Any:
    """Reshape by the array's method."""
    return x.reshape(shape)


@v.permute_dims.implement
def permute_dims_numpy(x: np.ndarray | np.generic, *, axes: Any = None) -> Any:
    """Permute the axes by the array's method."""
    return x.transpose() if axes is None else x.transpose(axes)


@v.matrix_transpose.implement
def matrix_transpose_numpy(x: np.ndarray) -> Any:
    """Transpose by the property ``mT``."""
    return x.mT


_SMALL = 4096


@v.broadcast_to.implement
def broadcast_to_numpy(x: np.ndarray | np.generic, *, shape: Any) -> Any:
    """Broadcast by filling where that is cheaper than np.broadcast_to, whose view takes 1.8 us.

    Sums follow the order of memory; for an array that is not in C order the result is a view, as
    NumPy's own is, or the last bit of a sum could differ.
    """
    size = 1
    for length in shape:
        size *= length
    if size > _SMALL or not x.flags.c_contiguous or x.ndim > len(shape):
        return np.broadcast_to(x, shape)
    full = np.empty(shape, x.dtype)
    full[...] = x
    return full


_ALL = (slice(None),) * 64


@v.expand_dims.implement
def expand_dims_numpy(x: np.ndarray | np.generic, *, axis: Any) -> Any:
    """Insert axes by indexing with None."""
    if type(axis) is int:
        ndim = x.ndim + 1
        if -ndim <= axis < ndim:
            array: Any = x  # NumPy's annotations do not allow indexing a scalar
            return array[(*_ALL[: axis % ndim], None)]
    return np.expand_dims(x, axis)


@v.squeeze.implement
def squeeze_numpy(x: np.ndarray | np.generic, *, axis: Any = None) -> Any:
    """Remove axes of length one by the array's method."""
    return x.squeeze(axis)


@v.tile.implement
def tile_numpy(x: np.ndarray | np.generic, *, repetitions: Any) -> Any:
    """Tile by np.tile, which names the repetitions differently."""
    return np.tile(x, repetitions)


@v.astype.implement
def astype_numpy(x: np.ndarray | np.generic, *, dtype: Any) -> Any:
    """Convert the dtype by the method, which scalars have too; what has gaps is copied."""
    copy = not (x.flags.c_contiguous or x.flags.f_contiguous)
    try:
        return x.astype(dtype, copy=copy)
    except TypeError:  # of another library's, such as torch.float64
        return x.astype(str(dtype).rpartition(".")[2], copy=copy)


@v.copy.implement
def copy_numpy(x: np.ndarray | np.generic) -> Any:
    """Copy by the array's method."""
    return x.copy()


@v.pad.implement
def pad_numpy(x: np.ndarray | np.generic, value: np.ndarray | Scalar, *, widths: Any) -> Any:
    """Pad with one value, at a tenth of the cost of np.pad for a small array."""
    shape = [n + a + b for n, (a, b) in zip(x.shape, widths, strict=True)]
    order: Any = "F" if x.flags.fnc else "C"
    y = (
        np.zeros(shape, x.dtype, order)
        if type(value) is int and not value
        else np.full(shape, value, x.dtype, order)
    )
    y[tuple([slice(a, a + n) for n, (a, _) in zip(x.shape, widths, strict=True)])] = x
    return y


@v.sliding_window_view.implement
def sliding_window_view_numpy(x: np.ndarray, *, window_shape: Any, axis: Any) -> Any:
    """Return a view of all windows, by NumPy's function in np.lib.stride_tricks."""
    return np.lib.stride_tricks.sliding_window_view(x, window_shape, axis)


@v.to_device.implement
def to_device_numpy(x: np.ndarray | np.generic, *, device: Any) -> Any:
    """Return x; NumPy has one device."""
    return x


# ------------------------------------------------------------------------------------ creation


@v.full_like.implement
def full_like_numpy(x: np.ndarray | np.generic, *, shape: Any, fill: Any, dtype: Any = None) -> Any:
    """Fill an array; np.zeros costs an eighth of np.full."""
    dtype = x.dtype if dtype is None else dtype
    if type(fill) is int and fill == 0:
        return np.zeros(shape, dtype)
    return np.full(shape, fill, dtype)


@v.zeros_like.implement
def zeros_like_numpy(x: np.ndarray | np.generic, *, shape: Any = None, dtype: Any = None) -> Any:
    """Return zeros in the layout of x, at a ninth of the cost of np.zeros_like."""
    if shape is None and not x.flags.c_contiguous:
        return np.zeros_like(x, dtype, "K", False)
    return np.zeros(x.shape if shape is None else shape, x.dtype if dtype is None else dtype)


@v.ones_like.implement
def ones_like_numpy(x: np.ndarray | np.generic, *, dtype: Any = None) -> Any:
    """Return ones without np.ones_like's search for a subclass."""
    if not x.flags.c_contiguous:
        return np.ones_like(x, dtype, "K", False)
    return np.ones(x.shape, x.dtype if dtype is None else dtype)


@v.arange_like.implement
def arange_like_numpy(x: np.ndarray | Scalar, *, stop: int, start: int = 0, step: int = 1) -> Any:
    """Return a range; NumPy has one device."""
    return np.arange(start, stop, step)


@v.eye_like.implement
def eye_like_numpy(
    x: np.ndarray | np.generic,
    *,
    rows: int,
    columns: int | None = None,
    diagonal: int = 0,
    dtype: Any = None,
) -> Any:
    """Return an identity matrix; NumPy has one device."""
    return np.eye(rows, columns, diagonal, x.dtype if dtype is None else dtype)


@v.linspace.implement
def linspace_numpy(
    start: np.ndarray | Scalar,
    stop: np.ndarray | Scalar,
    *,
    num: int,
    endpoint: bool = True,
    axis: int = 0,
) -> Any:
    """Call np.linspace; also for Python numbers, which belong to no array library."""
    return np.linspace(start, stop, num, endpoint, axis=axis)


@v.geomspace.implement
def geomspace_numpy(
    start: np.ndarray | Scalar,
    stop: np.ndarray | Scalar,
    *,
    num: int,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Call np.geomspace; also for Python numbers, which belong to no array library."""
    return np.geomspace(start, stop, num, endpoint, dtype, axis)


@v.vander.implement
def vander_numpy(x: np.ndarray, *, columns: int, increasing: bool = False) -> Any:
    """Call np.vander, which names the number of columns differently."""
    return np.vander(x, columns, increasing)


# ------------------------------------------------------------------------------------ indexing


@v.getitem.implement
def getitem_numpy(x: np.ndarray, *arrays: Any, index: Any) -> Any:
    """Return the elements at an index, by subscripting."""
    if len(arrays) == 1 and len(index) == 2 and _picks_along(index, 1):
        return read_columns(x, arrays[0])
    return x[index.join(arrays)]


getitem_numpy.subscripts = True
getitem_numpy.rows = read_rows


@v.scatter_add.implement
def scatter_add_numpy(x: np.ndarray | np.generic, y: Any, *arrays: Any, index: Any) -> Any:
    """Copy x, and add y to the copy at the index, in place."""
    dtype = x.dtype if getattr(y, "dtype", None) is x.dtype else np.result_type(x, y)
    total = np.array(x, dtype)
    add_at_numpy(total, y, *arrays, index=index)
    return total


@v.put_at.implement
def put_at_numpy(x: np.ndarray, y: Any, *arrays: Any, index: Any) -> Any:
    """Copy x, and write y to the copy at the index, in place."""
    z = np.array(x, subok=True)
    z[index.join(arrays)] = y
    return z


@v.add_at.implement
def add_at_numpy(buffer: np.ndarray, y: Any, *arrays: Any, index: Any) -> None:
    """Add in place; ``buffer[index] += y`` would drop repeated elements of integer arrays."""
    where = index.join(arrays)
    for array in arrays:
        if np.asarray(array).dtype.kind in "iu":
            break
    else:
        buffer[where] += y
        return
    axis = len(where) - 1
    many = buffer.ndim > 1 and getattr(y, "size", 0) > _MANY
    if many and buffer.flags.c_contiguous and _picks_along(index, axis):
        add_along(buffer, y, np.asarray(array), axis)
    elif getattr(y, "ndim", 0) > 32:  # more axes than np.add.at takes: it crashes
        flat = np.zeros(buffer.size, buffer.dtype)
        np.add.at(flat, np.arange(buffer.size).reshape(buffer.shape)[where].ravel(), y.ravel())
        buffer += flat.reshape(buffer.shape)
    else:
        np.add.at(buffer, where, y)


_MANY = 500
_WHOLE = (slice, None, None, None)


def _picks_along(index: Any, axis: int) -> bool:
    """Return whether an index is ``[:, ..., :, array]``, with the array at an axis."""
    return index[-1] == index.HOLE and all([entry == _WHOLE for entry in index[:axis]])


@v.take.implement
def take_numpy(x: np.ndarray | np.generic, indices: Any, *, axis: int | None = None) -> Any:
    """Take elements by the array's method."""
    return x.take(indices, axis)


@v.put_along_axis_add.implement
def put_along_axis_add_numpy(
    x: np.ndarray | np.generic, y: Any, indices: np.ndarray, *, axis: int = -1
) -> Any:
    """Copy x, and add y to the copy at indices along an axis, in place."""
    total = np.array(x, np.result_type(x, y))
    add_along_axis_numpy(total, y, indices, axis=axis)
    return total


@v.add_along_axis.implement
def add_along_axis_numpy(
    buffer: np.ndarray, y: Any, indices: np.ndarray, *, axis: int = -1
) -> None:
    """Add y at indices along one axis; the indices of the other axes are enumerated."""
    where: list[Any] = list(np.ix_(*map(np.arange, indices.shape)))
    for other, (have, read) in enumerate(zip(buffer.shape, indices.shape, strict=True)):
        if 1 not in (read, have) and read != have and other != axis % buffer.ndim:
            raise IndexError(
                f"indices of shape {indices.shape} for an array of shape {buffer.shape}"
            )
        if read != have and other != axis % buffer.ndim:  # one of them is broadcast
            where[other] = np.arange(have).reshape(
                [-1 if i == other else 1 for i in range(buffer.ndim)]
            )
    where[axis] = indices
    np.add.at(buffer, tuple(where), y)


# ------------------------------------------------------------------------------------- joining


@v.concat.implement
def concat_numpy(*arrays: np.ndarray | np.generic, axis: int | None = 0) -> Any:
    """Join arrays; np.concatenate takes a sequence."""
    return np.concatenate(arrays, axis)


@v.stack.implement
def stack_numpy(*arrays: np.ndarray | Scalar, axis: int = 0) -> Any:
    """Stack as np.stack does; along the first axis with half of its Python code."""
    first: Any = arrays[0] if arrays else 0.0
    if axis == 0 and type(first) is np.ndarray:
        shape = first.shape
        if all([type(x) is np.ndarray and x.shape == shape for x in arrays]):
            return np.concatenate([x[None] for x in arrays])  # type: ignore[index]
    return np.stack(arrays, axis)


v.stack.implement(stack_numpy, types=(Scalar,))  # the result of numbers is NumPy's


# ------------------------------------------------------------------------------------- sorting


@v.sort.implement
def sort_numpy(
    x: np.ndarray, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Any:
    """Sort; a descending sort is an ascending one, reversed, or of -x, which leaves NaN last."""
    if descending and x.dtype.kind in "fc":
        return -np.sort(-x, axis, stable=stable)
    y = np.sort(x, axis, stable=stable)
    return np.flip(y, axis) if descending else y


@v.argsort.implement
def argsort_numpy(
    x: np.ndarray, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Any:
    """Return the sorting order; reversing before and after keeps equal elements in order."""
    is_float = x.dtype.kind in "fc"
    if not descending or not x.ndim or is_float:
        return np.argsort(-x if descending and is_float else x, axis, stable=stable)
    backwards = np.argsort(np.flip(x, axis), axis, stable=stable)
    return np.flip(x.shape[axis] - 1 - backwards, axis)

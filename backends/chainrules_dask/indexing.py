"""Reading and writing at an index of Dask arrays."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, TypeAlias

import dask.array as da
import numpy as np

from chainrules_dask.array_types import check_known
from chainrules_dask.namespace import refusal
from chainrules_dask.operations import of_blocks, reshape_dask
from chainrules_kit.fallbacks.manipulation_and_creation import pad_standard
from chainrules_py import ops as v

if TYPE_CHECKING:
    DaskArray: TypeAlias = Any
else:
    DaskArray = da.Array


_ALL = (slice, None, None, None)


def _followed(arrays: tuple[Any, ...], index: v.Index) -> tuple[Any, v.Index]:
    """Return the one array of indices, or None, and an index with the numbers among the arrays.

    Raises
    ------
    NotDifferentiableError
        For indices that Dask does not support, or not without values.
    """
    rest, places, pattern = iter(arrays), [], []
    for e in index:
        if type(e) is tuple and e[0] is bool:  # Dask takes True for the number 1
            raise refusal("x[True]", "write x[None]")
        a = next(rest) if e is v.Index.HOLE else None
        if a is None or isinstance(a, da.Array) or getattr(a, "ndim", 0) != 0:
            pattern.append(e)
            places += [] if a is None else [a]
        else:
            pattern.append(int(a))
    if any(a.dtype.kind == "b" for a in places):
        raise refusal(
            "x[mask]",
            "a mask picks out as many elements as are true; write np.where(mask, x, 0), or "
            "x = np.where(mask, y, x) for x[mask] = y, and mask[:, None] for a mask of rows",
        )
    numbers = any([type(e) is int for e in pattern])
    if len(places) > 1 or (places and numbers):
        raise refusal(
            "x[places, ...]",
            "one array of places can be followed, beside slices: x[places], x[:, places]",
        )
    return (places[0] if places else None), v.Index(pattern)


@v.getitem.implement
def getitem_dask(x: DaskArray | np.ndarray, *arrays: Any, index: v.Index) -> Any:
    """Read elements by subscripting with slices, numbers, and one array of indices."""
    places, index = _followed(*_known(arrays, index))
    if places is None:
        return da.asarray(x)[index.join(())]
    # Dask confuses places with its own array of offsets of chunks, if their names are equal.
    y = da.asarray(x)[index.join((places.reshape(-1) + 0,))]
    if places.ndim == 1:
        return y
    axis = _axes_of(index, x.ndim).index(v.Index.HOLE)
    return reshape_dask(y, shape=(*y.shape[:axis], *places.shape, *y.shape[axis + 1 :]))


@v.take.implement
def take_dask(x: DaskArray, indices: Any, *, axis: int | None = None) -> Any:
    """Take elements by subscripting along the axis."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    index, arrays = v.Index.split((*(slice(None),) * (axis % x.ndim), indices))
    return getitem_dask(x, *arrays, index=index)


def _axes_of(index: v.Index, ndim: int) -> list[Any]:
    """Return the entries of an index, with slices for ``...`` and for omitted axes."""
    named = sum(1 for e in index if e is not None and e is not Ellipsis)
    rest = [_ALL] * (ndim - named)
    entries: list[Any] = []
    for e in (*index, *(() if Ellipsis in index else (Ellipsis,))):
        entries += rest if e is Ellipsis else [e]
    return entries


def _spread(x: Any, y: Any, arrays: tuple[Any, ...], index: v.Index) -> Any:
    """Return zeros in the shape of x, with y where the index reads; repeated indices add."""
    check_known(x.shape)
    places, index = _followed(arrays, index)
    entries = _axes_of(index, x.ndim)
    reads = _reads([e for e in entries if e is not None], x.shape)
    lengths: list[Any] = [len(r) for r in reads]
    hole = -1
    if places is not None:
        hole = [e for e in entries if e is not None].index(v.Index.HOLE)
        lengths[hole] = math.prod(places.shape)
    y = reshape_dask(_in_full(y, entries, lengths, places), shape=tuple(lengths))
    for axis, read in enumerate(reads):
        y = da.flip(y, axis) if read.step < 0 else y
        y = _dilated(y, axis, abs(read.step)) if len(read) > 1 and abs(read.step) > 1 else y
    if places is not None:
        y = _summed(y, places.reshape(-1), hole, x.shape[hole])
    ends = [(min(r[0], r[-1]), max(r[0], r[-1]) + 1) if r else (0, 0) for r in reads]
    widths = [(a, n - b) for (a, b), n in zip(ends, x.shape, strict=True)]
    return _padded(y, widths) if any(map(any, widths)) else y


_SMALL = 2**20
"""The most bytes that are padded as one block: where many elements are read, pieces add up."""


def _padded(y: Any, widths: list[tuple[int, int]]) -> Any:
    """Pad by zeros: a small array that is one block along these axes stays one."""
    pairs = [*zip(y.chunks, widths, strict=True)]
    whole = tuple([(c[0] + sum(w),) if len(c) == 1 else c for c, w in pairs])
    size = y.dtype.itemsize * math.prod(map(sum, whole))
    if size > _SMALL or any([len(c) > 1 and any(w) for c, w in pairs]):
        return pad_standard(y, 0, widths=tuple(widths))
    of = functools.partial(of_blocks, "pad", widths=tuple(widths))
    return da.map_blocks(of, y, 0, chunks=whole, dtype=y.dtype)


def _reads(entries: list[Any], shape: Any) -> list[range]:
    """Return the range that each entry reads of its axis; an array of indices reads all of it."""
    found = []
    for e, n in zip(entries, shape, strict=True):
        if type(e) is int:
            found.append(range(e % n, e % n + 1))
        else:
            found.append(range(n) if e is v.Index.HOLE else range(*slice(*e[1:]).indices(n)))
    return found


def _in_full(y: Any, entries: list[Any], lengths: list[int], places: Any) -> Any:
    """Broadcast a value, to be added or written, to the shape that reading would return."""
    rest, shape = iter(lengths), []
    for e in entries:
        n = 1 if e is None else next(rest)
        if e is v.Index.HOLE:
            shape += [*places.shape]
        elif type(e) is not int:
            shape.append(n)
    y = da.asarray(y)
    while y.ndim > len(shape):  # NumPy allows surplus leading axes of length one
        y = y[0]
    return da.broadcast_to(y, shape)


def _dilated(y: Any, axis: int, step: int) -> Any:
    """Insert zeros between the elements along an axis."""
    gaps = da.broadcast_to(da.zeros((), dtype=y.dtype), (*y.shape, step - 1))
    apart = da.concatenate([y[..., None], gaps], -1)
    apart = da.moveaxis(apart, -1, axis + 1)
    n = y.shape[axis] * step
    merged = reshape_dask(apart, shape=(*y.shape[:axis], n, *y.shape[axis + 1 :]))
    return merged[(*(slice(None),) * axis, slice(n - step + 1))]


def _summed(y: Any, places: Any, axis: int, length: int) -> Any:
    """Add rows of y up at their indices along an axis: first each block, then all blocks."""
    own = [y.ndim + 1 if a == axis else a for a in range(y.ndim)]
    parts = da.blockwise(
        _block_sum,
        (axis, *own),
        y,
        tuple(range(y.ndim)),
        da.asarray(places),
        (axis,),
        new_axes={y.ndim + 1: length},
        adjust_chunks={axis: 1},
        axis=axis,
        length=length,
        dtype=y.dtype,
    )
    return parts.sum(0)


def _block_sum(y: Any, places: Any, *, axis: int, length: int) -> Any:
    shape = [*y.shape]
    shape[axis] = length
    zeros = v.full_like(y, shape=tuple(shape), fill=0)
    pattern, arrays = v.Index.split((*(slice(None),) * axis, places))
    return v.expand_dims(v.scatter_add(zeros, y, *arrays, index=pattern), axis=0)


@v.scatter_add.implement
def scatter_add_dask(x: DaskArray, y: Any, *arrays: Any, index: v.Index) -> Any:
    """Add y at the index to a copy of x; masks of NumPy are converted to indices."""
    arrays, index = _known(arrays, index)
    return x + _spread(x, y, arrays, index)


def _known(arrays: tuple[Any, ...], index: v.Index) -> tuple[tuple[Any, ...], v.Index]:
    """Return arrays and index with the places where NumPy's masks are true in place of these."""
    where = [_places(e) for e in index.join(arrays)]
    index, arrays = v.Index.split(tuple([e for some in where for e in some]))
    return arrays, index


def _places(entry: Any) -> tuple[Any, ...]:
    """Return the indices where a NumPy mask is true; return another entry unchanged."""
    is_mask = isinstance(entry, np.ndarray) and entry.dtype == bool
    return np.nonzero(entry) if is_mask and entry.ndim else (entry,)


@v.put_at.implement
def put_at_dask(x: DaskArray, y: Any, *arrays: Any, index: v.Index) -> Any:
    """Replace elements by a choice between x and y."""
    y = da.asarray(y).astype(x.dtype)
    mask = _mask(x, y, arrays, index)
    if mask is not None:
        return da.where(mask, y, x)
    known, where = _known(arrays, index)
    places, _ = _followed(known, where)
    if getattr(places, "ndim", 0) and not any([a.dtype == bool for a in arrays]):
        raise refusal(
            "x[places] = y",
            "of places that repeat, only their values tell which is written last; write np.where",
        )
    written = _spread(x, np.ones((), dtype=bool), known, where)
    return da.where(written, _spread(x, y, known, where), x)


def _mask(x: Any, y: Any, arrays: tuple[Any, ...], index: v.Index) -> Any:
    """Return the mask of a write beside slices of all, if y is the same for all of its elements."""
    if len(arrays) != 1 or arrays[0].dtype != bool or not arrays[0].ndim:
        return None
    (mask,) = arrays
    entries = _axes_of(index, x.ndim - mask.ndim + 1)
    at = entries.index(v.Index.HOLE)
    behind = len(entries) - at - 1
    whole = entries == [*[_ALL] * at, v.Index.HOLE, *[_ALL] * behind]
    if whole and y.ndim <= behind and mask.shape == x.shape[at : at + mask.ndim]:
        return mask[(..., *(None,) * behind)]
    return None

"""Indexed reads and writes for libraries that can only read.

An index is converted to positions in C order: the result of reading the array of all positions.
"""

from __future__ import annotations

import math
from typing import Any

from chainrules_py import Array
from chainrules_py import ops as v
from chainrules_py.extend import kind_of, type_info

_AT_ONCE = 2**22
"""Number of comparisons of positions that are in memory at once."""


@v.getitem.fallback
def getitem_standard(x: Any, *arrays: Any, index: v.Index) -> Any:
    """Index x by means of the standard: explicit bounds, and one array."""
    masks = any(type(e) is tuple and e[0] is bool for e in index) or "bool" in map(kind_of, arrays)
    beside = len(arrays) > 1 or (len(arrays) == 1 and any(type(e) is int for e in index))
    if masks or beside:
        return x[index.join(arrays)]  # which the library may support
    entries = _entries(index, x.ndim)
    if not arrays:
        return x[tuple(_within(entries, x.shape))]
    axis = entries.index(v.Index.HOLE)
    entries[axis] = (slice, None, None, None)
    y = x[tuple(_within(entries, x.shape))]
    places: Any = next(iter(arrays))
    n = y.shape[axis]
    if not type_info(type(places)).is_array:
        return y[(*(slice(None),) * axis, int(places), ...)]
    places = v.where(v.less(places, 0), v.add(places, n), places)  # the standard counts from 0
    y = v.take(y, v.reshape(places, shape=(-1,)), axis=axis)
    return v.reshape(y, shape=(*y.shape[:axis], *places.shape, *y.shape[axis + 1 :]))


def _entries(index: Any, ndim: int) -> list[Any]:
    """Return the entries of an index, with a slice for each axis that it does not name."""
    named = sum(1 for e in index if e is not None and e is not Ellipsis)
    entries: list[Any] = []
    for e in (*index, *(() if Ellipsis in index else (Ellipsis,))):
        entries += [(slice, None, None, None)] * (ndim - named) if e is Ellipsis else [e]
    return entries


def _within(entries: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """Return slices that end where their axes do, numbers, and None."""
    lengths, found = iter(shape), []
    for e in entries:
        if type(e) is not tuple:
            found.append(e)
            if e is not None:
                next(lengths)
            continue
        start, stop, step = slice(*e[1:]).indices(next(lengths))
        found.append(slice(start, None if stop < 0 else stop, step))
    return found


def _written(x: Any, y: Any, arrays: tuple[Any, ...], index: Any) -> tuple[Any, Any]:
    """Return the positions that an index reads, and the value to write to each of them."""
    every = v.reshape(v.arange_like(x, stop=math.prod(x.shape)), shape=x.shape)
    places = v.getitem(every, *arrays, index=index)
    shape = tuple(places.shape)
    if not type_info(type(y)).is_array:
        y = v.full_like(x, shape=(), fill=y)
    elif y.ndim > len(shape):  # further axes have length one
        y = v.reshape(y, shape=y.shape[y.ndim - len(shape) :])
    values = v.broadcast_to(y, shape=shape)
    return v.reshape(places, shape=(-1,)), v.reshape(values, shape=(-1,))


def _by_target(x: Any, places: Any, reduce: Any) -> Any:
    """For each element of x return ``reduce(hits)`` over the positions equal to it."""
    n = math.prod(x.shape)
    targets = v.arange_like(x, stop=n)
    length = max(1, _AT_ONCE // max(1, places.shape[0]))
    found = []
    for start in range(0, max(n, 1), length):  # without elements one pass, for the dtype
        mine = v.reshape(v.index(targets, slice(start, min(n, start + length))), shape=(-1, 1))
        found.append(reduce(v.equal(mine, places)))
    return v.concat(*found, axis=0) if len(found) != 1 else found[0]


@v.scatter_add.fallback
def scatter_add_standard(x: Array, y: Any, *arrays: Any, index: v.Index) -> Any:
    """Find what is added to each element of x, by as many comparisons as x.size times y.size."""
    places, values = _written(x, y, arrays, index)
    total = _by_target(x, places, lambda hits: v.sum(v.where(hits, values, 0), axis=-1))
    return v.add(x, v.reshape(total, shape=x.shape))


@v.put_at.fallback
def put_at_standard(x: Array, y: Any, *arrays: Any, index: v.Index) -> Any:
    """Find for each element of x the last value that is written to it."""
    places, values = _written(x, y, arrays, index)
    if not math.prod(x.shape) or not places.shape[0]:
        return v.copy(x)
    numbers = v.arange_like(x, stop=places.shape[0])
    last = _by_target(x, places, lambda hits: v.max(v.where(hits, numbers, -1), axis=-1))
    values = v.astype(values, dtype=x.dtype)
    written = v.take(values, v.where(v.less(last, 0), 0, last), axis=0)
    y = v.where(v.less(last, 0), v.reshape(x, shape=(-1,)), written)
    return v.reshape(y, shape=x.shape)


@v.put_along_axis_add.fallback
def put_along_axis_add_standard(x: Array, y: Any, indices: Array, *, axis: int = -1) -> Any:
    """Call `scatter_add` with index arrays for the other axes."""
    places: list[Any] = [
        v.reshape(v.arange_like(x, stop=n), shape=(-1,) + (1,) * (x.ndim - 1 - i))
        for i, n in enumerate(x.shape)
    ]
    places[axis] = indices
    pattern, arrays = v.Index.split(tuple(places))
    return v.scatter_add(x, y, *arrays, index=pattern)

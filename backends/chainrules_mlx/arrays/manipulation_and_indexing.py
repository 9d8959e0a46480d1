"""Operations on shapes, creation, joining, sorting and indexing, where MLX's functions differ."""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from chainrules_kit.fallbacks.manipulation_and_creation import pad_standard
from chainrules_mlx.array_types import ARRAY, alike, dtype_of, entered, implement, number_as
from chainrules_mlx.arrays.reductions import summed
from chainrules_mlx.namespace import kept
from chainrules_py import NoRuleError
from chainrules_py import ops as v

_mx: Any = mx


def _repeat(x: Any, repeats: Any, *, axis: int | None = None) -> Any:
    if isinstance(repeats, mx.array) and repeats.size == 1:
        repeats = kept(repeats.item)
    if isinstance(repeats, int):
        return _mx.repeat(x, repeats, axis)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    counts: Any = kept(repeats.tolist) if isinstance(repeats, mx.array) else list(repeats)
    places = [i for i, n in enumerate(counts) for _ in range(n)]
    return _mx.take(x, _mx.array(places, mx.int32), axis)


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


entered(v.pad, pad_standard)
entered(v.linspace, _linspace)


def _full(x: Any, shape: Any, fill: Any, dtype: Any) -> Any:
    return _mx.full(tuple(shape), fill, x.dtype if dtype is None else dtype_of(dtype))


def _order(x: Any, axis: int, descending: bool) -> Any:
    if not descending:
        return _mx.argsort(x, axis).astype(mx.int32)
    turned = _mx.flip(x, axis)  # so that equal elements keep their order
    return x.shape[axis] - 1 - _mx.flip(_mx.argsort(turned, axis), axis).astype(mx.int32)


implement(
    {
        v.to_device: lambda x, *, device: x,  # MLX places operations, not arrays, on devices
        v.full_like: lambda x, *, shape, fill, dtype=None: _full(x, shape, fill, dtype),
        v.zeros_like: lambda x, *, shape=None, dtype=None: _full(
            x, x.shape if shape is None else shape, 0, dtype
        ),
        v.ones_like: lambda x, *, dtype=None: _full(x, x.shape, 1, dtype),
        v.arange_like: lambda x, *, stop, start=0, step=1: _mx.arange(
            start, stop, step, dtype=mx.int32
        ),
        v.eye_like: lambda x, *, rows, columns=None, diagonal=0, dtype=None: _mx.eye(
            rows, columns, diagonal, x.dtype if dtype is None else dtype_of(dtype)
        ),
        v.argsort: lambda x, *, axis=-1, descending=False, stable=True: _order(x, axis, descending),
        v.sort: lambda x, *, axis=-1, descending=False, stable=True: (
            _mx.flip(_mx.sort(x, axis), axis) if descending else _mx.sort(x, axis)
        ),
        v.partition: lambda x, *, kth, axis=-1: _mx.sort(x, axis),  # MLX's takes one index
    }
)
entered(
    v.searchsorted,
    lambda x1, x2, *, side="left": _mx.searchsorted(*alike(x1, x2), side=side).astype(mx.int32),
)


# ------------------------------------------------------------------------------- indexing


def _joined(index: Any, arrays: tuple[Any, ...]) -> Any:
    """Return a subscript for MLX: masks, which it lacks, become indices."""
    where: list[Any] = []
    for entry in index.join(arrays):
        if isinstance(entry, bool):
            raise NoRuleError(
                f"nothing computes {index}: of MLX, {entry} is the place {int(entry)}"
            )
        e = _mx.array(entry) if hasattr(entry, "dtype") else entry
        is_mask = isinstance(e, mx.array) and e.dtype == mx.bool_
        where += _places(e) if is_mask else [e]
    return tuple(where)


def _places(mask: Any) -> list[Any]:
    """Return the indices where a mask is true, an array for each axis; evaluates the mask."""
    n = mask.size
    flat = mask.reshape(-1)
    every = _mx.sort(_mx.where(flat, _mx.arange(n), n))[: int(kept(summed(flat).item))]
    found = []
    for length in reversed(mask.shape):
        found.append(every % length)
        every = every // length
    return found[::-1]


def _scatter_add(x: Any, y: Any, *arrays: Any, index: Any) -> Any:
    x, y = alike(x, y)
    where = _joined(index, arrays)
    return x.at[where].add(y) if x.size and x[where].size else x  # MLX's requires elements


def _put_at(x: Any, y: Any, *arrays: Any, index: Any) -> Any:
    z, where = _mx.array(x), _joined(index, arrays)
    y = number_as(y, x).astype(x.dtype)
    extra = max(0, y.ndim - x[where].ndim)  # leading axes of length one, which NumPy allows
    z[where] = y.reshape(y.shape[extra:])
    return z


def _add_at(buffer: Any, y: Any, *arrays: Any, index: Any) -> None:
    buffer[...] = _scatter_add(buffer, y, *arrays, index=index)


implement(
    {
        v.getitem: lambda x, *arrays, index: x[_joined(index, arrays)],
        v.take: lambda x, indices, *, axis=None: _mx.take(x, indices, axis),
        v.repeat: _repeat,
    },
    types=(ARRAY, object),
)
implement(
    {v.scatter_add: _scatter_add, v.put_at: _put_at, v.add_at: _add_at},
    types=(ARRAY, object, object),
)

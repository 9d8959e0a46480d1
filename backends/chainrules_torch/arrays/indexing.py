"""Indexing in PyTorch: elements are read, scattered and added without writing to operands.

Under vmap, PyTorch cannot write a batched tensor to a fresh tensor that is not batched. Therefore
the operations here use functions that return new tensors, except those that write to a buffer.
"""

from __future__ import annotations

from typing import Any

import torch

from chainrules_py import ops as v
from chainrules_torch.array_types import TENSOR, alike, number_as


def _arranged(
    x: torch.Tensor, index: Any, arrays: tuple[Any, ...]
) -> tuple[torch.Tensor, tuple[Any, ...]]:
    """Return x and an index in a form that PyTorch accepts.

    PyTorch has no slices with negative steps. It reads the value of a 0-d tensor in an index, which
    vmap forbids. The order of axes is PyTorch's, as of a plain tensor: an integer beside an array
    does not count as an array.
    """
    where: tuple[Any, ...] = index.join(arrays)
    if not arrays and not any(map(_goes_back, where)):
        return x, where
    rest = x.ndim - sum([_axes_of(e) for e in where])
    axis, made = 0, []
    for e in where:
        kept = e
        if _goes_back(e):
            x, kept = _turned(x, axis, range(x.shape[axis])[e]), slice(None)
        elif isinstance(e, torch.Tensor) and e.ndim == 0 and e.dtype is not torch.bool:
            one = torch.where(e < 0, e + x.shape[axis], e).reshape(1)
            x, kept = torch.index_select(x, axis, one), 0
        axis += rest if e is Ellipsis else _axes_of(e)
        made.append(kept)
    return x, tuple(made)


def _goes_back(entry: Any) -> bool:
    return type(entry) is slice and (entry.step or 1) < 0


def _turned(x: torch.Tensor, axis: int, places: range) -> torch.Tensor:
    """Take the elements at descending indices along an axis."""
    before = (slice(None),) * axis
    if not len(places):
        return x[(*before, slice(0, 0))]
    return x[(*before, slice(places[-1], places[0] + 1, -places.step))].flip(axis)


def _axes_of(entry: Any) -> int:
    """Count the axes of the array that an index entry consumes."""
    if entry is None or entry is Ellipsis or type(entry) is bool:
        return 0
    if isinstance(entry, torch.Tensor) and entry.dtype is torch.bool:
        return entry.ndim
    return 1


def _getitem(x: torch.Tensor, *arrays: Any, index: Any) -> Any:
    x, where = _arranged(x, index, arrays)
    return x[where]


def _places(x: torch.Tensor, arrays: tuple[Any, ...], index: Any) -> torch.Tensor:
    """Return the flat indices of the elements that an index selects."""
    every = torch.arange(x.numel(), device=x.device).reshape(x.shape)
    every, where = _arranged(every, index, arrays)
    return every[where]


def _fitting(y: torch.Tensor, shape: Any) -> torch.Tensor:
    """Broadcast y, without surplus leading axes of length one."""
    while y.ndim > len(shape) and y.shape[0] == 1:
        y = y[0]
    return y.expand(shape)


def _scatter_add(x: torch.Tensor, y: Any, *arrays: Any, index: Any) -> Any:
    x, y = alike(x, y)
    places = _places(x, arrays, index)
    y = _fitting(y, places.shape)
    return x.reshape(-1).index_add(0, places.reshape(-1), y.reshape(-1)).reshape(x.shape)


def _put_at(x: torch.Tensor, y: Any, *arrays: Any, index: Any) -> Any:
    places = _places(x, arrays, index)
    y = _fitting(number_as(y, x).to(x.dtype), places.shape)
    return x.reshape(-1).scatter(0, places.reshape(-1), y.reshape(-1)).reshape(x.shape)


def _add_at(buffer: torch.Tensor, y: Any, *arrays: Any, index: Any) -> None:
    if index.is_basic:
        arranged, where = _arranged(buffer, index, arrays)
        if arranged is buffer:
            buffer[where] += y
            return
    places = _places(buffer, arrays, index)
    y = _fitting(number_as(y, buffer).to(buffer.dtype), places.shape)
    i = torch.unravel_index(places.reshape(-1), buffer.shape)
    buffer.index_put_(i, y.reshape(-1), accumulate=True)


v.getitem.implement(_getitem, types=(TENSOR, object))
v.scatter_add.implement(_scatter_add, types=(TENSOR, object, object))
v.put_at.implement(_put_at, types=(TENSOR, object, object))
v.add_at.implement(_add_at, types=(TENSOR, object, object))


def _take(x: torch.Tensor, indices: Any, *, axis: int | None = None) -> Any:
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis %= x.ndim
    if not isinstance(indices, torch.Tensor):
        return x.select(axis, indices)
    if indices.ndim:
        where: Any = (*(slice(None),) * axis, indices)
        return x[where]
    n = x.shape[axis]
    return torch.index_select(x, axis, _counted(indices, n).reshape(1)).squeeze(axis)


v.take.implement(_take, types=(TENSOR, object))


def _counted(indices: torch.Tensor, n: int) -> torch.Tensor:
    """Return non-negative indices: PyTorch's gather rejects negative ones."""
    return torch.where(indices < 0, indices + n, indices)


@v.take_along_axis.implement
def take_along_axis_torch(x: torch.Tensor, indices: torch.Tensor, *, axis: int = -1) -> Any:
    """Take elements along an axis; PyTorch names the axis ``dim``."""
    return torch.take_along_dim(x, _counted(indices, x.shape[axis]), dim=axis)


@v.add_along_axis.implement
def add_along_axis_torch(
    buffer: torch.Tensor, y: torch.Tensor, indices: torch.Tensor, *, axis: int = -1
) -> None:
    """Add to elements of the buffer in place."""
    shape = [*buffer.shape]
    shape[axis] = indices.shape[axis]
    where = _counted(indices, buffer.shape[axis]).expand(shape)
    buffer.scatter_add_(axis, where, y.expand(shape))

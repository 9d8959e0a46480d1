"""Reading and writing at indices. Additions are atomic, so that repeated indices add up."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import importlib
import math
from collections.abc import Iterator
from typing import Any

import cupy
import numpy as np

from chainrules_cupy.namespace import on
from chainrules_py import Scalar
from chainrules_py import ops as v

cupyx: Any = importlib.import_module("cupyx")


@v.getitem.implement
def getitem_cupy(x: cupy.ndarray, *arrays: Any, index: v.Index) -> Any:
    """Read elements by subscripting the array."""
    return x[index.join(arrays)]


_in_order: contextvars.ContextVar[bool] = contextvars.ContextVar("in order", default=False)


@contextlib.contextmanager
def deterministic(enabled: bool = True) -> Iterator[None]:
    """Add to each element in a fixed order, inside a ``with`` block.

    Atomic additions happen in any order, so that the last bits of a sum vary between runs. Adding
    in the order of the index requires a sort.
    """
    before = _in_order.get()
    try:
        _in_order.set(enabled)
        yield
    finally:
        _in_order.set(before)


@functools.cache
def sums() -> Any:
    """Return the kernel that sums segments of an array, each of them in order."""
    return cupy.ElementwiseKernel(
        "raw T values, int64 first, int64 last",
        "T total",
        "for (long long k = first; k < last; ++k) total += values[k];",
        "chainrules_sums_in_order",
    )


def _add_in_order(buffer: Any, y: Any, where: Any) -> None:
    """Add in order: a stable sort makes the values of each element adjacent."""
    with on(buffer.device):
        every = cupy.arange(buffer.size)
        places = every.reshape(buffer.shape)[where]
        values = cupy.broadcast_to(cupy.asarray(y, buffer.dtype), places.shape).reshape(-1)
        order = cupy.argsort(places.reshape(-1), kind="stable")
        places, values = places.reshape(-1)[order], values[order]
        first, last = [cupy.searchsorted(places, every, side=side) for side in ("left", "right")]
        total = cupy.zeros(buffer.size, buffer.dtype)
        buffer += sums()(values, first, last, total).reshape(buffer.shape)


def _repeats(places: Any) -> bool:
    """Return whether an index may repeat: integer arrays may, numbers and masks may not.

    NumPy arrays count as well, since CuPy accepts them as an index.
    """
    return getattr(places, "ndim", 0) > 0 and places.dtype.kind in "iu"


@v.add_at.implement
def add_at_cupy(buffer: cupy.ndarray, y: Any, *arrays: Any, index: v.Index) -> None:
    """Add in place; masks and slices select no element twice."""
    where = index.join(arrays)
    if index.is_basic or not any(map(_repeats, arrays)):
        buffer[where] += y
        return
    _add_repeatedly(buffer, y, where)


def _add_repeatedly(buffer: Any, y: Any, where: Any) -> None:
    if _in_order.get():
        _add_in_order(buffer, y, where)
        return
    if buffer.dtype == cupy.int64:  # for atomics, two's complement numbers add like unsigned ones
        buffer, y = buffer.view(cupy.uint64), cupy.asarray(y, cupy.int64).view(cupy.uint64)
    cupyx.scatter_add(buffer, where, y)


@v.scatter_add.implement
def scatter_add_cupy(x: cupy.ndarray, y: Any, *arrays: Any, index: v.Index) -> Any:
    """Copy the array, and add to the copy in place."""
    total = x.astype(cupy.result_type(x, y))
    add_at_cupy(total, y, *arrays, index=index)
    return total


@v.put_at.implement
def put_at_cupy(x: cupy.ndarray, y: Any, *arrays: Any, index: v.Index) -> Any:
    """Write to a copy; of repeated indices, the last one counts.

    The device alone would keep any of the elements; therefore the last write to each element is
    found first, by an atomic maximum.
    """
    z = x.copy()
    where = index.join(arrays)
    if index.is_basic or not any(map(_repeats, arrays)):
        z[where] = y
        return z
    with on(x.device):
        last = cupy.zeros(x.shape, cupy.int32)
        shape = last[where].shape
        numbers = cupy.arange(1, math.prod(shape) + 1, dtype=cupy.int32).reshape(shape)
        cupyx.scatter_max(last, where, numbers)
        y = cupy.asarray(y, x.dtype)
        while y.ndim > len(shape):
            y = y[0]
        values = cupy.broadcast_to(y, shape).reshape(-1)
        if not values.size:
            return z
        return cupy.where(last > 0, values.take(cupy.maximum(last - 1, 0)), z)


@v.put_along_axis_add.implement
def put_along_axis_add_cupy(
    x: cupy.ndarray, y: cupy.ndarray | Scalar, indices: cupy.ndarray | np.ndarray, *, axis: int = -1
) -> Any:
    """Copy the array, and add to the copy in place along an axis."""
    total = x.astype(cupy.result_type(x, y))
    add_along_axis_cupy(total, y, indices, axis=axis)
    return total


@v.add_along_axis.implement
def add_along_axis_cupy(
    buffer: cupy.ndarray, y: Any, indices: cupy.ndarray | np.ndarray, *, axis: int = -1
) -> None:
    """Add to the buffer along an axis; the indices of the other axes are enumerated."""
    ndim = buffer.ndim
    axis %= ndim
    places: list[Any] = []
    with on(buffer.device):
        for i, length in enumerate(buffer.shape):
            if i == axis:
                places.append(indices)
                continue
            if indices.shape[i] not in (1, length):
                raise IndexError(
                    f"indices of shape {indices.shape} for an array of shape {buffer.shape}"
                )
            alone = [-1 if j == i else 1 for j in range(ndim)]
            places.append(cupy.arange(length).reshape(alone))
        _add_repeatedly(buffer, y, tuple(places))

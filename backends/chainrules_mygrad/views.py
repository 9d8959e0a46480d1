"""Views that exported functions give, of which MyGrad makes others in the same place."""

from __future__ import annotations

from typing import Any, final

import numpy as np


@final
class View:
    """Place of a view in an array.

    Parameters
    ----------
    where : array
        Where its elements are in the array, counted in rows.
    """

    __slots__ = ("overlaps", "where")

    def __init__(self, where: np.ndarray) -> None:
        self.where = where
        self.overlaps = np.unique(where).size < where.size

    def of(self, x: np.ndarray) -> np.ndarray | None:
        """Return the view in the same place of another array; None if it is in no fixed steps."""
        x = x.copy() if 0 in x.strides else x
        order = _order(x)
        along = x.transpose(order)
        if not along.flags.c_contiguous or not self.where.size:
            return None
        numbers = np.empty(x.shape, int)
        numbers.transpose(order)[...] = np.arange(x.size).reshape(along.shape)
        where = numbers.reshape(-1)[self.where]
        first, shape = int(where.flat[0]), where.shape
        steps = [int(where.take(1, k).flat[0]) - first if n > 1 else 1 for k, n in enumerate(shape)]
        told = np.full(shape, first)
        for index, step in zip(np.indices(shape), steps, strict=True):
            told += index * step
        if not np.array_equal(told, where):
            return None
        size = x.itemsize
        found = np.ndarray(shape, x.dtype, along, first * size, [step * size for step in steps])
        if self.overlaps:  # NumPy gives such to be read only
            found.flags.writeable = False
        return found

    def bars(self, bar: np.ndarray, xs: list[np.ndarray], at: int) -> list[np.ndarray]:
        """Return cotangents of operands from that of a view of one."""
        found = [np.zeros(x.shape, bar.dtype) for x in xs]
        np.add.at(found[at].reshape(-1), self.where, bar)
        return found


def _order(x: np.ndarray) -> tuple[int, ...]:
    """Return the axes as they follow each other in memory."""
    return tuple(sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis])))


def is_of(y: Any, x: np.ndarray) -> bool:
    """Tell whether MyGrad would find that an array is a view of another one, or this itself."""
    if y is x:
        return True
    return isinstance(y, np.ndarray) and y.base is not None and any([y.base is x, y.base is x.base])


def found_view(y: Any, xs: list[np.ndarray]) -> tuple[int, View] | None:
    """Return which array y is a view of, and where; None if it is not one."""
    for at, x in enumerate(xs):
        if is_of(y, x) or (isinstance(y, np.ndarray) and np.may_share_memory(y, x)):
            where = _positions(y, x)
            return None if where is None else (at, View(where))
    return None


def _positions(view: np.ndarray, x: np.ndarray) -> np.ndarray | None:
    """Return where in x, counted in rows, the elements of a view are; None if not all are."""
    if 0 in x.strides or view.dtype != x.dtype:
        return None
    low, high = np.lib.array_utils.byte_bounds(x)
    size = x.itemsize
    numbers = np.arange((high - low) // size)

    def at(y: np.ndarray) -> np.ndarray:
        first = (y.__array_interface__["data"][0] - low) // size * numbers.itemsize
        steps = [step // size * numbers.itemsize for step in y.strides]
        return np.ndarray(y.shape, numbers.dtype, numbers, first, steps)

    owner = np.full_like(numbers, -1)
    owner[at(x)] = np.arange(x.size).reshape(x.shape)
    start, end = np.lib.array_utils.byte_bounds(view)
    if not low <= start <= end <= high:
        return None
    where = owner[at(view)]
    return None if -1 in where else where

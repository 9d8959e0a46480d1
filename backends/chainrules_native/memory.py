"""Memory of a program: buffers, what is in them from one write to the next, and views of that."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, final

import numpy as np

Shape = tuple[int, ...]


class UnwritableError(Exception):
    """A call cannot be written in C, and stays one of NumPy's."""


@final
class Buffer:
    """Memory without gaps, or that of an argument.

    Attributes
    ----------
    nbytes : int
        How long it is.
    low : int
        Where it begins, from the first element of the array: below zero where a stride is.
    place : str or None
        Where it is in C, when that is settled.
    """

    __slots__ = ("low", "nbytes", "place")

    def __init__(self, nbytes: int, low: int = 0, place: str | None = None) -> None:
        self.nbytes = nbytes
        self.low = low
        self.place = place


@final
class Version:
    """Contents of a buffer from the item that wrote them on.

    Attributes
    ----------
    buffer : Buffer
    item : int
        The place of the item; -1 for an argument.
    is_written_over : bool
        Whether a part of it becomes another version, which has the rest.
    """

    __slots__ = ("buffer", "is_written_over", "item")

    def __init__(self, buffer: Buffer, item: int) -> None:
        self.buffer = buffer
        self.item = item
        self.is_written_over = False


@final
class View(NamedTuple):
    """Array in memory: where its first element is, and the steps from one to the next, in bytes."""

    version: Version
    offset: int
    shape: Shape
    strides: Shape
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its buffer, in an order without gaps."""
        step = self.dtype.itemsize
        whole = self.offset == 0 and self.size * step == self.version.buffer.nbytes
        return whole and flat(*in_order(self), step)

    def broadcast(self, shape: Shape) -> View:
        """Return it, as NumPy spreads it over a shape."""
        extra = len(shape) - len(self.shape)
        if extra < 0:
            raise UnwritableError
        steps = [0] * extra
        for n, m, step in zip(self.shape, shape[extra:], self.strides, strict=True):
            if n not in (1, m):
                raise UnwritableError
            steps.append(0 if n == 1 else step)
        return self._replace(shape=shape, strides=tuple(steps))

    def shadow(self) -> tuple[np.ndarray, np.ndarray]:
        """Return an array that lies as this one does, and its memory, which nobody reads."""
        buffer = self.version.buffer
        memory = np.empty(max(buffer.nbytes, 1), np.uint8)
        at = self.offset - buffer.low
        array: Any = np.ndarray(self.shape, self.dtype, memory, at, self.strides)
        return array, memory

    def part(self, array: np.ndarray, memory: np.ndarray) -> View:
        """Return the view that a part of its shadow stands for."""
        at = array.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
        at += self.version.buffer.low
        return View(self.version, at, array.shape, array.strides, array.dtype)


def contiguous(shape: Shape, step: int) -> Shape:
    """Return the strides of an array in C order."""
    strides = []
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def collapsed(shape: Shape, strides: Shape) -> tuple[Shape, Shape]:
    """Return the fewest dims and strides that run over the same addresses in the same order."""
    dims: list[int] = []
    steps: list[int] = []
    for n, step in zip(shape, strides, strict=True):
        if n == 1:
            continue
        if dims and steps[-1] == step * n:
            dims[-1] *= n
            steps[-1] = step
        else:
            dims.append(n)
            steps.append(step)
    return tuple(dims), tuple(steps)


def flat(dims: Shape, strides: Shape, step: int) -> bool:
    """Tell whether collapsed dims run over memory without gaps."""
    return not dims or (len(dims) == 1 and strides[0] == step)


def axes_in_order(shape: Shape, strides: Shape) -> list[int]:
    """Return the axes, the one of the largest steps first."""
    axes = [d for d, n in enumerate(shape) if n != 1]
    return sorted(axes, key=lambda d: -abs(strides[d]))


def in_order(view: View) -> tuple[Shape, Shape]:
    """Return the collapsed dims and strides of a view, in the order of its memory."""
    axes = axes_in_order(view.shape, view.strides)
    dims = tuple([view.shape[d] for d in axes])
    return collapsed(dims, tuple([view.strides[d] for d in axes]))


def strides_of(shape: Shape, layout: Any, dtype: np.dtype[Any]) -> Shape:
    """Return the strides of an array, of which those of axes longer than one are known.

    Raises
    ------
    UnwritableError
        If they are not.
    """
    if layout is None or 0 in shape:
        return contiguous(shape, dtype.itemsize)
    rest = list(layout)
    if len(rest) != sum([n != 1 for n in shape]):
        raise UnwritableError
    found = [rest.pop(0) if n != 1 else dtype.itemsize for n in shape]
    return tuple(found)


def span_of(shape: Shape, strides: Shape, dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return where the memory of an array begins, from its first element, and how long it is."""
    if 0 in shape:
        return 0, 0
    steps = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    low = sum([step for step in steps if step < 0])
    return low, sum(map(abs, steps)) + dtype.itemsize

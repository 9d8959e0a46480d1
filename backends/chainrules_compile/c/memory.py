"""Memory of a program: buffers, what is in them from one write to the next, and views of that."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple, final

import numpy as np

Shape = tuple[int, ...]

_KNOWN = 8192
"""How many forms of arrays are remembered: long programs have few."""


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
    def in_c_order(self) -> bool:
        """Whether it lies in C order without gaps, wherever axes of one element lead."""
        whole = contiguous(self.shape, self.dtype.itemsize)
        pairs = zip(self.shape, self.strides, whole, strict=True)
        return all([n == 1 or step == wanted for n, step, wanted in pairs])

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its buffer, in an order without gaps."""
        if self.offset:
            return False
        return is_whole(self.shape, self.strides, self.dtype.itemsize, self.version.buffer.nbytes)

    def broadcast(self, shape: Shape) -> View:
        """Return it, as NumPy spreads it over a shape."""
        if shape == self.shape:
            return self
        return self._replace(shape=shape, strides=spread(self.shape, self.strides, shape))

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


@functools.lru_cache(maxsize=_KNOWN)
def is_whole(shape: Shape, strides: Shape, step: int, nbytes: int) -> bool:
    """Tell whether an array that begins where its buffer does has all of it, without gaps."""
    if math.prod(shape) * step != nbytes:
        return False
    axes = axes_in_order(shape, strides)
    dims = tuple([shape[d] for d in axes])
    return flat(*collapsed(dims, tuple([strides[d] for d in axes])), step)


@functools.lru_cache(maxsize=_KNOWN)
def spread(shape: Shape, strides: Shape, wanted: Shape) -> Shape:
    """Return the strides of an array that NumPy spreads over a shape.

    Raises
    ------
    UnwritableError
        If it cannot be.
    """
    extra = len(wanted) - len(shape)
    if extra < 0:
        raise UnwritableError
    steps = [0] * extra
    for n, m, step in zip(shape, wanted[extra:], strides, strict=True):
        if n not in (1, m):
            raise UnwritableError
        steps.append(0 if n == 1 else step)
    return tuple(steps)


@functools.lru_cache(maxsize=_KNOWN)
def contiguous(shape: Shape, step: int) -> Shape:
    """Return the strides of an array in C order."""
    strides = []
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


@functools.lru_cache(maxsize=_KNOWN)
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


def together(dims: Shape, steps: list[Shape]) -> tuple[Shape, list[Shape]]:
    """Collapse dims along which all arrays go on as they did."""
    found: list[int] = []
    strides: list[list[int]] = [[] for _ in steps]
    for d, n in enumerate(dims):
        if n == 1:
            continue
        if found and all([s[-1] == step[d] * n for s, step in zip(strides, steps, strict=True)]):
            found[-1] *= n
            for s, step in zip(strides, steps, strict=True):
                s[-1] = step[d]
        else:
            found.append(n)
            for s, step in zip(strides, steps, strict=True):
                s.append(step[d])
    return tuple(found), [tuple(s) for s in strides]


@functools.lru_cache(maxsize=_KNOWN)
def axes_in_order(shape: Shape, strides: Shape) -> tuple[int, ...]:
    """Return the axes, the one of the largest steps first."""
    axes = [d for d, n in enumerate(shape) if n != 1]
    return tuple(sorted(axes, key=lambda d: -abs(strides[d])))


def numpy_order(shape: Shape, strides: Shape) -> list[int]:
    """Return the axes as NumPy's iterator orders them, the innermost last."""
    order: list[int] = []
    for d in range(len(shape)):
        if shape[d] == 1:
            continue
        place = len(order)
        while place and strides[d] and strides[order[place - 1]]:
            if abs(strides[order[place - 1]]) >= abs(strides[d]):
                break
            place -= 1
        order.insert(place, d)
    return order


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

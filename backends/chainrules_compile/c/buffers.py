"""Memory of a program: buffers, versions of their contents, and views."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple, final

import numpy as np

Shape = tuple[int, ...]

_KNOWN = 8192
"""Size of the caches for array forms, of which long programs have few."""


class UnwritableError(Exception):
    """A call cannot be written in C, and stays a NumPy call."""


UNWRITABLE = (UnwritableError, TypeError, ValueError)
"""Exceptions of a lowering: the last two are raised for operands of an unexpected form."""


@final
class Buffer:
    """Contiguous memory, or the memory of an argument.

    Attributes
    ----------
    nbytes : int
        The length in bytes.
    low : int
        The offset of its start from the first element, negative if a stride is.
    place : str
        The C expression of its address; empty until it is known.
    """

    __slots__ = ("low", "nbytes", "place")

    def __init__(self, nbytes: int, low: int = 0, place: str = "") -> None:
        self.nbytes = nbytes
        self.low = low
        self.place = place


@final
class Version:
    """Contents of a buffer after an item has written them.

    Attributes
    ----------
    buffer : Buffer
    item : int
        The index of the item; -1 for an argument.
    is_written_over : bool
        Whether a later version overwrites a part of it.
    """

    __slots__ = ("buffer", "is_written_over", "item")

    def __init__(self, buffer: Buffer, item: int) -> None:
        self.buffer = buffer
        self.item = item
        self.is_written_over = False


@final
class View(NamedTuple):
    """Array in memory: the offset of its first element, and its strides, in bytes."""

    version: Version
    offset: int
    shape: Shape
    strides: Shape
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def in_c_order(self) -> bool:
        """Whether it is contiguous in C order, ignoring axes of length one."""
        whole = contiguous(self.shape, self.dtype.itemsize)
        pairs = zip(self.shape, self.strides, whole, strict=True)
        return all([n == 1 or step == wanted for n, step, wanted in pairs])

    @property
    def is_whole(self) -> bool:
        """Whether it covers its buffer without gaps, in some order."""
        if self.offset:
            return False
        return is_whole(self.shape, self.strides, self.dtype.itemsize, self.version.buffer.nbytes)

    def broadcast(self, shape: Shape) -> View:
        """Return the view broadcast to a shape."""
        if shape == self.shape:
            return self
        return self._replace(shape=shape, strides=spread(self.shape, self.strides, shape))

    def shadow(self) -> tuple[np.ndarray, np.ndarray]:
        """Return an array with the same layout, and its memory, whose contents have no meaning."""
        buffer = self.version.buffer
        memory = np.empty(max(buffer.nbytes, 1), np.uint8)
        at = self.offset - buffer.low
        array: Any = np.ndarray(self.shape, self.dtype, memory, at, self.strides)
        return array, memory

    def part(self, array: np.ndarray, memory: np.ndarray) -> View:
        """Return the view that corresponds to a part of the shadow."""
        at = array.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
        at += self.version.buffer.low
        return View(self.version, at, array.shape, array.strides, array.dtype)


@functools.lru_cache(maxsize=_KNOWN)
def is_whole(shape: Shape, strides: Shape, step: int, nbytes: int) -> bool:
    """Return whether an array at the start of its buffer covers it without gaps."""
    if math.prod(shape) * step != nbytes:
        return False
    axes = axes_in_order(shape, strides)
    dims, steps = collapsed(*[tuple([xs[d] for d in axes]) for xs in (shape, strides)])
    return not dims or steps == (step,)


@functools.lru_cache(maxsize=_KNOWN)
def spread(shape: Shape, strides: Shape, wanted: Shape) -> Shape:
    """Return the strides of an array that is broadcast to a shape.

    Raises
    ------
    UnwritableError, ValueError
        If it cannot be broadcast.
    """
    extra = len(wanted) - len(shape)
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
    """Return the fewest dims and strides with the same addresses in the same order."""
    dims, (steps,) = together(shape, [strides])
    return dims, steps


def together(dims: Shape, steps: list[Shape]) -> tuple[Shape, list[Shape]]:
    """Merge adjacent dims whose strides allow it in all arrays."""
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
    """Return the axes that are longer than one, largest stride first."""
    axes = [d for d, n in enumerate(shape) if n != 1]
    return tuple(sorted(axes, key=lambda d: -abs(strides[d])))


def strides_of(shape: Shape, layout: Any, dtype: np.dtype[Any]) -> Shape:
    """Return the strides of an array from its layout, the strides of axes longer than one.

    Raises
    ------
    UnwritableError
        If the layout does not fit the shape.
    """
    if layout is None or 0 in shape:
        return contiguous(shape, dtype.itemsize)
    rest = list(layout)
    if len(rest) != sum([n != 1 for n in shape]):
        raise UnwritableError
    return tuple([rest.pop(0) if n != 1 else dtype.itemsize for n in shape])


def span_of(shape: Shape, strides: Shape, dtype: np.dtype[Any]) -> tuple[int, int]:
    """Return the offset of an array's memory from its first element, and the length of it."""
    if 0 in shape:
        return 0, 0
    steps = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    low = sum([step for step in steps if step < 0])
    return low, sum(map(abs, steps)) + dtype.itemsize

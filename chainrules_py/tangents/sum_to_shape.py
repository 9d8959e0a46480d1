"""Sums over the axes that broadcasting made: planned once for two shapes, run for each cotangent.

A library whose sum along axes is not the cheapest way to these sums says so here, for arrays of
one class of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias, final

from chainrules_py.vocabulary.manipulation import reshape
from chainrules_py.vocabulary.reductions import sum

__all__ = ["Unbroadcast", "planned", "register_sums", "unbroadcasting"]

Shape: TypeAlias = tuple[int, ...]
Way: TypeAlias = Callable[[Any], Any]
Dot: TypeAlias = Callable[[Any, Any], Any]


@final
class Unbroadcast:
    """Plan that sums a broadcast result's cotangent back to one operand's shape.

    Axes are counted from the end, so that axes in front, which count cotangents, stay.
    """

    __slots__ = ("axes", "dots", "drop", "keepdims", "result", "shape", "ways")

    def __init__(self, result: Shape, shape: Shape) -> None:
        lead = range(-len(result), -len(shape))
        stretched = [i for i in range(-len(shape), 0) if shape[i] == 1 and result[i] != 1]
        axes = (*lead, *stretched)
        self.axes: Any = axes[0] if len(axes) == 1 else axes
        self.keepdims = bool(stretched)
        self.drop = len(result) if lead and stretched else 0
        self.result = result
        self.shape = shape
        known = result == tuple([n for n in result if n == n])  # Dask's may be NaN: unknown
        makers = _makers.items() if known else ()
        self.ways = {cls: sums(result, shape) for cls, (sums, _) in makers}
        self.dots = {cls: dots(result, shape) for cls, (_, dots) in makers if dots is not None}

    def __call__(self, t: Any) -> Any:
        """Sum along the axes that broadcasting made."""
        way = self.ways.get(type(t))
        if way is not None and t.shape == self.result:
            return way(t)
        t = sum(t, axis=self.axes, keepdims=self.keepdims)
        return self.shaped(t) if self.drop else t

    def of_product(self, t: Any, p: Any) -> Any:
        """Reduce ``t * p`` to the operand's shape, without making the product if there is a way."""
        dot = self.dots.get(type(t))
        if dot is not None and type(p) is type(t) and t.shape == p.shape == self.result:
            return dot(t, p)
        return self(t * p)

    def shaped(self, t: Any) -> Any:
        """Drop the axes that the operand does not have from a sum along the plan's axes."""
        return reshape(t, shape=(*t.shape[: t.ndim - self.drop], *self.shape)) if self.drop else t


_makers: dict[type, tuple[Callable[[Shape, Shape], Way], Callable[[Shape, Shape], Dot] | None]]
_makers = {}


def register_sums(
    cls: type,
    sums: Callable[[Shape, Shape], Way],
    dots: Callable[[Shape, Shape], Dot] | None = None,
) -> None:
    """Say what sums arrays of exactly this class, ``sums(result, shape)`` of two shapes.

    What it makes is given arrays of the first shape, and returns new ones of the second. What
    ``dots`` makes is given two such arrays, whose product it sums.
    """
    _makers[cls] = sums, dots
    _unbroadcasting.cache_clear()
    _planned.cache_clear()


def unbroadcasting(result: Shape, shape: Shape) -> Any:
    """Find the `Unbroadcast` from a result's shape to an operand's; None where they are equal."""
    try:
        return _unbroadcasting(result, shape)
    except TypeError:  # lengths that a compiler has not fixed, and that cannot be hashed
        return _unbroadcasting.__wrapped__(result, shape)


@cache
def _unbroadcasting(result: Shape, shape: Shape) -> Any:
    return None if result == shape else Unbroadcast(result, shape)


def planned(result: Shape, first: Shape, second: Shape) -> tuple[Any, Any]:
    """Find the `Unbroadcast` of each of two operands; None for one of the result's shape."""
    try:
        return _planned(result, first, second)
    except TypeError:  # as above
        return _planned.__wrapped__(result, first, second)


@cache
def _planned(result: Shape, first: Shape, second: Shape) -> tuple[Any, Any]:
    return unbroadcasting(result, first), unbroadcasting(result, second)

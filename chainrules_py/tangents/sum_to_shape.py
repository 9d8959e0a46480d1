"""Sums over broadcast axes: planned once for two shapes, run for each cotangent.

A library for which a sum along axes is not the cheapest way registers its own functions (`Library`)
for arrays of exactly its class.
"""

from functools import lru_cache
from typing import Any, TypeAlias, final

from chainrules_py.errors import ProjectionError
from chainrules_py.ops.manipulation import reshape
from chainrules_py.ops.reductions import sum
from chainrules_py.values.caches import forgets
from chainrules_py.values.type_info import alike, hosted, libraries

Shape: TypeAlias = tuple[int, ...]
_KEPT = 4096


@final
class Unbroadcast:
    """Plan that sums a broadcast result's cotangent back to one operand's shape.

    Axes are counted from the end, so that leading batch axes stay.
    """

    __slots__ = ("axes", "dots", "drop", "keepdims", "result", "shape", "ways")

    def __init__(self, result: Shape, shape: Shape) -> None:
        lead = range(-len(result), -len(shape))
        stretched = [i for i in range(-len(shape), 0) if shape[i] == 1 and result[i] != 1]
        axes = (*lead, *stretched)
        self.axes: Any = axes[0] if len(axes) == 1 else axes
        self.keepdims = bool(stretched)
        self.drop = len(result) if lead and stretched else 0
        self.result, self.shape = result, shape
        # Dask's lengths may be NaN: unknown.
        stated = libraries.items() if result == tuple([n for n in result if n == n]) else ()
        self.ways = {cls: lib.sums(result, shape) for cls, lib in stated if lib.sums is not None}
        both = [(cls, lib.dots) for cls, lib in stated if lib.dots is not None]
        self.dots = {cls: dots(result, shape, result) for cls, dots in both}

    def __call__(self, t: Any) -> Any:
        """Sum along the broadcast axes."""
        way = self.ways.get(type(t))
        if way is not None and t.shape == self.result:
            return way(t)
        t = sum(t, axis=self.axes, keepdims=self.keepdims)
        return reshape(t, shape=(*t.shape[: t.ndim - self.drop], *self.shape)) if self.drop else t

    def of_product(self, t: Any, p: Any) -> Any:
        """Reduce ``t * p`` to the operand's shape, if possible without forming the product."""
        cls, same = type(t), type(p) is type(t)
        if not same and alike((cls, type(p))):
            cls, same = hosted((cls, type(p))), True
        dot = self.dots.get(cls)
        if dot is not None and same and t.shape == self.result:
            if p.shape != self.result:
                dot = _dot_of_spread(cls, self.result, self.shape, p.shape)  # type: ignore[arg-type]  # classes are hashable
            if dot is not None:
                return dot(t, p)
        return self(t * p)


@lru_cache(maxsize=_KEPT)
def _dot_of_spread(cls: type, result: Shape, shape: Shape, other: Shape) -> Any:
    """Find the function that sums products with arrays of the shape ``other``, or None."""
    return libraries[cls].dots(result, shape, other)  # type: ignore[misc]


def planned(result: Shape, *shapes: Shape) -> tuple[Any, ...]:
    """Find the `Unbroadcast` of each operand; None for one of the result's shape."""
    try:
        return _planned(result, *shapes)
    except TypeError:  # a compiler's symbolic lengths, which are unhashable
        return _planned.__wrapped__(result, *shapes)


@lru_cache(maxsize=_KEPT)
def _planned(result: Shape, *shapes: Shape) -> tuple[Any, ...]:
    return tuple([None if result == shape else Unbroadcast(result, shape) for shape in shapes])


def unbroadcast(t: Any, shape: tuple[int, ...], batch: int = 0) -> Any:
    """Sum a cotangent over the axes along which an operand of this shape was broadcast."""
    have = tuple(getattr(t, "shape", ()))[batch:]
    extra = len(have) - len(shape)
    if extra < 0 or any(h != s and s != 1 for h, s in zip(have[extra:], shape, strict=True)):
        raise ProjectionError(
            f"a cotangent of shape {have} cannot belong to a primal of shape {shape}: "
            f"give one of shape {shape}, or of a shape that {shape} broadcasts to"
        )
    (plan,) = planned(have, shape)
    if plan is not None:
        t = sum(t, axis=plan.axes, keepdims=True)
    return reshape(t, shape=(*t.shape[:batch], *shape)) if extra else t


forgets(lambda: (_planned, _dot_of_spread))

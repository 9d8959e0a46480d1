"""Functions that rearrange, cut and join arrays, written in words."""

from __future__ import annotations

import builtins
import operator
from typing import Any

from chainrules_py import vocabulary as v
from chainrules_py.errors import UnsupportedKeywordError

__all__ = [
    "append",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "column_stack",
    "diff",
    "dsplit",
    "dstack",
    "fliplr",
    "flipud",
    "full_of",
    "hsplit",
    "hstack",
    "moveaxis",
    "ptp",
    "ravel",
    "rollaxis",
    "split",
    "swapaxes",
    "unstack",
    "vsplit",
    "vstack",
]


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    for a in axes:
        if not -ndim <= a < ndim:
            msg = f"axis {a} is out of bounds for array of dimension {ndim}"
            raise ValueError(msg)
    return tuple(operator.index(a) % ndim for a in axes)


# --------------------------------------------------------------------------------------- axes


def ravel(x: Any, order: str = "C") -> Any:
    """All elements on one axis."""
    if order == "F":
        x = v.permute_dims(x)
    elif order != "C":
        msg = (
            f"ravel(order={order!r}) reads the memory of x, which has no derivative; "
            f"order is 'C' or 'F'"
        )
        raise UnsupportedKeywordError(msg)
    return v.reshape(x, shape=(-1,))


def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """x with two axes exchanged."""
    (i,), (j,) = _axes(axis1, x.ndim), _axes(axis2, x.ndim)
    order = [*range(x.ndim)]
    order[i], order[j] = j, i
    return v.permute_dims(x, axes=tuple(order))


def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """x with some axes at other places, and the rest in their order."""
    sources, destinations = _axes(source, x.ndim), _axes(destination, x.ndim)
    order = [a for a in range(x.ndim) if a not in sources]
    for place, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(place, axis)
    return v.permute_dims(x, axes=tuple(order))


def rollaxis(x: Any, axis: int, start: int = 0) -> Any:
    """x with an axis moved before another."""
    (i,) = _axes(axis, x.ndim)
    start = start + x.ndim if start < 0 else start
    return moveaxis(x, i, start - (i < start))


def fliplr(x: Any) -> Any:
    """x with its second axis in reverse order."""
    return v.flip(x, axis=1)


def flipud(x: Any) -> Any:
    """x with its first axis in reverse order."""
    return v.flip(x, axis=0)


def broadcast_arrays(*arrays: Any) -> tuple[Any, ...]:
    """Each array in the shape that all of them broadcast to."""
    shape: tuple[int, ...] = ()
    for x in arrays:
        shape = _broadcast(shape, x.shape)
    return tuple([x if x.shape == shape else v.broadcast_to(x, shape=shape) for x in arrays])


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    n = builtins.max(len(a), len(b))
    pairs = zip((1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b, strict=True)
    lengths = []
    for i, j in pairs:
        if i != j and 1 not in (i, j):
            msg = f"shape mismatch: shapes {a} and {b} cannot be broadcast to a single shape"
            raise ValueError(msg)
        lengths.append(j if i == 1 else i)
    return tuple(lengths)


def _several(arrays: tuple[Any, ...], raised: Any) -> Any:
    results = tuple([raised(x) for x in arrays])
    return results[0] if len(results) == 1 else results


def atleast_1d(*arrays: Any) -> Any:
    """Each array with one axis if it had none."""
    return _several(arrays, lambda x: x if x.ndim else v.reshape(x, shape=(1,)))


def atleast_2d(*arrays: Any) -> Any:
    """Each array with two axes if it had fewer: new ones come first."""
    return _several(
        arrays, lambda x: x if x.ndim >= 2 else v.reshape(x, shape=(1, *(x.shape or (1,))))
    )


def atleast_3d(*arrays: Any) -> Any:
    """Each array with three axes if it had fewer: vectors are put on the middle one."""

    def raised(x: Any) -> Any:
        shapes = {0: (1, 1, 1), 1: (1, *x.shape, 1), 2: (*x.shape, 1)}
        return v.reshape(x, shape=shapes[x.ndim]) if x.ndim < 3 else x

    return _several(arrays, raised)


# ------------------------------------------------------------------------------------ joining


def vstack(arrays: Any) -> Any:
    """Arrays above each other."""
    return v.concat(*[atleast_2d(x) for x in arrays], axis=0)


def hstack(arrays: Any) -> Any:
    """Arrays beside each other."""
    arrays = [atleast_1d(x) for x in arrays]
    return v.concat(*arrays, axis=0 if arrays and arrays[0].ndim == 1 else 1)


def dstack(arrays: Any) -> Any:
    """Arrays behind each other."""
    return v.concat(*[atleast_3d(x) for x in arrays], axis=2)


def column_stack(arrays: Any) -> Any:
    """Arrays beside each other, vectors as columns."""
    columns = [x if x.ndim >= 2 else v.reshape(x, shape=(-1, 1)) for x in arrays]
    return v.concat(*columns, axis=1)


def append(x: Any, values: Any, axis: int | None = None) -> Any:
    """Values behind the elements of x."""
    return v.concat(x, values, axis=axis)


# ------------------------------------------------------------------------------------ cutting


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis."""
    (a,) = _axes(axis, x.ndim)
    return tuple([v.index(x, (slice(None),) * a + (i,)) for i in range(x.shape[a])])


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """The parts of x between these places, or this many parts, the first ones longer."""
    (a,) = _axes(axis, x.ndim)
    length = x.shape[a]
    try:
        cuts = [operator.index(i) for i in indices_or_sections]
    except TypeError:
        sections = operator.index(indices_or_sections)
        if sections <= 0:
            msg = "number sections must be larger than 0."
            raise ValueError(msg) from None
        each, longer = divmod(length, sections)
        cuts = [i * each + builtins.min(i, longer) for i in range(1, sections)]
    bounds = zip([0, *cuts], [*cuts, length], strict=True)
    return [v.index(x, (slice(None),) * a + (slice(start, stop),)) for start, stop in bounds]


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """The parts of x between these places, or this many equal parts."""
    if not hasattr(indices_or_sections, "__len__"):
        (a,) = _axes(axis, x.ndim)
        if x.shape[a] % indices_or_sections:
            msg = "array split does not result in an equal division"
            raise ValueError(msg)
    return array_split(x, indices_or_sections, axis)


def hsplit(x: Any, indices_or_sections: Any) -> list[Any]:
    """The parts of x from left to right."""
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


def vsplit(x: Any, indices_or_sections: Any) -> list[Any]:
    """The parts of x from above to below."""
    return split(x, indices_or_sections, 0)


def dsplit(x: Any, indices_or_sections: Any) -> list[Any]:
    """The parts of x from front to back."""
    return split(x, indices_or_sections, 2)


# ----------------------------------------------------------------------------------- the rest


def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest element less the smallest."""
    largest = v.max(x, axis=axis, keepdims=keepdims)
    return largest - v.min(x, axis=axis, keepdims=keepdims)


def diff(x: Any, n: int = 1, axis: int = -1) -> Any:
    """The differences of neighbours, n times over."""
    (a,) = _axes(axis, x.ndim)
    before = (slice(None),) * a
    for _ in range(n):
        x = v.index(x, (*before, slice(1, None))) - v.index(x, (*before, slice(None, -1)))
    return x


def full_of(
    x: Any, fill_value: Any, dtype: Any = None, shape: tuple[int, ...] | None = None
) -> Any:
    """An array in the shape and dtype of x, filled with a value that may be differentiated in."""
    dtype = x.dtype if dtype is None else dtype
    filled = v.broadcast_to(fill_value, shape=x.shape if shape is None else shape)
    return v.astype(filled, dtype=dtype)

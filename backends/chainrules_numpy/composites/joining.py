"""Functions that join and split arrays, written in operations."""

from __future__ import annotations

import builtins
import operator
from typing import Any

from chainrules_numpy.composites import manipulation
from chainrules_py import ops as v
from chainrules_py.extend import untraced


def vstack(arrays: Any) -> Any:
    """Join arrays vertically."""
    return v.concat(*[manipulation.atleast_2d(x) for x in arrays], axis=0)


def hstack(arrays: Any) -> Any:
    """Join arrays horizontally."""
    arrays = [manipulation.atleast_1d(x) for x in arrays]
    return v.concat(*arrays, axis=0 if arrays and arrays[0].ndim == 1 else 1)


def dstack(arrays: Any) -> Any:
    """Join arrays along the third axis."""
    return v.concat(*[manipulation.atleast_3d(x) for x in arrays], axis=2)


def column_stack(arrays: Any) -> Any:
    """Join arrays horizontally, with vectors as columns."""
    columns = [x if x.ndim >= 2 else v.reshape(x, shape=(-1, 1)) for x in arrays]
    return v.concat(*columns, axis=1)


def append(x: Any, values: Any, axis: int | None = None) -> Any:
    """Append values to x."""
    return v.concat(x, values, axis=axis)


def block(arrays: Any) -> Any:
    """Join arrays in nested lists: the innermost along the last axis, then outwards."""
    depth = _depth(arrays)
    ndim = builtins.max(depth, *[x.ndim for x in _leaves(arrays)])
    joined = _joined(arrays, ndim - depth, ndim)
    return joined if type(arrays) is list else v.copy(joined)


def _depth(arrays: Any) -> int:
    if type(arrays) is not list:
        return 0
    depths = {_depth(x) for x in arrays}
    if len(depths) != 1:
        raise ValueError(
            "List depths are mismatched." if depths else "List at arrays cannot be empty"
        )
    return 1 + depths.pop()


def _leaves(arrays: Any) -> list[Any]:
    return [leaf for x in arrays for leaf in _leaves(x)] if type(arrays) is list else [arrays]


def _joined(arrays: Any, axis: int, ndim: int) -> Any:
    if type(arrays) is not list:
        missing = (1,) * (ndim - arrays.ndim)
        return v.reshape(arrays, shape=(*missing, *arrays.shape)) if missing else arrays
    return v.concat(*[_joined(x, axis + 1, ndim) for x in arrays], axis=axis)


def meshgrid(*arrays: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Return grid coordinates: each array along its own axis, the first two swapped for "xy"."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    n = len(arrays)
    places = [*range(n)]
    if indexing == "xy" and n > 1:
        places[:2] = [1, 0]
    spread = [
        v.reshape(x, shape=tuple(-1 if i == place else 1 for i in range(n)))
        for x, place in zip(arrays, places, strict=True)
    ]
    grids = tuple(spread) if sparse else manipulation.broadcast_arrays(*spread)
    return tuple([v.copy(x) for x in grids]) if copy else grids


# ------------------------------------------------------------------------------------ cutting


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """Return the slices along an axis."""
    (a,) = manipulation.normal_axes(axis, x.ndim)
    return tuple([v.index(x, (slice(None),) * a + (i,)) for i in range(x.shape[a])])


def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Split x at these indices, or into this many parts, of which the first are longer."""
    (a,) = manipulation.normal_axes(axis, x.ndim)
    length = x.shape[a]
    indices_or_sections = untraced(indices_or_sections)
    try:
        cuts = [operator.index(i) for i in indices_or_sections]
    except TypeError:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.") from None
        each, longer = divmod(length, sections)
        cuts = [i * each + builtins.min(i, longer) for i in range(1, sections)]
    bounds = zip([0, *cuts], [*cuts, length], strict=True)
    return [v.index(x, (slice(None),) * a + (slice(start, stop),)) for start, stop in bounds]


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Split x at these indices, or into this many equal parts."""
    if not hasattr(indices_or_sections, "__len__"):
        (a,) = manipulation.normal_axes(axis, x.ndim)
        if x.shape[a] % indices_or_sections:
            raise ValueError("array split does not result in an equal division")
    return array_split(x, indices_or_sections, axis)


def hsplit(x: Any, indices_or_sections: Any) -> list[Any]:
    """Split x into parts from left to right, as `np.hsplit` does."""
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


def vsplit(x: Any, indices_or_sections: Any) -> list[Any]:
    """Split x into parts from top to bottom, as `np.vsplit` does."""
    if x.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(x, indices_or_sections, 0)


def dsplit(x: Any, indices_or_sections: Any) -> list[Any]:
    """Split x into parts from front to back, as `np.dsplit` does."""
    return split(x, indices_or_sections, 2)

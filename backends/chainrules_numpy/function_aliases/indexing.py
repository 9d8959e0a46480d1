"""Aliases of functions that read elements at indices, and of functions that return indices."""

from __future__ import annotations

import math
import operator
import sys
from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites import indexing as i
from chainrules_numpy.composites import manipulation as m
from chainrules_numpy.function_aliases.alias_constructors import axis, constants, row
from chainrules_numpy.late_alias import alias
from chainrules_py import NotDifferentiableError
from chainrules_py import ops as v
from chainrules_py.extend import Call, describe, untraced, varies


def out_of_bounds(call: Call, mode: str) -> None:
    """Lower ``mode=`` of take: indices out of bounds wrap around, or are clipped."""
    x, axis = call.operands["x"], call.options.get("axis")
    n = math.prod(x.shape) if axis is None or not x.ndim else x.shape[axis]
    places = untraced(call.operands["indices"])
    if mode == "wrap":
        places = places % n
    elif mode == "clip":
        places = v.minimum(v.maximum(low.array_of(places), 0), n - 1)
    elif mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    call.operands["indices"] = low.array_of(places)


row(
    np.take,
    v.take,
    refuse=("out",),
    indices=low.as_places("indices"),
    axis=axis,
    mode=out_of_bounds,
)
row(np.take_along_axis, v.take_along_axis, "arr", axis=low.flattened)
row(np.compress, i.compress, refuse=("out",), condition=low.as_array("condition"), axis=axis)
row(np.extract, i.extract, "arr", condition=low.as_array("condition"), arr=low.as_array("x"))


def trim_zeros(x: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Remove zeros at the ends; np.poly1d has no derivative in the zeros that it removes."""
    kept = i.trim_zeros(x, trim, axis)
    if kept.shape != x.shape and varies(x) and _makes_a_polynomial():
        raise NotDifferentiableError(
            f"np.poly1d leaves out coefficients of {describe(x)} in front that are zero, and with "
            "them their derivatives; write np.polyval(c, x), which leaves out none"
        )
    return kept


def _makes_a_polynomial() -> bool:
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code is not _MAKING:
        frame = frame.f_back
    return frame is not None


_MAKING = np.poly1d.__init__.__code__
row(np.trim_zeros, trim_zeros, "filt", axis=axis)


def delete(x: Any, obj: Any, axis: int | None = None) -> Any:
    """Delete elements along an axis by taking those that NumPy keeps."""
    x, along = (v.reshape(x, shape=(-1,)), 0) if axis is None else (x, axis)
    (along,) = m.normal_axes(operator.index(along), x.ndim)
    where = untraced(obj)
    like = where if hasattr(where, "__array_function__") else None
    kept = np.delete(np.arange(x.shape[along], like=like), where)
    return v.take(x, low.moved_beside(kept), axis=along)


def insert(x: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """Insert values by letting NumPy insert indices, first those of x, then those of the values."""
    values = values if values.dtype == x.dtype else v.astype(values, dtype=x.dtype)
    size, more = math.prod(x.shape), math.prod(values.shape)
    places, more = np.arange(size).reshape(x.shape), np.arange(more) + size
    places = np.insert(places, untraced(obj), more.reshape(values.shape), axis)
    return v.take(v.concat(x, values, axis=None), low.moved_beside(places))


row(np.delete, delete, "arr", arr=low.as_array("x"))
row(np.insert, insert, "arr", arr=low.as_array("x"), values=low.as_keyword("values"))

# -------------------------------------------------------------------------------------- indices

constants(
    np.nonzero,
    np.flatnonzero,
    np.argwhere,
    np.diag_indices_from,
    np.tril_indices_from,
    np.triu_indices_from,
)


def open_mesh(args: Any) -> tuple[Any, ...]:
    """Call np.ix_: each sequence on an axis of its own, masks as indices of true elements."""
    plain = np.ix_(*[untraced(x) for x in args])
    return tuple(
        [v.reshape(x, shape=y.shape) if varies(x) else y for x, y in zip(args, plain, strict=True)]
    )


alias(np.ix_, to=open_mesh, parameters={"args": ()}, gather="args")

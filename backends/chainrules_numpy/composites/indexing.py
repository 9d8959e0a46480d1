"""Functions that select elements, written in operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy.composites import manipulation
from chainrules_numpy.keyword_lowerings import moved_beside, readable
from chainrules_py import ops as v


def compress(condition: Any, x: Any, axis: int | None = None) -> Any:
    """Select slices of x where a condition holds, or elements in C order if axis is None."""
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    if axis is None:
        x, axis = v.reshape(x, shape=(-1,)), 0
    (along,) = manipulation.normal_axes(axis, x.ndim)
    before, n = (slice(None),) * along, x.shape[along]
    mask = v.not_equal(condition, 0)
    if len(mask) < n:  # slices beyond the condition are left out
        x = v.index(x, (*before, slice(len(mask))))
    elif len(mask) > n and v.any(mask[n:]):
        raise IndexError(
            f"index out of bounds: the condition holds beyond the {n} slices of axis {axis}"
        )
    kept = np.flatnonzero(readable(mask[:n]))
    return v.take(x, moved_beside(kept), axis=along)  # which lies in C order, as NumPy's result


def extract(condition: Any, x: Any) -> Any:
    """Select the elements of x, in C order, where a condition holds."""
    return compress(v.reshape(condition, shape=(-1,)), x)


def trim_zeros(x: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Remove zeros at the front, at the back, or both; along axes, slices of zeros."""
    if trim.lower() not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    axes = range(x.ndim) if axis is None else manipulation.normal_axes(axis, x.ndim)
    there = v.not_equal(x, 0)
    found = bool(v.any(there))
    where: list[slice] = []
    for a in range(x.ndim):
        others = tuple(b for b in range(x.ndim) if b != a)
        kept = v.any(there, axis=others) if others else there
        first = int(v.argmax(kept)) if found else 0
        last = x.shape[a] - int(v.argmax(v.flip(kept))) if found else 0
        front, back = "f" in trim.lower() or not found, "b" in trim.lower() or not found
        where.append(
            slice(first if front else None, last if back else None) if a in axes else slice(None)
        )
    return v.index(x, tuple(where)) if where else x

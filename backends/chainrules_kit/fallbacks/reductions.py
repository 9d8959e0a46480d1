"""Reductions for libraries without a function of the name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from chainrules_py import ops as v
from chainrules_py.extend import kind_of


@v.nanmax.fallback
def nanmax_standard(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the maximum, with NaN counted as less than all numbers."""
    return _among_numbers(v.max, -math.inf, x, axis, keepdims)


@v.nanmin.fallback
def nanmin_standard(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Return the minimum, with NaN counted as greater than all numbers."""
    return _among_numbers(v.min, math.inf, x, axis, keepdims)


def _among_numbers(of: Any, limit: float, x: Any, axis: Any, keepdims: bool) -> Any:
    if kind_of(x) == "int":
        return of(x, axis=axis, keepdims=keepdims)
    missing = v.isnan(x)
    y = of(v.where(missing, limit, x), axis=axis, keepdims=keepdims)
    return v.where(v.all(missing, axis=axis, keepdims=keepdims), math.nan, y)


def _accumulated(of: Callable[[Any, Any], Any], x: Any, axis: int) -> Any:
    """Combine x with itself shifted by 1, 2, 4, and so on."""
    axis, n, step = axis % x.ndim, x.shape[axis], 1
    every = (slice(None),) * axis
    y = x
    while step < n:
        first = v.index(y, (*every, slice(step)))
        rest = of(v.index(y, (*every, slice(step, None))), v.index(y, (*every, slice(n - step))))
        y = v.concat(first, rest, axis=axis)
        step *= 2
    return y


v.cumulative_max.fallback(lambda x, *, axis: _accumulated(v.maximum, x, axis))
v.cumulative_min.fallback(lambda x, *, axis: _accumulated(v.minimum, x, axis))
v.partition.fallback(lambda x, *, kth, axis=-1: v.sort(x, axis=axis))

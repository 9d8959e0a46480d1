"""Adjoints of sums, means and weighted sums, with fewer NumPy calls than their operations."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy import array_types
from chainrules_py.extend import reduction_rules as reductions

_reductions: Any = reductions  # rules have no type annotations
_SMALL = 16384


def sum_transpose_numpy(y_bar: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
    """Broadcast the cotangent of a sum by filling where that is cheaper than a view."""
    one = type(axis) is int
    if x.size > _SMALL or not (one or keepdims or axis is None):
        return _reductions.sum_transpose(y_bar, x, axis=axis, keepdims=keepdims)
    full = np.empty(x.shape, y_bar.dtype)
    if type(y_bar) is not np.ndarray:
        full.fill(y_bar)
    elif one and axis and not keepdims and x.ndim:
        full[...] = y_bar[(slice(None),) * (axis % x.ndim) + (None,)]
    else:
        full[...] = y_bar
    return full


def mean_transpose_numpy(y_bar: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
    """Broadcast the shares of a mean by filling where that is cheaper than a view."""
    if not y_bar.size:
        return _reductions.mean_transpose(y_bar, x, axis=axis, keepdims=keepdims)
    share = _reductions.shared(y_bar, x.size // y_bar.size)
    return sum_transpose_numpy(share, x, axis=axis, keepdims=keepdims)


def weighted_pull_numpy(y_bar: Any, weights: Any, axis: Any, keepdims: bool, *saved: Any) -> Any:
    """Spread a cotangent by weights, which are conjugated only if they are complex."""
    weighted = (array_types.half.get(weights) or weights)(*saved, axis)
    weighted = weighted.conj() if weighted.dtype.kind == "c" else weighted
    return weighted * _reductions.kept(y_bar, axis, keepdims)


array_types.half[_reductions.weighted_pull] = weighted_pull_numpy
array_types.adjoint |= {
    _reductions.sum_transpose: sum_transpose_numpy,
    _reductions.mean_transpose: mean_transpose_numpy,
}

"""Statistics and interpolation for libraries without a function of the name."""

from __future__ import annotations

import builtins
from typing import Any

from chainrules_py import Array
from chainrules_py import ops as v
from chainrules_py.extend import kind_of, namespace, type_info


@v.bincount.fallback
def bincount_standard(x: Array, weights: Array, *, minlength: int = 0) -> Any:
    """Add the weights to a vector of zeros that is as long as the largest integer requires."""
    n = builtins.max(int(v.max(x)) + 1 if x.shape[0] else 0, minlength)
    if kind_of(weights) not in ("real", "complex"):
        weights = v.astype(weights, dtype=namespace(weights).float64)
    pattern, arrays = v.Index.split(x)
    return v.scatter_add(v.full_like(weights, shape=(n,), fill=0), weights, *arrays, index=pattern)


@v.convolve.fallback
def convolve_standard(x1: Array, x2: Array, *, mode: str = "full") -> Any:
    """Multiply windows of the longer vector by the reversed shorter one."""
    x1, x2 = [v.reshape(x, shape=(-1,)) for x in (x1, x2)]
    a, b = (x1, x2) if x1.shape[0] >= x2.shape[0] else (x2, x1)
    n, m = a.shape[0], b.shape[0]
    if not m:
        raise ValueError("v cannot be empty")
    dtype = namespace(x1).result_type(x1, x2)
    a, b = v.astype(a, dtype=dtype), v.astype(b, dtype=dtype)
    if mode != "valid":
        a = v.pad(a, 0, widths=((m - 1, m - 1),))
    y = v.matmul(v.sliding_window_view(a, window_shape=(m,), axis=(0,)), v.flip(b))
    return v.index(y, slice((m - 1) // 2, (m - 1) // 2 + n)) if mode == "same" else y


@v.order_statistics.fallback
def order_statistics_standard(x: Array, ranks: Array, *, skip_nan: bool = False) -> Any:
    """Sort all elements, with NaN last."""
    lead = [builtins.max(a, b) for a, b in zip(x.shape[:-1], ranks.shape[:-1], strict=True)]
    ordered = v.broadcast_to(v.sort(x, axis=-1), shape=(*lead, x.shape[-1]))
    ranks = v.broadcast_to(ranks, shape=(*lead, ranks.shape[-1]))
    ranks = v.where(v.less(ranks, 0), ranks + x.shape[-1], ranks)
    y = v.take_along_axis(ordered, ranks, axis=-1)
    if skip_nan or kind_of(x) not in ("real", "complex"):
        return y
    lost = v.any(v.isnan(x), axis=-1, keepdims=True)
    return v.where(lost, v.full_like(y, shape=(), fill=float("nan")), y)


@v.weighted_quantile.fallback
def weighted_quantile_standard(
    x: Array, q: Array, weights: Array, *, skip_nan: bool = False
) -> Any:
    """Add up the weights in the order of the elements until they are a part q of the sum."""
    xp = namespace(x)
    weights = v.broadcast_to(v.astype(weights, dtype=xp.float64), shape=x.shape)
    missing = v.isnan(x) if kind_of(x) == "real" else v.not_equal(x, x)
    if skip_nan:
        weights = v.where(missing, 0.0, weights)
    order = v.argsort(x, axis=-1)
    ordered = v.take_along_axis(x, order, axis=-1)
    below = v.cumulative_sum(v.take_along_axis(weights, order, axis=-1), axis=-1)
    part = v.expand_dims(below / v.index(below, (..., slice(-1, None))), axis=-1)
    # The rank of the quantile is the number of elements whose cumulative weight is below q.
    place = v.sum(v.astype(v.less(part, v.astype(q, dtype=xp.float64)), dtype=xp.int64), axis=-2)
    weightless = v.sum(v.astype(v.equal(below, 0.0), dtype=xp.int64), axis=-1, keepdims=True)
    place = v.maximum(place, weightless)
    place = v.minimum(place, v.full_like(place, shape=(), fill=x.shape[-1] - 1))
    y = v.take_along_axis(ordered, place, axis=-1)
    if skip_nan or kind_of(x) != "real":
        return y
    return v.where(v.any(missing, axis=-1, keepdims=True), float("nan"), y)


@v.interp.fallback
def interp_standard(x: Any, xp: Array, fp: Array) -> Any:
    """Interpolate on the line of the interval that x is in; return the values at the knots."""
    last = xp.shape[0] - 1
    at = x if type_info(type(x)).is_array else v.full_like(xp, shape=(), fill=x)
    flat = v.reshape(at, shape=(-1,))
    j = v.searchsorted(xp, flat, side="right") - 1
    inside = v.where(v.less(j, 0), 0, v.where(v.greater(j, last - 1), builtins.max(last - 1, 0), j))
    behind = v.where(v.greater(inside + 1, last), last, inside + 1)
    x0, x1 = v.take(xp, inside, axis=0), v.take(xp, behind, axis=0)
    f0, f1 = v.take(fp, inside, axis=0), v.take(fp, behind, axis=0)
    wide = v.where(v.equal(x1, x0), 1.0, x1 - x0)
    y = v.where(v.equal(flat, x0), f0, f0 + (f1 - f0) / wide * (flat - x0))
    y = v.where(v.less(flat, v.index(xp, 0)), v.index(fp, 0), y)
    y = v.where(v.greater_equal(flat, v.index(xp, last)), v.index(fp, last), y)
    y = v.where(v.isnan(flat), flat, y)
    return v.reshape(y, shape=at.shape)

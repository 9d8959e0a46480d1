"""Medians and quantiles: order statistics at ranks that depend on q, and means of two.

Source: Hyndman and Fan (1996), Sample quantiles in statistical packages, The American Statistician
50(4), for the methods 'inverted_cdf' (1) to 'normal_unbiased' (9).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_numpy.composites.reductions import Axes, array_of, axes_of
from chainrules_numpy.composites.statistics import is_seen, spread_weights
from chainrules_py import ops as v
from chainrules_py.extend import (
    kind_of,
    namespace_of,
    real_numbers,
    type_info,
    untraced,
    varies,
)


def _last(x: Any, axes: tuple[int, ...]) -> Any:
    """Merge some axes of x into one, the last."""
    if axes == (x.ndim - 1,):
        return x
    free = [a for a in range(x.ndim) if a not in axes]
    if free and free[-1] > min(axes, default=x.ndim):
        x = v.permute_dims(x, axes=(*free, *sorted(axes)))
    return v.reshape(x, shape=(*x.shape[: len(free)], math.prod(x.shape[len(free) :])))


# -------------------------------------------------------------------------------------- medians


def median(x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
    """Return the middle one of the sorted elements, or the mean of the two in the middle."""
    n = math.prod([x.shape[a] for a in axes_of(axis, x.ndim)])
    if n == 0:
        return v.mean(x, axis=axis, keepdims=keepdims)
    return _median(x, axis, keepdims, sorted({(n - 1) // 2, n // 2}), skip_nan=False)


def nanmedian(x: Any, axis: Axes = None, keepdims: bool = False) -> Any:
    """Compute the median, ignoring NaNs."""
    if math.prod(x.shape) == 0:
        return v.mean(x, axis=axis, keepdims=keepdims)
    n = _numbers(x, axes_of(axis, x.ndim))
    ranks = v.concat(v.floor_divide(n - 1, 2), v.floor_divide(n, 2), axis=-1)
    return _median(x, axis, keepdims, ranks, skip_nan=True)


def _numbers(x: Any, axes: tuple[int, ...]) -> Any:
    """Count elements that are not NaN; one last axis of length one replaces the reduced ones."""
    return v.count_nonzero(v.logical_not(v.isnan(_last(x, axes))), axis=-1, keepdims=True)


def _median(x: Any, axis: Axes, keepdims: bool, ranks: Any, *, skip_nan: bool) -> Any:
    axes = axes_of(axis, x.ndim)
    flat = _last(x, axes)
    middle = v.order_statistics(flat, _ranks(ranks, flat), skip_nan=skip_nan)
    return _kept(v.mean(middle, axis=-1), axes, keepdims)


def _ranks(ranks: Any, x: Any) -> Any:
    """Return ranks as an array with as many axes as x has."""
    if type(ranks) is list:
        ranks = array_of(ranks, x)
    return v.reshape(ranks, shape=(*(1,) * (x.ndim - ranks.ndim), *ranks.shape))


def _kept(y: Any, axes: tuple[int, ...], keepdims: bool, before: int = 0) -> Any:
    """Restore the reduced axes with length one, after ``before`` axes of the result."""
    if not keepdims or not axes:
        return y
    return v.expand_dims(y, axis=tuple([before + a for a in sorted(axes)]))


# ------------------------------------------------------------------------------------- quantiles


def _quantiles(whole: int, *, skip_nan: bool) -> Callable[..., Any]:
    """Return the function that computes the quantile q, where ``whole`` means all elements."""

    def quantiles(
        x: Any,
        q: Any,
        axis: Axes = None,
        method: str = "linear",
        keepdims: bool = False,
        weights: Any = None,
    ) -> Any:
        q = _checked(q, x, whole)
        info = type_info(type(q))
        if info.is_array and info.namespace is not np and not info.by_operations:
            q = real_numbers(q, x)  # PyTorch would divide integers in single precision
        q = q if whole == 1 else q / whole
        return _quantile(x, q, axis, method, keepdims, weights, skip_nan=skip_nan)

    return quantiles


quantile, percentile = _quantiles(1, skip_nan=False), _quantiles(100, skip_nan=False)
nanquantile, nanpercentile = _quantiles(1, skip_nan=True), _quantiles(100, skip_nan=True)


def _checked(q: Any, x: Any, whole: int) -> Any:
    q = array_of(q, x)
    inside = v.logical_and(v.less_equal(0, q), v.less_equal(q, whole))
    if is_seen(q) and not (inside if type(inside) is bool else bool(v.all(inside))):
        name = "Quantiles" if whole == 1 else "Percentiles"
        raise ValueError(f"{name} must be in the range [0, {whole}]")
    return q


def _quantile(
    x: Any, q: Any, axis: Axes, method: str, keepdims: bool, weights: Any, *, skip_nan: bool
) -> Any:
    if kind_of(x) == "complex":
        raise TypeError("a must be an array of real numbers")
    if weights is not None and method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    if skip_nan and not math.prod(x.shape):
        return v.mean(x, axis=axis, keepdims=keepdims)
    shape = () if type_info(type(q)).is_python_number else q.shape
    if len(shape) > 2:
        raise ValueError("q must be a scalar or 1d")
    axes = axes_of(axis, x.ndim)
    flat = _last(x, axes)
    if weights is None:
        y = _interpolated(flat, q, shape, method, skip_nan)
    else:
        weights = v.broadcast_to(spread_weights(weights, x, axis), shape=x.shape)
        y = _weighted(flat, q, shape, _last(weights, axes), skip_nan)
    if shape:
        y = v.permute_dims(y, axes=(y.ndim - 1, *range(y.ndim - 1))) if y.ndim > 1 else y
        y = y if len(shape) == 1 else v.reshape(y, shape=(*shape, *y.shape[1:]))
    return _kept(y, axes, keepdims, len(shape))


def _interpolated(x: Any, q: Any, shape: tuple[int, ...], method: str, skip_nan: bool) -> Any:
    """Return quantiles along the last axis; several q are on the last axis of the result."""
    n: Any = x.shape[-1]
    if skip_nan:
        sized = hasattr(q, "dtype") and kind_of(q) == "real"
        n = v.astype(
            _numbers(x, (x.ndim - 1,)), dtype=q.dtype if sized else namespace_of(type(x)).float64
        )
    if shape:
        q = v.reshape(q, shape=(-1,))
    low, high, t = _places(q, n, method)
    if high is None:
        y = v.order_statistics(x, _ranks(_whole([low], x), x), skip_nan=skip_nan)
        return y if shape else _only(y)
    pairs = v.order_statistics(x, _ranks(_whole([low, high], x), x), skip_nan=skip_nan)
    m = pairs.shape[-1] // 2
    below, above = v.index(pairs, (..., slice(m))), v.index(pairs, (..., slice(m, None)))
    y = v.lerp(below, above, _of_precision(t, q, x))
    return y if shape else _only(y)


def _only(y: Any) -> Any:
    """Return the one element of the last axis; without other axes it is a scalar."""
    return v.index(y, (*(slice(None),) * (y.ndim - 1), 0))


def _of_precision(t: Any, q: Any, x: Any) -> Any:
    """Return weights in the precision of q, or of x if q is a Python number or an integer."""
    like = x if type_info(type(q)).is_python_number or kind_of(q) == "int" else q
    whole = kind_of(t) == kind_of(like) == "int"
    if type_info(type(t)).is_python_number or not (whole or kind_of(like) == "real"):
        return t
    return t if t.dtype == like.dtype else v.astype(t, dtype=like.dtype)


def _whole(places: list[Any], x: Any) -> Any:
    """Return ranks as integers, one group after the other on the last axis."""
    if type_info(type(places[0])).is_python_number:
        return [int(p) for p in places]
    places = [v.reshape(p, shape=(1,)) if not p.ndim else p for p in places]
    joined = places[0] if len(places) == 1 else v.concat(*places, axis=-1)
    return v.astype(joined, dtype=namespace_of(type(x)).int64)


# The rank of the quantile q of n elements, counted from 0, is n q + a + q (1 - a - b) - 1.
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}


def _as_number(condition: Any, like: Any) -> Any:
    return condition if type(condition) is bool else v.astype(condition, dtype=like.dtype)


def _either(condition: Any, yes: Any, no: Any) -> Any:
    """Choose between ranks, which may be Python's numbers."""
    if type(condition) is bool:
        return yes if condition else no
    return v.where(condition, yes, no)


def _places(q: Any, n: Any, method: str) -> tuple[Any, Any, Any]:
    """Return the two ranks around the quantile and its distance from the first, or its one rank.

    At an integer rank the slope in q is that of the interval after it; at the last rank, that of
    the interval before.
    """
    if method == "linear" and kind_of(q) in ("int", "bool") and not varies(q):
        return (n - 1) * q, None, None
    if method == "linear" or method in _CONTINUOUS:
        if method == "linear":
            h = (n - 1) * q
        else:
            a, b = _CONTINUOUS[method]
            h = n * q + (a + q * (1 - a - b)) - 1
        first, last, h = h < 0, h >= n - 1, v.clip(h, 0, n - 1)
        low = v.minimum(v.floor(h), v.maximum(n - 2, 0))
        high, t = v.minimum(low + 1, n - 1), h - low
        if not varies(q):  # only a slope in q needs the element beside, which may be infinite
            low, high = _either(last, n - 1, low), _either(first, 0, high)
        return low, high, t
    if method in ("lower", "higher", "midpoint", "nearest"):
        h = (n - 1) * q
        low, high = v.floor(h), v.ceil(h)
        if method == "midpoint":
            t = 0.5 - 0.5 * _as_number(v.equal(low, high), h)
            return low, v.minimum(low + 1, n - 1), t
        return {"lower": low, "higher": high}.get(method, v.round(h)), None, None
    if method in ("inverted_cdf", "averaged_inverted_cdf", "closest_observation"):
        h = n * q - (1.5 if method == "closest_observation" else 1)
        low = v.floor(h)
        high = v.clip(low + 1, 0, n - 1)
        exact = v.equal(h, low)
        low = v.clip(low, 0, n - 1)
        if method == "averaged_inverted_cdf":
            return low, high, 1.0 - 0.5 * _as_number(exact, h)
        if method == "closest_observation":
            exact = v.logical_and(exact, v.equal(v.remainder(v.floor(h), 2), 1))
        return v.where(exact, low, high), None, None
    raise ValueError(f"{method!r} is not a valid method of quantiles")


def _weighted(x: Any, q: Any, shape: tuple[int, ...], weights: Any, skip_nan: bool) -> Any:
    q = (
        array_of([untraced(q)], x)
        if type_info(type(q)).is_python_number
        else v.reshape(q, shape=(-1,))
    )
    y = v.weighted_quantile(x, q, weights, skip_nan=skip_nan)
    return y if shape else _only(y)

"""Distances of ``scipy.spatial.distance``, for traced values too."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial.distance as native

from chainrules_py import UnsupportedKeywordError, ops
from chainrules_py.extend import untraced, varies
from chainrules_scipy.composites_and_operand_conversions import (
    array_of,
    attribute,
    of_precision,
    operations,
    readable,
    reject,
    stands_for,
)

__all__ = ["cdist", "directed_hausdorff", "pdist", "squareform"]


def _sum(x: Any, w: Any = None) -> Any:
    return ops.sum(x if w is None else x * w, axis=-1)


def _norm(d: Any) -> Any:
    return ops.vector_norm(d, axis=-1)


def _minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    """Compute the weighted p-norm of the difference; where it is 0, its subgradient is 0."""
    if p == 2 and not varies(p):  # a square has a second derivative at 0, and that of abs has none
        return _norm(u - v if w is None else (u - v) * ops.sqrt(w))
    d = ops.abs(u - v)
    if p == np.inf:
        return ops.max(d if w is None else ops.where(readable(w) != 0, d, 0.0), axis=-1)
    # A root of 0 has an infinite slope, and its absolute value has the slope 0.
    return (
        _sum(d, w) if p == 1 and not varies(p) else ops.abs(ops.pow(_sum(ops.pow(d, p), w), 1 / p))
    )


def _cosine(u: Any, v: Any, w: Any = None) -> Any:
    return 1 - _sum(u * v, w) / ops.sqrt(_sum(u * u, w) * _sum(v * v, w))


def _centered(a: Any, w: Any) -> Any:
    total = ops.sum(a if w is None else a * w, axis=-1, keepdims=True)
    return a - total / (a.shape[-1] if w is None else _sum(w))


def _canberra(u: Any, v: Any, w: Any = None) -> Any:
    """Compute the Canberra distance; where both are 0 the term is 0."""
    size = ops.abs(u) + ops.abs(v)
    some = readable(size) > 0
    return _sum(ops.where(some, ops.abs(u - v) / ops.where(some, size, 1.0), 0.0), w)


def _jensenshannon(p: Any, q: Any, base: Any = None, axis: int = -1, keepdims: bool = False) -> Any:
    """Compute the root of Σ p log(p / m) + q log(q / m), halved, for the mean m of p and q.

    The slopes log(p / m) and log(q / m) are log 2 at a bin that is empty in both operands.
    """
    x, y = map(array_of, (p, q))
    no_x, no_y = ops.equal(untraced(x), 0), ops.equal(untraced(y), 0)
    empty = ops.logical_and(no_x, no_y)
    p, q = (
        # A share of 0 that has an infinite slope does not move with the total.
        z / ops.where(ops.logical_and(none, ops.logical_not(empty)), untraced(total), total)
        for z, none in ((x, no_x), (y, no_y))
        for total in [ops.sum(z, axis=axis, keepdims=True)]
    )
    mean = ops.where(empty, 1.0, 0.5 * (p + q))
    left, right = (
        ops.where(empty, z * math.log(2), ops.rel_entr(ops.where(empty, 1.0, z), mean))
        for z in (p, q)
    )
    square = ops.sum(left + right, axis=axis, keepdims=keepdims)
    return ops.abs(ops.sqrt(square / (2 if base is None else 2 * np.log(base))))


_METRICS: dict[str, Any] = {
    "euclidean": lambda u, v, w=None: _minkowski(u, v, 2, w),
    "cityblock": lambda u, v, w=None: _minkowski(u, v, 1, w),
    "chebyshev": lambda u, v, w=None: _minkowski(u, v, np.inf, w),
    "minkowski": _minkowski,
    "sqeuclidean": lambda u, v, w=None: _sum((u - v) * (u - v), w),
    "seuclidean": lambda u, v, V: _norm((u - v) / ops.sqrt(V)),
    "mahalanobis": lambda u, v, VI: ops.abs(ops.sqrt(_sum(ops.matmul(u - v, VI) * (u - v)))),
    "cosine": _cosine,
    "correlation": lambda u, v, w=None, centered=True: (
        _cosine(_centered(u, w), _centered(v, w), w) if centered else _cosine(u, v, w)
    ),
    "canberra": _canberra,
    "braycurtis": lambda u, v, w=None: _sum(ops.abs(u - v), w) / _sum(ops.abs(u + v), w),
    "jensenshannon": _jensenshannon,
}
_PLAIN = ("p", "centered", "base", "axis", "keepdims")
_SHORT = {"l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock", "linf": "chebyshev"}


def _of_pairs(metric: Callable[..., Any], x: Any, y: Any) -> Any:
    """Call a function on each pair of rows, as SciPy does."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    rows = (ops.reshape(ops.broadcast_to(z, shape=shape), shape=(-1, shape[-1])) for z in (x, y))
    found = [array_of(metric(a, b)) for a, b in zip(*rows, strict=True)]
    return ops.reshape(of_precision(ops.stack(*found), np.dtype(float)), shape=shape[:-1])


def _metric(metric: Any, options: dict[str, Any], rows: list[Any]) -> Callable[..., Any]:
    if callable(metric):
        found = next((name for name in _METRICS if getattr(native, name) is metric), None)
        if found is None:
            return functools.partial(_of_pairs, functools.partial(metric, **options))
        metric = found
    name = _SHORT.get(metric, metric)
    if name not in _METRICS:
        reject(
            f"the metric {metric!r} has no derivative here; there are {sorted(_METRICS)}",
            UnsupportedKeywordError,
        )
    given = {
        k: value if k in _PLAIN else array_of(value)
        for k, value in options.items()
        if value is not None
    }
    if name == "seuclidean" and "V" not in given:
        given["V"] = ops.var(ops.concat(*rows, axis=0), axis=0, correction=1)
    if name == "mahalanobis" and "VI" not in given:
        every = ops.concat(*rows, axis=0)
        d = every - ops.mean(every, axis=0)
        given["VI"] = ops.inv(ops.matmul(ops.matrix_transpose(d), d) / (every.shape[0] - 1))
    return functools.partial(_METRICS[name], **given)


@stands_for(native.cdist, without="out")
def cdist(XA: Any, XB: Any, metric: Any, kwargs: Any) -> Any:
    """Compute the distances of all pairs of rows of two matrices."""
    a, b = array_of(XA), array_of(XB)
    distance = _metric(metric, kwargs, [a, b])
    left, right = ops.expand_dims(a, axis=1), ops.expand_dims(b, axis=0)
    if a is not b or callable(metric):
        return distance(left, right)
    same = np.eye(a.shape[0])  # the distance of a point from itself is 0 wherever it moves
    return ops.where(same == 1, 0.0, distance(left, right + same[..., None]))


@stands_for(native.pdist, without="out")
def pdist(X: Any, metric: Any, kwargs: Any) -> Any:
    """Compute the distances of all pairs of rows of a matrix, each once."""
    x = array_of(X)
    i, j = np.triu_indices(x.shape[0], 1)
    return _metric(metric, kwargs, [x])(ops.take(x, i, axis=0), ops.take(x, j, axis=0))


@stands_for(native.squareform)
def squareform(X: Any, force: Any = "no", checks: bool = True) -> Any:
    """Convert the distances that `pdist` returns to a matrix, or a matrix to these."""
    x = array_of(X, floating=False)
    native.squareform(readable(x), force, checks)
    flat = ops.reshape(x, shape=(-1,))
    places = native.squareform(np.arange(1, flat.shape[0] + 1).reshape(x.shape), checks=False)
    return ops.take(
        ops.concat(ops.full_like(flat, shape=(1,), fill=0), flat, axis=0), places, axis=0
    )


@stands_for(native.directed_hausdorff)
def directed_hausdorff(u: Any, v: Any, rng: Any = 0) -> Any:
    """Compute the directed Hausdorff distance from u to v: as SciPy's function."""
    a, b = array_of(u), array_of(v)
    _, i, j = native.directed_hausdorff(readable(a), readable(b), rng)
    return _norm(a[i] - b[j]), i, j


OF_VECTORS = operations(native, arrays="u v w V VI", **_METRICS)
__getattr__ = functools.partial(attribute, __name__, OF_VECTORS)

"""Distances of ``scipy.spatial.distance``, for traced values too."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial.distance as native

from chainrules_py import UnsupportedKeywordError
from chainrules_py import ops as v
from chainrules_py.extend import untraced, varies
from chainrules_scipy.composites_and_operand_conversions import (
    array_of,
    of_precision,
    readable,
    reject,
    stands_for,
)

__all__ = [
    "braycurtis",
    "canberra",
    "cdist",
    "chebyshev",
    "cityblock",
    "correlation",
    "cosine",
    "directed_hausdorff",
    "euclidean",
    "jensenshannon",
    "mahalanobis",
    "minkowski",
    "pdist",
    "seuclidean",
    "sqeuclidean",
    "squareform",
]

_Metric = Callable[..., Any]


def _sum(x: Any, w: Any = None) -> Any:
    return v.sum(x if w is None else x * w, axis=-1)


def _norm(d: Any) -> Any:
    return v.vector_norm(d, axis=-1)


def _minkowski(a: Any, b: Any, p: Any = 2, w: Any = None) -> Any:
    """Compute the weighted p-norm of the difference; where it is 0, its subgradient is 0."""
    if p == 2 and not varies(p):  # a square has a second derivative at 0, and that of abs has none
        return _norm(a - b if w is None else (a - b) * v.sqrt(w))
    d = v.abs(a - b)
    if p == np.inf:
        return v.max(d if w is None else v.where(readable(w) != 0, d, 0.0), axis=-1)
    # A root of 0 has an infinite slope, and its absolute value has the slope 0.
    return _sum(d, w) if p == 1 and not varies(p) else v.abs(v.pow(_sum(v.pow(d, p), w), 1 / p))


def _cosine(a: Any, b: Any, w: Any = None) -> Any:
    return 1 - _sum(a * b, w) / v.sqrt(_sum(a * a, w) * _sum(b * b, w))


def _centered(a: Any, w: Any) -> Any:
    total = v.sum(a if w is None else a * w, axis=-1, keepdims=True)
    return a - total / (a.shape[-1] if w is None else _sum(w))


def _canberra(a: Any, b: Any, w: Any = None) -> Any:
    """Compute the Canberra distance; where both are 0 the term is 0."""
    size = v.abs(a) + v.abs(b)
    some = readable(size) > 0
    return _sum(v.where(some, v.abs(a - b) / v.where(some, size, 1.0), 0.0), w)


def _jensenshannon(a: Any, b: Any, base: Any = None, axis: int = -1, keepdims: bool = False) -> Any:
    """Compute the root of Σ a log(a / m) + b log(b / m), halved, for the mean m of a and b.

    The slopes log(a / m) and log(b / m) are log 2 at a bin that is empty in both operands.
    """
    x, y = map(array_of, (a, b))
    no_x, no_y = v.equal(untraced(x), 0), v.equal(untraced(y), 0)
    empty = v.logical_and(no_x, no_y)
    p, q = (
        # A share of 0 that has an infinite slope does not move with the total.
        z / v.where(v.logical_and(none, v.logical_not(empty)), untraced(total), total)
        for z, none in ((x, no_x), (y, no_y))
        for total in [v.sum(z, axis=axis, keepdims=True)]
    )
    mean = v.where(empty, 1.0, 0.5 * (p + q))
    left, right = (
        v.where(empty, z * math.log(2), v.rel_entr(v.where(empty, 1.0, z), mean)) for z in (p, q)
    )
    square = v.sum(left + right, axis=axis, keepdims=keepdims)
    return v.abs(v.sqrt(square / (2 if base is None else 2 * np.log(base))))


_METRICS: dict[str, _Metric] = {
    "euclidean": functools.partial(_minkowski, p=2),
    "cityblock": functools.partial(_minkowski, p=1),
    "chebyshev": functools.partial(_minkowski, p=np.inf),
    "minkowski": _minkowski,
    "sqeuclidean": lambda a, b, w=None: _sum((a - b) * (a - b), w),
    "seuclidean": lambda a, b, V: _norm((a - b) / v.sqrt(V)),
    "mahalanobis": lambda a, b, VI: v.abs(v.sqrt(_sum(v.matmul(a - b, VI) * (a - b)))),
    "cosine": _cosine,
    "correlation": lambda a, b, w=None, centered=True: (
        _cosine(_centered(a, w), _centered(b, w), w) if centered else _cosine(a, b, w)
    ),
    "canberra": _canberra,
    "braycurtis": lambda a, b, w=None: _sum(v.abs(a - b), w) / _sum(v.abs(a + b), w),
    "jensenshannon": _jensenshannon,
}
_PLAIN = ("p", "centered", "base", "axis", "keepdims")
_SHORT = {"l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock", "linf": "chebyshev"}


def _of_pairs(metric: Callable[..., Any], x: Any, y: Any) -> Any:
    """Call a function on each pair of rows, as SciPy does."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    rows = (v.reshape(v.broadcast_to(z, shape=shape), shape=(-1, shape[-1])) for z in (x, y))
    found = [array_of(metric(a, b)) for a, b in zip(*rows, strict=True)]
    return v.reshape(of_precision(v.stack(*found), np.dtype(float)), shape=shape[:-1])


def _metric(metric: Any, options: dict[str, Any], rows: list[Any]) -> _Metric:
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
        given["V"] = v.var(v.concat(*rows, axis=0), axis=0, correction=1)
    if name == "mahalanobis" and "VI" not in given:
        every = v.concat(*rows, axis=0)
        d = every - v.mean(every, axis=0)
        given["VI"] = v.inv(v.matmul(v.matrix_transpose(d), d) / (every.shape[0] - 1))
    return functools.partial(_METRICS[name], **given)


@stands_for(native.cdist, without="out")
def cdist(XA: Any, XB: Any, metric: Any, kwargs: Any) -> Any:
    """Compute the distances of all pairs of rows of two matrices."""
    a, b = array_of(XA), array_of(XB)
    distance = _metric(metric, kwargs, [a, b])
    left, right = v.expand_dims(a, axis=1), v.expand_dims(b, axis=0)
    if a is not b or callable(metric):
        return distance(left, right)
    same = np.eye(a.shape[0])  # the distance of a point from itself is 0 wherever it moves
    return v.where(same == 1, 0.0, distance(left, right + same[..., None]))


@stands_for(native.pdist, without="out")
def pdist(X: Any, metric: Any, kwargs: Any) -> Any:
    """Compute the distances of all pairs of rows of a matrix, each once."""
    x = array_of(X)
    i, j = np.triu_indices(x.shape[0], 1)
    return _metric(metric, kwargs, [x])(v.take(x, i, axis=0), v.take(x, j, axis=0))


@stands_for(native.squareform)
def squareform(X: Any, force: Any = "no", checks: bool = True) -> Any:
    """Convert the distances that `pdist` returns to a matrix, or a matrix to these."""
    x = array_of(X, floating=False)
    native.squareform(readable(x), force, checks)
    flat = v.reshape(x, shape=(-1,))
    places = native.squareform(np.arange(1, flat.shape[0] + 1).reshape(x.shape), checks=False)
    return v.take(v.concat(v.full_like(flat, shape=(1,), fill=0), flat, axis=0), places, axis=0)


def _of_vectors(name: str) -> Any:
    theirs = getattr(native, name)

    @functools.wraps(theirs)  # for its parameters
    def distance(**given: Any) -> Any:
        a, b, *rest = (x if k in _PLAIN or x is None else array_of(x) for k, x in given.items())
        return _METRICS[name](a, b, **dict(zip([*given][2:], rest, strict=True)))

    return stands_for(
        theirs, says=f"Compute SciPy's `{name}`, of traced values too.", arrays="u v"
    )(distance)


(
    euclidean,
    cityblock,
    chebyshev,
    minkowski,
    sqeuclidean,
    seuclidean,
    mahalanobis,
    cosine,
    correlation,
    canberra,
    braycurtis,
    jensenshannon,
) = map(_of_vectors, _METRICS)


@stands_for(native.directed_hausdorff)
def directed_hausdorff(u: Any, v: Any, rng: Any = 0) -> Any:
    """Compute the directed Hausdorff distance from u to v: as SciPy's function."""
    a, b = array_of(u), array_of(v)
    _, i, j = native.directed_hausdorff(readable(a), readable(b), rng)
    return _norm(a[i] - b[j]), i, j

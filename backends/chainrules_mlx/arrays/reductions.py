"""Reductions, as MLX computes them.

Sums over no elements are made here: MLX 0.32 reads beyond the end of an empty array, and may never
come back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mlx.core as mx

from chainrules_mlx.array_types import ARRAY
from chainrules_mlx.namespace import is_complex
from chainrules_py import vocabulary as v

_mx: Any = mx


def _axes(x: Any, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    return tuple([a % x.ndim for a in ((axis,) if isinstance(axis, int) else axis)])


def _shape(x: Any, axis: Any, keepdims: bool) -> tuple[int, ...]:
    gone = _axes(x, axis)
    kept = [1 if i in gone else n for i, n in enumerate(x.shape)]
    return tuple([n for i, n in enumerate(kept) if keepdims or i not in gone])


def _reduced(reduce: Callable[..., Any], identity: Any) -> Callable[..., Any]:
    def reduced(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        if 0 in x.shape:
            dtype = reduce(_mx.zeros((1,), x.dtype)).dtype
            return _mx.full(_shape(x, axis, keepdims), identity, dtype)
        return reduce(x, axis=axis, keepdims=keepdims)

    return reduced


summed = _reduced(_mx.sum, 0)
"""Sum along axes."""
for _word, _reduce, _identity in (
    (v.sum, _mx.sum, 0),
    (v.prod, _mx.prod, 1),
    (v.mean, _mx.mean, math.nan),
    (v.any, _mx.any, False),
    (v.all, _mx.all, True),
):
    _word.implement(_reduced(_reduce, _identity), types=(ARRAY,))


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    def spread(x: Any, *, axis: Any = None, correction: float = 0, keepdims: bool = False) -> Any:
        if correction == int(correction) and not is_complex(x) and x.size:
            return function(x, axis, keepdims, ddof=int(correction))
        n = math.prod([x.shape[a] for a in _axes(x, axis)])
        rest = x - v.mean(x, axis=axis, keepdims=True)
        size = rest * rest if not is_complex(x) else _mx.square(_mx.abs(rest))
        y = summed(size, axis=axis, keepdims=keepdims) / max(n - correction, 0)
        return y if function is _mx.var else _mx.sqrt(y)

    return spread


v.var.implement(_spread(_mx.var), types=(ARRAY,))
v.std.implement(_spread(_mx.std), types=(ARRAY,))


def _accumulated(accumulate: Callable[..., Any], start: int) -> Callable[..., Any]:
    def accumulated(x: Any, *, axis: int | None = None, include_initial: bool = False) -> Any:
        x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
        y = accumulate(x, axis)
        if not include_initial:
            return y
        shape = [1 if i == axis % x.ndim else n for i, n in enumerate(y.shape)]
        return _mx.concatenate([_mx.full(shape, start, y.dtype), y], axis)

    return accumulated


v.cumulative_sum.implement(_accumulated(_mx.cumsum, 0), types=(ARRAY,))
v.cumulative_prod.implement(_accumulated(_mx.cumprod, 1), types=(ARRAY,))
v.cumulative_max.implement(lambda x, *, axis: _mx.cummax(x, axis), types=(ARRAY,))
v.cumulative_min.implement(lambda x, *, axis: _mx.cummin(x, axis), types=(ARRAY,))


@v.count_nonzero.implement
def count_nonzero_mlx(x: mx.array, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Sum what is not zero."""
    return summed(x != 0, axis=axis, keepdims=keepdims)


def _argmost(find: Callable[..., Any]) -> Callable[..., Any]:
    """Count places with a sign: differences of MLX's own wrap around."""

    def computed(x: Any, *, axis: int | None = None, keepdims: bool = False) -> Any:
        y = find(x, axis, keepdims=keepdims and axis is not None).astype(mx.int32)
        return y.reshape((1,) * x.ndim) if keepdims and axis is None else y

    return computed


v.argmax.implement(_argmost(_mx.argmax), types=(ARRAY,))
v.argmin.implement(_argmost(_mx.argmin), types=(ARRAY,))

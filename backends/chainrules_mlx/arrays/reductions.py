"""Reductions in MLX.

Sums over no elements are computed here: MLX 0.32 reads beyond the end of an empty array, and may
not return.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mlx.core as mx

from chainrules_mlx.array_types import implement
from chainrules_mlx.namespace import is_complex
from chainrules_py import ops as v

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


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    def spread(x: Any, *, axis: Any = None, correction: float = 0, keepdims: bool = False) -> Any:
        if correction == int(correction) and not is_complex(x) and x.size:
            return function(x, axis, keepdims, ddof=int(correction))
        n = math.prod([x.shape[a] for a in _axes(x, axis)])
        size = _mx.square(_mx.abs(x - v.mean(x, axis=axis, keepdims=True)))
        y = summed(size, axis=axis, keepdims=keepdims) / max(n - correction, 0)
        return y if function is _mx.var else _mx.sqrt(y)

    return spread


def _accumulated(accumulate: Callable[..., Any], start: int) -> Callable[..., Any]:
    def accumulated(x: Any, *, axis: int | None = None, include_initial: bool = False) -> Any:
        x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
        y = accumulate(x, axis)
        if not include_initial:
            return y
        shape = [1 if i == axis % x.ndim else n for i, n in enumerate(y.shape)]
        return _mx.concatenate([_mx.full(shape, start, y.dtype), y], axis)

    return accumulated


def _argmost(find: Callable[..., Any]) -> Callable[..., Any]:
    """Return signed indices: differences of MLX's unsigned ones wrap around."""
    return lambda x, *, axis=None, keepdims=False: find(x, axis, keepdims=keepdims).astype(mx.int32)


implement(
    {
        v.sum: summed,
        v.prod: _reduced(_mx.prod, 1),
        v.mean: _reduced(_mx.mean, math.nan),
        v.any: _reduced(_mx.any, False),
        v.all: _reduced(_mx.all, True),
        v.count_nonzero: lambda x, *, axis=None, keepdims=False: summed(
            x != 0, axis=axis, keepdims=keepdims
        ),
        v.var: _spread(_mx.var),
        v.std: _spread(_mx.std),
        v.cumulative_sum: _accumulated(_mx.cumsum, 0),
        v.cumulative_prod: _accumulated(_mx.cumprod, 1),
        v.cumulative_max: lambda x, *, axis: _mx.cummax(x, axis),
        v.cumulative_min: lambda x, *, axis: _mx.cummin(x, axis),
        v.argmax: _argmost(_mx.argmax),
        v.argmin: _argmost(_mx.argmin),
    }
)

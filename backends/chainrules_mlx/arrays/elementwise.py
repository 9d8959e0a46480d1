"""Elementwise operations that MLX lacks, names differently, or has for real numbers only."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mlx.core as mx

from chainrules_kit.fallbacks.elementwise import nan_to_num_standard
from chainrules_mlx.array_types import alike, dtype_of, entered, implement
from chainrules_mlx.arrays.where import select
from chainrules_mlx.namespace import kept, refuse_complex
from chainrules_py import ops as v

_mx: Any = mx
_BITS = {2: mx.uint16, 4: mx.uint32, 8: mx.uint64}


def _signbit(x: Any) -> Any:
    """Return the sign bit, which is set for -0.0 as well."""
    if not _mx.issubdtype(x.dtype, mx.floating):
        return x < 0
    size = x.dtype.size
    return (_mx.view(x, _BITS[size]) >> (8 * size - 1)) == 1


def _copysign(x: Any, y: Any) -> Any:
    x, y = alike(x, y)
    size = _mx.abs(x)
    return _mx.where(_signbit(y), -size, size)


def _hypot(x: Any, y: Any) -> Any:
    """Compute √(x² + y²) with the larger of the two factored out."""
    x, y = [_mx.abs(z) for z in alike(x, y)]
    most, least = _mx.maximum(x, y), _mx.minimum(x, y)
    some = (most > 0) & (most < math.inf)
    ratio = _mx.where(some, least / _mx.where(some, most, 1), 0)
    return most * _mx.sqrt(1 + ratio * ratio)


def _where(condition: Any, x: Any, y: Any) -> Any:
    if not (isinstance(x, mx.array) or isinstance(y, mx.array)):
        return _mx.where(condition, x, y)
    return select(condition, *alike(x, y))


for _operation, _function in (
    (v.copysign, _copysign),
    (v.hypot, _hypot),
    (v.where, _where),
    (v.nan_to_num, nan_to_num_standard),
    (v.clip, lambda x, lo, hi: _mx.clip(*alike(x, lo, hi))),
    (v.clip_below, lambda x, lo: _mx.maximum(*alike(x, lo))),
    (v.clip_above, lambda x, hi: _mx.minimum(*alike(x, hi))),
):
    entered(_operation, _function)


def _astype(x: Any, *, dtype: Any) -> Any:
    """Convert to an MLX dtype; complex numbers lose their imaginary part in a real dtype."""
    dtype = dtype_of(dtype)
    return (_mx.real(x) if dtype != mx.complex64 else x).astype(dtype)


def _bitwise_count(x: Any) -> Any:
    """Count bits, one position after the other."""
    size, count = _mx.abs(x), _mx.zeros(x.shape, mx.uint8)
    for place in range(8 * x.dtype.size):
        count = count + ((size >> place) & 1).astype(mx.uint8)
    return count


def _report(condition: Any, *, message: str) -> None:
    """Report a condition if its value can be read; a traced array has none."""
    try:
        found = bool(kept(condition.any().item))
    except ValueError:
        return
    v.report(found, message=message)


def _of_reals(name: str) -> Callable[..., Any]:
    function = getattr(_mx, name)

    def computed(x: Any) -> Any:
        refuse_complex(name, x)
        return function(x)

    return computed


implement(
    {
        v.signbit: _signbit,
        v.astype: _astype,
        v.bitwise_count: _bitwise_count,
        v.report: _report,
        v.round_decimals: lambda x, *, decimals: _mx.round(x, decimals),
        v.expit: _of_reals("sigmoid"),
        **{getattr(v, name): _of_reals(name) for name in ("erf", "erfinv", "expm1")},
        **{getattr(v, name): _of_reals(name) for name in ("ceil", "floor", "trunc")},
    }
)

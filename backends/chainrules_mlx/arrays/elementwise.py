"""Elementwise words and reductions, where MLX has them under other names or not at all."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mlx.core as mx

from chainrules_mlx.array_types import ARRAY, alike, dtype_of, entered
from chainrules_mlx.arrays.select import select
from chainrules_mlx.namespace import is_complex, kept, refuse_complex
from chainrules_py import vocabulary as v

_mx: Any = mx
_FLOATS = (mx.float32, mx.float64, mx.float16, mx.bfloat16)
_BITS = {2: mx.uint16, 4: mx.uint32, 8: mx.uint64}


def _is_floating(x: Any) -> bool:
    return x.dtype in _FLOATS


# ---------------------------------------------------------------------------- signs, parts


@v.signbit.implement
def signbit_mlx(x: mx.array) -> Any:
    """Return the first bit, which -0.0 has as well."""
    if not _is_floating(x):
        return x < 0
    size = x.dtype.size
    return (_mx.view(x, _BITS[size]) >> (8 * size - 1)) == 1


def _copysign(x: Any, y: Any) -> Any:
    x, y = alike(x, y)
    size = _mx.abs(x)
    return _mx.where(signbit_mlx(y), -size, size)


def _hypot(x: Any, y: Any) -> Any:
    """Compute √(x² + y²) with the larger of the two in front."""
    x, y = [_mx.abs(z) for z in alike(x, y)]
    most, least = _mx.maximum(x, y), _mx.minimum(x, y)
    some = (most > 0) & (most < math.inf)
    ratio = _mx.where(some, least / _mx.where(some, most, 1), 0)
    return most * _mx.sqrt(1 + ratio * ratio)


entered(v.copysign, _copysign)
entered(v.hypot, _hypot)


def _trunc(x: Any) -> Any:
    return _mx.where(x < 0, _mx.ceil(x), _mx.floor(x)) if _is_floating(x) else x


@v.sign.implement
def sign_mlx(x: mx.array) -> Any:
    """Return x / abs(x) of complex numbers too, and 0 at 0."""
    return _mx.sign(x)


# -------------------------------------------------------------------------- complex numbers


@v.real.implement
def real_mlx(x: mx.array) -> Any:
    """Return the real part; real arrays are it themselves."""
    return _mx.real(x) if is_complex(x) else x


@v.imag.implement
def imag_mlx(x: mx.array) -> Any:
    """Return the imaginary part, of real arrays zeros."""
    return _mx.imag(x) if is_complex(x) else _mx.zeros_like(x)


@v.conj.implement
def conj_mlx(x: mx.array) -> Any:
    """Conjugate; real arrays are conjugate to themselves."""
    return _mx.conj(x) if is_complex(x) else x


# ------------------------------------------------------------------------------- bounds


def _clip(x: Any, lo: Any, hi: Any) -> Any:
    x, lo, hi = alike(x, lo, hi)
    return _mx.minimum(_mx.maximum(x, lo), hi)


entered(v.clip, _clip)
entered(v.clip_below, lambda x, lo: _mx.maximum(*alike(x, lo)))
entered(v.clip_above, lambda x, hi: _mx.minimum(*alike(x, hi)))


def _where(condition: Any, x: Any, y: Any) -> Any:
    if not (isinstance(x, mx.array) or isinstance(y, mx.array)):
        return _mx.where(condition, x, y)
    return select(condition, *alike(x, y))


entered(v.where, _where)


@v.round_decimals.implement
def round_decimals_mlx(x: mx.array, *, decimals: int) -> Any:
    """Round behind the point, by what is the same function in MLX."""
    return _mx.round(x, decimals)


# ------------------------------------------------------------------------------- dtypes


@v.astype.implement
def astype_mlx(x: mx.array, *, dtype: Any) -> Any:
    """Convert to a dtype of MLX's, or to that of the same name."""
    dtype = dtype_of(dtype)
    x = _mx.real(x) if is_complex(x) and dtype != mx.complex64 else x
    return x.astype(dtype)


@v.bitwise_count.implement
def bitwise_count_mlx(x: mx.array) -> Any:
    """Count bits, one place after the other."""
    x = _mx.abs(x) if x.dtype not in (mx.uint8, mx.uint16, mx.uint32, mx.uint64) else x
    count = _mx.zeros(x.shape, mx.uint8)
    for place in range(8 * x.dtype.size):
        count = count + ((x >> place) & 1).astype(mx.uint8)
    return count


@v.report.implement
def report_mlx(condition: mx.array, *, message: str) -> None:
    """Look at what can be looked at: what MLX traces has no value."""
    try:
        found = bool(kept(condition.any().item))
    except ValueError:
        return
    v.report(found, message=message)


# MLX has these of real numbers alone.
def _of_reals(name: str) -> Callable[..., Any]:
    function = getattr(_mx, name)

    def computed(x: Any) -> Any:
        refuse_complex(name, x)
        return function(x)

    return computed


for _word in (v.erf, v.erfinv, v.expm1, v.floor, v.ceil):
    _word.implement(_of_reals(_word.__name__), types=(ARRAY,))
v.trunc.implement(_trunc, types=(ARRAY,))
v.expit.implement(_of_reals("sigmoid"), types=(ARRAY,))

"""Implementations of operations that CuPy computes differently from the standard's functions.

Launching a kernel costs more than most arrays do: these implementations launch the fewest, and none
of them synchronises.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any

import cupy

from chainrules_cupy.namespace import on
from chainrules_py import Scalar
from chainrules_py import ops as v
from chainrules_py.extend import (
    choose_standard,
    interp_standard,
    nan_to_num_standard,
    nanmax_standard,
    nanmin_standard,
    unwrap_standard,
    vander_standard,
)
from chainrules_py.ops import degeneracy_reports

_ARRAY: Any = cupy.ndarray
_NUMERIC: Any = cupy.ndarray | Scalar

_OWN: dict[Any, Callable[..., Any]] = {
    v.sum: lambda x, *, axis=None, keepdims=False: x.sum(axis, None, None, keepdims),
    v.prod: lambda x, *, axis=None, keepdims=False: x.prod(axis, None, None, keepdims),
    v.max: lambda x, *, axis=None, keepdims=False: x.max(axis, None, keepdims),
    v.min: lambda x, *, axis=None, keepdims=False: x.min(axis, None, keepdims),
    v.count_nonzero: lambda x, *, axis=None, keepdims=False: (x != 0).sum(
        axis, None, None, keepdims
    ),
    # CuPy's functions synchronise to warn of arrays of NaN.
    v.nanmax: nanmax_standard,
    v.nanmin: nanmin_standard,
    v.reshape: lambda x, *, shape: x.reshape(shape),
    v.permute_dims: lambda x, *, axes=None: x.transpose() if axes is None else x.transpose(axes),
    v.matrix_transpose: lambda x: x.mT,
    v.astype: lambda x, *, dtype: x.astype(dtype, copy=False),
    v.copy: lambda x: x.copy(),
    v.squeeze: lambda x, *, axis=None: x.squeeze(axis),
    v.expand_dims: lambda x, *, axis: cupy.expand_dims(x, axis),
    v.vander: lambda x, **options: vander_standard(
        x.astype(cupy.promote_types(x.dtype, int), copy=False),
        **options,  # as CuPy's own
    ),
    v.conj: lambda x: x.conj() if x.dtype.kind == "c" else x,  # CuPy's copies real arrays
    v.real: lambda x: x.real,
    v.round_decimals: lambda x, *, decimals: x.round(decimals),
}
for _operation, _function in _OWN.items():
    _operation.implement(_function, types=(_ARRAY,))

# --------------------------------------------------------------------------- manipulation


@v.pad.implement
def pad_cupy(x: cupy.ndarray, value: cupy.ndarray | Scalar, *, widths: Any) -> Any:
    """Pad by filling a new array and writing x into it."""
    shape = [n + a + b for n, (a, b) in zip(x.shape, widths, strict=True)]
    with on(x.device):
        if type(value) is int and not value:
            y = cupy.zeros(shape, x.dtype)
        else:
            y = cupy.empty(shape, x.dtype)
            y[...] = value
        y[tuple([slice(a, a + n) for n, (a, _) in zip(x.shape, widths, strict=True)])] = x
    return y


@v.repeat.implement
def repeat_cupy(x: cupy.ndarray, repeats: Any, *, axis: int | None = None) -> Any:
    """Repeat elements; CuPy needs several counts on the host, as they determine the length."""
    if isinstance(repeats, cupy.ndarray):
        repeats = repeats.tolist()
    return x.repeat(repeats, axis)


@v.to_device.implement
def to_device_cupy(x: cupy.ndarray, *, device: Any) -> Any:
    """Copy to another device; "cpu" returns x, as copying to the host would synchronise."""
    if device == "cpu" or x.device == device:
        return x
    with on(device):
        return cupy.array(x)


# --------------------------------------------------------------------------------- making


@v.full_like.implement
def full_like_cupy(x: cupy.ndarray, *, shape: Any, fill: Any, dtype: Any = None) -> Any:
    """Fill an array on the device of x; zeros need no kernel."""
    dtype = x.dtype if dtype is None else dtype
    with on(x.device):
        if type(fill) is int and not fill:
            return cupy.zeros(shape, dtype)
        return cupy.full(shape, fill, dtype)


@v.zeros_like.implement
def zeros_like_cupy(x: cupy.ndarray, *, shape: Any = None, dtype: Any = None) -> Any:
    """Return zeros on the device of x."""
    with on(x.device):
        return cupy.zeros(x.shape if shape is None else shape, x.dtype if dtype is None else dtype)


@v.ones_like.implement
def ones_like_cupy(x: cupy.ndarray, *, dtype: Any = None) -> Any:
    """Return ones on the device of x."""
    with on(x.device):
        return cupy.ones(x.shape, x.dtype if dtype is None else dtype)


# -------------------------------------------------------------------------- elementwise


@v.imag.implement
def imag_cupy(x: cupy.ndarray) -> Any:
    """Return a view of the imaginary part, or zeros for a real array."""
    return x.imag if x.dtype.kind == "c" else zeros_like_cupy(x)


@v.clip_below.implement
def clip_below_cupy(x: cupy.ndarray | Scalar, lo: cupy.ndarray | Scalar) -> Any:
    """Return the greater of x and the lower bound."""
    return cupy.maximum(x, lo)


@v.clip_above.implement
def clip_above_cupy(x: cupy.ndarray | Scalar, hi: cupy.ndarray | Scalar) -> Any:
    """Return the lesser of x and the upper bound."""
    return cupy.minimum(x, hi)


@v.clip.implement
def clip_cupy(
    x: cupy.ndarray | Scalar, lo: cupy.ndarray | Scalar, hi: cupy.ndarray | Scalar
) -> Any:
    """Clip an array in one launch; the standard's clip takes only bounds that keep the dtype."""
    if isinstance(x, cupy.ndarray):
        return cupy.clip(x, lo, hi)
    return cupy.minimum(cupy.maximum(x, lo), hi)


@v.bincount.implement
def bincount_cupy(x: cupy.ndarray, weights: cupy.ndarray, *, minlength: int = 0) -> Any:
    """Compute cupy.bincount; complex weights are counted as real and imaginary parts."""
    if weights.dtype.kind != "c":
        return cupy.bincount(x, weights, minlength)
    parts = [cupy.bincount(x, part, minlength) for part in (weights.real, weights.imag)]
    return parts[0] + 1j * parts[1]


# CuPy's functions do not take Python numbers in place of arrays.
v.nan_to_num.implement(nan_to_num_standard, types=(_ARRAY, _NUMERIC, _NUMERIC, _NUMERIC))
v.choose.implement(choose_standard, types=(_NUMERIC, _NUMERIC))
v.interp.implement(interp_standard, types=(Scalar, _ARRAY, _ARRAY))
v.unwrap.implement(unwrap_standard, types=(_ARRAY, _NUMERIC))


# ------------------------------------------------------------------------------- reporting

_debugging: contextvars.ContextVar[bool] = contextvars.ContextVar("debugging", default=False)


@contextlib.contextmanager
def debug(on: bool = True) -> Iterator[None]:
    """Synchronise, inside a ``with`` block, to report what rules detect in values on the device.

    Outside, it is not checked whether a derivative depends on a choice, as at equal singular
    values: the check waits for all kernels launched before. Under `chainrules_py.ops.strict` it is
    checked, as for every library.
    """
    before = _debugging.get()
    try:
        _debugging.set(on)
        yield
    finally:
        _debugging.set(before)


@v.report.implement
def report_cupy(condition: cupy.ndarray, *, message: str) -> None:
    """Check a condition only under `debug` or `strict`."""
    if _debugging.get() or degeneracy_reports.is_strict():
        v.report.__wrapped__(condition, message=message)

"""Recursive filters."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as native

from chainrules_py import vocabulary as v
from chainrules_scipy.precision import of_precision
from chainrules_scipy.rows import array_of, readable, reject, stands_for
from chainrules_scipy.signal.axes import back, last
from chainrules_scipy.signal.recursive import delayed, recursive_filter


@stands_for(native.lfilter)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter along an axis: Σ_k a_k y_{n - k} = Σ_k b_k x_{n - k}."""
    b, a, signal = array_of(b), array_of(a), last(array_of(x), axis)
    b, a = (v.reshape(c, shape=(-1,)) for c in (b, a))
    first = a[:1]
    if not readable(first).all():
        reject("the first coefficient of a filter, a[0], is 0", ValueError)
    b, a = b / first, a / first
    n, size = signal.shape[-1], max(b.shape[0], a.shape[0]) - 1
    driven: Any = 0.0
    for k in range(b.shape[0]):
        driven = driven + b[k] * delayed(signal, k)
    if zi is None:
        return back(recursive_filter(a, driven) if a.shape[0] > 1 else driven, axis)
    state = last(array_of(zi), axis)
    widths = ((0, 0),) * (state.ndim - 1) + ((0, max(n - size, 0)),)
    y = recursive_filter(a, driven + v.pad(state[..., :n], 0.0, widths=widths))
    behind = _state_behind(b, a, signal, y, state, size)
    dtype = np.result_type(*[readable(z).dtype for z in (b, a, signal, state)])
    return tuple(back(of_precision(z, dtype), axis) for z in (y, behind))


def _state_behind(b: Any, a: Any, x: Any, y: Any, state: Any, size: int) -> Any:
    """Return z_k = Σ_j b_{k+1+j} x_{N-1-j} - a_{k+1+j} y_{N-1-j}, and what is left of z."""
    n, parts = x.shape[-1], []
    for k in range(size):
        total = state[..., k + n] if k + n < size else v.zeros_like(y[..., 0])
        for j in range(min(n, size - k)):
            at = k + 1 + j
            if at < b.shape[0]:
                total = total + b[at] * x[..., n - 1 - j]
            if at < a.shape[0]:
                total = total - a[at] * y[..., n - 1 - j]
        parts.append(total)
    return v.stack(*parts, axis=-1)


def _sections(sos: Any) -> tuple[Any, int]:
    sos = array_of(sos)
    if sos.ndim != 2 or sos.shape[1] != 6:
        reject(f"sos has the shape {tuple(sos.shape)}, and has to have six columns", ValueError)
    if np.any(readable(sos[:, 3]) != 1):
        reject("sos[:, 3] should be all ones", ValueError)
    return sos, sos.shape[0]


@stands_for(native.sosfilt)
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter by sections of second order, one after the other."""
    sos, count = _sections(sos)
    y, states = array_of(x), []
    for k in range(count):
        if zi is None:
            y = lfilter(sos[k, :3], sos[k, 3:], y, axis)
        else:
            y, state = lfilter(sos[k, :3], sos[k, 3:], y, axis, array_of(zi)[k])
            states.append(state)
    return y if zi is None else (y, v.stack(*states, axis=0))

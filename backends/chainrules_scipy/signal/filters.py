"""Recursive filters: the operation that they are made of, and its rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal
import scipy.signal as native

from chainrules_py import Array, LinearMap, primitive, rule
from chainrules_py import vocabulary as v
from chainrules_scipy.precision import of_precision
from chainrules_scipy.rows import array_of, readable, reject, stands_for
from chainrules_scipy.signal.convolving import back, last


@primitive
def recursive_filter(a: Array, x: Array, /) -> Any:
    """Solve Σ_k a_k y_{n - k} = x_n along the last axis, where y is 0 before the first element."""


@recursive_filter.implement
def recursive_filter_numpy(a: np.ndarray, x: np.ndarray) -> Any:
    """By SciPy's filter."""
    return scipy.signal.lfilter([1.0], a, x, axis=-1)


@rule(recursive_filter)
def recursive_filter_rule(a: Array, x: Array) -> Any:
    """Differentiate A y = x, where A is Toeplitz: ẏ = A⁻¹ (ẋ - Ȧ y), x̄ = A⁻ᴴ ȳ.

    And ā_k = -Σ_n x̄_n conj(y_{n - k}).
    """
    y = recursive_filter(a, x)
    return y, (
        LinearMap(_factors_push, _factors_pull, a, y),
        LinearMap(_solve, _solve_back, a),
    )


def _solve(x_dot: Any, a: Any) -> Any:
    return recursive_filter(a, x_dot)


def _solve_back(y_bar: Any, a: Any) -> Any:
    turned = v.flip(y_bar, axis=-1)
    return v.flip(recursive_filter(v.conj(a), turned), axis=-1)


def _factors_push(a_dot: Any, a: Any, y: Any) -> Any:
    total: Any = 0.0
    for k in range(a.shape[0]):
        total = total + a_dot[..., k] * delayed(y, k)
    return -_solve(total, a)


def _factors_pull(y_bar: Any, a: Any, y: Any) -> Any:
    x_bar = _solve_back(y_bar, a)
    return -v.stack(*[v.sum(x_bar * v.conj(delayed(y, k))) for k in range(a.shape[0])], axis=0)


def delayed(y: Any, k: int) -> Any:
    """Shift by k places along the last axis; zeros enter."""
    if k == 0:
        return y
    n = y.shape[-1]
    if k >= n:
        return v.zeros_like(y)
    widths = ((0, 0),) * (y.ndim - 1) + ((k, 0),)
    return v.pad(y[..., : n - k], 0.0, widths=widths)


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

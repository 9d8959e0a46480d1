"""Recursive filters."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as native

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_scipy._private import private
from chainrules_scipy.following import followed
from chainrules_scipy.keeping import beside
from chainrules_scipy.precision import of_precision
from chainrules_scipy.rows import array_of, readable, stands_for
from chainrules_scipy.signal.axes import back, last
from chainrules_scipy.signal.recursive import delayed, recursive_filter


@stands_for(native.lfilter)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter along an axis: Σ_k a_k y_{n - k} = Σ_k b_k x_{n - k}."""
    b, a, signal = array_of(b), array_of(a), last(array_of(x), axis)
    b, a = (v.reshape(c, shape=(-1,)) for c in (b, a))
    first = a[:1]
    if not readable(first).all():
        msg = "the first coefficient of a filter, a[0], is 0"
        raise ValueError(msg)
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
        msg = f"sos has the shape {tuple(sos.shape)}, and has to have six columns"
        raise ValueError(msg)
    if np.any(readable(sos[:, 3]) != 1):
        msg = "sos[:, 3] should be all ones"
        raise ValueError(msg)
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


def _steady(b: Any, a: Any) -> Any:
    """Return the state in which a filter stays at a constant signal: `scipy.signal.lfilter_zi`."""
    n = max(b.shape[0], a.shape[0])
    b, a = (v.pad(c / a[:1], 0.0, widths=((0, n - c.shape[0]),)) for c in (b, a))
    companion = v.expand_dims(a[1:], axis=1) * np.eye(1, n - 1) + np.eye(n - 1) - np.eye(n - 1, k=1)
    return v.solve(companion, b[1:] - a[1:] * b[0])


def _extended(x: Any, kind: Any, edge: int) -> Any:
    """Go on behind both ends of the last axis: odd, even, or constant."""
    if kind not in ("odd", "even", "constant", None):
        msg = f"padtype is {kind!r}, and has to be 'odd', 'even', 'constant' or None"
        raise ValueError(msg)
    if not edge or kind is None:
        return x
    if x.shape[-1] <= edge:
        msg = f"The length of the input vector x must be greater than padlen, which is {edge}."
        raise ValueError(msg)
    left, right = v.flip(x[..., 1 : edge + 1], axis=-1), v.flip(x[..., -edge - 1 : -1], axis=-1)
    if kind == "odd":
        left, right = 2 * x[..., :1] - left, 2 * x[..., -1:] - right
    elif kind == "constant":
        left, right = x[..., :1] + 0 * left, x[..., -1:] + 0 * right
    return v.concat(left, x, right, axis=-1)


@stands_for(native.filtfilt)
def filtfilt(
    b: Any,
    a: Any,
    x: Any,
    axis: int = -1,
    padtype: Any = "odd",
    padlen: int | None = None,
    method: str = "pad",
    irlen: Any = None,
) -> Any:
    """Filter forward and backward."""
    if method not in ("pad", "gust"):
        msg = f"method is {method!r}, and has to be 'pad' or 'gust'"
        raise ValueError(msg)
    if method == "gust":
        theirs = private("_filtfilt_gust")
        if theirs is None:
            msg = "filtfilt(method='gust') is not to be found in this SciPy; write method='pad'"
            raise UnsupportedKeywordError(msg)
        with beside((b, a, x)):
            return followed(theirs)(b, a, array_of(x), axis=axis, irlen=irlen)[0]
    b, a = (v.reshape(array_of(c), shape=(-1,)) for c in (b, a))
    edge = 3 * max(b.shape[0], a.shape[0]) if padlen is None else int(padlen)
    signal = last(array_of(x), axis)
    edge = 0 if padtype is None else max(edge, 0)
    y = _extended(signal, padtype, edge)
    if max(b.shape[0], a.shape[0]) > 1:
        zi = _steady(b, a)
        for _ in range(2):
            y, _state = lfilter(b, a, y, -1, zi * y[..., :1])
            y = v.flip(y, axis=-1)
    else:
        y = y * (b[0] / a[0]) ** 2
    return back(y[..., edge : y.shape[-1] - edge], axis)


@stands_for(native.sosfiltfilt)
def sosfiltfilt(
    sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: int | None = None
) -> Any:
    """Filter forward and backward by sections of second order."""
    sos, count = _sections(sos)
    known = readable(sos)
    edge = 2 * count + 1 - min((known[:, 2] == 0).sum(), (known[:, 5] == 0).sum())
    edge = 3 * edge if padlen is None else int(padlen)
    edge = 0 if padtype is None else max(edge, 0)
    y, states, gain = _extended(last(array_of(x), axis), padtype, edge), [], 1.0
    for k in range(count):
        b, a = sos[k, :3], sos[k, 3:]
        states.append(_steady(b, a) * gain)
        gain = gain * v.sum(b) / v.sum(a)
    for _ in range(2):
        first = y[..., :1]
        for k in range(count):
            y, _state = lfilter(sos[k, :3], sos[k, 3:], y, -1, states[k] * first)
        y = v.flip(y, axis=-1)
    return back(y[..., edge : y.shape[-1] - edge], axis)

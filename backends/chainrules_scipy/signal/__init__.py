"""Filters and transforms of ``scipy.signal``, in signals and coefficients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.signal as native

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import fourier_composites, kind_of, varies
from chainrules_scipy.rows import array_of, readable, stands_for
from chainrules_scipy.signal.recursive import delayed, recursive_filter

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "detrend",
    "fftconvolve",
    "filtfilt",
    "hilbert",
    "lfilter",
    "oaconvolve",
    "recursive_filter",
    "resample",
    "savgol_filter",
    "sosfilt",
    "sosfiltfilt",
    "upfirdn",
]

_DIRECT = 1 << 18
"""So many products at most are added one by one; above, Fourier transforms are multiplied."""


def _last(x: Any, axis: int) -> Any:
    """Put an axis last."""
    axis = range(x.ndim)[axis]
    return v.permute_dims(x, axes=(*(i for i in range(x.ndim) if i != axis), axis))


def _back(y: Any, axis: int) -> Any:
    """Put the last axis where it was."""
    axis = range(y.ndim)[axis]
    order = [*range(y.ndim - 1)]
    order.insert(axis, y.ndim - 1)
    return v.permute_dims(y, axes=tuple(order))


def _cut(full: Any, mode: str, x: tuple[int, ...], k: tuple[int, ...], axes: Any) -> Any:
    """Take the part of a whole convolution that a mode asks for."""
    if mode not in ("full", "same", "valid"):
        msg = f"mode is {mode!r}, and has to be 'full', 'same' or 'valid'"
        raise ValueError(msg)
    if mode == "full":
        return full
    index = [slice(None)] * full.ndim
    for i in axes:
        n = x[i] if mode == "same" else abs(x[i] - k[i]) + 1
        start = (full.shape[i] - n) // 2
        index[i] = slice(start, start + n)
    return full[tuple(index)]


def _convolved(x: Any, k: Any, mode: str, axes: Any = None) -> Any:
    """Convolve along axes: all by default."""
    x, k = array_of(x), array_of(k)
    if x.ndim != k.ndim:
        msg = f"arrays of {x.ndim} and {k.ndim} axes; give both as many"
        raise ValueError(msg)
    axes = range(x.ndim) if axes is None else [range(x.ndim)[i] for i in np.atleast_1d(axes)]
    if mode == "valid" and not (
        all(x.shape[i] >= k.shape[i] for i in axes) or all(x.shape[i] <= k.shape[i] for i in axes)
    ):
        msg = "For 'valid' mode, one must be at least as large as the other in every dimension"
        raise ValueError(msg)
    if x.ndim == 0:
        return x * k
    taps = math.prod(k.shape[i] for i in axes)
    few = len(axes) == x.ndim and taps * math.prod(x.shape) <= _DIRECT and taps <= 64
    return _cut(_added(x, k) if few else _multiplied(x, k, axes), mode, x.shape, k.shape, axes)


def _added(x: Any, k: Any) -> Any:
    """Σ_j k_j x moved by j."""
    total: Any = None
    for j in np.ndindex(*k.shape):
        widths = tuple((i, n - 1 - i) for i, n in zip(j, k.shape, strict=True))
        part = v.pad(x, 0.0, widths=widths) * k[j]
        total = part if total is None else total + part
    return total


def _multiplied(x: Any, k: Any, axes: Any) -> Any:
    shape = [x.shape[i] + k.shape[i] - 1 for i in axes]
    axes = list(axes)
    if "complex" in (kind_of(x), kind_of(k)):
        a, b = (fourier_composites.fftn(y, shape, axes) for y in (x, k))
        return fourier_composites.ifftn(a * b, shape, axes)
    a, b = (fourier_composites.rfftn(y, shape, axes) for y in (x, k))
    return fourier_composites.irfftn(a * b, shape, axes)


@stands_for(native.convolve)
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Convolve two arrays along all axes.

    Parameters
    ----------
    in1, in2 : array
        With as many axes.
    mode : {"full", "same", "valid"}
        Which part is wanted.
    method : str
        How SciPy computes it; here what is faster.

    Returns
    -------
    array
        As ``scipy.signal.convolve``.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> print(grad(lambda k: convolve([1.0, 2.0], k)[1])(np.array([3.0, 4.0])))
    [2. 1.]
    """
    return _convolved(in1, in2, mode)


@stands_for(native.fftconvolve)
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Convolve two arrays along some axes.

    Parameters
    ----------
    in1, in2 : array
        With as many axes.
    mode : {"full", "same", "valid"}
        Which part is wanted.
    axes : int or tuple of int, optional
        Along which; all by default. Along the others they are broadcast.

    Returns
    -------
    array
        As ``scipy.signal.fftconvolve``.

    Examples
    --------
    >>> print(fftconvolve([1.0, 2.0], [3.0, 4.0]).round(9))
    [ 3. 10.  8.]
    """
    return _convolved(in1, in2, mode, axes)


@stands_for(native.oaconvolve)
def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Convolve two arrays along some axes, as `fftconvolve` does.

    Parameters
    ----------
    in1, in2 : array
        With as many axes.
    mode : {"full", "same", "valid"}
        Which part is wanted.
    axes : int or tuple of int, optional
        Along which; all by default.

    Returns
    -------
    array
        As ``scipy.signal.oaconvolve``.

    Examples
    --------
    >>> print(oaconvolve([1.0, 2.0], [3.0, 4.0]).round(9))
    [ 3. 10.  8.]
    """
    return _convolved(in1, in2, mode, axes)


@stands_for(native.correlate)
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Correlate two arrays along all axes: convolve with the second one's conjugate, turned.

    Parameters
    ----------
    in1, in2 : array
        With as many axes.
    mode : {"full", "same", "valid"}
        Which part is wanted.
    method : str
        How SciPy computes it.

    Returns
    -------
    array
        As ``scipy.signal.correlate``.

    Examples
    --------
    >>> print(correlate([1.0, 2.0], [3.0, 4.0]))
    [ 4. 11.  6.]
    """
    k = array_of(in2)
    return _convolved(in1, v.conj(v.flip(k, axis=tuple(range(k.ndim)))) if k.ndim else k, mode)


def _in_the_plane(in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any) -> Any:
    x, k = array_of(in1), array_of(in2)
    if boundary == "fill" and (varies(fillvalue) or fillvalue == 0):
        return _convolved(x, k, mode)
    msg = f"boundary={boundary!r}, fillvalue={fillvalue!r} has no derivative here; pad before"
    raise UnsupportedKeywordError(msg)


@stands_for(native.convolve2d)
def convolve2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """Convolve two matrices.

    Parameters
    ----------
    in1, in2 : array, shape (m, n)
        The two.
    mode : {"full", "same", "valid"}
        Which part is wanted.
    boundary, fillvalue
        "fill" with 0.

    Returns
    -------
    array
        As ``scipy.signal.convolve2d``.

    Examples
    --------
    >>> print(convolve2d([[1.0, 2.0]], [[3.0, 4.0]]))
    [[ 3. 10.  8.]]
    """
    return _in_the_plane(in1, in2, mode, boundary, fillvalue)


@stands_for(native.correlate2d)
def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """Correlate two matrices.

    Parameters
    ----------
    in1, in2 : array, shape (m, n)
        The two.
    mode : {"full", "same", "valid"}
        Which part is wanted.
    boundary, fillvalue
        "fill" with 0.

    Returns
    -------
    array
        As ``scipy.signal.correlate2d``.

    Examples
    --------
    >>> print(correlate2d([[1.0, 2.0]], [[3.0, 4.0]]))
    [[ 4. 11.  6.]]
    """
    x, k = array_of(in1), v.conj(v.flip(array_of(in2), axis=(0, 1)))
    if mode != "same":
        return _in_the_plane(x, k, mode, boundary, fillvalue)
    full = _in_the_plane(x, k, "full", boundary, fillvalue)  # the middle, rounded up
    return full[tuple(slice(m // 2, m // 2 + n) for m, n in zip(k.shape, x.shape, strict=True))]


# ------------------------------------------------------------------------ recursive filters


@stands_for(native.lfilter)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter along an axis: Σ_k a_k y_{n - k} = Σ_k b_k x_{n - k}.

    Parameters
    ----------
    b, a : array, shape (m,)
        The coefficients.
    x : array
        The signals.
    axis : int
        Along which they are.
    zi : array, optional
        What is added to the first elements: the state of the filter before.

    Returns
    -------
    array, or tuple of two
        As ``scipy.signal.lfilter``; with ``zi`` also the state behind.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> print(grad(lambda a: lfilter([1.0], a, [1.0, 1.0])[1])(np.array([1.0, 0.5])))
    [ 0. -1.]
    """
    b, a, signal = array_of(b), array_of(a), _last(array_of(x), axis)
    b, a = (v.reshape(c, shape=(-1,)) for c in (b, a))
    first = a[:1]
    b, a = b / first, a / first
    n, size = signal.shape[-1], max(b.shape[0], a.shape[0]) - 1
    driven: Any = 0.0
    for k in range(b.shape[0]):
        driven = driven + b[k] * delayed(signal, k)
    if zi is None:
        return _back(recursive_filter(a, driven) if a.shape[0] > 1 else driven, axis)
    state = _last(array_of(zi), axis)
    widths = ((0, 0),) * (state.ndim - 1) + ((0, max(n - size, 0)),)
    y = recursive_filter(a, driven + v.pad(state[..., :n], 0.0, widths=widths))
    return _back(y, axis), _back(_state_behind(b, a, signal, y, state, size), axis)


def _state_behind(b: Any, a: Any, x: Any, y: Any, state: Any, size: int) -> Any:
    """z_k = Σ_j b_{k + 1 + j} x_{N - 1 - j} - a_{k + 1 + j} y_{N - 1 - j}, and what is left of z."""
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
    """Filter by sections of second order, one after the other.

    Parameters
    ----------
    sos : array, shape (m, 6)
        The coefficients.
    x : array
        The signals.
    axis : int
        Along which they are.
    zi : array, shape (m, ..., 2, ...), optional
        The states before.

    Returns
    -------
    array, or tuple of two
        As ``scipy.signal.sosfilt``.

    Examples
    --------
    >>> print(sosfilt([[1.0, 0.0, 0.0, 1.0, 0.5, 0.0]], [1.0, 1.0]))
    [1.  0.5]
    """
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
    elif kind != "even":
        msg = f"padtype is {kind!r}, and has to be 'odd', 'even', 'constant' or None"
        raise ValueError(msg)
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
    """Filter forward and backward.

    Parameters
    ----------
    b, a : array, shape (m,)
        The coefficients.
    x : array
        The signals.
    axis : int
        Along which they are.
    padtype : {"odd", "even", "constant", None}
        How the signal goes on behind the ends.
    padlen : int, optional
        How far.
    method : {"pad"}
        "gust" is not taken.
    irlen
        Not taken.

    Returns
    -------
    array
        As ``scipy.signal.filtfilt``.

    Raises
    ------
    UnsupportedKeywordError
        If the method is another one.

    Examples
    --------
    >>> print(filtfilt([0.5, 0.5], [1.0], np.arange(8.0))[:3].round(9))
    [0. 1. 2.]
    """
    if method != "pad":
        msg = f"filtfilt(method={method!r}) has no derivative here; take 'pad'"
        raise UnsupportedKeywordError(msg)
    b, a = (v.reshape(array_of(c), shape=(-1,)) for c in (b, a))
    edge = 3 * max(b.shape[0], a.shape[0]) if padlen is None else int(padlen)
    signal = _last(array_of(x), axis)
    edge = 0 if padtype is None else edge
    y = _extended(signal, padtype, edge)
    if max(b.shape[0], a.shape[0]) > 1:
        zi = _steady(b, a)
        for _ in range(2):
            y, _state = lfilter(b, a, y, -1, zi * y[..., :1])
            y = v.flip(y, axis=-1)
    else:
        y = y * (b[0] / a[0]) ** 2
    return _back(y[..., edge : y.shape[-1] - edge], axis)


@stands_for(native.sosfiltfilt)
def sosfiltfilt(
    sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: int | None = None
) -> Any:
    """Filter forward and backward by sections of second order.

    Parameters
    ----------
    sos : array, shape (m, 6)
        The coefficients.
    x : array
        The signals.
    axis : int
        Along which they are.
    padtype : {"odd", "even", "constant", None}
        How the signal goes on behind the ends.
    padlen : int, optional
        How far.

    Returns
    -------
    array
        As ``scipy.signal.sosfiltfilt``.

    Examples
    --------
    >>> sections = [[0.5, 0.5, 0.0, 1.0, 0.0, 0.0]]
    >>> print(sosfiltfilt(sections, np.arange(8.0))[:3].round(9))
    [0. 1. 2.]
    """
    sos, count = _sections(sos)
    known = readable(sos)
    edge = 2 * count + 1 - min((known[:, 2] == 0).sum(), (known[:, 5] == 0).sum())
    edge = 3 * edge if padlen is None else int(padlen)
    edge = 0 if padtype is None else edge
    y, states, gain = _extended(_last(array_of(x), axis), padtype, edge), [], 1.0
    for k in range(count):
        b, a = sos[k, :3], sos[k, 3:]
        states.append(_steady(b, a) * gain)
        gain = gain * v.sum(b) / v.sum(a)
    for _ in range(2):
        first = y[..., :1]
        for k in range(count):
            y, _state = lfilter(sos[k, :3], sos[k, 3:], y, -1, states[k] * first)
        y = v.flip(y, axis=-1)
    return _back(y[..., edge : y.shape[-1] - edge], axis)


# -------------------------------------------------------------------------- linear in signals


def _matrix(function: Any, n: int) -> Any:
    """Return the matrix of what SciPy does to n elements of the last axis."""
    return function(np.eye(n)).T


def _applied(matrix: Any, x: Any, axis: int) -> Any:
    return _back(v.matmul(_last(x, axis), matrix.T), axis)


@stands_for(native.savgol_filter)
def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Any:
    """Fit polynomials to windows, in the signals.

    Parameters
    ----------
    x : array
        The signals.
    window_length, polyorder, deriv, delta, mode, cval
        As SciPy has them.
    axis : int
        Along which they are.

    Returns
    -------
    array
        As ``scipy.signal.savgol_filter``.

    Examples
    --------
    >>> print(savgol_filter(np.arange(5.0), 3, 1).round(9))
    [0. 1. 2. 3. 4.]
    """
    x = array_of(x)

    def smoothed(y: Any) -> Any:
        return native.savgol_filter(y, window_length, polyorder, deriv, delta, -1, mode, cval)

    n = x.shape[axis]
    constant = smoothed(np.zeros(n)) if mode == "constant" else np.zeros(n)
    y = _applied(_matrix(lambda e: smoothed(e) - constant, n), x, axis)
    return y if not constant.any() else y + _back(constant.reshape((1,) * (x.ndim - 1) + (n,)), axis)


@stands_for(native.detrend)
def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False
) -> Any:
    """Subtract a line, or the mean.

    Parameters
    ----------
    data : array
        The signals.
    axis : int
        Along which they are.
    type : {"linear", "constant"}
        What is subtracted.
    bp : sequence of int
        Where another line begins.
    overwrite_data : bool
        Nothing is overwritten here.

    Returns
    -------
    array
        As ``scipy.signal.detrend``.

    Examples
    --------
    >>> print(abs(detrend(np.arange(4.0))).round(9))
    [0. 0. 0. 0.]
    """
    x = array_of(data)
    matrix = _matrix(lambda e: native.detrend(e, -1, type, bp), x.shape[axis])
    return _applied(matrix, x, axis)


@stands_for(native.upfirdn)
def upfirdn(
    h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1, mode: str = "constant", cval: Any = 0
) -> Any:
    """Put zeros between, filter, and take some.

    Parameters
    ----------
    h : array, shape (m,)
        The filter.
    x : array
        The signals.
    up, down : int
        How many elements one becomes, and of how many one is taken.
    axis : int
        Along which they are.
    mode, cval
        "constant" with 0.

    Returns
    -------
    array
        As ``scipy.signal.upfirdn``.

    Raises
    ------
    UnsupportedKeywordError
        If the mode is another one.

    Examples
    --------
    >>> print(upfirdn([1.0, 1.0], [1.0, 2.0], 2))
    [1. 1. 2. 2.]
    """
    if mode != "constant" or cval != 0:
        msg = f"upfirdn(mode={mode!r}, cval={cval!r}) has no derivative here; pad before"
        raise UnsupportedKeywordError(msg)
    h, signal = array_of(h), _last(array_of(x), axis)
    n = signal.shape[-1]
    wide = v.expand_dims(signal, axis=-1)
    wide = v.pad(wide, 0.0, widths=((0, 0),) * signal.ndim + ((0, up - 1),))
    wide = v.reshape(wide, shape=(*signal.shape[:-1], n * up))[..., : (n - 1) * up + 1]
    taps = v.reshape(h, shape=(1,) * (wide.ndim - 1) + (-1,))
    return _back(_convolved(wide, taps, "full")[..., ::down], axis)


@stands_for(native.resample)
def resample(
    x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time"
) -> Any:
    """Give a periodic signal another number of elements, by its Fourier transform.

    Parameters
    ----------
    x : array
        The signals.
    num : int
        How many elements are wanted.
    t : array, optional
        The places of x; then those of the result are returned as well.
    axis : int
        Along which they are.
    window, domain
        None, and "time".

    Returns
    -------
    array, or tuple of two
        As ``scipy.signal.resample``.

    Raises
    ------
    UnsupportedKeywordError
        If there is a window, or another domain.

    Examples
    --------
    >>> print(resample([1.0, 0.0, -1.0, 0.0], 2).round(9))
    [1. -1.]
    """
    if window is not None or domain != "time":
        msg = "resample(window=..., domain='freq') has no derivative here; leave them out"
        raise UnsupportedKeywordError(msg)
    x = array_of(x)
    n = x.shape[axis]
    y = _applied(_matrix(lambda e: native.resample(e, num, axis=-1), n), x, axis)
    if t is None:
        return y
    t = array_of(t)
    return y, np.arange(num) * (t[1] - t[0]) * n / float(num) + t[0]


@stands_for(native.hilbert)
def hilbert(x: Any, N: int | None = None, axis: int = -1) -> Any:  # noqa: N803
    """Return the analytic signal: twice the part of positive frequencies.

    Parameters
    ----------
    x : array
        Real signals.
    N : int, optional
        How many elements are transformed.
    axis : int
        Along which they are.

    Returns
    -------
    array
        As ``scipy.signal.hilbert``.

    Examples
    --------
    >>> print(hilbert([1.0, 0.0, -1.0, 0.0]).round(9).imag)
    [ 0.  1.  0. -1.]
    """
    x = array_of(x)
    if kind_of(x) == "complex":
        msg = "x must be real."
        raise ValueError(msg)
    n = x.shape[axis] if N is None else int(N)
    factors = np.zeros(n)
    factors[0] = 1
    factors[1 : (n + 1) // 2] = 2
    factors[n // 2] = 1 if n % 2 == 0 else factors[n // 2]
    factors = np.reshape(factors, (-1,) + (1,) * (x.ndim - 1 - axis % x.ndim))
    return v.ifft(v.fft(x, n=n, axis=axis) * factors, axis=axis)

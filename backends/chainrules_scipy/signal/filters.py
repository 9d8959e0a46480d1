"""Convolutions, recursive filters, and what else is linear in signals; windows, and peaks."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import scipy.signal
import scipy.signal as native

from chainrules_py import Array, LinearMap, primitive, rule
from chainrules_py import vocabulary as v
from chainrules_py.extend import fourier_composites, kind_of, varies
from chainrules_scipy._private import private
from chainrules_scipy.following import follow_all, instead_of
from chainrules_scipy.ndimage import FOLLOWED as OF_IMAGES
from chainrules_scipy.ndimage import around, of_rank
from chainrules_scipy.precision import of_precision
from chainrules_scipy.rows import (
    array_of,
    constant,
    readable,
    real_array_of,
    refused,
    reject,
    stands_for,
    words,
)
from chainrules_scipy.signal.followed import FOLLOWED


def last(x: Any, axis: int) -> Any:
    """Put an axis last."""
    axis = range(x.ndim)[axis]
    return v.permute_dims(x, axes=(*(i for i in range(x.ndim) if i != axis), axis))


def back(y: Any, axis: int) -> Any:
    """Put the last axis where it was."""
    n, axis = y.ndim - 1, range(y.ndim)[axis]
    return v.permute_dims(y, axes=(*range(axis), n, *range(axis, n)))


_DIRECT = 1 << 18
"""So many products at most are added one by one; above, Fourier transforms are multiplied."""


def _cut(full: Any, mode: str, x: tuple[int, ...], k: tuple[int, ...], axes: Any) -> Any:
    """Take the part of a whole convolution that a mode asks for."""
    if mode not in ("full", "same", "valid"):
        reject(f"mode is {mode!r}, and has to be 'full', 'same' or 'valid'", ValueError)
    if mode == "full":
        return full
    index = [slice(None)] * full.ndim
    for i in axes:
        n = x[i] if mode == "same" else abs(x[i] - k[i]) + 1
        start = (full.shape[i] - n) // 2
        index[i] = slice(start, start + n)
    return full[tuple(index)]


def convolved(in1: Any, in2: Any, mode: str, axes: Any = None) -> Any:
    """Convolve along axes: all by default."""
    x, k = array_of(in1), array_of(in2)
    if x.ndim != k.ndim:
        reject(f"arrays of {x.ndim} and {k.ndim} axes; give both as many", ValueError)
    axes = range(x.ndim) if axes is None else [range(x.ndim)[i] for i in np.atleast_1d(axes)]
    if mode == "valid" and not (
        all(x.shape[i] >= k.shape[i] for i in axes) or all(x.shape[i] <= k.shape[i] for i in axes)
    ):
        reject(
            "For 'valid' mode, one must be at least as large as the other in every dimension",
            ValueError,
        )
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


_BOUNDARIES = {
    "fill": "constant",
    "pad": "constant",
    "wrap": "wrap",
    "circular": "wrap",
    "symm": "reflect",
    "symmetric": "reflect",
}


def _in_the_plane(in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any) -> Any:
    """Convolve what goes on behind its edges: the parts that need nothing from there are valid."""
    x, k = array_of(in1), array_of(in2)
    if boundary not in _BOUNDARIES:
        reject(f"boundary is {boundary!r}, and has to be 'fill', 'wrap' or 'symm'", ValueError)
    boundary = _BOUNDARIES[boundary]
    plain = boundary == "constant" and not varies(fillvalue) and fillvalue == 0
    if plain or mode == "valid":
        return convolved(x, k, mode)
    sizes, wide = tuple(x.shape), x
    for axis, m in enumerate(k.shape):
        wide = around(wide, axis, m - 1, m - 1, boundary, fillvalue)
    return _cut(convolved(wide, k, "valid"), mode, sizes, k.shape, (0, 1))


def _turned(k: Any) -> Any:
    """Turn a kernel around, and conjugate it."""
    k = array_of(k)
    return v.conj(v.flip(k, axis=tuple(range(k.ndim)))) if k.ndim else k


FOLLOWED |= words(
    native,
    convolve=convolved,
    fftconvolve=convolved,
    oaconvolve=convolved,
    correlate=lambda in1, in2, mode: convolved(in1, _turned(in2), mode),
    convolve2d=_in_the_plane,
    medfilt2d=lambda input, kernel_size: FOLLOWED["medfilt"](input, kernel_size),  # noqa: A006, PLW0108
)


@stands_for(native.correlate2d)
def correlate2d(
    in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0
) -> Any:
    """Correlate two matrices."""
    x, k = array_of(in1), _turned(in2)
    if mode != "same":
        return _in_the_plane(x, k, mode, boundary, fillvalue)
    full = _in_the_plane(x, k, "full", boundary, fillvalue)  # the middle, rounded up
    return full[tuple(slice(m // 2, m // 2 + n) for m, n in zip(k.shape, x.shape, strict=True))]


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
    return -_solve(tapped(a_dot, y), a)


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


def tapped(c: Any, x: Any) -> Any:
    """Σ_k c_k x_{n - k} along the last axis."""
    total: Any = 0.0
    for k in range(c.shape[-1]):
        total = total + c[..., k] * delayed(x, k)
    return total


@stands_for(native.lfilter)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter along an axis: Σ_k a_k y_{n - k} = Σ_k b_k x_{n - k}."""
    b, a, signal = array_of(b), array_of(a), last(array_of(x), axis)
    b, a = (v.reshape(c, shape=(-1,)) for c in (b, a))
    first = a[:1]
    if not readable(first).all():
        reject("the first coefficient of a filter, a[0], is 0", ValueError)
    b, a = b / first, a / first
    if zi is None:
        driven = tapped(b, signal)
        return back(recursive_filter(a, driven) if a.shape[0] > 1 else driven, axis)
    n, size = signal.shape[-1], max(b.shape[0], a.shape[0]) - 1
    state = last(array_of(zi), axis)
    driven = tapped(b, _longer(signal, size)) + _longer(state, n)
    y = recursive_filter(a, driven[..., :n])
    behind = (driven - tapped(a, _longer(y, size)))[..., n:]
    dtype = np.result_type(*[readable(z).dtype for z in (b, a, signal, state)])
    return tuple(back(of_precision(z, dtype), axis) for z in (y, behind))


def _longer(x: Any, more: int) -> Any:
    """Put zeros behind the last axis."""
    return v.pad(x, 0.0, widths=((0, 0),) * (x.ndim - 1) + ((0, more),))


@stands_for(native.sosfilt)
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter by sections of second order, one after the other."""
    sos, y, states = array_of(sos), array_of(x), []
    for k in range(sos.shape[0]):
        if zi is None:
            y = lfilter(sos[k, :3], sos[k, 3:], y, axis)
        else:
            y, state = lfilter(sos[k, :3], sos[k, 3:], y, axis, array_of(zi)[k])
            states.append(state)
    return y if zi is None else (y, v.stack(*states, axis=0))


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
    """Fit polynomials to windows, in the signals."""
    x = real_array_of(x, "savgol_filter")

    def smoothed(y: Any, beyond: float = 0.0) -> Any:
        return native.savgol_filter(y, window_length, polyorder, deriv, 1.0, -1, mode, beyond)

    n = x.shape[axis]
    y = v.matmul(last(x, axis), smoothed(np.eye(n)))
    if mode == "constant":
        y = y + cval * smoothed(np.zeros(n), 1.0)
    return back(y if deriv == 0 else y / array_of(delta) ** deriv, axis)


@stands_for(native.upfirdn)
def upfirdn(
    h: Any,
    x: Any,
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: str = "constant",
    cval: Any = 0,
) -> Any:
    """Put zeros between, filter, and take some."""
    h, signal = array_of(h), last(array_of(x), axis)
    native.upfirdn([1.0], [1.0], mode=mode)  # says which modes there are
    ends = mode != "constant" or varies(cval) or cval != 0
    more = -(-(h.shape[0] - 1) // up) if ends else 0
    size = (signal.shape[-1] - 1) * up + h.shape[0]
    if more:
        signal = _prolonged(signal, more, mode, cval)
    n = signal.shape[-1]
    wide = v.expand_dims(signal, axis=-1)
    wide = v.pad(wide, 0.0, widths=((0, 0),) * signal.ndim + ((0, up - 1),))
    wide = v.reshape(wide, shape=(*signal.shape[:-1], n * up))[..., : (n - 1) * up + 1]
    taps = v.reshape(h, shape=(1,) * (wide.ndim - 1) + (-1,))
    return back(convolved(wide, taps, "full")[..., more * up : more * up + size : down], axis)


def _prolonged(x: Any, more: int, mode: str, cval: Any) -> Any:
    """Go on behind both ends of the last axis, in what way SciPy goes on behind unit signals."""
    n, one = x.shape[-1], np.eye(1, 2 * more + 1, more)[0]
    if mode == "constant":
        return v.pad(x, cval, widths=((0, 0),) * (x.ndim - 1) + ((more, more),))
    return v.matmul(x, native.upfirdn(one, np.eye(n), axis=-1, mode=mode))


refused(
    native,
    dict.fromkeys(
        ("cspline2d", "qspline2d", "spline_filter", "symiirorder1", "symiirorder2"),
        "write scipy.ndimage.spline_filter, or lfilter",
    ),
)


def _ordered(x: Any, name: str) -> Any:
    """Make an array of a signal that has an order."""
    x = array_of(x)
    if kind_of(x) == "complex":
        reject(f"dtype={x.dtype} is not supported by {name}", ValueError)
    return x


@stands_for(native.order_filter)
def order_filter(a: Any, domain: Any, rank: int) -> Any:
    """Choose the element of a rank in windows, as ``scipy.signal.order_filter``."""
    return of_rank(
        _ordered(a, "order_filter"), rank, footprint=np.asarray(domain, bool), mode="constant"
    )


@stands_for(native.sepfir2d, parameters=dict.fromkeys(("input", "hrow", "hcol")))
def sepfir2d(input: Any, hrow: Any, hcol: Any) -> Any:
    """Filter rows and columns, with mirrors at the edges, as ``scipy.signal.sepfir2d``."""
    input, hrow, hcol = map(array_of, (input, hrow, hcol))
    if kind_of(input) == "real" and "complex" in (kind_of(hrow), kind_of(hcol)):
        reject("sepfir2d of a real image takes real filters", TypeError)
    rows = OF_IMAGES["convolve1d"](input, hrow, axis=1, mode="reflect")
    return OF_IMAGES["convolve1d"](rows, hcol, axis=0, mode="reflect")


# SciPy's text says which peaks are taken, by conditions on what is measured at them.


def _bases(x: Any, peaks: Any, left: Any, right: Any) -> Any:
    """Return how far peaks stand above the higher of their bases."""
    return x[peaks] - v.maximum(x[left], x[right])


def _crossing(x: Any, height: Any, at: Any, way: int) -> Any:
    """Return where a signal passes a height, beside a place that SciPy found, on a line."""
    known, n = readable(x), len(x)
    first = (np.floor(at) if way > 0 else np.ceil(at)).astype(int)
    below, above = first, np.clip(first + way, 0, n - 1)
    moves = known[below] < readable(height)
    step = v.where(moves, x[above] - x[below], 1.0)
    return first + way * v.where(moves, (height - x[below]) / step, 0.0)


def _prominences(x: Any, peaks: Any, wlen: Any) -> Any:
    _, left, right = private("_peak_prominences")(readable(x), peaks, wlen)
    return _bases(x, peaks, left, right), left, right


def _widths(x: Any, peaks: Any, rel_height: Any, *data: Any) -> Any:
    found = private("_peak_widths")(*map(readable, (x, peaks, rel_height, *data)))
    height = x[peaks] - _bases(x, peaks, *data[1:]) * rel_height
    left, right = (_crossing(x, height, at, k) for at, k in zip(found[2:], (1, -1), strict=True))
    return right - left, height, left, right


def _of_values(theirs: Any, *args: Any) -> Any:
    return theirs(*map(readable, args))


for _name in ("_local_maxima_1d", "_select_by_peak_distance"):
    instead_of(private(_name), functools.partial(_of_values, private(_name)))
instead_of(private("_peak_prominences"), _prominences)
instead_of(private("_peak_widths"), _widths)
FOLLOWED |= follow_all(native, "find_peaks", "peak_prominences", "peak_widths")
argrelextrema, argrelmax, argrelmin, find_peaks_cwt = (
    constant(f)
    for f in (native.argrelextrema, native.argrelmax, native.argrelmin, native.find_peaks_cwt)
)

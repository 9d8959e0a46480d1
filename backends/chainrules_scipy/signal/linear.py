"""What is linear in signals, by what SciPy makes of the unit vectors; windows, and peaks."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.signal as native

from chainrules_py import vocabulary as v
from chainrules_py.extend import kind_of, varies
from chainrules_scipy.ndimage import convolve1d, of_rank
from chainrules_scipy.rows import array_of, constant, readable, real_array_of, reject, stands_for
from chainrules_scipy.signal.convolving import back, convolved, last
from chainrules_scipy.signal.followed import FOLLOWED


def _matrix(function: Any, n: int) -> Any:
    """Return the matrix of what SciPy does to n elements of the last axis."""
    return function(np.eye(n)).T


def _applied(matrix: Any, x: Any, axis: int) -> Any:
    return back(v.matmul(last(x, axis), matrix.T), axis)


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
    y = _applied(_matrix(smoothed, n), x, axis)
    if mode == "constant":
        y = y + cval * back(smoothed(np.zeros(n), 1.0).reshape((1,) * (x.ndim - 1) + (n,)), axis)
    return y if deriv == 0 else y / array_of(delta) ** deriv


@stands_for(native.detrend)
def detrend(
    data: Any, axis: int = -1, type: Any = "linear", bp: Any = 0, overwrite_data: bool = False
) -> Any:
    """Subtract a line, or the mean."""
    x = array_of(data)
    matrix = _matrix(lambda e: native.detrend(e, -1, type, bp), x.shape[axis])
    return _applied(matrix, x, axis)


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


def _of_images(name: str) -> Any:
    """Make a function that is linear in all elements: of what SciPy makes of the unit images."""
    theirs = getattr(native, name)

    @functools.wraps(theirs)
    def function(*args: Any, **options: Any) -> Any:
        x, rest = array_of(args[0]), args[1:]
        units = np.eye(x.size, dtype=x.dtype).reshape((x.size, *x.shape))
        images = np.stack([theirs(e, *rest, **options) for e in units], axis=-1)
        return v.matmul(images, v.reshape(x, shape=(-1,)))

    function.__doc__ = f"Compute ``scipy.signal.{name}``, in the signal or image."
    return stands_for(theirs)(function)


cspline2d, qspline2d = map(_of_images, ("cspline2d", "qspline2d"))
spline_filter = _of_images("spline_filter")
symiirorder1, symiirorder2 = map(_of_images, ("symiirorder1", "symiirorder2"))


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


@stands_for(
    native.sepfir2d, parameters=dict.fromkeys(("input", "hrow", "hcol")), arrays="input hrow hcol"
)
def sepfir2d(input: Any, hrow: Any, hcol: Any) -> Any:
    """Filter rows and columns, with mirrors at the edges, as ``scipy.signal.sepfir2d``."""
    if kind_of(input) == "real" and "complex" in (kind_of(hrow), kind_of(hcol)):
        reject("sepfir2d of a real image takes real filters", TypeError)
    rows = convolve1d(input, hrow, axis=1, mode="reflect")
    return convolve1d(rows, hcol, axis=0, mode="reflect")


@stands_for(native.medfilt2d)
def medfilt2d(input: Any, kernel_size: Any = 3) -> Any:
    """Choose the median in windows."""
    return FOLLOWED["medfilt"](input, kernel_size)


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


def _widths(x: Any, peaks: Any, rel_height: Any, bases: Any, found: Any) -> Any:
    height = x[peaks] - _bases(x, peaks, *bases) * rel_height
    left, right = (_crossing(x, height, at, way) for at, way in zip(found, (1, -1), strict=True))
    return right - left, height, left, right


@stands_for(native.find_peaks)
def find_peaks(
    x: Any,
    height: Any = None,
    threshold: Any = None,
    distance: Any = None,
    prominence: Any = None,
    width: Any = None,
    wlen: Any = None,
    rel_height: Any = 0.5,
    plateau_size: Any = None,
) -> Any:
    """Find peaks: what is measured at them is differentiated, their places are not."""
    x = real_array_of(x, "find_peaks")
    limits = (height, threshold, distance, prominence, width, wlen, rel_height, plateau_size)
    peaks, known = native.find_peaks(readable(x), *map(_plain, limits))
    found = dict(known)
    if "peak_heights" in found:
        found["peak_heights"] = x[peaks]
    if "left_thresholds" in found:
        found["left_thresholds"] = x[peaks] - x[peaks - 1]
        found["right_thresholds"] = x[peaks] - x[peaks + 1]
    if "prominences" in found:
        bases = known["left_bases"], known["right_bases"]
        found["prominences"] = _bases(x, peaks, *bases)
        if "widths" in found:
            names = ("widths", "width_heights", "left_ips", "right_ips")
            measured = _widths(x, peaks, rel_height, bases, [known[n] for n in names[2:]])
            found |= dict(zip(names, measured, strict=True))
    return peaks, found


def _plain(limit: Any) -> Any:
    return tuple(map(_plain, limit)) if isinstance(limit, (tuple, list)) else readable(limit)


@stands_for(native.peak_prominences)
def peak_prominences(x: Any, peaks: Any, wlen: Any = None) -> Any:
    """Compute how far peaks stand out, as ``scipy.signal.peak_prominences``."""
    x = real_array_of(x, "peak_prominences")
    _known, left, right = native.peak_prominences(readable(x), peaks, wlen)
    return _bases(x, np.asarray(peaks), left, right), left, right


@stands_for(native.peak_widths)
def peak_widths(
    x: Any, peaks: Any, rel_height: Any = 0.5, prominence_data: Any = None, wlen: Any = None
) -> Any:
    """Compute how wide peaks are, as ``scipy.signal.peak_widths``."""
    x = real_array_of(x, "peak_widths")
    data = tuple(map(readable, prominence_data)) if prominence_data is not None else None
    if data is None:
        data = native.peak_prominences(readable(x), peaks, wlen)
    found = native.peak_widths(readable(x), peaks, readable(rel_height), data)
    return _widths(x, np.asarray(peaks), rel_height, data[1:], found[2:])


argrelextrema, argrelmax, argrelmin, find_peaks_cwt = (
    constant(f)
    for f in (native.argrelextrema, native.argrelmax, native.argrelmin, native.find_peaks_cwt)
)

"""Peaks of signals: their places are whole numbers and do not move; what is measured there does."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as native

from chainrules_py import vocabulary as v
from chainrules_scipy.rows import constant, readable, real_array_of, stands_for


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

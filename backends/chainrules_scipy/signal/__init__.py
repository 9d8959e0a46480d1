"""Filters and transforms of ``scipy.signal``, in signals and coefficients."""

from typing import Any

from chainrules_scipy.signal.convolving import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
    oaconvolve,
)
from chainrules_scipy.signal.filters import filtfilt, lfilter, sosfilt, sosfiltfilt
from chainrules_scipy.signal.followed import FOLLOWED, lfiltic
from chainrules_scipy.signal.linear import detrend, hilbert, resample, savgol_filter, upfirdn
from chainrules_scipy.signal.recursive import recursive_filter

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
    "lfiltic",
    "oaconvolve",
    "recursive_filter",
    "resample",
    "savgol_filter",
    "sosfilt",
    "sosfiltfilt",
    "upfirdn",
]


def __getattr__(name: str) -> Any:
    if name in FOLLOWED:
        return FOLLOWED[name]
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)

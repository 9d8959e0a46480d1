"""Filters and transforms of ``scipy.signal``, in signals and coefficients."""

from chainrules_scipy.signal.convolving import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
    oaconvolve,
)
from chainrules_scipy.signal.filters import filtfilt, lfilter, sosfilt, sosfiltfilt
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
    "oaconvolve",
    "recursive_filter",
    "resample",
    "savgol_filter",
    "sosfilt",
    "sosfiltfilt",
    "upfirdn",
]

"""Filters and transforms of ``scipy.signal``, in signals and coefficients."""

import functools

from chainrules_scipy.rows import attribute
from chainrules_scipy.signal.convolving import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
    oaconvolve,
)
from chainrules_scipy.signal.filters import lfilter, sosfilt
from chainrules_scipy.signal.followed import FOLLOWED, chirp, lfilter_zi, lfiltic
from chainrules_scipy.signal.linear import (
    cspline2d,
    detrend,
    medfilt2d,
    order_filter,
    qspline2d,
    savgol_filter,
    sepfir2d,
    spline_filter,
    symiirorder1,
    symiirorder2,
    upfirdn,
)
from chainrules_scipy.signal.peaks import find_peaks, peak_prominences, peak_widths
from chainrules_scipy.signal.recursive import recursive_filter
from chainrules_scipy.signal.systems import (
    bilinear,
    bode,
    cont2discrete,
    dbode,
    dfreqresp,
    dimpulse,
    dlsim,
    dstep,
    freqresp,
    impulse,
    invres,
    invresz,
    lsim,
    residue,
    residuez,
    step,
)

__all__ = [
    "chirp",
    "bilinear",
    "bode",
    "cont2discrete",
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "cspline2d",
    "dbode",
    "detrend",
    "medfilt2d",
    "dfreqresp",
    "dimpulse",
    "dlsim",
    "dstep",
    "fftconvolve",
    "find_peaks",
    "freqresp",
    "impulse",
    "invres",
    "invresz",
    "lfilter",
    "lfilter_zi",
    "lfiltic",
    "lsim",
    "oaconvolve",
    "order_filter",
    "peak_prominences",
    "peak_widths",
    "qspline2d",
    "recursive_filter",
    "residue",
    "residuez",
    "savgol_filter",
    "sepfir2d",
    "sosfilt",
    "spline_filter",
    "step",
    "symiirorder1",
    "symiirorder2",
    "upfirdn",
]


__getattr__ = functools.partial(attribute, __name__, FOLLOWED)

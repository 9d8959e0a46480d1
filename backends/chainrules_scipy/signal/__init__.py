"""Filters and transforms of ``scipy.signal``, in signals and coefficients."""

import functools

from chainrules_scipy.rows import attribute
from chainrules_scipy.signal.filters import (
    correlate2d,
    lfilter,
    order_filter,
    recursive_filter,
    savgol_filter,
    sepfir2d,
    sosfilt,
    upfirdn,
)
from chainrules_scipy.signal.followed import (
    FOLLOWED,
    bilinear,
    bode,
    chirp,
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
    lfilter_zi,
    lfiltic,
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
    "correlate2d",
    "dbode",
    "dfreqresp",
    "dimpulse",
    "dlsim",
    "dstep",
    "freqresp",
    "impulse",
    "invres",
    "invresz",
    "lfilter",
    "lfilter_zi",
    "lfiltic",
    "lsim",
    "order_filter",
    "recursive_filter",
    "residue",
    "residuez",
    "savgol_filter",
    "sepfir2d",
    "sosfilt",
    "step",
    "upfirdn",
]


__getattr__ = functools.partial(attribute, __name__, FOLLOWED)

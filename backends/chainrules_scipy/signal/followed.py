"""Functions of ``scipy.signal`` that SciPy writes in NumPy's words: its own text is followed."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import scipy.signal as native
from scipy.signal import windows

from chainrules_py import NotDifferentiableError
from chainrules_py.extend import varies
from chainrules_scipy.following import follow, follow_all, follow_class, instead_of
from chainrules_scipy.rows import array_of, readable, reject, stands_for

importlib.import_module("chainrules_scipy.fft")  # whose functions some texts call
instead_of(native.besselap, native.besselap)  # of a whole number: nothing is traced in it

CZT = follow_class(native.CZT, "__call__")
ZoomFFT = follow_class(native.ZoomFFT)
ShortTimeFFT = follow_class(native.ShortTimeFFT, "stft", "istft", "stft_detrend", "spectrogram")
FOLLOWED: dict[str, Any] = follow_all(
    native,
    *("abcd_normalize", "bessel", "bilinear_zpk", "butter", "buttord", "cheb1ap", "cheb1ord"),
    *("cheb2ap", "cheb2ord", "cheby1", "cheby2", "coherence", "csd", "cspline1d"),
    *("cspline1d_eval", "czt", "decimate", "deconvolve", "ellip", "ellipap", "ellipord"),
    *("envelope", "filtfilt", "findfreqs", "firls", "firwin", "firwin2", "firwin_2d", "freqs"),
    *("freqs_zpk", "freqz", "freqz_sos", "freqz_zpk", "gammatone", "gauss_spline"),
    *("gausspulse", "get_window", "group_delay", "hilbert", "hilbert2", "iircomb", "iirdesign"),
    *("iirfilter", "iirnotch", "iirpeak", "istft", "kaiser_atten", "kaiser_beta"),
    *("kaiserord", "lombscargle", "lp2bp", "lp2bp_zpk", "lp2bs", "lp2bs_zpk", "lp2hp"),
    *("lp2hp_zpk", "lp2lp", "lp2lp_zpk", "minimum_phase", "periodogram"),
    *(
        "qspline1d",
        "qspline1d_eval",
        "medfilt",
        "resample",
        "resample_poly",
        "savgol_coeffs",
        "sawtooth",
        "sosfiltfilt",
    ),
    *("sos2tf", "sos2zpk", "sosfilt_zi", "sosfreqz", "spectrogram", "square", "ss2tf"),
    *("ss2zpk", "stft", "sweep_poly", "tf2sos", "tf2zpk", "vectorstrength"),
    *("welch", "wiener", "zoom_fft", "zpk2sos", "zpk2ss", "zpk2tf"),
)
FOLLOWED |= follow_all(
    windows,
    *("chebwin", "exponential", "gaussian", "general_cosine", "general_gaussian"),
    *("general_hamming", "kaiser", "taylor", "tukey"),
)


_normalize = follow(native.normalize)


def with_all_powers(b: Any, a: Any) -> tuple[Any, Any]:
    """Normalize as SciPy, but leave zeros in front of a numerator that varies: they move.

    Raises
    ------
    NotDifferentiableError
        If there are more of them than the denominator has coefficients.
    """
    num, den = _normalize(b, a)
    left_out = np.shape(b)[-1] - num.shape[-1] if np.ndim(b) else 0
    if left_out <= 0 or not varies(b):
        return num, den
    if np.shape(b)[-1] > den.shape[0]:
        raise NotDifferentiableError(_LEFT_OUT)
    a = np.atleast_1d(array_of(a))
    num = array_of(b) / a[int(np.flatnonzero(readable(a))[0])]
    return (num[0] if num.ndim == 2 and len(num) == 1 else num), den


_LEFT_OUT = (
    "scipy.signal leaves out coefficients of a numerator in front that are zero, and with them "
    "their derivatives; leave out yourself what is constant"
)


@stands_for(native.normalize)
def normalize(b: Any, a: Any) -> tuple[Any, Any]:
    """Divide by the first coefficient, as ``scipy.signal.normalize``."""
    num, den = _normalize(b, a)
    if varies(b) and np.ndim(b) and num.shape[-1] < np.shape(b)[-1]:
        raise NotDifferentiableError(_LEFT_OUT)
    return num, den


tf2ss = follow(native.tf2ss, normalize=with_all_powers)
FOLLOWED |= {"normalize": normalize, "tf2ss": tf2ss}


_chirp = follow(native.chirp)


@stands_for(native.chirp)
def chirp(t: Any, f0: Any, t1: Any, f1: Any, method: str = "linear", *args: Any, **how: Any) -> Any:
    """Compute a wave of changing frequency: as ``scipy.signal.chirp``."""
    if method[:3] in ("log", "hyp") and varies((f0, f1)) and readable(f0) == readable(f1):
        reject(
            f"chirp(method={method!r}) of equal frequencies is SciPy's shortcut for a plain wave"
        )
    return _chirp(t, f0, t1, f1, method, *args, **how)


@stands_for(native.lfilter_zi)
def lfilter_zi(b: Any, a: Any) -> Any:
    """Compute the state of a filter at rest: as ``scipy.signal.lfilter_zi``, of any first a.

    SciPy divides by it where it is not 1: so its text has no derivative there.
    """
    b, a = np.atleast_1d(array_of(b)), np.atleast_1d(array_of(a))
    if not np.any(readable(a)):
        reject("There must be at least one nonzero `a` coefficient.", ValueError)
    leading = int(np.flatnonzero(readable(a))[0])
    a = a[leading:]
    b, a = b / a[0], a / a[0]
    missing = len(a) - len(b)
    b, a = (np.concatenate([x, np.zeros(max(k, 0))]) for x, k in ((b, missing), (a, -missing)))
    n = len(a) - 1
    stays = np.eye(n) - np.concatenate([-a[None, 1:], np.eye(n - 1, n)]).T
    return np.linalg.solve(stays, b[1:] - a[1:] * b[0])


@stands_for(native.lfiltic)
def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Any:
    """Compute the state of a filter from what it gave, of coefficients of any first one."""
    b, a, y = np.atleast_1d(array_of(b)), np.atleast_1d(array_of(a)), np.atleast_1d(array_of(y))
    b, a = b / a[0], a / a[0]
    x = np.zeros(0) if x is None else np.atleast_1d(array_of(x))
    n, m = a.shape[0] - 1, b.shape[0] - 1
    before = [
        np.concatenate([p[:k], np.zeros(max(k - p.shape[0], 0))]) for p, k in ((y, n), (x, m))
    ]
    state = [
        np.sum(b[k + 1 :] * before[1][: max(m - k, 0)])
        - np.sum(a[k + 1 :] * before[0][: max(n - k, 0)])
        for k in range(max(n, m))
    ]
    return np.stack(state) if state else np.zeros(0)

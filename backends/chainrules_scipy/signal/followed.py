"""Functions and linear systems of ``scipy.signal``: SciPy's own text is followed."""

from __future__ import annotations

import copy
import operator
from typing import Any

import numpy as np
import scipy.signal as native
from scipy.signal import windows

from chainrules_py import NotDifferentiableError
from chainrules_py.extend import Tracer, kind_of, varies
from chainrules_scipy._private import common_base
from chainrules_scipy.following import (
    follow,
    follow_all,
    follow_class,
    followed_class,
    instead_of,
    numpy_with,
)
from chainrules_scipy.precision import HOLDS
from chainrules_scipy.rows import array_of, readable, reject, stands_for

instead_of(native.besselap, native.besselap)  # of a whole number: nothing is traced in it

CZT = follow_class(native.CZT, "__call__")
ZoomFFT = follow_class(native.ZoomFFT)
ShortTimeFFT = follow_class(native.ShortTimeFFT, "stft", "istft", "stft_detrend", "spectrogram")
FOLLOWED: dict[str, Any] = follow_all(
    native,
    *("abcd_normalize", "bessel", "bilinear_zpk", "butter", "buttord", "cheb1ap", "cheb1ord"),
    *("cheb2ap", "cheb2ord", "cheby1", "cheby2", "coherence", "csd", "cspline1d"),
    *("cspline1d_eval", "czt", "decimate", "deconvolve", "detrend", "ellip", "ellipap", "ellipord"),
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


_LINEAR = common_base(native.lti, native.dlti)


def _concrete(name: str, kind: type) -> Any:
    """Return the class of the systems that are given so, continuous or discrete ones."""
    return next(c for c in getattr(native, name).__subclasses__() if issubclass(c, kind))


def _system(made: type, *system: Any, **how: Any) -> Any:
    """Make a system of the class that SciPy's ``__new__`` chooses, of which copies are made."""
    name = made.__name__
    if len(system) == 1 and isinstance(system[0], _LINEAR):
        return getattr(system[0], _CONVERSIONS[name])()
    is_discrete = name == "dlti" or how.get("dt") is not None
    if name in ("lti", "dlti"):
        if len(system) not in (2, 3, 4):
            reject(
                f"`system` needs to be an instance of `{name}` or have 2, 3 or 4 arguments.",
                ValueError,
            )
        name = tuple(_CONVERSIONS)[len(system) - 2]
    return object.__new__(
        followed_class(_concrete(name, native.dlti if is_discrete else native.lti))
    )


def _is_one(_: Any, other: Any) -> bool:
    """Tell what a state space may be added to, or multiplied with."""
    kinds = (native.StateSpace, np.ndarray, np.number, float, complex, int, Tracer)
    return isinstance(other, kinds)


def _class(x: Any) -> type:
    """Return the class of a system, which is SciPy's also where its numbers are traced."""
    return next(c for c in type(x).__mro__ if HOLDS not in vars(c))


def _added(self: Any, other: Any) -> Any:
    """Add to what is no system; a system adds this one itself, and its states come first."""
    return NotImplemented if isinstance(other, native.StateSpace) else self + other


def _subtracted(self: Any, other: Any) -> Any:
    return NotImplemented if isinstance(other, native.StateSpace) else -self + other


class _Copying:
    """The module ``copy``: what is traced stays the same in a copy of a system."""

    deepcopy = staticmethod(copy.copy)


_CONVERSIONS = {"TransferFunction": "to_tf", "ZerosPolesGain": "to_zpk", "StateSpace": "to_ss"}
_BINARY = ("__add__", "__sub__", "__mul__", "__truediv__", "__radd__", "__rsub__", "__rmul__")
_METHODS = ("impulse", "step", "output", "bode", "freqresp")
for _cls in (native.lti, native.dlti):
    follow_class(_cls, *_METHODS, __new__=_system)
for _name in _CONVERSIONS:
    _own: dict[str, Any] = {"copy": _Copying, "__new__": _system}
    if _name == "TransferFunction":
        _own |= {"normalize": with_all_powers}
    if _name == "StateSpace":
        _own |= {"type": _class, "_check_binop_other": _is_one}
        _own |= {"__radd__": _added, "__rsub__": _subtracted}
    follow_class(getattr(native, _name), *(_BINARY if _name == "StateSpace" else ()), **_own)
    for _kind in (native.lti, native.dlti):
        follow_class(_concrete(_name, _kind))

# An input of zeros that may move is one: SciPy would leave it out.
_any = numpy_with(any=lambda x: (np.ndim(x) > 0 and varies(x)) or bool(np.any(x)))
lsim = follow(native.lsim, np=_any)
impulse, step = follow(native.impulse), follow(native.step)
dlsim, dimpulse, dstep = follow(native.dlsim), follow(native.dimpulse), follow(native.dstep)
bode, dbode, dfreqresp = follow(native.bode), follow(native.dbode), follow(native.dfreqresp)
_freqresp = follow(native.freqresp)


@stands_for(native.freqresp)
def freqresp(system: Any, w: Any = None, n: int = 10000) -> Any:
    """Compute the response to frequencies, as ``scipy.signal.freqresp``.

    Of coefficients it is that of their ratio: roots have no derivative where they are equal.
    """
    if isinstance(system, _concrete("StateSpace", native.lti)):
        return freqresp((system.A, system.B, system.C, system.D), w, n)
    if not isinstance(system, _LINEAR) and len(system) in (2, 4):
        ratio = followed_class(native.lti)(*system)._as_tf()
        if kind_of(ratio.num) == kind_of(ratio.den) == "real":  # of complex ones SciPy
            system = ratio  # leaves out the imaginary part of the gain
    return _freqresp(system, w, n)


cont2discrete = follow(native.cont2discrete)


def _simple(p: Any, tol: float = 1e-3, rtype: str = "min") -> tuple[Any, Any]:
    """Return roots that are all different, as ``unique_roots`` does."""
    near = np.abs(readable(p)[:, None] - readable(p)) + 2 * tol * np.eye(len(p))
    if np.min(near, initial=np.inf) <= tol:
        reject("residues at a pole of a higher order have no derivative: such a pole falls apart")
    return p, np.ones(len(p), int)


def _leaving_out_none(x: Any, trim: Any) -> Any:
    """Leave out zeros; those that vary have derivatives, also of what is not there then."""
    kept = np.trim_zeros(x, trim)
    if varies(x) and kept.shape != x.shape:
        reject("residues of coefficients that are zero at the end have no derivative in these")
    return kept


_whole = numpy_with(trim_zeros=_leaving_out_none)
residue = follow(native.residue, np=_whole, unique_roots=_simple)
residuez = follow(native.residuez, np=_whole, unique_roots=_simple)
_alike = numpy_with(**dict.fromkeys(("max", "min", "mean"), operator.itemgetter(0)))
invres, invresz = (follow(f, np=_alike) for f in (native.invres, native.invresz))


@stands_for(native.bilinear)
def bilinear(b: Any, a: Any, fs: Any = 1.0) -> Any:
    """Transform a filter of time into one of steps, as ``scipy.signal.bilinear``."""
    b, a = np.atleast_1d(array_of(b)), np.atleast_1d(array_of(a))
    n, two = max(len(a), len(b)) - 1, 2.0 * array_of(fs)
    plus, minus = np.polynomial.Polynomial((1, 1)), np.polynomial.Polynomial((-1, 1))
    powers = np.stack([(plus ** (n - k) * minus**k).coef[::-1] for k in range(n + 1)])
    weights = [two ** np.arange(len(x)) * x[::-1] for x in (b, a)]
    b, a = (w @ powers[: len(w)] for w in weights)
    return FOLLOWED["normalize"](b, a)

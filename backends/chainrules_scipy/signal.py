"""Filters and transforms of ``scipy.signal``, with derivatives in signals and coefficients."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.signal as native

from chainrules_py import Array, LinearMap, NotDifferentiableError, primitive, rule
from chainrules_py import ops as v
from chainrules_py.extend import (
    Tracer,
    fourier_composites,
    kind_of,
    manipulation_composites,
    varies,
)
from chainrules_scipy import interpolate, linalg
from chainrules_scipy._private import common_base, private
from chainrules_scipy.composites_and_operand_conversions import (
    anchored,
    array_of,
    attribute,
    constant,
    of_precision,
    one_of,
    operations,
    part,
    readable,
    refused,
    reject,
    stands_for,
)
from chainrules_scipy.installation import HOLDS
from chainrules_scipy.ndimage import FOLLOWED as OF_IMAGES
from chainrules_scipy.ndimage import around
from chainrules_scipy.source_copies import (
    follow,
    follow_all,
    follow_class,
    followed_class,
    instead_of,
    numpy_with,
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
    "recursive_filter",
    "residue",
    "residuez",
    "sepfir2d",
    "sosfilt",
    "step",
    "upfirdn",
]

moveaxis = manipulation_composites.moveaxis


# -------- functions and linear systems of ``scipy.signal``: SciPy's own source is followed


instead_of(native.besselap, native.besselap)  # of an integer: nothing in it is traced

CZT = follow_class(native.CZT, "__call__")
ZoomFFT = follow_class(native.ZoomFFT)


def _scale_to(self: Any, scaling: str) -> None:
    """Scale the windows as SciPy does, without its flags, which traced arrays lack."""
    self._scaling = None  # Python initializes what a constructor makes, and so does ours
    factor = getattr(self, {"psd": "fac_psd", "magnitude": "fac_magnitude"}[scaling])
    self._dual_win = None if self._dual_win is None else self._dual_win / factor
    self._win, self._scaling, self._fac_mag, self._fac_psd = self._win * factor, scaling, None, None


def _of_windows(
    self: Any, win: Any, *args: Any, dual_win: Any = None, scale_to: Any = None, **how: Any
) -> None:
    """Construct with plain windows, which SciPy locks, and put the traced ones in their place."""
    native.ShortTimeFFT.__init__(
        *(self, readable(win), *args), dual_win=readable(dual_win), scale_to=scale_to, **how
    )
    self._win, self._dual_win = win, dual_win
    if scale_to is not None:
        self.scale_to(scale_to)


ShortTimeFFT = follow_class(
    native.ShortTimeFFT,
    *("stft", "istft", "stft_detrend", "spectrogram"),
    scale_to=_scale_to,
    __init__=_of_windows,
)
FOLLOWED: dict[str, Any] = follow_all(
    native,
    *("abcd_normalize", "bessel", "bilinear_zpk", "butter", "buttord", "cheb1ap", "cheb1ord"),
    *("cheb2ap", "cheb2ord", "cheby1", "cheby2", "coherence", "csd", "cspline1d"),
    *("czt", "decimate", "deconvolve", "detrend", "ellip", "ellipap", "ellipord"),
    *("envelope", "filtfilt", "findfreqs", "firwin", "firwin2", "firwin_2d", "freqs"),
    *("freqs_zpk", "freqz", "freqz_sos", "freqz_zpk", "gammatone", "gauss_spline"),
    *("gausspulse", "get_window", "group_delay", "hilbert", "hilbert2", "iircomb", "iirdesign"),
    *("iirfilter", "iirnotch", "iirpeak", "istft", "kaiser_atten", "kaiser_beta"),
    *("kaiserord", "lombscargle", "lp2bp", "lp2bp_zpk", "lp2bs", "lp2bs_zpk", "lp2hp"),
    *("lp2hp_zpk", "lp2lp", "lp2lp_zpk", "periodogram"),
    *(
        "qspline1d",
        "medfilt",
        "order_filter",
        "resample",
        "resample_poly",
        "sawtooth",
        "savgol_filter",
        "sosfiltfilt",
    ),
    *("sos2tf", "sos2zpk", "sosfilt_zi", "sosfreqz", "spectrogram", "square", "ss2tf"),
    *("ss2zpk", "stft", "sweep_poly", "tf2sos", "tf2zpk", "vectorstrength"),
    *("welch", "wiener", "zoom_fft", "zpk2sos", "zpk2ss", "zpk2tf"),
) | follow_all(
    native.windows,
    *("chebwin", "exponential", "gaussian", "general_cosine", "general_gaussian"),
    *("general_hamming", "kaiser", "taylor", "tukey"),
)
FOLLOWED["savgol_coeffs"] = follow(
    native.savgol_coeffs,
    np_compat=numpy_with(  # places move with pos
        arange=lambda start, *stop, dtype, device: anchored(
            np.arange(*map(readable, (start, *stop)), dtype=dtype), start
        )
    ),
)


_normalize, _chirp, _lfilter_zi, _lfiltic = map(
    follow, (native.normalize, native.chirp, native.lfilter_zi, native.lfiltic)
)


def with_all_powers(b: Any, a: Any) -> tuple[Any, Any]:
    """Normalize as SciPy, but keep leading zeros of a numerator that varies.

    Raises
    ------
    NotDifferentiableError
        If it has more coefficients than the denominator.
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
    "scipy.signal leaves out coefficients in front that are zero, and with them their derivatives; "
    "leave out yourself what is constant"
)


@stands_for(native.normalize)
def normalize(b: Any, a: Any) -> tuple[Any, Any]:
    """Divide by the first coefficient, as ``scipy.signal.normalize``."""
    num, den = _normalize(b, a)
    if varies(b) and np.ndim(b) and num.shape[-1] < np.shape(b)[-1]:
        raise NotDifferentiableError(_LEFT_OUT)
    return num, den


# SciPy takes the roots of a response less its least element, which stays 0.
_rooted = numpy_with(sqrt=lambda x: v.where(x == 0, 0.0, v.sqrt(v.where(x == 0, 1.0, x))))
FOLLOWED |= {
    # SciPy's value, as its warning selects the least squares of a singular system.
    "firls": follow(
        native.firls,
        solve=lambda *ab, **how: anchored(
            scipy.linalg.solve(*map(readable, ab), **how), linalg.solve(*ab, **how)
        ),
    ),
    "minimum_phase": follow(native.minimum_phase, array_namespace=lambda _: _rooted),
    "normalize": normalize,
    "cspline1d_eval": follow(native.cspline1d_eval, BSpline=interpolate.BSpline),
    "qspline1d_eval": follow(native.qspline1d_eval, BSpline=interpolate.BSpline),
    "tf2ss": follow(native.tf2ss, normalize=with_all_powers),
}


@stands_for(native.chirp)
def chirp(t: Any, f0: Any, t1: Any, f1: Any, method: str = "linear", *args: Any, **how: Any) -> Any:
    """Compute a wave of changing frequency: as ``scipy.signal.chirp``."""
    if method[:3] in ("log", "hyp") and varies((f0, f1)) and readable(f0) == readable(f1):
        reject(
            f"chirp(method={method!r}) of equal frequencies is SciPy's shortcut for a plain wave"
        )
    return _chirp(t, f0, t1, f1, method, *args, **how)


def _to_divide(b: Any, a: Any) -> tuple[Any, Any]:
    """Double coefficients whose first one is 1: SciPy divides by it only where it is not 1."""
    b, a = array_of(b), array_of(a)
    leading = np.trim_zeros(np.atleast_1d(readable(a)), "f")[:1]
    return (2 * b, 2 * a) if leading == 1 else (b, a)


@stands_for(native.lfilter_zi)
def lfilter_zi(b: Any, a: Any) -> Any:
    """Compute the state of a filter at rest, for any a[0]."""
    return _lfilter_zi(*_to_divide(b, a))


@stands_for(native.lfiltic)
def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Any:
    """Compute the state of a filter from its outputs, for any a[0]."""
    return _lfiltic(*_to_divide(b, a), y, x)


_LINEAR = common_base(native.lti, native.dlti)


def _concrete(name: str, kind: type) -> Any:
    """Return the class of systems in a representation, continuous or discrete ones."""
    return next(c for c in getattr(native, name).__subclasses__() if issubclass(c, kind))


def _system(made: type, *system: Any, **how: Any) -> Any:
    """Make a followed system of the class that SciPy's ``__new__`` chooses."""
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


def _added_by(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Add to a value that is no system; a system adds this one itself, with its states first."""
    return lambda self, other: (
        NotImplemented if isinstance(other, native.StateSpace) else operation(self, other)
    )


_OF_STATES: dict[str, Any] = {
    # The class of a system is SciPy's, even if its numbers are traced.
    "type": lambda x: next(c for c in type(x).__mro__ if HOLDS not in vars(c)),
    "_check_binop_other": lambda _, x: isinstance(
        x, (native.StateSpace, np.ndarray, np.number, float, complex, int, Tracer)
    ),
    "__radd__": _added_by(operator.add),
    "__rsub__": _added_by(lambda self, other: -self + other),
}


_CONVERSIONS = {"TransferFunction": "to_tf", "ZerosPolesGain": "to_zpk", "StateSpace": "to_ss"}
_BINARY = ("__add__", "__sub__", "__mul__", "__truediv__", "__radd__", "__rsub__", "__rmul__")
for _cls in (native.lti, native.dlti):
    FOLLOWED[_cls.__name__] = follow_class(
        _cls, "impulse", "step", "output", "bode", "freqresp", __new__=_system
    )
_OWN: dict[str, Any] = {
    "TransferFunction": {"normalize": with_all_powers},
    "StateSpace": _OF_STATES,
}
for _name in _CONVERSIONS:
    FOLLOWED[_name] = follow_class(
        getattr(native, _name),
        *(_BINARY if _name == "StateSpace" else ()),
        __new__=_system,
        **_OWN.get(_name, {}),
    )
    for _kind in (native.lti, native.dlti):
        follow_class(_concrete(_name, _kind))

# An input of zeros counts if it varies: SciPy would leave it out.
lsim = follow(
    native.lsim, np=numpy_with(any=lambda x: (np.ndim(x) > 0 and varies(x)) or bool(np.any(x)))
)
impulse, step, dlsim, dimpulse, dstep, bode, dbode, dfreqresp, _freqresp, cont2discrete = map(
    follow,
    (
        *(native.impulse, native.step, native.dlsim, native.dimpulse, native.dstep),
        *(native.bode, native.dbode, native.dfreqresp, native.freqresp, native.cont2discrete),
    ),
)


@stands_for(native.freqresp)
def freqresp(system: Any, w: Any = None, n: int = 10000) -> Any:
    """Compute the frequency response, as ``scipy.signal.freqresp``.

    For coefficients it is that of their ratio: roots have no derivative where they are equal.
    """
    if isinstance(system, _concrete("StateSpace", native.lti)):
        return freqresp((system.A, system.B, system.C, system.D), w, n)
    if not isinstance(system, _LINEAR) and len(system) in (2, 4):
        ratio = followed_class(native.lti)(*system)._as_tf()
        if kind_of(ratio.num) == kind_of(ratio.den) == "real":  # for complex ones, SciPy
            system = ratio  # leaves out the imaginary part of the gain
    return _freqresp(system, w, n)


def _simple(p: Any, tol: float = 1e-3, rtype: str = "min") -> tuple[Any, Any]:
    """Return roots, which must be different, as ``unique_roots`` does."""
    near = np.abs(readable(p)[:, None] - readable(p)) + 2 * tol * np.eye(len(p))
    if np.min(near, initial=np.inf) <= tol:
        reject("residues at a pole of a higher order have no derivative: such a pole falls apart")
    return p, np.ones(len(p), int)


def _leaving_out_none(x: Any, trim: Any) -> Any:
    """Trim zeros; raise for those that vary, whose derivatives would be lost."""
    kept = np.trim_zeros(x, trim)
    if varies(x) and kept.shape != x.shape:
        reject(
            "SciPy leaves out coefficients that are zero at an end, and with them their "
            "derivatives; leave out yourself what is constant"
        )
    return kept


residue, residuez = (
    follow(f, np=numpy_with(trim_zeros=_leaving_out_none), unique_roots=_simple)
    for f in (native.residue, native.residuez)
)
invres, invresz = (
    follow(
        f,
        np=numpy_with(
            trim_zeros=_leaving_out_none,
            **dict.fromkeys(("max", "min", "mean"), operator.itemgetter(0)),
        ),
    )
    for f in (native.invres, native.invresz)
)


@stands_for(native.bilinear)
def bilinear(b: Any, a: Any, fs: Any = 1.0) -> Any:
    """Transform a continuous filter into a discrete one, as ``scipy.signal.bilinear``."""
    b, a = np.atleast_1d(array_of(b)), np.atleast_1d(array_of(a))
    n = max(len(np.trim_zeros(readable(x), "f")) for x in (a, b)) - 1
    if any(varies(x) and len(x) > n + 1 for x in (a, b)):
        raise NotDifferentiableError(_LEFT_OUT)
    plus, minus = np.polynomial.Polynomial((1, 1)), np.polynomial.Polynomial((-1, 1))
    powers = np.stack([(plus ** (n - k) * minus**k).coef[::-1] for k in range(n + 1)])
    b, a = (
        ((2.0 * array_of(fs)) ** np.arange(len(x)) * x[::-1])[: n + 1] @ powers[: len(x)]
        for x in (b, a)
    )
    return FOLLOWED["normalize"](b, a)


# -------- convolutions, recursive filters, other linear functions of signals; windows, peaks


def _cut(full: Any, mode: str, x: tuple[int, ...], k: tuple[int, ...], axes: Any) -> Any:
    """Take the part of a full convolution that a mode selects."""
    one_of("mode", mode, ("full", "same", "valid"))
    for i in () if mode == "full" else axes:
        n = x[i] if mode == "same" else abs(x[i] - k[i]) + 1
        start = (full.shape[i] - n) // 2
        full = part(full, i, start, start + n)
    return full


def convolved(in1: Any, in2: Any, mode: str, axes: Any = None) -> Any:
    """Convolve along axes, by default along all."""
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
    if 0 in (*x.shape, *k.shape):
        return np.array([])  # as SciPy's, for all axes and modes
    taps = math.prod(k.shape[i] for i in axes)
    # Few products are added one by one; for many, Fourier transforms are multiplied.
    few = len(axes) == x.ndim and taps * math.prod(x.shape) <= 1 << 18 and taps <= 64
    return _cut(_added(x, k) if few else _multiplied(x, k, axes), mode, x.shape, k.shape, axes)


def _added(x: Any, k: Any) -> Any:
    """Compute Σ_j k_j x, with x shifted by j."""
    return functools.reduce(
        operator.add,
        (
            v.pad(x, 0.0, widths=tuple((i, n - 1 - i) for i, n in zip(j, k.shape, strict=True)))
            * k[j]
            for j in np.ndindex(*k.shape)
        ),
    )


def _multiplied(x: Any, k: Any, axes: Any) -> Any:
    axes, shape = list(axes), [x.shape[i] + k.shape[i] - 1 for i in axes]
    of: Any = fourier_composites
    transform, back = (
        (of.fftn, of.ifftn) if "complex" in (kind_of(x), kind_of(k)) else (of.rfftn, of.irfftn)
    )
    return back(transform(x, shape, axes) * transform(k, shape, axes), shape, axes)


_BOUNDARIES = {
    "fill": "constant",
    "pad": "constant",
    "wrap": "wrap",
    "circular": "wrap",
    "symm": "reflect",
    "symmetric": "reflect",
}


def _in_the_plane(in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any) -> Any:
    """Convolve matrices, of which the first one extends beyond its edges."""
    x, k = array_of(in1), array_of(in2)
    one_of("boundary", boundary, _BOUNDARIES)
    boundary = _BOUNDARIES[boundary]
    if mode == "valid" or (boundary == "constant" and not varies(fillvalue) and fillvalue == 0):
        return convolved(x, k, mode)
    sizes, wide = tuple(x.shape), x
    for axis, m in enumerate(k.shape):
        wide = around(wide, axis, m - 1, m - 1, boundary, fillvalue)
    return _cut(convolved(wide, k, "valid"), mode, sizes, k.shape, (0, 1))


def _turned(k: Any) -> Any:
    """Reverse a kernel, and conjugate it."""
    k = array_of(k)
    return v.conj(v.flip(k, axis=tuple(range(k.ndim))))


FOLLOWED |= operations(
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
    y = _in_the_plane(x, k, "full" if mode == "same" else mode, boundary, fillvalue)
    if mode == "same":  # the middle, rounded up
        return y[tuple(slice(m // 2, m // 2 + n) for m, n in zip(k.shape, x.shape, strict=True))]
    # SciPy exchanges the two if the first is smaller, and then conjugates that one.
    return v.conj(y) if mode == "valid" and tuple(x.shape) < tuple(k.shape) else y


@primitive
def recursive_filter(a: Array, x: Array, /) -> Any:
    """Solve Σ_k a_k y_{n - k} = x_n along the last axis, where y is 0 before the first element."""


@recursive_filter.implement
def recursive_filter_numpy(a: np.ndarray, x: np.ndarray) -> Any:
    """Compute by SciPy's filter."""
    return native.lfilter([1.0], a, x, axis=-1)


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
    return v.flip(recursive_filter(v.conj(a), v.flip(y_bar, axis=-1)), axis=-1)


def _factors_push(a_dot: Any, a: Any, y: Any) -> Any:
    return -_solve(tapped(a_dot, y), a)


def _factors_pull(y_bar: Any, a: Any, y: Any) -> Any:
    x_bar = _solve_back(y_bar, a)
    return -v.stack(*[v.sum(x_bar * v.conj(delayed(y, k))) for k in range(a.shape[0])], axis=0)


def delayed(y: Any, k: int) -> Any:
    """Shift by k elements along the last axis, with zeros at the start."""
    return around(y, y.ndim - 1, k, 0, "constant", 0.0)[..., : y.shape[-1]] if k else y


def tapped(c: Any, x: Any) -> Any:
    """Compute Σ_k c_k x_{n - k} along the last axis."""
    return sum((c[..., k] * delayed(x, k) for k in range(c.shape[-1])), 0.0)


@stands_for(native.lfilter)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Filter along an axis: Σ_k a_k y_{n - k} = Σ_k b_k x_{n - k}."""
    b, a = (v.reshape(array_of(c), shape=(-1,)) for c in (b, a))
    signal = moveaxis(array_of(x), axis, -1)
    first = a[:1]
    if not readable(first).all():
        reject("the first coefficient of a filter, a[0], is 0", ValueError)
    b, a = b / first, a / first
    if zi is None:
        driven = tapped(b, signal)
        return moveaxis(recursive_filter(a, driven) if a.shape[0] > 1 else driven, -1, axis)
    n, size = signal.shape[-1], max(b.shape[0], a.shape[0]) - 1
    state = moveaxis(array_of(zi), axis, -1)
    driven = tapped(b, _longer(signal, size)) + _longer(state, n)
    y = recursive_filter(a, driven[..., :n])
    behind = (driven - tapped(a, _longer(y, size)))[..., n:]
    dtype = np.result_type(*[readable(z).dtype for z in (b, a, signal, state)])
    return tuple(moveaxis(of_precision(z, dtype), -1, axis) for z in (y, behind))


def _longer(x: Any, more: int) -> Any:
    """Append zeros along the last axis."""
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
    """Insert zeros, filter, and take every ``down``-th element."""
    h, signal = array_of(h), moveaxis(array_of(x), axis, -1)
    native.upfirdn([1.0], [1.0], mode=mode)  # raises for an unknown mode
    more = -(-(h.shape[0] - 1) // up) if mode != "constant" or varies(cval) or cval != 0 else 0
    size = (signal.shape[-1] - 1) * up + h.shape[0]
    signal = _prolonged(signal, more, mode, cval)
    n, wide = signal.shape[-1], v.expand_dims(signal, axis=-1)
    wide = v.pad(wide, 0.0, widths=((0, 0),) * signal.ndim + ((0, up - 1),))
    wide = v.reshape(wide, shape=(*signal.shape[:-1], n * up))[..., : (n - 1) * up + 1]
    taps = v.reshape(h, shape=(1,) * (wide.ndim - 1) + (-1,))
    return moveaxis(
        convolved(wide, taps, "full")[..., more * up : more * up + size : down], -1, axis
    )


def _prolonged(x: Any, more: int, mode: str, cval: Any) -> Any:
    """Extend both ends of the last axis, as SciPy extends unit signals."""
    n, one = x.shape[-1], np.eye(1, 2 * more + 1, more)[0]
    return (
        v.pad(x, cval, widths=((0, 0),) * (x.ndim - 1) + ((more, more),))
        if mode == "constant"
        else v.matmul(x, native.upfirdn(one, np.eye(n), axis=-1, mode=mode))
    )


refused(
    native,
    dict.fromkeys(
        ("cspline2d", "qspline2d", "spline_filter", "symiirorder1", "symiirorder2"),
        "write scipy.ndimage.spline_filter, or lfilter",
    )
    | {"band_stop_obj": "buttord minimises it: write buttord(wp, ws, gpass, gstop)"},
)


@stands_for(native.sepfir2d, parameters=dict.fromkeys(("input", "hrow", "hcol")))
def sepfir2d(input: Any, hrow: Any, hcol: Any) -> Any:
    """Filter rows and columns, with mirrors at the edges, as ``scipy.signal.sepfir2d``."""
    input, hrow, hcol = map(array_of, (input, hrow, hcol))
    if kind_of(input) == "real" and "complex" in (kind_of(hrow), kind_of(hcol)):
        reject("sepfir2d of a real image takes real filters", TypeError)
    rows = OF_IMAGES["convolve1d"](input, hrow, axis=1, mode="reflect")
    return OF_IMAGES["convolve1d"](rows, hcol, axis=0, mode="reflect")


# SciPy's source selects peaks by conditions on their measured properties.


def _crossing(x: Any, height: Any, at: Any, way: int) -> Any:
    """Return where a signal crosses a height, by linear interpolation near SciPy's location."""
    known, n = readable(x), len(x)
    first = (np.floor(at) if way > 0 else np.ceil(at)).astype(int)
    below, above = first, np.clip(first + way, 0, n - 1)
    moves = known[below] < readable(height)
    step = v.where(moves, x[above] - x[below], 1.0)
    return first + way * v.where(moves, (height - x[below]) / step, 0.0)


def _prominences(x: Any, peaks: Any, wlen: Any) -> Any:
    _, left, right = private("_peak_prominences")(readable(x), peaks, wlen)
    return x[peaks] - v.maximum(x[left], x[right]), left, right


def _widths(x: Any, peaks: Any, rel_height: Any, *data: Any) -> Any:
    found = private("_peak_widths")(*map(readable, (x, peaks, rel_height, *data)))
    height = x[peaks] - data[0] * rel_height
    left, right = (_crossing(x, height, at, k) for at, k in zip(found[2:], (1, -1), strict=True))
    return right - left, height, left, right


for _name, _ours in {
    "_peak_prominences": _prominences,
    "_peak_widths": _widths,
    **{
        name: lambda *xs, name=name: private(name)(*map(readable, xs))
        for name in ("_local_maxima_1d", "_select_by_peak_distance")
    },
}.items():
    instead_of(private(_name), _ours)
FOLLOWED |= follow_all(native, "find_peaks", "peak_prominences", "peak_widths")
argrelextrema, argrelmax, argrelmin, find_peaks_cwt = (
    constant(f)
    for f in (native.argrelextrema, native.argrelmax, native.argrelmin, native.find_peaks_cwt)
)


__getattr__ = functools.partial(attribute, __name__, FOLLOWED)

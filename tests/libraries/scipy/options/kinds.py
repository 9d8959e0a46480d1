"""Calls with signals and coefficients of every kind, complex and single: of ``scipy.signal``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.interpolate
import scipy.linalg
import scipy.signal

from tests.libraries.scipy.options.judge import Call

theirs: Any = scipy.signal
_rng = np.random.default_rng(9)
X = _rng.standard_normal(24) + 1j * _rng.standard_normal(24)
H = _rng.standard_normal(5) + 1j * _rng.standard_normal(5)
B, A = np.array([0.2, 0.3 + 0.1j, 0.1]), np.array([1.0, -0.5, 0.2 - 0.1j])
PAIR = np.array([0.2 + 0.4j, 0.2 - 0.4j])
SECTIONS = np.array([[0.2, 0.3, 0.1, 1.0, -0.5, 0.2], [0.3, 0.1, 0.2, 1.0, 0.1, 0.3]])
IMAGE = X.reshape(4, 6)
W = np.array([0.3, 1.1, 2.0])
T = np.sort(_rng.uniform(0.0, 4.0, 24)) + 0j
PEAKS: Any = scipy.signal.find_peaks(X.real)[0]
HEIGHTS, *BASES = scipy.signal.peak_prominences(X.real, PEAKS)

CALLS: dict[str, tuple[Any, ...]] = {
    "savgol_filter": (lambda x: theirs.savgol_filter(x, 5, 2), X),
    "savgol_filter constant": (
        lambda x: theirs.savgol_filter(x, 5, 2, deriv=1, delta=0.5, mode="constant", cval=0.7),
        X,
    ),
    "savgol_filter wrap": (lambda x: theirs.savgol_filter(x, 5, 2, mode="wrap"), X),
    "detrend": (lambda x: theirs.detrend(x), X),
    "detrend constant": (lambda x: theirs.detrend(x, type="constant", bp=[0, 9]), X),
    "upfirdn": (lambda h, x: theirs.upfirdn(h, x, 3, 2), H, X),
    "upfirdn edge": (lambda h, x: theirs.upfirdn(h, x, 2, 3, mode="edge"), H, X),
    "resample": (lambda x: theirs.resample(x, 17), X),
    "resample down": (lambda x: theirs.resample(x, 12, window="hann"), X),
    "resample_poly": (lambda x: theirs.resample_poly(x, 3, 2), X),
    "resample_poly line": (lambda x: theirs.resample_poly(x, 2, 3, padtype="line"), X),
    "resample_poly window": (lambda x, h: theirs.resample_poly(x, 3, 2, window=h), X, H),
    "decimate": (lambda x: theirs.decimate(x, 2), X),
    "decimate fir": (lambda x: theirs.decimate(x, 2, ftype="fir", zero_phase=False), X),
    "hilbert": (lambda x: theirs.hilbert(x), X),
    "hilbert2": (lambda x: theirs.hilbert2(x), IMAGE),
    "envelope": (lambda x: theirs.envelope(x), X),
    "lfilter": (lambda b, a, x: theirs.lfilter(b, a, x), B, A, X),
    "lfilter zi": (lambda b, a, x, z: theirs.lfilter(b, a, x, zi=z), B, A, X, H[:2]),
    "lfilter fir": (lambda b, x: theirs.lfilter(b, [1.0], x), B, X),
    "lfilter_zi": (lambda b, a: theirs.lfilter_zi(b, a), B, A),
    "lfiltic": (lambda b, a, y, x: theirs.lfiltic(b, a, y, x), B, A, X[:2], X[2:4]),
    "filtfilt": (lambda b, a, x: theirs.filtfilt(b, a, x), B, A, X),
    "filtfilt gust": (lambda b, a, x: theirs.filtfilt(b, a, x, method="gust"), B, A, X),
    "sosfilt": (lambda s, x: theirs.sosfilt(s, x), SECTIONS, X),
    "sosfilt zi": (lambda x, z: theirs.sosfilt(SECTIONS, x, zi=z), X, H[:4].reshape(2, 2)),
    "sosfilt_zi": (lambda s: theirs.sosfilt_zi(s), SECTIONS),
    "sosfiltfilt": (lambda s, x: theirs.sosfiltfilt(s, x), SECTIONS, X),
    "deconvolve": (lambda x, h: theirs.deconvolve(x, h), X, H),
    "wiener": (lambda x: theirs.wiener(x, 3), X),
    "wiener noise": (lambda x: theirs.wiener(x, 5, 0.3), X),
    "medfilt": (lambda x: theirs.medfilt(x, 3), X),
    "medfilt2d": (lambda x: theirs.medfilt2d(x, 3), IMAGE),
    "order_filter": (lambda x: theirs.order_filter(x, np.ones(3), 1), X),
    "cspline1d": (lambda x: theirs.cspline1d(x), X),
    "qspline1d": (lambda x: theirs.qspline1d(x), X),
    "cspline1d smooth": (lambda x: theirs.cspline1d(x, 0.3), X),
    "cspline1d_eval": (lambda x: theirs.cspline1d_eval(x, np.array([0.3, 4.2, -0.7, 25.0])), X),
    "qspline1d_eval": (lambda x: theirs.qspline1d_eval(x, np.array([0.3, 4.2, -0.7, 25.0])), X),
    "diagsvd": (lambda x: scipy.linalg.diagsvd(x[:3], 4, 3), X),
    "pade": (lambda x: [p(0.3) for p in scipy.interpolate.pade(x[:5], 2)], X),
    "spline_filter": (lambda x: theirs.spline_filter(x), IMAGE),
    "sepfir2d": (lambda x, h, k: theirs.sepfir2d(x, h, k), IMAGE, H[:3], H[2:]),
    "find_peaks": (
        lambda x: [
            y
            for _, y in sorted(theirs.find_peaks(x, -9, -9, prominence=0, width=0)[1].items())
        ],
        X,
    ),
    "find_peaks rel_height": (
        lambda x, r: theirs.find_peaks(x, width=0, rel_height=r)[1]["widths"],
        X,
        np.array(0.3),
    ),
    "peak_prominences": (lambda x: theirs.peak_prominences(x, PEAKS), X),
    "peak_widths": (lambda x: theirs.peak_widths(x, PEAKS), X),
    "peak_widths data": (
        lambda x: theirs.peak_widths(x, PEAKS, 0.4, theirs.peak_prominences(x, PEAKS)),
        X,
    ),
    "peak_widths other data": (
        lambda x, h: theirs.peak_widths(x, PEAKS, 0.4, (h, *BASES)),
        X,
        0.7 * HEIGHTS,
    ),
    "stft": (lambda x: theirs.stft(x, nperseg=8)[2], X),
    "istft": (lambda z: theirs.istft(z, nperseg=6), IMAGE),
    "welch": (lambda x: theirs.welch(x, nperseg=8), X),
    "csd": (lambda x, y: theirs.csd(x, y, nperseg=8), X, X[::-1].copy()),
    "coherence": (lambda x, y: theirs.coherence(x, y, nperseg=8), X, X[::-1].copy()),
    "periodogram": (lambda x: theirs.periodogram(x, 2.0), X),
    "spectrogram": (lambda x: theirs.spectrogram(x, nperseg=8), X),
    "spectrogram angle": (lambda x: theirs.spectrogram(x, nperseg=8, mode="magnitude"), X),
    "lombscargle": (lambda t, y, w: theirs.lombscargle(t, y, w), T, X, W + 0j),
    "czt": (lambda x: theirs.czt(x, 7), X),
    "zoom_fft": (lambda x: theirs.zoom_fft(x, [0.1, 0.4], 7), X),
    "vectorstrength": (lambda x: theirs.vectorstrength(x, 0.7), X),
    "freqz": (lambda b, a: theirs.freqz(b, a, W), B, A),
    "freqs": (lambda b, a: theirs.freqs(b, a, W), B, A),
    "freqs n": (lambda b, a: theirs.freqs(b, a, 5), B, A),
    "freqz_zpk": (lambda z, p, k: theirs.freqz_zpk(z, p, k, W), PAIR, 0.3 * PAIR, np.array(1.5)),
    "freqs_zpk": (lambda z, p, k: theirs.freqs_zpk(z, p, k, W), PAIR, -PAIR, np.array(1.5)),
    "freqz_sos": (lambda s: theirs.freqz_sos(s, W), SECTIONS),
    "group_delay": (lambda b, a: theirs.group_delay((b, a), W), B, A),
    "tf2zpk": (lambda b, a: [np.sum(r**2) for r in theirs.tf2zpk(b, a)], B, A),
    "tf2sos": (lambda b, a: theirs.tf2sos(b, a), B, A),
    "tf2ss": (lambda b, a: theirs.tf2ss(b, a), B, A),
    "zpk2tf": (lambda z, p, k: theirs.zpk2tf(z, p, k), H[:2], 0.3 * H[:2], np.array(1.5)),
    "zpk2sos": (lambda z, p, k: theirs.zpk2sos(z, p, k), PAIR, 0.3 * PAIR, np.array(1.5)),
    "zpk2ss": (lambda z, p, k: theirs.zpk2ss(z, p, k), H[:2], 0.3 * H[:2], np.array(1.5)),
    "sos2tf": (lambda s: theirs.sos2tf(s), SECTIONS),
    "sos2zpk": (lambda s: [np.sum(r**2) for r in theirs.sos2zpk(s)], SECTIONS),
    "normalize": (lambda b, a: theirs.normalize(b, 2 * a), B, A),
    "bilinear": (lambda b, a: theirs.bilinear(b, a, 2.0), B, A),
    "bilinear_zpk": (
        lambda z, p, k: theirs.bilinear_zpk(z, p, k, 2.0), PAIR, -PAIR, np.array(1.5),
    ),
    "lp2lp": (lambda b, a: theirs.lp2lp(b, a, 0.7), B, A),
    "lp2hp": (lambda b, a: theirs.lp2hp(b, a, 0.7), B, A),
    "lp2bp": (lambda b, a: theirs.lp2bp(b, a, 0.7, 0.3), B, A),
    "lp2bs": (lambda b, a: theirs.lp2bs(b, a, 0.7, 0.3), B, A),
    "residue": (lambda b, a: [np.sum(r) for r in theirs.residue(b, a)], B, A),
    "residuez": (lambda b, a: [np.sum(r) for r in theirs.residuez(b, a)], B, A),
    "invresz": (lambda r, p: theirs.invresz(r, p, []), H[:2], H[2:4]),
    "invres": (lambda r: theirs.invres(r, PAIR, []), H[:2]),
    "minimum_phase": (lambda h: theirs.minimum_phase(h), np.array([0.1, 0.4, 0.7, 0.4, 0.1])),
    "minimum_phase hilbert": (
        lambda h: theirs.minimum_phase(h, "hilbert"), np.array([0.1, 0.4, 0.7, 0.4, 0.1]),
    ),
    "firls": (lambda d: theirs.firls(5, [0.0, 0.3, 0.5, 1.0], d), np.array([1.0, 1.0, 0.0, 0.0])),
    "convolve": (lambda x, h: theirs.convolve(x, h), X, H),
    "fftconvolve": (lambda x, h: theirs.fftconvolve(x, h, "same"), X, H),
    "oaconvolve": (lambda x, h: theirs.oaconvolve(x, h), X, H),
    "correlate": (lambda x, h: theirs.correlate(x, h, "same", "direct"), X, H),
    "convolve2d": (
        lambda x, h: theirs.convolve2d(x, h, boundary="wrap"), IMAGE, H[:4].reshape(2, 2),
    ),
    "correlate2d": (
        lambda x, h: theirs.correlate2d(x, h, boundary="symm"), IMAGE, H[:4].reshape(2, 2),
    ),
}  # fmt: skip
_KINDS = ("f", "d", "F", "D")


def kinds() -> Iterator[Call]:
    """Go through functions with all operands of one kind, and of complex ones beside real ones."""
    for (name, (f, *xs)), char in itertools.product(CALLS.items(), _KINDS):
        tolerance = 2e-4 if char in "fF" else 1e-9
        yield Call(f"{name} {char}", f, tuple(_of_kind(x, char) for x in xs), tolerance=tolerance)
    for name, (f, *xs) in CALLS.items():
        if len(xs) < 2:
            continue
        for mixture in itertools.product("fD", repeat=len(xs)):
            ys = tuple(_of_kind(x, char) for x, char in zip(xs, mixture, strict=True))
            yield Call(f"{name} {''.join(mixture)}", f, ys, tolerance=2e-4)


def _of_kind(x: Any, char: str) -> Any:
    return (x if char in "FD" else np.real(x)).astype(char)


ALL = (kinds,)

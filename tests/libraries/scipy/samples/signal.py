"""Calls of ``scipy.signal``."""

from __future__ import annotations

import numpy as np
import scipy.signal as native

from tests.libraries.scipy.samples.common import draw, sample

X, Y, LONG = draw(20), draw(20, seed=1), draw(64)
IMAGE, KERNEL = draw(6, 7), draw(3, 3)
B, A = np.array([0.2, 0.3, 0.1]), np.array([1.0, -0.5, 0.2])
SOS = native.butter(4, 0.3, output="sos")


def _monic(s):
    """The sections, whose fourth number is 1."""
    return np.concatenate([s[:, :3], np.ones((2, 1)), s[:, 4:]], axis=1)


ZEROS, POLES, GAIN = np.array([0.3, -0.2]), np.array([0.5, -0.4]), np.array(1.3)
SA, SB, SC, SD = draw(2, 2) * 0.3 - np.eye(2), draw(2, 1), draw(1, 2), draw(1, 1)
T = np.linspace(0.0, 1.0, 12)

for _name in ("convolve", "correlate", "fftconvolve", "oaconvolve"):
    sample(f"signal.{_name}", X, B)
sample("signal.convolve", X, B, call=lambda f, x, b: f(x, b, mode="same"))
sample("signal.convolve2d", IMAGE, KERNEL)
sample("signal.correlate2d", IMAGE, KERNEL, call=lambda f, x, k: f(x, k, mode="valid"))
sample("signal.deconvolve", X, A, call=lambda f, x, a: f(x, a)[0])
sample("signal.deconvolve", X, A, call=lambda f, x, a: f(x, a)[1])
sample("signal.sepfir2d", IMAGE, B, B)
sample("signal.lfilter", B, A, X)
sample("signal.lfilter", B, A, X, A[1:], call=lambda f, b, a, x, zi: f(b, a, x, zi=zi)[0])
sample("signal.lfilter", B, A, X, A[1:], call=lambda f, b, a, x, zi: f(b, a, x, zi=zi)[1])
sample("signal.lfilter_zi", B, A)
sample("signal.lfiltic", B, A, draw(2), call=lambda f, b, a, y: f(b, a, y))
sample("signal.filtfilt", B, A, LONG)
sample("signal.sosfilt", SOS, X, call=lambda f, s, x: f(_monic(s), x))
sample("signal.sosfilt", SOS, X, draw(2, 2), call=lambda f, s, x, z: f(_monic(s), x, zi=z)[0])
sample("signal.sosfilt_zi", SOS, call=lambda f, s: f(_monic(s)))
sample("signal.sosfiltfilt", SOS, LONG, call=lambda f, s, x: f(_monic(s), x))
sample("signal.savgol_filter", X, call=lambda f, x: f(x, 5, 2))
sample("signal.savgol_coeffs", np.array(0.7), call=lambda f, d: f(5, 2, deriv=1, delta=d))
sample("signal.wiener", X, call=lambda f, x: f(x, 5))
sample("signal.medfilt", X, call=lambda f, x: f(x, 3))
sample("signal.medfilt2d", IMAGE, call=lambda f, x: f(x, 3))
sample("signal.order_filter", X, call=lambda f, x: f(x, np.ones(3), 1))
sample("signal.hilbert", X)
sample("signal.hilbert2", IMAGE)
sample("signal.envelope", LONG)
sample("signal.decimate", LONG, call=lambda f, x: f(x, 2))
sample("signal.decimate", LONG, call=lambda f, x: f(x, 2, ftype="fir"))
sample("signal.detrend", X)
sample("signal.resample", X, call=lambda f, x: f(x, 15))
sample("signal.resample", X, call=lambda f, x: f(x, 15, window="hann"))
sample("signal.resample_poly", X, call=lambda f, x: f(x, 3, 2))
sample("signal.upfirdn", B, X, call=lambda f, b, x: f(b, x, 3, 2))
sample("signal.stft", LONG, call=lambda f, x: f(x, nperseg=16)[2])
sample(
    "signal.istft",
    LONG,
    call=lambda f, x: f(np.reshape(x, (8, 8)) + 1j * np.reshape(x, (8, 8)), nperseg=14)[1],
)
sample("signal.spectrogram", LONG, call=lambda f, x: f(x, nperseg=16)[2])
sample("signal.welch", LONG, call=lambda f, x: f(x, nperseg=16)[1])
sample(
    "signal.welch",
    LONG,
    call=lambda f, x: f(x, fs=2.0, window="hamming", nperseg=16, scaling="spectrum")[1],
)
sample("signal.periodogram", LONG, call=lambda f, x: f(x)[1])
sample("signal.csd", LONG, LONG[::-1].copy(), call=lambda f, x, y: f(x, y, nperseg=16)[1])
sample("signal.coherence", LONG, draw(64, seed=3), call=lambda f, x, y: f(x, y, nperseg=16)[1])
sample("signal.lombscargle", T, draw(12), call=lambda f, t, y: f(t, y, np.array([1.0, 2.0, 5.0])))
sample("signal.vectorstrength", T, np.array(0.7), call=lambda f, t, p: f(t, p)[0])
sample("signal.freqz", B, A, call=lambda f, b, a: f(b, a, 8)[1])
sample("signal.freqz_sos", SOS, call=lambda f, s: f(_monic(s), 8)[1])
sample("signal.sosfreqz", SOS, call=lambda f, s: f(_monic(s), 8)[1])
sample("signal.freqz_zpk", ZEROS, POLES, GAIN, call=lambda f, z, p, k: f(z, p, k, 8)[1])
sample("signal.freqs", B, A, call=lambda f, b, a: f(b, a, np.array([0.5, 1.0]))[1])
sample(
    "signal.freqs_zpk",
    ZEROS,
    POLES,
    GAIN,
    call=lambda f, z, p, k: f(z, p, k, np.array([0.5, 1.0]))[1],
)
sample("signal.group_delay", B, A, call=lambda f, b, a: f((b, a), 8)[1])
sample("signal.czt", X)
sample("signal.zoom_fft", X, call=lambda f, x: f(x, [0.2, 0.5], m=6))
sample("signal.CZT", X, call=lambda f, x: f(20, m=6)(x))
sample("signal.ZoomFFT", X, call=lambda f, x: f(20, [0.2, 0.5], m=6)(x))
sample("signal.ShortTimeFFT", LONG, call=lambda f, x: f(np.hanning(16), 4, 1.0).stft(x))
sample("signal.ShortTimeFFT", LONG, call=lambda f, x: f(np.hanning(16), 4, 1.0).spectrogram(x))
sample("signal.chirp", T, np.array(1.0), np.array(3.0), call=lambda f, t, a, b: f(t, a, 1.0, b))
sample(
    "signal.chirp",
    T,
    np.array(1.0),
    np.array(3.0),
    call=lambda f, t, a, b: f(t, a, 1.0, b, method="logarithmic", phi=20),
)
sample("signal.gausspulse", T, np.array(2.0), call=lambda f, t, fc: f(t, fc))
sample("signal.sawtooth", 5 * T + 0.1, call=lambda f, t: f(t, 0.3))
sample("signal.square", 5 * T + 0.1, call=lambda f, t: f(t, 0.3))
sample("signal.sweep_poly", T, B, call=lambda f, t, p: f(t, p))
sample("signal.gauss_spline", 3 * T, call=lambda f, t: f(t, 3))
sample("signal.get_window", np.array(1.5), call=lambda f, s: f(("gaussian", s), 7))
sample("signal.get_window", np.array(1.5), call=lambda f, s: f(("kaiser", s), 7))
sample("signal.windows.gaussian", np.array(1.5), call=lambda f, s: f(7, s))
sample("signal.windows.kaiser", np.array(1.5), call=lambda f, s: f(7, s))
sample("signal.windows.tukey", np.array(0.5), call=lambda f, s: f(10, s))
sample(
    "signal.windows.general_gaussian", np.array(1.5), np.array(2.0), call=lambda f, p, s: f(7, p, s)
)
sample("signal.windows.general_hamming", np.array(0.6), call=lambda f, s: f(7, s))
sample("signal.windows.general_cosine", B, call=lambda f, a: f(7, a))
sample("signal.windows.exponential", np.array(1.5), call=lambda f, s: f(7, tau=s))
sample("signal.windows.chebwin", np.array(60.0), call=lambda f, s: f(7, s))
sample("signal.firwin", np.array(0.3), call=lambda f, c: f(7, c))
sample(
    "signal.firwin2",
    np.array([0.0, 1.0, 1.0, 0.0]),
    call=lambda f, g: f(9, [0.0, 0.3, 0.6, 1.0], g),
)
sample(
    "signal.firls", np.array([0.9, 1.0, 0.1, 0.1]), call=lambda f, d: f(9, [0.0, 0.3, 0.5, 1.0], d)
)
sample("signal.butter", np.array(0.3), call=lambda f, w: f(3, w)[0])
sample("signal.butter", np.array(0.3), call=lambda f, w: f(3, w, output="sos"))
sample("signal.cheby1", np.array(1.0), np.array(0.3), call=lambda f, r, w: f(3, r, w)[1])
sample("signal.cheby2", np.array(30.0), np.array(0.3), call=lambda f, r, w: f(3, r, w)[1])
sample("signal.bessel", np.array(0.3), call=lambda f, w: f(3, w)[1])
sample("signal.iirfilter", np.array(0.3), call=lambda f, w: f(3, w, btype="low")[1])
sample("signal.iirnotch", np.array(0.3), np.array(5.0), call=lambda f, w, q: f(w, q)[1])
sample("signal.iirpeak", np.array(0.3), np.array(5.0), call=lambda f, w, q: f(w, q)[1])
sample("signal.bilinear", B, A, call=lambda f, b, a: f(b, a, 2.0)[1])
sample("signal.bilinear_zpk", ZEROS, POLES, GAIN, call=lambda f, z, p, k: f(z, p, k, 2.0)[1])
for _name in ("lp2lp", "lp2hp"):
    sample(f"signal.{_name}", B, A, np.array(2.0), call=lambda f, b, a, w: f(b, a, w)[1])
for _name in ("lp2bp", "lp2bs"):
    sample(
        f"signal.{_name}",
        B,
        A,
        np.array(2.0),
        np.array(0.7),
        call=lambda f, b, a, w, v: f(b, a, w, v)[1],
    )
for _name in ("lp2lp_zpk", "lp2hp_zpk", "lp2bp_zpk", "lp2bs_zpk"):
    sample(
        f"signal.{_name}", ZEROS, POLES, np.array(2.0), call=lambda f, z, p, w: f(z, p, 1.0, w)[2]
    )
sample("signal.tf2zpk", B, np.array([1.0, -0.5, 0.04]), call=lambda f, b, a: f(b, a)[1])
sample("signal.zpk2tf", ZEROS, POLES, GAIN, call=lambda f, z, p, k: np.concatenate(f(z, p, k)))
sample("signal.sos2tf", SOS, call=lambda f, s: f(s)[1])
sample("signal.tf2sos", B, A)
sample("signal.zpk2sos", ZEROS, POLES, GAIN)
sample("signal.sos2zpk", SOS, call=lambda f, s: f(s)[2])
sample("signal.tf2ss", B, A, call=lambda f, b, a: f(b, a)[0])
sample("signal.ss2tf", SA, SB, SC, SD, call=lambda f, *m: f(*m)[0])
sample("signal.normalize", B, 2 * A, call=lambda f, b, a: f(b, a)[0])
sample("signal.residue", B, np.array([1.0, 3.0, 2.0]), call=lambda f, b, a: f(b, a)[0])
sample("signal.invres", B[:2], A[:2], call=lambda f, r, p: f(r, p, [])[0])
sample("signal.cont2discrete", SA, SB, SC, SD, call=lambda f, *m: f(m, 0.1)[1])
sample("signal.lsim", SA, SB, SC, SD, draw(12), call=lambda f, *m: f(m[:4], m[4], T)[1])
sample("signal.dlsim", SA, SB, SC, SD, draw(12), call=lambda f, *m: f((*m[:4], 0.1), m[4])[1])
sample("signal.step", SA, SB, SC, SD, call=lambda f, *m: f(m, T=T)[1])
sample("signal.impulse", SA, SB, SC, SD, call=lambda f, *m: f(m, T=T)[1])
sample("signal.freqresp", B, A, call=lambda f, b, a: f((b, a), [0.5, 1.0])[1])
sample("signal.bode", B, A, call=lambda f, b, a: f((b, a), [0.5, 1.0])[1])
sample(
    "signal.place_poles", SA, SB, call=lambda f, a, b: f(a, b, np.array([-1.0, -2.0])).gain_matrix
)
sample("signal.cspline1d", X)
sample("signal.qspline1d", X)
sample("signal.cspline1d_eval", X, np.array([1.3, 4.2]))
sample("signal.qspline1d_eval", X, np.array([1.3, 4.2]))
sample("signal.minimum_phase", np.array([0.1, 0.3, 0.5, 0.3, 0.1]))
sample("signal.find_peaks", X, call=lambda f, x: x[f(x)[0]])
sample("signal.argrelmax", X, call=lambda f, x: x[f(x)[0]])
sample("signal.peak_prominences", X, call=lambda f, x: f(x, native.find_peaks(draw(20))[0])[0])
sample("signal.peak_widths", X, call=lambda f, x: f(x, native.find_peaks(draw(20))[0])[0])

"""Filters and transforms of ``scipy.signal``."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fftpack
import scipy.signal as theirs
import scipy.stats

import chainrules_scipy.signal as ours
from chainrules_py import NotDifferentiableError, TracerError
from chainrules_scipy.stats import cramervonmises
from chainrules_tape import grad, hessian, jacobian, jvp, vjp
from chainrules_tape.tools import taylor
from tests.libraries.scipy.same import check_same

_rng = np.random.default_rng(1)
X = _rng.normal(size=(2, 40))
B, A = theirs.butter(3, 0.3)
SOS = theirs.butter(4, 0.3, output="sos")


def _same(name, *xs, **options):
    check_same(getattr(ours, name), getattr(theirs, name), *xs, **options)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", [((7,), (3,)), ((3,), (6,)), ((5, 6), (2, 3)), ((200,), (90,))])
def test_convolutions(mode, sizes):
    a, b = (_rng.normal(size=size) for size in sizes)
    for name in ("convolve", "fftconvolve", "oaconvolve", "correlate"):
        _same(name, a, b, mode=mode)
    if a.ndim == 2:
        _same("convolve2d", a, b, mode=mode)
        _same("correlate2d", a, b, mode=mode)


@pytest.mark.parametrize("boundary", ["fill", "wrap", "symm"])
@pytest.mark.parametrize("parts", [(1, 1j), (1j, 1), (1j, 1j)])
def test_correlations_with_a_larger_kernel_are_conjugated_as_scipys(parts, boundary):
    x, k, way = (_rng.normal(size=n) for n in ((2, 2), (3, 4), (2, 2)))
    x, way, k = x + parts[0] * x[::-1], way + parts[0] * way[::-1], k + parts[1] * k[::-1]
    of = lambda f, x: f.correlate2d(x, k, "valid", boundary)  # additive in x
    y, slope = jvp(lambda x: of(ours, x), (x,), (way,))
    np.testing.assert_allclose(y, of(theirs, x), rtol=1e-12)
    np.testing.assert_allclose(slope, of(theirs, way), rtol=1e-12)
    back = vjp(lambda x: of(ours, x), x)[1](y)[0]
    assert np.vdot(back, way).real == pytest.approx(np.vdot(y, of(theirs, way)).real)


def test_convolutions_along_an_axis():
    _same("fftconvolve", _rng.normal(size=(3, 7)), _rng.normal(size=(3, 4)), axes=1)


@pytest.mark.parametrize("name", ["fftconvolve", "oaconvolve"])
def test_convolutions_of_no_elements(name):
    y, pull = vjp(lambda x: getattr(ours, name)(x, x), np.zeros(0))
    assert y.shape == getattr(theirs, name)(np.zeros(0), np.zeros(0)).shape
    assert pull(y)[0].shape == (0,)


def test_numbers_are_correlated_as_by_scipy():
    """The second of two complex numbers was not conjugated."""
    a, b = np.array(2.0 + 3.0j), np.array(1.0 - 0.5j)
    y, slope = jvp(ours.correlate, (a, b), (0j * a, np.array(1.0j)))
    assert y == theirs.correlate(a, b)
    assert slope == pytest.approx(-1.0j * a)


def test_recursive_filters():
    _same("lfilter", B, A, X)
    _same("lfilter", B, 2 * A, X.T.copy(), axis=0)
    _same("lfilter", B, np.array([1.0]), X)
    _same("lfilter", B, A, X, zi=_rng.normal(size=(2, 3)))
    _same("lfilter", B[:2], A, X[:, :2], zi=_rng.normal(size=(2, 3)))


def _ones(k, x):
    return np.arange(6) == 3 if k == 0 else False


def test_sections():
    _same("sosfilt", SOS, X, still=_ones)
    _same("sosfilt", SOS, X, zi=_rng.normal(size=(2, 2, 2)), still=_ones)


@pytest.mark.parametrize("padtype", ["odd", "even", "constant", None])
def test_forward_and_backward(padtype):
    _same("filtfilt", B, A, X, padtype=padtype)
    _same("filtfilt", B, A, X.T.copy(), axis=0, padtype=padtype, padlen=5)
    _same("sosfiltfilt", SOS, X, padtype=padtype, still=_ones)


@pytest.mark.parametrize("mode", ["interp", "mirror", "constant", "nearest", "wrap"])
def test_polynomials_of_windows(mode):
    _same("savgol_filter", X, 7, 2, mode=mode, cval=0.3)
    _same("savgol_filter", X.T.copy(), 7, 2, axis=0, deriv=1, mode=mode)


def test_linear_in_signals():
    _same("detrend", X)
    _same("detrend", X, type="constant")
    _same("detrend", X.T.copy(), axis=0, bp=[10])
    _same("upfirdn", B, X, 3, 2)
    _same("upfirdn", B, X.T.copy(), 2, 1, axis=0)
    _same("resample", X, 25, axis=1)
    for n in (None, 7, 50):
        _same("hilbert", X, N=n)


def test_second_order_in_the_recursion():
    f = lambda a: np.sum(ours.lfilter([1.0], a, X[0, :5]) ** 2)
    a, h = np.array([1.0, 0.3]), 1e-5
    truth = [(grad(f)(a + h * e) - grad(f)(a - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(hessian(f)(a), truth, rtol=1e-6)


def test_what_is_not_taken():
    with pytest.raises(ValueError, match="gust"):
        ours.filtfilt(B, A, X, method="other")
    with pytest.raises(ValueError, match="symm"):
        ours.convolve2d(np.ones((3, 3)), np.ones((2, 2)), boundary="other")
    with pytest.raises(ValueError, match="valid"):
        ours.convolve(np.ones((3, 2)), np.ones((2, 3)), mode="valid")


@pytest.mark.parametrize(
    "call, line",
    [
        (lambda: taylor(lambda x: ours.welch(x, nperseg=8)[1], X[0], [X[0]], 2), "nest jvp"),
        (
            lambda: taylor(ours.hilbert, X[0], [X[0]], 2),
            r"\n  .*test_signal.py:\d+: taylor\(ours.hilbert, .*\n  nest jvp",
        ),
        (
            lambda: grad(lambda x: cramervonmises(x, scipy.stats.norm.cdf).statistic)(X[0]),
            r"call .*install\(\) before",
        ),
    ],
)
def test_the_line_to_write_drops_no_derivative(call, line):
    with pytest.raises(TracerError, match=line):
        call()


@pytest.mark.parametrize("name", ["cspline1d_eval", "qspline1d_eval"])
def test_splines_have_derivatives_in_places(name):
    places = np.array([1.2, 3.4, -0.7, 45.3])  # the last two are mirrored
    _same(name, X[0], places, np.array(0.9), np.array(0.3), rtol=1e-8)
    f = lambda x, of: getattr(of, name)(X[0], x)[0]
    truth = (f(places + 1e-4, theirs) - 2 * f(places, theirs) + f(places - 1e-4, theirs)) / 1e-8
    assert grad(lambda s: grad(lambda s: f(places + s, ours))(s))(0.0) == pytest.approx(truth, 1e-5)


def test_windows_with_gaps():
    """SciPy 1.17 chooses in other windows along a vector than along the row of a matrix."""
    gaps = np.array([1, 0, 1, 1, 1])
    mine, known = (lambda x, of=of: of.order_filter(x, [gaps], 2) for of in (ours, theirs))
    check_same(mine, known, X)
    if not np.array_equal(theirs.order_filter(X[0], gaps, 2), known(X)[0]):
        with pytest.raises(NotDifferentiableError, match="another value here than SciPy's"):
            jvp(lambda x: ours.order_filter(x, gaps, 2), (X[0],), (X[1],))


@pytest.mark.parametrize("n", [2, 3])
def test_band_stops_as_sections(n):
    w, h = np.array([0.3, 0.5]), 1e-6
    design = lambda w: theirs.butter(n, w, btype="bandstop", output="sos")
    slope = jacobian(lambda w: ours.butter(n, w, btype="bandstop", output="sos"))(w)
    truth = [(design(w + h * e) - design(w - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(slope, np.stack(truth, axis=-1), atol=1e-7)


@pytest.mark.parametrize("name", ["welch", "csd", "coherence", "periodogram", "spectrogram"])
def test_spectra_at_a_sampling_frequency(name):
    pair = X[:1] if name in ("welch", "periodogram", "spectrogram") else X
    options = {} if name == "periodogram" else {"nperseg": 16}
    call = lambda of: lambda fs: getattr(of, name)(*pair, fs=fs, **options)[::2]
    check_same(call(ours), call(theirs), np.array(2.5))


@pytest.mark.parametrize("scale_to", [None, "psd", "magnitude"])
def test_windows_of_short_times_are_scaled_once(scale_to):
    made = lambda of, fs: of.ShortTimeFFT(np.hanning(8), 3, fs, scale_to=scale_to)
    call = lambda of: lambda fs: np.abs(made(of, fs).stft(X[0] * fs))
    check_same(call(ours), call(theirs), np.array(2.5))


@pytest.mark.parametrize(
    "call",
    [
        lambda of, fs: np.abs(of.ShortTimeFFT.from_window("hann", 2.0, 8, 5).stft(X[0] * fs)),
        lambda of, fs: np.abs(of.ShortTimeFFT.from_dual(fs * np.hanning(8), 3, 2.0).stft(X[0])),
        lambda of, fs: of.lti([1.0], [1.0, fs]).step(T=np.linspace(0.0, 1.0, 5))[1],
        lambda of, fs: of.savgol_coeffs(5, 2, deriv=1, delta=fs, pos=1.5),
    ],
    ids=["from_window", "from_dual", "lti", "savgol_coeffs"],
)
def test_names_that_are_imported_from_here(call):
    check_same(lambda fs: call(ours, fs), lambda fs: call(theirs, fs), np.array(2.5))


@pytest.mark.filterwarnings("ignore:h does not appear")  # differences leave the symmetric ones
def test_the_least_element_of_a_response():
    """SciPy takes the root of what it is subtracted from, whose slope at 0 is infinite."""
    _same("minimum_phase", theirs.firwin(9, 0.3), method="hilbert")


def test_firls_of_a_singular_system():
    """Where its solution would be inaccurate, SciPy takes that of least squares."""
    design = lambda d, of: of.firls(21, [0, 0.1, 0.9, 1], d)
    d = np.array([1.0, 1, 0, 0])
    np.testing.assert_allclose(vjp(lambda d: design(d, ours), d)[0], design(d, theirs), rtol=1e-9)


def test_a_sampling_frequency():
    """A number: SciPy asks whether it is one."""
    design = lambda fs, of: np.sum(of.butter(3, 0.35, fs=fs)[0])
    truth = (design(2.5 + 1e-6, theirs) - design(2.5 - 1e-6, theirs)) / 2e-6
    np.testing.assert_allclose(grad(lambda fs: design(fs, ours))(2.5), truth, rtol=1e-6)


@pytest.mark.parametrize("use", ["conv", "dot"])
def test_coefficients_move_with_the_place_of_the_derivative(use):
    f = lambda pos, of: of.savgol_coeffs(5, 3, deriv=1, delta=0.5, pos=pos, use=use)
    check_same(lambda pos: f(pos, ours), lambda pos: f(pos, theirs), np.array(1.3))


@pytest.mark.parametrize("n", [7, 8])
def test_the_older_hilbert_transform_names_one_that_is_differentiated(n):
    import chainrules_scipy.fft  # noqa: F401

    x = np.random.default_rng(0).normal(size=n)
    with pytest.raises(TracerError, match=r"use -np\.imag\(scipy\.signal\.hilbert\(x\)\)"):
        grad(lambda x: np.sum(scipy.fftpack.hilbert(x)))(x)
    np.testing.assert_allclose(
        -np.imag(ours.hilbert(x)), scipy.fftpack.hilbert(x), rtol=1e-12, atol=1e-12
    )

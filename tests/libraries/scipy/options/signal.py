"""Calls of ``scipy.signal``: designs of filters by kind of band, and what filters."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.signal

from tests.libraries.scipy.options.judge import Call

theirs: Any = scipy.signal
DESIGNS: dict[str, tuple[Any, ...]] = {
    "butter": (),
    "cheby1": (0.5,),
    "cheby2": (20.0,),
    "ellip": (0.5, 30.0),
    "bessel": (),
}
X = np.random.default_rng(7).standard_normal(24)
B, A = np.array([0.2, 0.3, 0.1]), np.array([1.0, -0.5, 0.2])


def designs() -> Iterator[Call]:
    """Go through designs of filters."""
    for (name, how), kind, n, form, analog, fs in itertools.product(
        DESIGNS.items(),
        ("low", "high", "bandpass", "bandstop", "lowpass", "other"),
        (1, 2, 3),
        ("ba", "zpk", "sos", "other"),
        (False, True),
        (None, 2.0),
    ):
        edges = np.array([0.3, 0.5]) if "band" in kind else np.float64(0.35)
        given = {"btype": kind, "output": form, "analog": analog}
        given |= {} if fs is None else {"fs": fs}
        yield Call(
            f"{name} {n} {given}",
            lambda w, f=name, n=n, h=how, g=given: _rest(getattr(theirs, f)(n, *h, w, **g)),
            (edges,),
            tolerance=1e-9,
        )


def _rest(y: Any) -> Any:
    """Return coefficients; of zeros and poles, which have no order, what does not hang on it."""
    if not (isinstance(y, tuple) and len(y) == 3):
        return y
    return [np.sum(y[0] ** 2), np.sum(y[1] ** 2), np.prod(y[1] - 0.3), y[2]]


def others() -> Iterator[Call]:
    """Go through filters and convolutions."""
    for mode, method in itertools.product(("full", "same", "valid", "other"), ("auto", "direct")):
        for n in (1, 3, 24, 30):
            k = np.random.default_rng(n).standard_normal(n)
            for f in ("convolve", "correlate"):
                yield Call(
                    f"{f} {mode} {method} {n}",
                    lambda x, k, f=f, m=mode, t=method: getattr(theirs, f)(x, k, m, t),
                    (X, k),
                )
            for f in ("fftconvolve", "oaconvolve"):
                yield Call(
                    f"{f} {mode} {n}",
                    lambda x, k, f=f, m=mode: getattr(theirs, f)(x, k, m),
                    (X, k),
                )
    for mode, boundary, fill in itertools.product(
        ("full", "same", "valid", "other"), ("fill", "wrap", "symm", "other"), (0.0, 0.7)
    ):
        for f, shape in itertools.product(("convolve2d", "correlate2d"), ((2, 3), (5, 7), (3, 3))):
            yield Call(
                f"{f} {mode} {boundary} {fill} {shape}",
                lambda x, k, f=f, g=(mode, boundary, fill): getattr(theirs, f)(x, k, *g),
                (X.reshape(4, 6), np.random.default_rng(3).standard_normal(shape)),
            )
    for kind, length, method in itertools.product(
        ("odd", "even", "constant", None, "other"), (None, 0, 4, 30), ("pad", "gust", "other")
    ):
        yield Call(
            f"filtfilt {kind} {length} {method}",
            lambda b, a, x, g=(kind, length, method): theirs.filtfilt(
                b, a, x, padtype=g[0], padlen=g[1], method=g[2]
            ),
            (B, A, X),
            tolerance=1e-8,
        )
        sections = np.array([[0.2, 0.3, 0.1, 1.0, -0.5, 0.2]])
        yield Call(
            f"sosfiltfilt {kind} {length} {method}",
            lambda s, x, g=(kind, length): theirs.sosfiltfilt(s, x, padtype=g[0], padlen=g[1]),
            (sections, X),
        )
    for mode, axis in itertools.product(
        ("mirror", "constant", "nearest", "wrap", "interp", "other"), (0, -1, 2)
    ):
        for length, degree, deriv in itertools.product((3, 4, 5, 9), (0, 2, 3), (0, 1, 2, 4)):
            yield Call(
                f"savgol_filter {mode} {axis} {length} {degree} {deriv}",
                lambda x, g=(length, degree, deriv), m=mode, a=axis: theirs.savgol_filter(
                    x, *g, delta=0.5, axis=a, mode=m, cval=0.7
                ),
                (np.stack([X[:12], X[12:]]) if axis else X.reshape(12, 2),),
            )
    for kind, breaks, axis in itertools.product(
        ("linear", "constant", "l", "c", "other"), (0, 5, [3, 8], [3, 40]), (0, -1)
    ):
        yield Call(
            f"detrend {kind} {breaks} {axis}",
            lambda x, k=kind, b=breaks, a=axis: theirs.detrend(x, a, k, b),
            (X.reshape((12, 2) if axis == 0 else (2, 12)),),
        )
    modes = ("constant", "symmetric", "edge", "smooth", "wrap", "reflect", "antisymmetric")
    for up, down, mode, n in itertools.product(
        (1, 2, 3), (1, 2, 5), (*modes, "antireflect", "line", "other"), (1, 3, 30)
    ):
        yield Call(
            f"upfirdn {up} {down} {mode} {n}",
            lambda h, x, g=(up, down), m=mode: theirs.upfirdn(h, x, *g, mode=m, cval=0.7),
            (np.random.default_rng(n).standard_normal(n), X[:9]),
        )
    for num, window, axis in itertools.product(
        (1, 11, 12, 24, 31), (None, "hann", ("kaiser", 3.0)), (0, -1)
    ):
        yield Call(
            f"resample {num} {window} {axis}",
            lambda x, n=num, w=window, a=axis: theirs.resample(x, n, axis=a, window=w),
            (X.reshape((12, 2) if axis == 0 else (2, 12)),),
        )
    for pad in ("constant", "line", "mean", "median", "minimum", "edge", "wrap", "other"):
        yield Call(
            f"resample_poly {pad}",
            lambda x, p=pad: theirs.resample_poly(x, 3, 2, padtype=p),
            (X,),
        )
    for length, axis in itertools.product((None, 8, 12, 15), (0, -1)):
        yield Call(
            f"hilbert {length} {axis}",
            lambda x, n=length, a=axis: theirs.hilbert(x, n, a),
            (X.reshape((12, 2) if axis == 0 else (2, 12)),),
        )
    for first, axis in itertools.product((1.0, 2.0, 0.0), (0, -1)):
        shape = (12, 2) if axis == 0 else (2, 12)
        rest = (2, 2)
        yield Call(
            f"lfilter {first} {axis}",
            lambda b, a, x, g=axis: theirs.lfilter(b, a, x, g),
            (B, np.array([first, -0.5, 0.2]), X.reshape(shape)),
        )
        yield Call(
            f"lfilter zi {first} {axis}",
            lambda b, a, x, z, g=axis: theirs.lfilter(b, a, x, g, z),
            (B, np.array([first, -0.5, 0.2]), X.reshape(shape), np.ones(rest)),
        )


ALL = (designs, others)

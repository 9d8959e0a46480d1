"""Plants of Fourier transforms and of complex numbers."""

from __future__ import annotations

from typing import Literal

import numpy as np

from chainrules_py import ops as v
from tests.testing.planted.build import COMPLEX, Plant, X, back, both, halves

FOUR = COMPLEX.reshape(-1)[:4]
SIX = X.reshape(-1)


def inner_frequencies_twice(t, x):
    return np.fft.irfft(t, x.shape[-1]) * x.shape[-1]


def back_to_real(x, /, *, n=6):
    return np.fft.irfft(x, n)


def as_if_even(t, x, n):
    found = np.fft.rfft(t, n) / n
    found[..., 1 : n // 2] *= 2.0
    x_bar = np.zeros(x.shape, complex)
    m = min(x.shape[-1], found.shape[-1])
    x_bar[..., :m] = found[..., :m]
    return x_bar


NORM = Literal["backward", "ortho", "forward"]


def normed(x, /, *, norm: NORM = "backward"):
    return v.fft(x, norm=norm)


def normed_push(t, x, norm):
    return v.fft(t, norm=norm)


WRONG: dict[str, Plant] = {
    "frequencies of real numbers counted twice": Plant(
        back(np.fft.rfft, inner_frequencies_twice), (SIX,), "factor 2 in", "HIPS/autograd#192"
    ),
    "odd number of frequencies": Plant(
        back(back_to_real, as_if_even), (FOUR,), "wrong only for n=", "pytorch/pytorch#63943"
    ),
    "normalisation forgotten": Plant(
        both(normed, (normed_push, lambda t, x, norm: v.ifft(t, norm="forward"))),
        (FOUR,),
        "wrong only for norm=",
        "pytorch/pytorch#5537",
    ),
    "transform that adds to what was there": Plant(
        halves(v.fft, lambda t, x: v.fft(t), lambda t, x: 4.0 * v.ifft(t) + x),
        (FOUR,),
        "not linear in the cotangent",
        "pytorch/pytorch#109448",
    ),
    "imaginary part with the other sign": Plant(
        halves(v.imag, lambda t, x: v.imag(t), lambda t, x: t * -1j),
        (COMPLEX,),
        "wrong sign | conjugated",
        "FluxML/Zygote.jl#146",
    ),
    "reverse mode without a conjugate": Plant(
        halves(v.sin, lambda t, x: t * v.cos(x), lambda t, x: t * v.cos(x)),
        (COMPLEX,),
        "conjugated",
        "pytorch/pytorch#92140",
    ),
}

"""Plants of Fourier transforms and of complex numbers."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from chainrules_py import Array, LinearMap, primitive, rrule, rule
from chainrules_py import vocabulary as v
from tests.testing.planted.build import COMPLEX, Plant, X, halves, numpy_rule

FOUR = COMPLEX.reshape(-1)[:4]
SIX = X.reshape(-1)


def transform(pull: Any) -> Any:
    """The Fourier transform along the last axis, with a pull of ``(t, x)``."""
    return halves(v.fft, lambda t, x: v.fft(t), pull)


def inner_frequencies_twice(t, x):
    return np.fft.irfft(t, x.shape[-1]) * x.shape[-1]


def back_to_real() -> Any:
    """The inverse transform to n real numbers, pulled back as if n were even."""

    @primitive
    def f(x, /, *, n=6):
        return np.fft.irfft(x, n)

    @rrule.register(f)
    def f_rrule(x: np.ndarray, *, n):
        def pull(t):
            found = np.fft.rfft(t, n) / n
            found[..., 1 : n // 2] *= 2.0
            x_bar = np.zeros(x.shape, complex)
            m = min(x.shape[-1], found.shape[-1])
            x_bar[..., :m] = found[..., :m]
            return (x_bar,)

        return np.fft.irfft(x, n), pull

    return f


NORM = Literal["backward", "ortho", "forward"]


def normed() -> Any:
    """A transform whose normalisation the pull has never heard of."""

    @primitive
    def f(x, /, *, norm: NORM = "backward"):
        return v.fft(x, norm=norm)

    @rule(f)
    def f_rule(x: Array, *, norm):
        push = lambda t, x: v.fft(t, norm=norm)
        pull = lambda t, x: v.ifft(t, norm="forward")
        return v.fft(x, norm=norm), (LinearMap(push, pull, x),)

    return f


WRONG: dict[str, Plant] = {
    "transform pulled back by its inverse": Plant(
        transform(lambda t, x: v.ifft(t)), (FOUR,), "factor 1/4", cites="HIPS/autograd#185"
    ),
    "transform pulled back by itself": Plant(
        transform(lambda t, x: v.fft(t)), (FOUR,), "conjugated", cites="HIPS/autograd#185"
    ),
    "frequencies of real numbers counted twice": Plant(
        numpy_rule(np.fft.rfft, inner_frequencies_twice),
        (SIX,),
        "factor 2 in",
        cites="HIPS/autograd#192",
    ),
    "odd number of frequencies": Plant(
        back_to_real(), (FOUR,), "wrong only for n=", cites="pytorch/pytorch#63943"
    ),
    "normalisation forgotten": Plant(
        normed(), (FOUR,), "wrong only for norm=", cites="pytorch/pytorch#5537"
    ),
    "transform that adds to what was there": Plant(
        transform(lambda t, x: 4.0 * v.ifft(t) + x),
        (FOUR,),
        "not linear in the cotangent",
        cites="pytorch/pytorch#109448",
    ),
    "imaginary part with the other sign": Plant(
        halves(v.imag, lambda t, x: v.imag(t), lambda t, x: t * -1j),
        (COMPLEX,),
        "wrong sign | conjugated",
        cites="FluxML/Zygote.jl#146",
    ),
    "one use of two": Plant(
        halves(
            lambda x: v.real(x * v.conj(x)),
            lambda t, x: v.real(v.conj(x) * t),
            lambda t, x: t * x,
        ),
        (COMPLEX,),
        "factor 1/2",
        cites="FluxML/Zygote.jl#152",
    ),
    "reverse mode without a conjugate": Plant(
        halves(v.sin, lambda t, x: t * v.cos(x), lambda t, x: t * v.cos(x)),
        (COMPLEX,),
        "conjugated",
        cites="pytorch/pytorch#92140",
    ),
}

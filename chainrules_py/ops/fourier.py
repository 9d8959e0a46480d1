"""Discrete Fourier transforms along one axis; those along several are composed of them."""

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Array

__all__ = ["fft", "ifft", "irfft", "rfft"]


@primitive
def fft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Any:
    """Compute the sums Σ x_j exp(-2πi jk/n), of x cut or padded with zeros to length n."""


ifft = fft.alike("ifft", "Compute the inverse of `fft`.")
rfft = fft.alike(
    "rfft",
    "Return the first n // 2 + 1 elements of `fft` of real numbers: the rest are conjugates.",
)
irfft = fft.alike(
    "irfft", "Compute the inverse of `rfft`: n real numbers, or 2 (m - 1) of m if n is not given."
)

"""Calls of ``scipy.fft``."""

from __future__ import annotations

import numpy as np

from tests.libraries.scipy.samples.common import draw, sample

X, Z = draw(8), draw(4, 4)
for _name in ("fft", "ifft", "rfft", "ihfft", "dct", "idct", "dst", "idst"):
    sample(f"fft.{_name}", X)
for _name in ("irfft", "hfft"):
    sample(f"fft.{_name}", X, call=lambda f, x: f(x + 1j * x[::-1]))
for _name in (
    "fft2",
    "ifft2",
    "fftn",
    "ifftn",
    "rfft2",
    "rfftn",
    "ihfft2",
    "ihfftn",
    "dctn",
    "idctn",
    "dstn",
    "idstn",
):
    sample(f"fft.{_name}", Z)
for _name in ("irfft2", "irfftn", "hfft2", "hfftn"):
    sample(f"fft.{_name}", Z, call=lambda f, x: f(x + 1j * x.T))
for _name in ("fftshift", "ifftshift"):
    sample(f"fft.{_name}", X)
sample("fft.fht", X, call=lambda f, x: f(x, 0.1, 0.5))
sample("fft.ifht", X, call=lambda f, x: f(x, 0.1, 0.5))
sample("fft.dct", X, call=lambda f, x: f(x, type=1, norm="ortho"))
sample("fft.fftfreq", np.array(0.5), call=lambda f, d: f(8, d))
sample("fft.rfftfreq", np.array(0.5), call=lambda f, d: f(8, d))

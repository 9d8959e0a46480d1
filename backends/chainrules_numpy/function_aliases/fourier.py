"""Aliases of numpy.fft."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites import fourier as f
from chainrules_numpy.function_aliases.alias_constructors import axis, row
from chainrules_py import ops as v
from chainrules_py.extend import AsArgument

_f: Any
_operation: Any

norm = AsArgument("norm", lambda value: value or "backward")

for _f, _operation in (
    (np.fft.fft, v.fft),
    (np.fft.ifft, v.ifft),
    (np.fft.rfft, v.rfft),
    (np.fft.irfft, v.irfft),
):
    row(_f, _operation, refuse=("out",), axis=axis, n=low.as_option("n"), norm=norm)
for _f, _operation in (
    (np.fft.fft2, f.fft2),
    (np.fft.fftn, low.gives_arrays(f.fftn)),
    (np.fft.ifft2, f.ifft2),
    (np.fft.ifftn, low.gives_arrays(f.ifftn)),
    (np.fft.irfft2, f.irfft2),
    (np.fft.irfftn, f.irfftn),
    (np.fft.rfft2, f.rfft2),
    (np.fft.rfftn, f.rfftn),
):
    row(_f, _operation, refuse=("out",), axes=low.as_option("axes"))
for _f, _operation in ((np.fft.hfft, f.hfft), (np.fft.ihfft, f.ihfft)):
    row(_f, _operation, refuse=("out",), axis=axis, n=low.as_option("n"))
row(np.fft.fftshift, f.fftshift, "x")
row(np.fft.ifftshift, f.ifftshift, "x")

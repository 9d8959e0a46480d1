"""Samples of Fourier transforms."""

from typing import Any

from chainrules_py import vocabulary as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_samples

_word: Any
_kind: str

for _word, _kind in (
    (v.fft, "complex"),
    (v.ifft, "complex"),
    (v.irfft, "complex"),
    (v.rfft, "real"),
):
    enter_samples(
        _word,
        Sample(Draw((5,), kind=_kind)),
        Sample(Draw((4, 3), kind=_kind), axis=0),
        Sample(Draw((6,), kind=_kind), n=4),
        Sample(Draw((2, 3), kind=_kind), n=5, norm="ortho"),
        Sample(Draw((4,), kind=_kind), norm="forward"),
    )
    if _kind == "complex":  # the standard has these of complex numbers alone
        enter_samples(_word, Sample(Draw((5,)), without=("array_api_strict",)))

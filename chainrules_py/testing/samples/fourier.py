"""Samples of Fourier transforms."""

from chainrules_py import ops as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table


def _of(kind: str) -> list[Sample]:
    """Return samples along each axis, truncated and padded, in each norm."""
    return [
        Sample(Draw((5,), kind=kind)),
        Sample(Draw((4, 3), kind=kind), axis=0),
        Sample(Draw((6,), kind=kind), n=4),
        Sample(Draw((2, 3), kind=kind), n=5, norm="ortho"),
        Sample(Draw((4,), kind=kind), norm="forward"),
    ]


enter_table(
    {
        (v.fft, v.ifft, v.irfft): (
            *_of("complex"),
            # The standard takes only complex numbers here.
            Sample(Draw((5,)), without=("array_api_strict",)),
        ),
        v.rfft: _of("real"),
    }
)

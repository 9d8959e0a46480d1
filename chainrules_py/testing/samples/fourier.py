"""Samples of Fourier transforms."""

from chainrules_py import ops as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table


def _of(kind: str) -> list[Sample]:
    """Make samples along each axis, cut and filled up, in each norm."""
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
            # The standard has these of complex numbers alone.
            Sample(Draw((5,)), without=("array_api_strict",)),
        ),
        v.rfft: _of("real"),
    }
)

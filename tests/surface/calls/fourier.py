"""Calls of numpy.fft."""

from __future__ import annotations

from typing import Any

from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls

_name: Any
_real: bool

for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _real = _name in ("rfft", "ihfft")
    enter_calls(
        f"fft.{_name}",
        Sample(Draw((5,)), complex=not _real),
        Sample(Draw((6,)), complex=not _real),
        Sample(Draw((2, 4, 3)), axis=1, complex=not _real),
        *[Sample(Draw((6,)), n=n, complex=not _real) for n in (1, 4, 5, 8, 9)],
        *[Sample(Draw((3, 4)), n=5, norm=norm) for norm in ("ortho", "forward", "backward", None)],
        Sample(Draw((2, 3)), 4, 0, "ortho"),
    )
for _name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
    _real = _name.startswith("rfft")
    enter_calls(
        f"fft.{_name}",
        Sample(Draw((3, 4)), complex=not _real),
        Sample(Draw((2, 3, 4)), complex=not _real),
        Sample(Draw((2, 3, 4)), s=(4, 3), axes=(0, 2)),
        Sample(Draw((2, 3, 4)), axes=(2, 0), norm="ortho", complex=not _real),
        Sample(Draw((3, 4)), s=(2, -1), axes=(0, 1), norm="forward"),
    )
for _name in ("fftshift", "ifftshift"):
    enter_calls(
        f"fft.{_name}",
        Sample(Draw((5,)), complex=True),
        Sample(Draw((3, 4))),
        Sample(Draw((3, 4)), axes=1),
        Sample(Draw((3, 4, 2)), axes=(0, -1)),
    )

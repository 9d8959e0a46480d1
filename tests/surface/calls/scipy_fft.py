"""Calls of what stands for scipy.fft."""

from __future__ import annotations

from typing import Any

from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls

_HERE = "chainrules_scipy.fft"
_name: Any
_kind: int
_real: bool

for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _real = _name in ("rfft", "ihfft")
    enter_calls(
        f"{_HERE}.{_name}",
        Sample(Draw((2, 5)), complex=not _real),
        Sample(Draw((6,)), n=4, norm="ortho", overwrite_x=True),
        Sample(Draw((2, 3)), 4, 0, "forward", workers=1),
    )
for _name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
    _real = _name.startswith("rfft")
    enter_calls(
        f"{_HERE}.{_name}",
        Sample(Draw((2, 3, 4)), complex=not _real),
        Sample(Draw((3, 4)), s=(2, 5), axes=(0, 1), norm="ortho"),
    )
for _name in ("hfft2", "hfftn", "ihfft2", "ihfftn"):
    enter_calls(f"{_HERE}.{_name}", Sample(Draw((3, 4)), complex=_name[0] == "h"))
for _name in ("fftshift", "ifftshift"):
    enter_calls(f"{_HERE}.{_name}", Sample(Draw((3, 5)), axes=(1,), complex=True))
for _name in ("dct", "idct", "dst", "idst"):
    for _kind in (1, 2, 3, 4):
        enter_calls(
            f"{_HERE}.{_name}",
            Sample(Draw((5,)), _kind, complex=True),
            Sample(Draw((3, 4)), _kind, axis=0, norm="ortho"),
            Sample(Draw((4,)), _kind, 6, norm="forward", orthogonalize=True),
        )
for _name in ("dctn", "idctn", "dstn", "idstn"):
    enter_calls(
        f"{_HERE}.{_name}",
        Sample(Draw((3, 4)), norm="ortho"),
        Sample(Draw((3, 4)), type=3, s=(5, 3), axes=(1, 0)),
    )
for _name in ("fht", "ifht"):
    enter_calls(
        f"{_HERE}.{_name}",
        Sample(Draw((8,)), 0.1, 0.5),
        Sample(Draw((2, 7)), 0.2, 0.0, offset=0.3, bias=-0.2),
    )

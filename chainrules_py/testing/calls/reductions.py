"""Calls of NumPy's reductions."""

from __future__ import annotations

from chainrules_py.testing.sample import Draw, Sample
from chainrules_py.testing.surface import enter_calls

__all__: list[str] = []

_BOX = Draw((2, 3, 2))
_MASK = Draw((2, 3, 2), kind="bool")

for _name in ("sum", "mean", "prod", "ndarray.sum", "ndarray.mean", "ndarray.prod"):
    enter_calls(
        _name,
        Sample(_BOX, complex=True),
        Sample(_BOX, axis=-1, complex=True),
        Sample(_BOX, axis=(0, -1), keepdims=True),
        Sample(Draw(())),
    )
for _name in ("sum", "prod", "ndarray.sum", "ndarray.prod"):
    enter_calls(_name, Sample(_BOX, axis=1, where=_MASK, initial=Draw(())))

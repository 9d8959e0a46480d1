"""Calls of NumPy's functions that join arrays, and take them apart."""

from __future__ import annotations

import numpy as np

from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls

_FLAT = Draw((2, 3))
_LINE = Draw((3,))
_POINT = Draw(())
_BOX = Draw((2, 4, 2))
_NONE = Draw((0, 3))

for _name in ("concatenate", "concat"):
    enter_calls(
        _name,
        Sample([_FLAT, _FLAT], complex=True),
        Sample((_FLAT, Draw((2, 1))), axis=-1, complex=True),
        Sample([_FLAT, _LINE], axis=None),
        Sample([_FLAT, [[1.0, 2.0, 3.0]], _NONE], axis=0),
        Sample([_FLAT, _FLAT], dtype=np.complex128),
        Sample([_FLAT], axis=1),
        Sample(_BOX, axis=1),
        Sample([_LINE, _LINE]),
    )
enter_calls(
    "stack",
    Sample([_FLAT, _FLAT], complex=True),
    Sample((_FLAT, _FLAT), axis=1),
    Sample([_LINE, _LINE, [1.0, 2.0, 3.0]], axis=-1, complex=True),
    Sample([_POINT, _POINT, 2.0]),
    Sample([Draw(None), _POINT]),
    Sample([_LINE, _LINE], dtype=complex),
    Sample(_FLAT, axis=1),
)
enter_calls(
    "vstack",
    Sample([_FLAT, _LINE], complex=True),
    Sample([_LINE, _LINE]),
    Sample([_POINT, _POINT]),
    Sample([_FLAT, _NONE], dtype=complex),
    Sample(_BOX),
)
enter_calls(
    "hstack",
    Sample([_FLAT, Draw((2, 1))], complex=True),
    Sample([_LINE, _POINT, 1.5]),
    Sample([_LINE, _LINE], dtype=complex),
    Sample(_FLAT),
)
enter_calls(
    "dstack", Sample([_FLAT, _FLAT], complex=True), Sample([_LINE, _LINE]), Sample([_POINT])
)
enter_calls(
    "column_stack",
    Sample([_LINE, _LINE], complex=True),
    Sample([Draw((3, 2)), _LINE]),
    Sample(_FLAT),
)
enter_calls(
    "append",
    Sample(_FLAT, _LINE, complex=True),
    Sample(_FLAT, Draw((1, 3)), axis=0),
    Sample(_FLAT, Draw((2, 1)), axis=-1, complex=True),
    Sample(_LINE, _POINT),
    Sample(_LINE, 2.5),
    Sample(_LINE, [1.0, 2.0]),
    Sample([1.0, 2.0], _LINE),
)
enter_calls(
    "block",
    Sample([_LINE, _LINE], complex=True),
    Sample([[_FLAT, Draw((2, 1))], [Draw((1, 1)), Draw((1, 3))]], complex=True),
    Sample([[_LINE], [_LINE]]),
    Sample([_POINT, 2.0, _LINE]),
    Sample([[_BOX, _BOX]]),
    Sample(_FLAT),
    Sample([[[_POINT]], [[_POINT]]]),
)
enter_calls(
    "meshgrid",
    Sample(_LINE, Draw((2,)), complex=True),
    Sample(_LINE, Draw((2,)), indexing="ij"),
    Sample(_LINE, Draw((2,)), Draw((4,)), complex=True),
    Sample(_LINE, Draw((2,)), Draw((4,)), indexing="ij", sparse=True),
    Sample(_LINE, Draw((2,)), sparse=True, copy=False),
    Sample(_LINE, [1.0, 2.0], copy=False),
    Sample(_LINE, _POINT),
    Sample(_LINE),
    Sample(_FLAT, _LINE),
)

# ------------------------------------------------------------------------------------ cutting

enter_calls("unstack", Sample(_FLAT, complex=True), Sample(_FLAT, axis=1), Sample(_BOX, axis=-1))
enter_calls(
    "split",
    Sample(_BOX, 2, axis=1, complex=True),
    Sample(_BOX, [1, 3], axis=1),
    Sample(_BOX, (1,), axis=-3),
    Sample(_BOX, indices_or_sections=2),
    Sample(Draw((6,)), np.array([2, 2, 9])),
)
enter_calls(
    "array_split",
    Sample(_BOX, 3, axis=1, complex=True),
    Sample(_BOX, [1, 3], axis=-2),
    Sample(Draw((5,)), 4),
    Sample(_LINE, 5),
)
enter_calls("hsplit", Sample(_BOX, 2, complex=True), Sample(Draw((4,)), 2), Sample(_BOX, [1]))
enter_calls("vsplit", Sample(_BOX, 2, complex=True), Sample(_BOX, [1]))
enter_calls("dsplit", Sample(_BOX, 2, complex=True), Sample(_BOX, [1]))

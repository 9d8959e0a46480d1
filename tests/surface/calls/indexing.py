"""Calls of NumPy's functions and methods that read elements by their places, or give places."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls

_FLAT = Draw((3, 4))
_LINE = Draw((5,))
_BOX = Draw((2, 3, 4))
_POINT = Draw(())
_PLACES = Draw((2, 3), 0, 3, kind="int")
_AXES: tuple[Any, ...] = (None, 1, -2)
_WILD = Draw((2, 3), -9, 9, kind="int")

for _name in ("take", "ndarray.take"):
    enter_calls(
        _name,
        Sample(_FLAT, _PLACES, complex=True),
        Sample(_FLAT, _PLACES, axis=0),
        Sample(_FLAT, [0, -1, 0], axis=-1, complex=True),
        Sample(_FLAT, 2, axis=1),
        Sample(_LINE, np.zeros(0, int), axis=0),
        *(
            Sample(_FLAT, _WILD, mode=mode, axis=axis)
            for mode in ("wrap", "clip")
            for axis in _AXES
        ),
        Sample(_LINE, [1, 2], mode="raise"),
        Sample(_POINT, [0, 0]),
    )
enter_calls(
    "take_along_axis",
    Sample(_FLAT, np.array([[0, 1, 1, 2]]), axis=0, complex=True),
    Sample(_FLAT, np.array([[0], [3], [1]]), axis=-1),
    Sample(_FLAT, np.array([[0], [3], [1]])),
    Sample(_FLAT, np.array([0, 3, 11]), axis=None),
)
_MASKS: tuple[tuple[Any, Any], ...] = (
    *(([True, False, True], axis) for axis in (0, -2, None)),
    *((mask, 1) for mask in ([0.0, 2.0], np.array([True, False, False, True]), [False])),
)
for _mask, _axis in _MASKS:
    enter_calls("compress", Sample(_mask, _FLAT, axis=_axis, complex=True))
    enter_calls("ndarray.compress", Sample(_FLAT, _mask, axis=_axis, complex=True))
enter_calls("compress", Sample([0, 1], _LINE))
enter_calls("ndarray.compress", Sample(_LINE, [0, 1]))
enter_calls(
    "extract",
    Sample(Draw((3, 4), kind="bool"), _FLAT, complex=True),
    Sample([1, 0, 2], _LINE),
    Sample(Draw((3, 4)), _FLAT),
    Sample([True, False, True], [1.0, 2.0, 3.0], smooth=False),
)
enter_calls(
    "delete",
    Sample(_FLAT, 1, axis=0, complex=True),
    Sample(_FLAT, [0, -1], axis=1),
    Sample(_FLAT, slice(None, None, 2), axis=-1),
    Sample(_FLAT, np.array([True, False, True]), axis=0),
    Sample(_FLAT, 7, complex=True),
    Sample(_LINE, obj=[]),
    Sample(_LINE, -2),
)
enter_calls(
    "insert",
    Sample(_LINE, 2, _POINT, complex=True),
    Sample(_LINE, -1, 1.5),
    Sample(_LINE, [1, 1, 4], Draw((3,)), complex=True),
    Sample(_LINE, [0, 3], _POINT),
    Sample(_LINE, slice(0, 4, 2), Draw((2,))),
    Sample(_FLAT, 1, Draw((4,)), axis=0, complex=True),
    Sample(_FLAT, 1, Draw((3,)), axis=1),
    Sample(_FLAT, [1], Draw((3, 1)), axis=-1),
    Sample(_FLAT, [0, 2], Draw((4,)), axis=0),
    Sample(_FLAT, 5, [1.0, 2.0]),
    Sample(_LINE, np.array([True, False, True, False, False]), 3.0),
    Sample([1.0, 2.0], 1, _POINT),
)
_ZEROS = Draw((6,), 0.5, 1.5, make=lambda x: x * [0, 1, 0, 1, 1, 0])
_FRAME = Draw((4, 5), 0.5, 1.5, make=lambda x: np.pad(x[1:3, 2:4], ((1, 1), (2, 1))))
# Zeros that are trimmed do not move: what moves is the rest.
for _trim in ("fb", "f", "B"):
    enter_calls(
        "trim_zeros",
        Sample(_ZEROS, trim=_trim, smooth=False, complex=True),
        Sample(_FRAME, trim=_trim, smooth=False),
    )
enter_calls(
    "trim_zeros",
    Sample(_LINE, complex=True),
    Sample(_FRAME, axis=0, smooth=False),
    Sample(_FRAME, axis=(-1,), smooth=False),
    Sample(_FLAT, trim="f", axis=1),
    Sample(Draw((3,), make=np.zeros_like), smooth=False),
    Sample(Draw((0,))),
)

# --------------------------------------------------------------------------------------- places

for _name in ("nonzero", "flatnonzero", "argwhere", "ndarray.nonzero", "where"):
    enter_calls(
        _name,
        Sample(_FLAT, smooth=False, complex=True),
        Sample(_ZEROS, smooth=False),
        Sample(Draw((0,)), smooth=False),
    )
enter_calls("ix_", Sample(Draw((2,), kind="int"), [0, 1, 1], smooth=False))
enter_calls("diag_indices_from", Sample(Draw((3, 3)), smooth=False))
for _name in ("tril_indices_from", "triu_indices_from"):
    enter_calls(_name, Sample(_FLAT, smooth=False), Sample(_FLAT, k=-1, smooth=False))

"""Calls of NumPy's functions and methods that rearrange the elements of an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls

_BOX = Draw((2, 3, 4))
_FLAT = Draw((2, 3))
_LINE = Draw((4,))
_POINT = Draw(())
_ONE = Draw((1,))
_NONE = Draw((0, 3))
_THIN = Draw((1, 3, 1))


def columns(x: Any) -> Any:
    """In Fortran's order."""
    return np.asfortranarray(x)


def every_second(x: Any) -> Any:
    """Take every second element along the last axis, so that the result is not contiguous."""
    return x[..., ::2]


_TURNED = Draw((2, 3, 4), make=columns)
_SPARSE = Draw((2, 6), make=every_second)


def given(x: Draw, *calls: dict[str, Any], complex: bool = False) -> tuple[Sample, ...]:
    """Make samples of one operand, one for each of several sets of keywords."""
    return tuple([Sample(x, complex=complex, **keywords) for keywords in calls])


# -------------------------------------------------------------------------------------- shapes

for _name in ("reshape", "ndarray.reshape"):
    enter_calls(
        _name,
        Sample(_BOX, (4, 6), complex=True),
        Sample(_BOX, -1),
        Sample(_BOX, (3, -1)),
        Sample(_BOX, (4, 6), order="F", complex=True),
        Sample(_BOX, (-1, 6), order="F"),
        Sample(_BOX, (4, 6), copy=True),
        Sample(_TURNED, (6, 4)),
        Sample(_SPARSE, (3, 2)),
        Sample(_POINT, (1, 1)),
        Sample(_ONE, ()),
        Sample(_NONE, (3, 0)),
    )
enter_calls("reshape", Sample(_BOX, shape=[3, 8]))
enter_calls("ndarray.reshape", Sample(_BOX, 3, -1), Sample(_BOX, 2, 12, order="F"))
for _name in ("ravel", "ndarray.ravel", "ndarray.flatten"):
    enter_calls(
        _name,
        *given(_BOX, {}, {"order": "C"}, {"order": "F"}, complex=True),
        *(Sample(x) for x in (_POINT, _NONE, _TURNED, _SPARSE)),
    )
for _name in ("squeeze", "ndarray.squeeze"):
    enter_calls(
        _name,
        *given(_THIN, {}, {"axis": 0}, {"axis": -1}, {"axis": (0, 2)}, complex=True),
        *(Sample(x) for x in (_ONE, _BOX, _POINT)),
    )
enter_calls(
    "expand_dims",
    *given(_FLAT, {"axis": 0}, {"axis": -1}, {"axis": 1}, {"axis": (0, -1)}, {"axis": [0, 2]}),
    Sample(_FLAT, axis=1, complex=True),
    Sample(_POINT, axis=0),
)
for _name in ("atleast_1d", "atleast_2d", "atleast_3d"):
    enter_calls(
        _name,
        *(Sample(x, complex=True) for x in (_POINT, _LINE, _FLAT, _BOX)),
        Sample(_LINE, _POINT, [1.0, 2.0]),
        Sample(Draw(None)),
    )
enter_calls(
    "broadcast_to",
    *given(_FLAT, {"shape": (2, 3)}, {"shape": (4, 2, 3)}, complex=True),
    Sample(_THIN, shape=(2, 3, 2), subok=True, complex=True),
    Sample(_POINT, shape=3),
    Sample(_POINT, shape=()),
    Sample(_ONE, shape=(0,)),
    Sample(_LINE, shape=(2000, 4)),
)
enter_calls(
    "broadcast_arrays",
    Sample(_FLAT, Draw((3,)), _POINT, complex=True),
    Sample(Draw((2, 1)), [1.0, 2.0, 3.0]),
    Sample(_FLAT),
    Sample(_NONE, Draw((1,))),
)
enter_calls(
    "resize",
    *given(_FLAT, {"new_shape": (4, 4)}, {"new_shape": (2, 2)}, {"new_shape": 7}, complex=True),
    *given(_FLAT, {"new_shape": ()}, {"new_shape": (0, 2)}, {"new_shape": (3, 2)}),
    Sample(_POINT, new_shape=(2, 2)),
)

# --------------------------------------------------------------------------------- order of axes

for _name in ("transpose", "permute_dims"):
    enter_calls(
        _name,
        *given(_BOX, {}, {"axes": (1, 2, 0)}, {"axes": [-1, 0, -2]}, complex=True),
        Sample(_LINE),
        Sample(_POINT),
    )
enter_calls(
    "ndarray.transpose",
    Sample(_BOX, complex=True),
    Sample(_BOX, 2, 0, 1),
    Sample(_BOX, (2, 0, 1)),
    Sample(_BOX, None),
)
enter_calls("ndarray.T", Sample(_BOX, complex=True), Sample(_LINE), Sample(_POINT))
for _name in ("matrix_transpose", "linalg.matrix_transpose", "ndarray.mT"):
    enter_calls(_name, Sample(_BOX, complex=True), Sample(_FLAT), Sample(_NONE))
for _name in ("swapaxes", "ndarray.swapaxes"):
    enter_calls(_name, Sample(_BOX, 0, -1, complex=True), Sample(_BOX, 1, 1), Sample(_FLAT, -2, 1))
enter_calls(
    "moveaxis",
    *given(
        _BOX,
        {"source": 0, "destination": -1},
        {"source": -1, "destination": 0},
        {"source": (0, 1), "destination": (-1, 0)},
        {"source": [2, 0], "destination": [0, 2]},
        complex=True,
    ),
)
enter_calls("rollaxis", *given(_BOX, {"axis": 2}, {"axis": 2, "start": 1}, {"axis": 0, "start": 3}))
enter_calls("rollaxis", Sample(_BOX, axis=-1, start=-3, complex=True))
enter_calls(
    "rot90",
    *given(_FLAT, {}, {"k": 2}, {"k": 3}, {"k": -1}, {"k": 4}, complex=True),
    *given(_BOX, {"axes": (1, 2)}, {"k": -3, "axes": (-1, 0)}, {"k": 2, "axes": (2, 0)}),
)

# ------------------------------------------------------------------------------ order of elements

enter_calls(
    "flip",
    *given(_BOX, {}, {"axis": 0}, {"axis": -1}, {"axis": (0, -1)}, complex=True),
    Sample(_POINT),
    Sample(_NONE, axis=0),
)
enter_calls("fliplr", Sample(_FLAT, complex=True), Sample(_BOX))
enter_calls("flipud", Sample(_FLAT, complex=True), Sample(_LINE))
enter_calls(
    "roll",
    *given(_FLAT, {"shift": 2}, {"shift": -1, "axis": 1}, {"shift": 4, "axis": -2}, complex=True),
    *given(_BOX, {"shift": (1, -2), "axis": (0, 2)}, {"shift": 1, "axis": (0, 1)}),
    Sample(_BOX, shift=[1, 1], axis=[0, 0]),
    Sample(_POINT, shift=1),
)
enter_calls(
    "tile",
    *given(_FLAT, {"reps": 2}, {"reps": (2, 1)}, {"reps": [2, 1, 3]}, complex=True),
    *given(_LINE, {"reps": (2, 2)}, {"reps": 0}, {"reps": ()}),
    Sample(_POINT, reps=3),
)
for _name in ("repeat", "ndarray.repeat"):
    enter_calls(
        _name,
        Sample(_FLAT, 2, complex=True),
        Sample(_FLAT, 2, axis=0),
        Sample(_FLAT, [2, 0, 1], axis=-1, complex=True),
        Sample(_FLAT, Draw((6,), 0, 3, kind="int")),
        Sample(_POINT, 3),
    )
enter_calls("repeat", Sample(_FLAT, 3, axis=1))

# --------------------------------------------------------------------------------------- storage

for _name in ("astype", "ndarray.astype"):
    enter_calls(
        _name,
        *(Sample(_FLAT, dtype, complex=True) for dtype in (np.complex128, "complex128")),
        Sample(_FLAT, float),
        Sample(_FLAT, np.float64, copy=False),
        Sample(_FLAT, int, smooth=False),
        Sample(_FLAT, bool, smooth=False),
        Sample(Draw((2,), 0, 9, kind="int"), float),
        Sample(_POINT, complex),
    )
enter_calls("astype", Sample(_FLAT, float, device="cpu"))
enter_calls("ndarray.astype", Sample(_FLAT, float, order="F", casting="safe", subok=False))
for _name in ("copy", "ndarray.copy"):
    enter_calls(_name, Sample(_FLAT, complex=True), Sample(_TURNED, order="F"), Sample(_POINT))
enter_calls("copy", Sample(_FLAT, subok=True))
enter_calls("ndarray.to_device", Sample(_FLAT, "cpu"))

# --------------------------------------------------------------------------------- matrices' parts

enter_calls(
    "diag",
    *given(_LINE, {}, {"k": 1}, {"k": -2}, complex=True),
    *given(Draw((3, 4)), {}, {"k": 1}, {"k": -1}, {"k": 9}, complex=True),
    Sample([1.0, 2.0], smooth=False),
    Sample(Draw((0,))),
)
enter_calls(
    "diagflat",
    *given(_FLAT, {}, {"k": 1}, {"k": -1}, complex=True),
    *(Sample(x) for x in (_POINT, _LINE)),
)
for _name in ("tril", "triu"):
    enter_calls(
        _name,
        *given(Draw((3, 4)), {}, {"k": 1}, {"k": -1}, {"k": -5}, complex=True),
        *(Sample(x) for x in (_BOX, _LINE)),
    )

# --------------------------------------------------------------------------------------- windows

_NAME = "lib.stride_tricks.sliding_window_view"
enter_calls(
    _NAME,
    *given(Draw((5,)), {"window_shape": 3}, {"window_shape": 1}, {"window_shape": (5,)}),
    Sample(Draw((5,)), window_shape=2, complex=True),
    *given(
        Draw((4, 5)),
        {"window_shape": (2, 3)},
        {"window_shape": 2, "axis": 0},
        {"window_shape": [4], "axis": -1},
        {"window_shape": (2, 2), "axis": (1, 0)},
        {"window_shape": (2, 3), "axis": (1, 1)},
        {"window_shape": 0, "axis": 0},
        complex=True,
    ),
)

# --------------------------------------------------------------------------------------- padding

_WIDTHS = ((1, 2), (0, 3))
for _mode in ("constant", "edge", "linear_ramp", "mean", "reflect", "symmetric", "wrap"):
    enter_calls(
        "pad",
        Sample(_FLAT, _WIDTHS, _mode, complex=True),
        Sample(_FLAT, ((0, 0), (7, 5)), mode=_mode),
        Sample(Draw((1, 2)), 1, mode=_mode),
        Sample(_LINE, (2, 1), mode=_mode),
        Sample(_BOX, ((1,), (0,), (2,)), mode=_mode),
        Sample(_FLAT, {-1: (1, 2)}, mode=_mode),
        Sample(_POINT, 1, mode=_mode),
        Sample(Draw((2, 3), 0, 9, kind="int"), 2, mode=_mode, smooth=False),
    )
for _mode in ("maximum", "minimum", "median"):
    enter_calls(
        "pad",
        Sample(Draw((2, 3), apart=0.1), _WIDTHS, mode=_mode),
        *given(
            Draw((5,), apart=0.1),
            {"pad_width": 2, "mode": _mode, "stat_length": 3},
            {"pad_width": (2, 1), "mode": _mode, "stat_length": (1, 2)},
        ),
        Sample(Draw((2, 3), apart=0.1), 1, mode=_mode, stat_length=((1, 2), (2, 9))),
        Sample(Draw((2, 3), 0, 9, kind="int"), 2, mode=_mode, smooth=False),
    )
enter_calls(
    "pad",
    Sample(_FLAT, 2, complex=True),
    Sample(_FLAT, [[1, 0], [2, 1]]),
    Sample(_FLAT, np.array(1)),
    Sample(_FLAT, 0),
    Sample(_FLAT, 2, constant_values=_POINT, complex=True),
    Sample(_FLAT, 1, constant_values=Draw((2,)), complex=True),
    Sample(_FLAT, 1, constant_values=(_POINT, 2.0)),
    Sample(_FLAT, 1, constant_values=Draw((2, 2))),
    Sample(_FLAT, 1, constant_values=Draw((2, 1))),
    Sample(_FLAT, 1, constant_values=((_POINT, 1), (0.5, _POINT))),
    Sample(_FLAT, 1, constant_values=Draw(None)),
    Sample(_NONE, 1, constant_values=3.0),
    Sample(_FLAT, 2, mode="linear_ramp", end_values=_POINT, complex=True),
    Sample(_FLAT, 2, mode="linear_ramp", end_values=(_POINT, _POINT)),
    Sample(_FLAT, _WIDTHS, mode="linear_ramp", end_values=Draw((2, 2))),
    Sample(_FLAT, 2, mode="mean", stat_length=1),
    Sample(_FLAT, 2, mode="mean", stat_length=((1, 2), (2, 1)), complex=True),
    *(
        Sample(x, width, mode=mode, reflect_type=kind, complex=True)
        for mode in ("reflect", "symmetric")
        for kind in ("even", "odd")
        for x, width in ((_FLAT, 1), (_LINE, (9, 7)), (_FLAT, ((0, 1), (3, 0))))
    ),
)

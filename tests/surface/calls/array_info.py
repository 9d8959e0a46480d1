"""Calls of NumPy's functions that read something off an array, and of those it keeps to itself."""

from __future__ import annotations

import numpy as np

from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls
from tests.surface.names import function_named

_BOX = Draw((2, 3, 2))

for _name in ("shape", "ndim", "size"):
    enter_calls(_name, Sample(_BOX), Sample(Draw(())), Sample(Draw((0, 2))), Sample(Draw(None)))
enter_calls("size", Sample(_BOX, axis=-1), Sample(_BOX, 1))
for _name in ("shape", "ndim", "size", "dtype", "itemsize", "nbytes", "device"):
    enter_calls(f"ndarray.{_name}", Sample(_BOX), Sample(Draw(())))
enter_calls(
    "einsum_path",
    Sample("ij,jk,kl->il", Draw((2, 3)), Draw((3, 4)), Draw((4, 2)), optimize="optimal"),
    Sample("ij,jk", Draw((2, 3)), Draw((3, 4))),
)
enter_calls("ix_", Sample(Draw((3,), 0, 4, kind="int"), [True, False]), Sample(Draw((3,)), [0, 2]))

# NumPy calls these where one of its other arguments is no array of its own.
enter_calls("_core.umath._ones_like", Sample(_BOX), Sample(Draw(())))
enter_calls(
    "_core.umath.clip",
    Sample(_BOX, -1.0, Draw((2,), 0.5, 1.0)),
    Sample(Draw((3,)), Draw((3,), -1.0, -0.5), Draw(())),
)
for _name in ("_core.umath.real", "_core.umath.imag"):  # since NumPy 2.5
    if function_named(_name) is not None:
        enter_calls(_name, Sample(Draw((2, 3), kind="complex")), Sample(Draw((), kind="complex")))

# Keywords of functions whose other calls stand in their family.
enter_calls("argpartition", Sample(Draw((6,), apart=0.05), 2, kind="introselect"))
enter_calls("empty_like", Sample(_BOX, shape=(0, 2), dtype=int), Sample(_BOX, shape=0))
enter_calls("full", Sample((2, 3), Draw(()), order="F", like=Draw((1,))))
enter_calls("isin", Sample(Draw((6,)), Draw((2,)), kind="sort"))
enter_calls("ndarray.argpartition", Sample(Draw((6,), apart=0.05), 2, kind="introselect"))

for _name in ("logical_and", "logical_or"):
    enter_calls(f"{_name}.reduce", Sample(_BOX, axis=-1), Sample(_BOX, axis=None, dtype=bool))
for _name in ("add", "multiply", "maximum", "minimum"):
    enter_calls(f"{_name}.accumulate", Sample(Draw((2, 3), apart=0.05), axis=1, dtype="float64"))

# ``dtype=`` of ufuncs: what they compute in.
_PART, _MORE = Draw((2, 3), 0.2, 0.9), Draw((3,), 1.1, 1.9)
_ANALYTIC = (
    *("arccos", "arcsin", "arcsinh", "arctan", "arctanh", "conjugate", "cos", "cosh", "exp2"),
    *("expm1", "log", "log10", "log1p", "log2", "negative", "positive", "reciprocal", "sinh"),
    *("square", "tan", "tanh"),
)
_REAL = ("cbrt", "deg2rad", "degrees", "rad2deg", "radians", "floor", "ceil", "trunc", "rint")
_OF_TWO = (
    *("copysign", "floor_divide", "fmax", "fmin", "fmod", "heaviside", "hypot"),
    *("logaddexp", "logaddexp2", "maximum", "minimum", "nextafter", "remainder"),
    *("divide", "subtract"),
)
for _name in (*_ANALYTIC, *_REAL):
    enter_calls(
        _name,
        Sample(_PART, dtype="float64"),
        Sample(_PART, dtype=np.float32, smooth=False),
    )
for _name in _ANALYTIC:
    enter_calls(_name, Sample(_PART, dtype=complex))
enter_calls("arccosh", Sample(_MORE, dtype="float64"), Sample(_MORE, dtype="complex128"))
for _name in _OF_TWO:
    enter_calls(
        _name,
        Sample(_MORE, _PART, dtype=np.float64),
        Sample(_PART, 2.5, dtype="float32", smooth=False),
    )
enter_calls("float_power", Sample(_MORE, _PART, dtype=np.float64))
enter_calls("subtract", Sample(_MORE, _PART, dtype=complex))
enter_calls("divide", Sample(_MORE, _PART, dtype=complex))

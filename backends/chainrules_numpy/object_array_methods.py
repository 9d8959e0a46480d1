"""Methods that NumPy's functions call of the elements of object arrays.

``np.sin`` of an object array calls ``x.sin()`` of each element, which calls ``np.sin(x)`` of the
traced number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py.extend import element_methods

_CALLED = (
    np.arccos, np.arccosh, np.arcsin, np.arcsinh, np.arctan, np.arctan2, np.arctanh, np.cbrt,
    np.cos, np.cosh, np.deg2rad, np.degrees, np.exp, np.exp2, np.expm1, np.fabs, np.fmod, np.hypot,
    np.log, np.log10, np.log1p, np.log2, np.rad2deg, np.radians, np.rint, np.sin, np.sinh, np.sqrt,
    np.tan, np.tanh,
)  # fmt: skip


def _method(function: np.ufunc) -> Callable[..., Any]:
    def method(*operands: Any) -> Any:
        return function(*operands)

    return method


element_methods.update({function.__name__: _method(function) for function in _CALLED})

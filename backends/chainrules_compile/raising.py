"""Raising: which calls raise for some numbers, and whether the function would handle that."""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np

from chainrules_compile.fields import PYTHON_NUMBERS
from chainrules_py.extend import is_library

TOTAL = frozenset(
    (
        operator.add,
        operator.sub,
        operator.mul,
        operator.neg,
        np.add,
        np.multiply,
        np.subtract,
        np.negative,
        np.divide,
    )
)
"""The most frequent of those that raise for no number, whose results have a form of their own."""
LINEAR = frozenset(np.linalg.__all__)
"""Names of functions that raise for some matrices."""
PARTIAL = frozenset((operator.truediv, operator.floordiv, operator.mod, operator.pow, divmod))
"""Operators that raise for some of Python's numbers."""


def may_fail(function: Any, y: Any) -> bool:
    """Tell whether a function that gave something may raise for some numbers, and for others not.

    The quotient of NumPy's numbers is one, whatever they are.
    """
    if function is operator.truediv:
        return getattr(y, "payload_type", float) in PYTHON_NUMBERS
    return function in PARTIAL or getattr(function, "__name__", "") in LINEAR


def in_try() -> bool:
    """Tell whether a function of people's that is under way may handle an error."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_exceptiontable:
            name = frame.f_globals.get("__name__", "")
            if name == "chainrules_compile.compiled":  # which has one, around the recording
                return False
            if not is_library(name):
                return True
        frame = frame.f_back
    return False

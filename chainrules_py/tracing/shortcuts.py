"""Formulas that a library takes where a number that is differentiated equals another.

``if p == 2: ...`` in the text of NumPy's norm or SciPy's distances computes the value at that one
number, and moves with p as the formula for all others does. So it has no derivative in p, and the
tracer would give that of the shortcut: zero, most often.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from chainrules_py.errors import NotDifferentiableError, describe
from chainrules_py.primitives.plugins import BACKENDS, announced
from chainrules_py.values.tracers import untraced


@functools.cache
def _is_text_of_a_library(module: str) -> bool:
    library = module.partition(".")[0]
    return library in dict(announced(BACKENDS)) and "testing" not in module


def _is_one_number(y: Any) -> bool:
    return type(y) is bool or getattr(y, "shape", None) == ()


def refusing_shortcuts(compare: Callable[[Any, Any], Any], *, when: bool) -> Callable[..., Any]:
    """Have ``==`` or ``!=`` refuse to tell a library that two numbers are equal."""

    def method(self: Any, other: Any) -> Any:
        y = compare(self, other)
        frame = sys._getframe(1)
        if not _is_text_of_a_library(frame.f_globals.get("__name__", "")):
            return y
        if _is_one_number(y) and bool(y) is when:
            asks = frame.f_globals["__name__"].partition(".")[0] + "'s " + frame.f_code.co_name
            msg = (
                f"{asks} takes another formula where {describe(self)}, which is being "
                f"differentiated, equals {untraced(other)}: that has not its derivative; "
                "differentiate at a number beside, or take x.value, which is a constant"
            )
            raise NotDifferentiableError(msg)
        return y

    return method

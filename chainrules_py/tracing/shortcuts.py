"""Formulas that a library takes where a number that is differentiated equals another.

``if p == 2: ...`` in the text of NumPy's norm or SciPy's distances computes the value at that one
number, and moves with p as the formula for all others does. So it has no derivative in p, and the
tracer would give that of the shortcut: zero, most often.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import textwrap
from collections.abc import Callable
from types import CodeType
from typing import Any

from chainrules_py.errors import NotDifferentiableError, describe
from chainrules_py.primitives.plugins import BACKENDS, announced
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import is_zero
from chainrules_py.values.tracers import highest_tracer, untraced


@functools.cache
def _is_text_of_a_library(module: str) -> bool:
    library = module.partition(".")[0]
    return library in dict(announced(BACKENDS)) and "testing" not in module


def _is_one_number(y: Any) -> bool:
    return type(y) is bool or getattr(y, "shape", None) == ()


@functools.lru_cache(maxsize=1024)
def _ends_a_loop(code: CodeType, at: int) -> bool:
    """Tell whether an instruction is in the condition of a ``while``."""
    line = [*code.co_positions()][at // 2][0]
    try:
        lines, first = inspect.getsourcelines(code)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError):  # without its text
        return False
    tests = [loop.test for loop in ast.walk(tree) if isinstance(loop, ast.While)]
    return any(
        test.lineno <= line - first + 1 <= (test.end_lineno or test.lineno)
        for test in tests
        if line is not None
    )


def drifts(x: Any, other: Any) -> bool:
    """Tell whether two equal numbers are equal here alone, and not where they move to."""
    if x is other:
        return False
    top = highest_tracer((x, other))
    return top is not None and top.drifts_from(x if top is other else other)


def is_moving(t: Any) -> bool:
    """Tell whether a derivative is not zero, or would not be if what it is made of moved."""
    t = None if t is None else unthunk(t)
    if t is None or is_zero(t):
        return False
    plain = untraced(t)
    differs = plain != 0
    if bool(differs.any() if hasattr(differs, "any") else differs):
        return True
    return plain is not t and (getattr(t, "shape", ()) != () or drifts(t, plain))


def refusing_shortcuts(compare: Callable[[Any, Any], Any], *, when: bool) -> Callable[..., Any]:
    """Have ``==`` or ``!=`` refuse to tell a library that two numbers are equal."""

    def method(self: Any, other: Any) -> Any:
        y = compare(self, other)
        frame = sys._getframe(1)
        if not _is_text_of_a_library(frame.f_globals.get("__name__", "")):
            return y
        if not (_is_one_number(y) and bool(y) is when and drifts(self, other)):
            return y
        if not _ends_a_loop(frame.f_code, frame.f_lasti):
            asks = frame.f_globals["__name__"].partition(".")[0] + "'s " + frame.f_code.co_name
            msg = (
                f"{asks} takes another formula where {describe(self)}, which is being "
                f"differentiated, equals {untraced(other)}: that has not its derivative; "
                "differentiate at a number beside, or take x.value, which is a constant"
            )
            raise NotDifferentiableError(msg)
        return y

    return method

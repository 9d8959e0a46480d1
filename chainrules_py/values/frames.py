"""Frames of callers: the source line for messages, and the calling module.

Nothing else in the core reads frames, except `chainrules_py.primitives.advice`, which reads the
line of a program for an error message.
"""

from __future__ import annotations

import opcode
import sys
from collections.abc import Callable
from typing import Any


def caller(depth: int = 1) -> Any:
    """Return the frame of a caller; the first one called the function that calls this."""
    return sys._getframe(depth + 1)


def first_of_callers(found: Callable[[str], Any]) -> Any:
    """Return the first result that is not None of ``found(module)``, for the callers' modules."""
    frame: Any = sys._getframe(2)
    while (y := found(frame.f_globals.get("__name__", ""))) is None:
        frame = frame.f_back
    return y


def assigns(frame: Any) -> bool:
    """Return whether a frame itself assigns to a subscript, not a C function that it calls."""
    return opcode.opname[frame.f_code.co_code[frame.f_lasti]] in ("STORE_SUBSCR", "STORE_SLICE")

"""Frames of callers: where something is written, for messages, and which module asks.

Nothing else in the core reads them, but for `chainrules_py.primitives.hints`, which reads the line
of a program for the text of an error.
"""

from __future__ import annotations

import opcode
import sys
from collections.abc import Callable
from typing import Any


def caller(depth: int = 1) -> Any:
    """Return the frame of a caller; the first is that of whoever called the function that asks."""
    return sys._getframe(depth + 1)


def first_of_callers(found: Callable[[str], Any]) -> Any:
    """Return the first that is not None of what a function gives of the modules of callers."""
    frame: Any = sys._getframe(2)
    while (y := found(frame.f_globals.get("__name__", ""))) is None:
        frame = frame.f_back
    return y


def assigns(frame: Any) -> bool:
    """Tell whether a frame assigns to a subscript, and calls no function in C that does."""
    return opcode.opname[frame.f_code.co_code[frame.f_lasti]] in ("STORE_SUBSCR", "STORE_SLICE")

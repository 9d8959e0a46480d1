"""Errors of Python and its standard library about what is traced where plain numbers are wanted."""

from __future__ import annotations

import struct
import sys
import traceback
from typing import Any

from chainrules_py import TracerError
from chainrules_py.extend import describe, find_tracers, refusers

_STANDARD = sys.stdlib_module_names - {"__main__", "inspect"}
"""Modules that do not take what is traced; `inspect` only tells that a call has other arguments."""


def refuse(error: BaseException) -> None:
    """Raise where an error comes of a tracer that was taken for no number, or no array.

    Raises
    ------
    TracerError
        In its place, with what to write instead.
    """
    if not isinstance(error, (TypeError, struct.error)) or isinstance(error, TracerError):
        return
    x = _taken(error)
    if x is not None:
        msg = (
            f"{describe(x.__payload__)} is being differentiated, and was given to what takes plain "
            f"numbers alone ({error}); write NumPy's function, if it is of another library, or "
            f"x.value, which is a constant, or make a primitive, with a rule, of the function"
        )
        raise TracerError(msg) from error


def _taken(error: BaseException) -> Any:
    """Find the tracer that an error is about, or None."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    if not frames:
        return None
    module = str(frames[-1].f_globals.get("__name__", "")).partition(".")[0]
    # A program says its own; any number, that it is not iterable, or not added to a text.
    usual = str(error).startswith(("unsupported operand", "'"))
    for x in find_tracers(tuple(frames[-1].f_locals.values())):
        named = f"{type(x).__name__.partition('[')[0]}[" in str(error) and not usual
        if module in _STANDARD or named or type(error) is struct.error:
            return x
    return None


refusers.append(refuse)

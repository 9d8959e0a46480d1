"""Origin of an error that is raised while a function is recorded."""

from __future__ import annotations

import sys
import types
from traceback import walk_tb

from chainrules_compile.errors import RecordingError
from chainrules_py.extend import is_library


def blame(error: BaseException, said: list[BaseException]) -> None:
    """Set a recording error as the cause of the error that a library raised instead.

    C code may go on after a recording error, and raise another error.
    """
    if not said or isinstance(error, RecordingError) or any([x is error for x in said]):
        return
    if error.__cause__ is None:
        error.__cause__ = said[0]


def place(traceback: types.TracebackType | None) -> str:
    """Return the last line of user code in a traceback, as a suffix of a sentence."""
    found = ""
    for frame, line in walk_tb(traceback):
        if not is_library(frame.f_globals.get("__name__", "")):
            found = f" (line {line} of {frame.f_code.co_name}, {frame.f_code.co_filename})"
    return found


def is_not_finite(error: BaseException) -> bool:
    """Return whether an exception comes from the pass that a gradient takes if not finite."""
    return "strong_pass" in [frame.f_code.co_name for frame, _ in walk_tb(error.__traceback__)]


def raised_in(traceback: types.TracebackType | None) -> str:
    """Return which installed library raised an error, and the line that called it; or nothing.

    Cython code has a line in a traceback, but no frame while it runs. C code has neither.
    """
    line = found = ""
    for frame, number in walk_tb(traceback):
        module = frame.f_globals.get("__name__", "")
        root = module.partition(".")[0]
        if not is_library(module):
            line, found = f" in line {number} of {frame.f_code.co_name}", ""
        elif not (found or root == "numpy" or root.startswith("chainrules_")):
            found = root if line or root not in sys.stdlib_module_names else ""
    return found and found + line

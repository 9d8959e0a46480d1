"""Origin of an error that is raised while a function is recorded."""

from __future__ import annotations

import sys
from traceback import walk_tb

from chainrules_compile.errors import RecordingError
from chainrules_py.extend import Line


def blame(error: BaseException, said: list[BaseException]) -> None:
    """Set a recording error as the cause of the error that a library raised instead.

    C code may go on after a recording error, and raise another error.
    """
    known = isinstance(error, RecordingError) or any([x is error for x in said])
    if said and not known and error.__cause__ is None:
        error.__cause__ = said[0]


def place(error: BaseException) -> str:
    """Return the last line of user code that an error came through, as a suffix of a sentence."""
    line = Line.of(error)
    return "" if line is None else f" ({_text(line)}, {line.place[0]})"


def _text(line: Line) -> str:
    return f"line {line.place[1]} of {line.frame.f_code.co_name}"


def is_not_finite(error: BaseException) -> bool:
    """Return whether an exception comes from the pass that a gradient takes if not finite."""
    return "strong_pass" in [frame.f_code.co_name for frame, _ in walk_tb(error.__traceback__)]


def raised_in(line: Line | None, error: BaseException) -> str:
    """Return which installed library raised an error, and the line that called it; or nothing.

    Cython code has a line in a traceback, but no frame while it runs. C code has neither.
    """
    frames = [frame for frame, _ in walk_tb(error.__traceback__)] if line is None else line.inner
    roots = [frame.f_globals.get("__name__", "").partition(".")[0] for frame in frames]
    own = {"numpy", *(sys.stdlib_module_names if line is None else ())}
    found = next((x for x in roots if x not in own and not x.startswith("chainrules_")), "")
    return f"{found} in {_text(line)}" if found and line is not None else found

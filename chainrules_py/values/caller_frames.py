"""Frames of callers: the source line for messages, and the calling module.

Nothing else in the core and the tape walks frames.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Container
from typing import Any


def caller(depth: int = 1) -> Any:
    """Return the frame of a caller; the first one called the function that calls this."""
    return sys._getframe(depth + 1)


def root_module(frame: Any) -> str:
    """Return the root module of the code that a frame runs."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def calling_module(passing: tuple[str, ...]) -> str:
    """Return the module of the caller's caller, and of its own caller where it passes on."""
    frame = caller(2)
    while root_module(frame) in passing:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))


@functools.cache
def is_library(name: Any) -> bool:
    """Return whether a module is installed, rather than part of a user's program."""
    root = name.partition(".")[0] if type(name) is str else "builtins"  # Cython classes
    known = root in sys.stdlib_module_names or root.startswith("chainrules_")
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    # __main__ is whatever was started, such as a tool that runs a user's program.
    return root != "__main__" and (known or "site-packages" in file or "dist-packages" in file)


def is_of_library(frame: Any) -> bool:
    """Return whether a frame runs an installed library, these packages, or Python's own code."""
    name = frame.f_globals.get("__name__", "")
    return "site-packages" in frame.f_code.co_filename or is_library(name)


def program_frame(
    frame: Any, at: int | None = None, libraries: Container[str] = ()
) -> tuple[Any, int, list[Any]]:
    """Return the frame of the program that a frame was called from, or the frame itself.

    Parameters
    ----------
    frame : frame
        Where to begin.
    at : int, optional
        Its position in its code, if it has continued since.
    libraries : container of str
        Root modules that count as installed libraries.

    Returns
    -------
    tuple
        The frame, its position in its code, and the frames that it called, outermost first.
    """
    called: list[Any] = []
    while frame.f_back is not None and (is_of_library(frame) or root_module(frame) in libraries):
        called.insert(0, frame)
        frame, at = frame.f_back, None
    return frame, frame.f_lasti if at is None else at, called


def place_of_call(depth: int) -> tuple[str, int]:
    """Return file and line of the program's innermost frame, or of a caller's."""
    frame = program_frame(sys._getframe(depth + 1))[0]
    return frame.f_code.co_filename, frame.f_lineno


seen: dict[Any, Any] = {}
"""Where `warnings` stores which lines were reported."""


def warn_program(message: str, category: type[Warning]) -> None:
    """Warn at the line of the program that called these packages, directly or by a library."""
    warnings.warn_explicit(message, category, *place_of_call(1), registry=seen)

"""Hints on what to write in place of a library's function whose calls on tracers go unseen.

Such a function makes plain arrays or numbers of its arguments, and a tracer refuses. The refusal
knows only that it was asked; which function asked is read off the stack, on that path alone.
"""

from __future__ import annotations

import inspect
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

from chainrules_py.primitives.plugins import BACKENDS, announced, see_about, see_all, see_roots
from chainrules_py.values.tracers import find_tracers

_of_code: dict[types.CodeType, str] = {}


def advise(function: Callable[..., Any], line: str) -> None:
    """Say what to write in place of a function that takes no tracers.

    Parameters
    ----------
    function : callable
        The library's function, or the function of a method; one in C is not recognised.
    line : str
        What is wrong and what to write, as a part of a sentence.

    Examples
    --------
    >>> import numpy as np
    >>> def total(x):
    ...     return np.asarray(x).sum()
    >>> advise(total, "write np.sum(x)")
    """
    called = vars(function).get("__call__", function) if isinstance(function, type) else function
    code = getattr(inspect.unwrap(called), "__code__", None)
    if isinstance(code, types.CodeType):
        _of_code[code] = line


def advice_at(frame: Any) -> str | None:
    """Return the advice for the call in which a frame asks a tracer for a plain value, or None.

    Parameters
    ----------
    frame : frame
        The one that asks: of a library written in Python.
    """
    roots = {root for root, _ in announced(BACKENDS)}
    found = _on_the_way(frame, roots)
    if found is None:
        see_roots(roots & sys.modules.keys())  # numbers of Python's alone have loaded none
        see_all()
        found = _on_the_way(frame, roots)
    return found


def _on_the_way(frame: Any, roots: set[str]) -> str | None:
    """Return the advice for a function of a library that called a frame, or None."""
    found = None
    while frame is not None and (root := _root_of(frame)) in roots:
        see_roots({root})
        see_about(str(frame.f_globals.get("__name__", "")))
        # A wrapper, which many functions share, holds the one that it is about.
        held = [inspect.unwrap(f) for f in frame.f_locals.values() if callable(f)]
        codes = [frame.f_code, *[getattr(f, "__code__", None) for f in held]]
        found = next((_of_code[code] for code in codes if code in _of_code), found)
        frame = frame.f_back
    return found


def advice_through(error: BaseException, held: bool = False) -> str | None:
    """Return the advice for an advised function that an error went through with tracers, or None.

    What is written in C and calls back may go on after a refusal, and break elsewhere. ``held``
    tells that it had tracers, where an array of objects may hold them.
    """
    roots, line = {root for root, _ in announced(BACKENDS)}, None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if (root := _root_of(frame)) in roots:
            see_roots({root})
            see_about(str(frame.f_globals.get("__name__", "")))
        line = _of_code.get(frame.f_code, line)
        held = held or (line is not None and bool(find_tracers(tuple(frame.f_locals.values()))))
    return line if held else None


def _root_of(frame: Any) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]

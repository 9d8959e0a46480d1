"""Hints on what to write in place of a library's function whose calls on tracers go unseen.

Such a function makes plain arrays or numbers of its arguments, and a tracer refuses. The refusal
knows only that it was asked; which function asked is read off the stack, on that path alone.
"""

from __future__ import annotations

import builtins
import dis
import inspect
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

from chainrules_py.errors import TracerError
from chainrules_py.primitives.plugins import BACKENDS, announced, see_about, see_all, see_roots
from chainrules_py.values.tracers import find_tracers

_of_code: dict[types.CodeType, str] = {}
_of_function: dict[Any, str] = {}
_of_name: dict[str, str] = {}


def advise(function: Callable[..., Any], line: str) -> None:
    """Say what to write in place of a function that takes no tracers.

    Parameters
    ----------
    function : callable
        The library's function, or the function of a method.
    line : str
        What is wrong and what to write, as a part of a sentence.

    Examples
    --------
    >>> import numpy as np
    >>> def total(x):
    ...     return np.asarray(x).sum()
    >>> advise(total, "write np.sum(x)")
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    if isinstance(code, types.CodeType):
        _of_code[code] = line
    _of_function[function] = line
    _of_name[function.__name__] = line


def advice_at(frame: Any) -> str | None:
    """Return the advice for the call in which a frame asks a tracer for a plain value, or None.

    Parameters
    ----------
    frame : frame
        The one that asks: of a library written in Python, or, where that is written in C, of the
        program itself.
    """
    roots = {root for root, _ in announced(BACKENDS)}
    found, caller = _on_the_way(frame, roots)
    if found is not None or caller is None:
        return found
    see_roots(roots & sys.modules.keys())  # numbers of Python's alone have loaded none
    see_all()  # what is written in C is not known by its module
    return _on_the_way(frame, roots)[0] or _of_callee(caller)


def _on_the_way(frame: Any, roots: set[str]) -> tuple[str | None, Any]:
    """Return the advice for a function of a library that called a frame, and who called that."""
    found = None
    while frame is not None and (root := _root_of(frame)) in roots:
        see_roots({root})
        see_about(str(frame.f_globals.get("__name__", "")))
        # A wrapper, which many functions share, holds the one that it is about.
        held = [f for f in frame.f_locals.values() if isinstance(f, types.FunctionType)]
        codes = [frame.f_code, *[inspect.unwrap(f).__code__ for f in held]]
        found = next((_of_code[code] for code in codes if code in _of_code), found)
        frame = frame.f_back
    return found, frame


def advice_through(error: BaseException) -> str | None:
    """Return the advice for an advised function that an error went through with tracers, or None.

    What is written in C and calls back may go on after a refusal, and break elsewhere.
    """
    roots, line, held = {root for root, _ in announced(BACKENDS)}, None, False
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if (root := _root_of(frame)) in roots:
            see_roots({root})
            see_about(str(frame.f_globals.get("__name__", "")))
        line = _of_code.get(frame.f_code, line)
        held = held or (line is not None and bool(find_tracers(tuple(frame.f_locals.values()))))
    return line if held else None


def _root_of(frame: Any) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _of_callee(frame: Any) -> str | None:
    """Return the advice for the function in C that a frame calls now, which has no frame itself.

    What is called stands first in the call, so its instructions begin where that of the call does:
    ``np``, ``np.random`` and ``np.random.normal``.
    """
    instructions = list(dis.get_instructions(frame.f_code))
    # The last instruction may stand in the cache that follows the call.
    call = [i for i in instructions if i.offset <= frame.f_lasti][-1]
    start = _start(call)
    if start is None:  # Python was told to keep no positions
        return None
    chain = [
        i
        for i in instructions
        if _start(i) == start and _end(i) < _end(call) and i.opname not in _BESIDE
    ]
    if not chain:
        return None
    first, *members = chain = sorted(chain, key=_end)
    if any(not i.opname.startswith("LOAD_") for i in chain):
        return _of_name.get(str(chain[-1].argval))  # a member of something that was computed
    scopes = (frame.f_locals, frame.f_globals, vars(builtins))
    called = next((scope[first.argval] for scope in scopes if first.argval in scope), None)
    for member in members:  # without running a property
        called = inspect.getattr_static(called, str(member.argval), None)
    try:
        return _of_function.get(getattr(called, "__func__", called))
    except (TypeError, TracerError):  # unhashable
        return None


# What stands where the callee does, or the call, and is no part of it: the names of keywords, too.
_BESIDE = {"KW_NAMES", "LOAD_CONST", "PRECALL", "PUSH_NULL"}


def _start(instruction: Any) -> tuple[int, int] | None:
    at = instruction.positions
    return None if at is None or at.col_offset is None else (at.lineno, at.col_offset)


def _end(instruction: Any) -> tuple[int, int]:
    at = instruction.positions
    return at.end_lineno, at.end_col_offset

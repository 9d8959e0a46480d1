"""Tracebacks that show the program's frames, and not this library's."""

from __future__ import annotations

import os
import types
from typing import Any

from chainrules_py.errors import ChainRulesError


def shorten_traceback(error: BaseException) -> None:
    """Leave frames of this library out of the traceback of an error.

    Of an error that the library did not raise on purpose, what it called last is kept. The
    environment variable ``CHAINRULES_TRACEBACK=full`` keeps all frames.
    """
    if os.environ.get("CHAINRULES_TRACEBACK") == "full":
        return
    context = error.__context__
    if isinstance(context, KeyError) and all(map(_is_ours, _frames(context)[-1:])):
        error.__suppress_context__ = True  # nothing was found in a cache
    frames = _frames(error)
    program = [n for n, frame in enumerate(frames) if not _is_ours(frame)]
    if not program:
        return
    kept = [frames[n] for n in program]
    if not isinstance(error, ChainRulesError):
        kept += frames[program[-1] + 1 :]
    rest = None
    for at in reversed(kept):
        line = at.tb_lineno or 0  # code may have no lines
        rest = types.TracebackType(rest, at.tb_frame, at.tb_lasti, line)
    error.__traceback__ = rest


def _frames(error: BaseException) -> list[types.TracebackType]:
    found, at = [], error.__traceback__
    while at is not None:
        found.append(at)
        at = at.tb_next
    return found


def _is_ours(at: Any) -> bool:
    return str(at.tb_frame.f_globals.get("__name__", "")).startswith("chainrules_")

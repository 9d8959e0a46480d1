"""Tracebacks without this library's frames."""

from __future__ import annotations

import os
import types
from typing import Any

from chainrules_py.errors import ChainRulesError
from chainrules_py.primitives.conversion_advice import tracebacks_of


def shorten_traceback(error: BaseException) -> None:
    """Remove frames of this library from the traceback of an error.

    If the library did not raise the error itself, the frames that follow the program's last one
    are kept. The environment variable ``CHAINRULES_TRACEBACK=full`` keeps all frames.
    """
    if os.environ.get("CHAINRULES_TRACEBACK") == "full":
        return
    context = error.__context__
    if isinstance(context, KeyError) and all(map(_is_ours, [*tracebacks_of(context)][-1:])):
        error.__suppress_context__ = True  # a cache miss
    frames = [*tracebacks_of(error)]
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


def _is_ours(at: Any) -> bool:
    return str(at.tb_frame.f_globals.get("__name__", "")).startswith("chainrules_")

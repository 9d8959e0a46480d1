"""Errors that leave a differentiated function: what they say, and which frames they show.

A traced array of Dask or PyTorch takes NumPy's functions. If such a function reduces to a function
of the library that is missing or has other parameters, the library's error is about code that the
user has not written.
"""

from __future__ import annotations

import os
import re
import struct
import sys
import types
from typing import Any

from chainrules_py import errors
from chainrules_py.errors import (
    ChainRulesError,
    NotDifferentiableError,
    TracerError,
    advise,
    describe,
)
from chainrules_py.primitives.conversion_advice import instead_for, told, tracebacks_of
from chainrules_py.primitives.plugins import BACKENDS, announced, see_roots
from chainrules_py.registry.table import name_of
from chainrules_py.tracing.array_like import ArrayLike, innermost
from chainrules_py.tracing.object_arrays import Objects
from chainrules_py.values.caller_frames import is_of_library
from chainrules_py.values.find_tracers import find_tracers
from chainrules_py.values.type_info import type_info

_DEEP = (TypeError, ValueError, AttributeError, NotImplementedError, struct.error)
"""The errors that may come from inside a library; others identify their library by themselves."""

_MISCALLED = (
    r"(unexpected keyword|required( positional| keyword-only)?|too many positional) argument"
)

_HOOKS = (ArrayLike.__array_function__.__code__, ArrayLike.__array_ufunc__.__code__)


def explain_error(error: BaseException, made: Objects | None = None) -> None:
    """Add a note to an error of another library with what to write instead, if that is known.

    Parameters
    ----------
    error : Exception
        The error that a differentiated function raised.
    made : Objects, optional
        The array of objects that the function made, which is noted as well.

    Raises
    ------
    NotDifferentiableError
        Instead of an error from inside a library other than NumPy, if a NumPy function was called
        with traced values; it names both.
    ChainRulesError
        Instead of an error that a library raised because of it.
    """
    try:
        _explain(error, made is not None)
        if made and not (isinstance(error, ChainRulesError) or hasattr(error, "__notes__")):
            made.explain(error)
    except ChainRulesError as better:
        error = better
        raise
    finally:
        shorten_traceback(error)


def _explain(error: BaseException, held: bool) -> None:
    cause = error.__cause__
    if isinstance(cause, ChainRulesError) and (
        type(error) in (*_DEEP, type(cause)) or (held and type(error) is SystemError)
    ):
        cause.__suppress_context__ = True  # the library's error says less than the tracer's
        raise cause.with_traceback(error.__traceback__)
    # A library that ours called, and that calls the program, was not given what the error is about.
    of = ["our" if _is_ours(t) else str(is_of_library(t.tb_frame)) for t in tracebacks_of(error)]
    theirs = cause is None and re.search("our(True)+(our)*False(our|False)*$", "".join(of))
    of_plain = TypeError, SystemError, AttributeError, IndexError, RuntimeError
    broken = (held or isinstance(error, of_plain)) and not (  # objects may cause any error
        theirs or isinstance(error, (ChainRulesError, RecursionError))
    )
    if broken and not re.search(_MISCALLED, str(error)) and (found := instead_for(error, held)):
        line, write = found
        taker = (line and (line.called or line.written)) or "it"
        fact = f"{taker} takes plain values, and was given what is traced"
        if line is not None and isinstance(error, IndexError):
            fact = f"{line.picture or 'what is traced'} is used as an index, which must be plain"
        raise TracerError(told(fact, line, write)) from error
    if not isinstance(error, _DEEP):
        is_own = type(error).__module__ != "builtins"
        if is_own or isinstance(error, (ImportError, IndexError, RuntimeError, SystemError)):
            see_roots({package for package, _ in announced(BACKENDS)} & sys.modules.keys())
            for refuse in errors.refusers:
                refuse(error)
        return
    if not isinstance(error, (ChainRulesError, ValueError)) and (call := _foreign_call(error)):
        f, foreign = call
        library, said = type(foreign).__module__.partition(".")[0], str(error).partition("\n")[0]
        raise NotDifferentiableError(
            f"np.{name_of(f)}, so called, has no derivative for {describe(foreign)} of {library}, "
            f"which does not compute it so ({type(error).__name__}: {said}); write it with "
            f"functions that {library} has, or give it an array of NumPy's"
        ) from error
    see_roots({"numpy"})  # it registers advice for where plain numbers are required
    advise(error)


def _foreign_call(error: BaseException) -> tuple[Any, Any] | None:
    """Return the NumPy function inside which an error was raised, and its array of a library.

    None if there is no such call, or if its arrays are NumPy's.
    """
    call: dict[str, Any] = {}
    for frame in [trace.tb_frame for trace in tracebacks_of(error)]:
        if frame.f_code in _HOOKS:
            call = call or frame.f_locals
        elif not is_of_library(frame):
            call = {}  # the call led back to a function of the program
    for x in find_tracers((call.get("operands"), call.get("keywords"))):
        home = type_info(type(x)).dispatch_type.__module__.partition(".")[0]
        if home not in ("numpy", "builtins"):
            return call.get("function", call.get("ufunc")), innermost(x)
    return None


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
        # Code may have no lines.
        rest = types.TracebackType(rest, at.tb_frame, at.tb_lasti, at.tb_lineno or 0)
    error.__traceback__ = rest


def _is_ours(at: Any) -> bool:
    return str(at.tb_frame.f_globals.get("__name__", "")).startswith("chainrules_")

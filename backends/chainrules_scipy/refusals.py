"""Errors that SciPy makes of a traced value which it was given, with the line to write instead."""

from __future__ import annotations

from chainrules_py import TracerError
from chainrules_py.extend import Line, advised_at, refusers, told


def refuse(error: BaseException) -> None:
    """Raise where a loop of SciPy's in C hides that a function gave it what is traced.

    Raises
    ------
    TracerError
        In its place, with what to write instead.
    """
    trace = error.__traceback__
    hides = isinstance(error, SystemError) or type(error).__module__.startswith(("minpack", "_"))
    while hides and trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__", "")).startswith("scipy."):
            line = Line(trace.tb_frame)
            if (write := advised_at(line)) is not None:
                fact = "what is being differentiated is no plain number"
                raise TracerError(told(fact, line, write)) from error
        trace = trace.tb_next


refusers.append(refuse)

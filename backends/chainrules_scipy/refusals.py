"""Replace errors that SciPy raises for a traced value by one with the line to write instead."""

from __future__ import annotations

from chainrules_py import TracerError
from chainrules_py.extend import Line, advised_at, refusers, told


def refuse(error: BaseException) -> None:
    """Raise where a C loop of SciPy hides that a function returned a traced value.

    Raises
    ------
    TracerError
        In place of the error, with what to write instead.
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

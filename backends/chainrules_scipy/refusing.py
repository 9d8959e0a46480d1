"""Errors that SciPy makes of a traced value which it was given, with the line to write instead."""

from __future__ import annotations

from chainrules_py import TracerError
from chainrules_py.extend import advice_at, refusers


def _advice(error: BaseException) -> str | None:
    """Return what to write in place of the function of SciPy's that an error comes from."""
    trace = error.__traceback__
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__", "")).startswith("scipy."):
            line = advice_at(trace.tb_frame)
            return line if line is not None and line not in str(error) else None
        trace = trace.tb_next
    return None


def refuse(error: BaseException) -> None:
    """Raise where a loop of SciPy's in C hides that a function gave it what is traced.

    Raises
    ------
    TracerError
        In its place, with what to write instead.
    """
    hides = isinstance(error, SystemError) or type(error).__module__.startswith(("minpack", "_"))
    if isinstance(error, TracerError) and (line := _advice(error)) is not None:
        msg = f"{error}; {line}"
        raise TracerError(msg) from None
    if hides and (line := _advice(error)) is not None:
        msg = f"what is being differentiated is no plain number; {line}"
        raise TracerError(msg) from error


refusers.append(refuse)

"""A trap for NaN: which call made it, on which line, forward or on the way back."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from chainrules_py import NanError, unthunk
from chainrules_py.extend import (
    Mode,
    Tracer,
    describe,
    fields_of,
    is_structure_type,
    namespace_of,
    type_info,
)
from chainrules_tape.core.backward import play
from chainrules_tape.core.links import parents

trap = Mode("debug_nans", on=os.environ.get("CHAINRULES_DEBUG") == "1")
trap_is_set = trap.get
"""Tells whether differentiation that begins now is inside `debug_nans`."""


def debug_nans() -> AbstractContextManager[None]:
    """Stop at the call that makes a NaN out of what was none.

    Differentiation that begins inside keeps its calls and looks at every value and cotangent, so it
    is slow; elsewhere nothing is paid for it.

    Raises
    ------
    NanError
        From the call that made a NaN, or from the gradient; it names the call and its line.

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_tape import grad
    >>> with debug_nans(), np.errstate(all="ignore"):
    ...     grad(lambda x: np.sum(np.log(x)))(np.array([1.0, -1.0]))
    Traceback (most recent call last):
    ...
    chainrules_py.errors.NanError: log(float64[2]) gave NaN...
    """
    return trap.set()


def has_nan(x: Any) -> bool:
    """Tell whether a value, a tangent, or the value that a tracer stands for has a NaN."""
    while isinstance(x, Tracer):
        x = x.__payload__
    cls = type(x)
    if is_structure_type(cls):
        return any(has_nan(field) for _, field in fields_of(x))
    if cls in (float, complex):
        return bool(x != x)
    return type_info(cls).is_array and bool(namespace_of(cls).any(x != x))


def check_value(call: Any) -> None:
    """Raise if a call made a NaN of what was none."""
    payloads = [payload for payload, _ in call.opened]
    if has_nan(call.value) and not any(map(has_nan, payloads)):
        msg = f"{shown(call.primitive, payloads)} gave NaN; look at its operands in\n  {call.where}"
        raise NanError(msg)


def check_pushed(primitive: Any, payloads: Any, tangents: Any, y: Any, y_dot: Any) -> None:
    """Raise if a call, or its push, made a NaN of what was none."""
    for what, result, given in (
        ("", y, payloads),
        ("pushing through ", unthunk(y_dot), (y, *payloads, *tangents)),
    ):
        if has_nan(result) and not any(map(has_nan, given)):
            where = source_line((y, *payloads))
            msg = f"{what}{shown(primitive, payloads)} gave NaN; look at its operands in\n  {where}"
            raise NanError(msg)


def shown(primitive: Any, payloads: Any) -> str:
    """Describe a call with its operands, as types and shapes."""
    return f"{primitive.__name__}({', '.join(map(describe, payloads))})"


def source_line(values: tuple[Any, ...]) -> str:
    """Where the program called what is being recorded: outside of the engine and the libraries."""
    packages = {type_info(type(x)).dispatch_type.__module__.partition(".")[0] for x in values} - {
        "builtins"
    }
    frame = sys._getframe(1)
    while frame.f_back is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in packages and not package.startswith("chainrules_"):
            break
        frame = frame.f_back
    file, number = frame.f_code.co_filename, frame.f_lineno
    return f"{file}:{number}: {linecache.getline(file, number).strip()}"


def trapped(calls: dict[int, Any]) -> Callable[..., None]:
    """Make a player that plays records one by one, and checks the cotangents that each sends on."""

    def play_trapped(records: Iterable[Any], bars: Any, start: int, stop: int) -> None:
        for index, record in zip(range(start, stop, -1), records, strict=True):
            y_bar = bars[index]
            play([record], bars, index, index - 1)
            if y_bar is None or index not in calls or has_nan(y_bar):
                continue
            call = calls[index]
            if has_nan(call.value) or any(has_nan(payload) for payload, _ in call.opened):
                continue
            if any(bars[link] is not None and has_nan(bars[link]) for link in parents(record[1])):
                text = shown(call.primitive, [payload for payload, _ in call.opened])
                msg = (
                    f"going back through {text} gave NaN for a cotangent {describe(y_bar)} "
                    f"without one\n  {call.where}"
                )
                raise NanError(msg)

    return play_trapped

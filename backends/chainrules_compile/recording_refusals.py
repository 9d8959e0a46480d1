"""Checks for results that a program cannot give, and the errors for them."""

from __future__ import annotations

import contextlib
import enum
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from chainrules_compile.error_origin import is_not_finite, raised_in
from chainrules_compile.errors import RecordingError, Unfit, behind
from chainrules_compile.internal_functions import name_of
from chainrules_compile.recorded_values import Noted, instead_at
from chainrules_py import ChainRulesError, NotDifferentiableError, Primitive
from chainrules_py.extend import Line, TreeDef, attributes, flatten, is_library, told, type_info


def recordable(cls: type) -> bool:
    """Return whether values of a class can be recorded: arrays and numbers, but not bool and int.

    Members of an enum, and numbers of a user-defined class with other arithmetic, cannot.
    """
    info = type_info(cls)
    own = issubclass(cls, (float, complex)) and not hasattr(cls, "dtype")
    if issubclass(cls, (int, enum.Enum)) or (own and not info.is_plain_number):
        return False
    return info.is_array or info.is_number


def has_own(x: Any) -> bool:
    """Return whether a number has additional attributes, which a recorded number would lose."""
    return not type_info(type(x)).is_array and bool(attributes(x))


def parts_of(function: Any, y: Any) -> tuple[list[Any], TreeDef]:
    """Flatten the result of a call.

    Raises
    ------
    Unfit
        If it is a library object without known numbers, as some sparse arrays are.
    """
    try:
        return flatten(y)
    except NotDifferentiableError as error:
        raise Unfit(
            f"{name_of(function)} gives a {type(y).__name__}, of which no program is made: {error}"
        ) from error


def check_leaves(function: Any, leaves: Iterable[Any]) -> None:
    """Raise for a result that is not an array, a number, or a structure of them.

    Raises
    ------
    RecordingError
        The message says what to write instead.
    Unfit
        If the function is an operation of this package that chooses by numbers what it computes,
        or belongs to another library.
    """
    for y in leaves:
        if isinstance(y, Noted):
            raise RecordingError(
                f"{name_of(function)} looks up, and is not given, a value that is computed in a "
                f"function that is being compiled; give it as an argument"
            )
        known = y is None or isinstance(y, (bool, int, type, np.dtype)) or recordable(type(y))
        if known:
            continue
        if isinstance(function, Primitive) and function.__module__.startswith("chainrules_"):
            raise Unfit(
                f"{name_of(function).removesuffix('_steps')} chooses its steps by numbers, and "
                f"would choose others at the next call; fixed steps, by scan, are a program"
            )
        msg = (
            f"{name_of(function)} gives a {type(y).__name__}, which is another at the next call "
            f"and which no program has"
        )
        home = getattr(function, "__module__", None) or "numpy"
        if is_library(home) and not home.startswith("numpy"):
            raise Unfit(msg)
        raise RecordingError(f"{msg}; call it outside, and name what it gives in static=")


_OF_C = re.compile(r"must be numpy\.ndarray, not ndarray$")
"""Error of Cython code for a recorded array, whose class has the same name as `numpy.ndarray`."""
_UNBOUND = re.compile(r"descriptor '(\w+)' (?:for|requires an?) '([\w.]+)'")


def refusal(name: str, error: BaseException, again: Callable[[], Any]) -> RecordingError | Unfit:
    """Return the error to raise for an exception of a function that is being recorded.

    It is `Unfit` if a library raises the exception, as the user cannot rewrite that line, and for
    this call alone if a gradient is not finite.
    """
    if is_not_finite(error):
        return Unfit(
            "a gradient is not finite here, and which of it is zero by structure is found by its "
            "numbers; calls where it is finite are compiled: as with np.log(np.where(x > 0, x, 1)) "
            "for a logarithm of zeros that np.where leaves out",
            once=True,
        )
    if isinstance(error, Unfit):
        return error
    found = behind(error)
    if found is None:
        again()  # usually raises the same exception
        if isinstance(error.__cause__, Unfit):
            return error.__cause__
    line = Line.of(error)
    who = raised_in(line, error)
    if not who and isinstance(error, TypeError) and _OF_C.search(str(error)):
        who = "what is written in C"
    # A tape raises an error of its own because of that of the called function.
    at = Line.of(error.__cause__ or error) if isinstance(error, ChainRulesError) else line
    write = "" if at is None or found is error else instead_at(at)
    if who:
        said = f"{who} raises {type(error).__name__} of values that are noted: {error}"
        return Unfit(told(said, line, write) if write else said)
    if found is not None:
        return found
    method = _UNBOUND.match(str(error))
    remedy = write or (
        "write np.stack([x, y]) for np.array([x, y]), and np.column_stack([a, b]) for np.c_[a, b]"
        if re.search(r"dtype\('O'\)|numpy\.object_", str(error))
        else "leave what does so outside, or make it a primitive"
    )
    if method is not None:  # a class written in C accepts only its own instances
        operation, cls = method.groups()
        remedy = f"what is noted has it itself: write x.{operation} for {cls}.{operation}"
    said = str(error)
    if isinstance(error, ChainRulesError):  # what it says to write is for a function that is traced
        said = said.rpartition("\n")[0] or said
    made = RecordingError(
        f"{name} raises {type(error).__name__}: {said}, where it is recorded, and gives a result "
        f"without compile; {remedy}"
    )
    made.__cause__ = error
    return made


def another_result(raised: Exception | None, how: str = "runs as it is") -> str:
    """Return the message that a program and its function give different results."""
    return (
        f"gives another result than the program that was recorded of it, and {how}: it computes "
        f"otherwise each time, or looks at the class of an argument, or asks whether two are one "
        f"object, or a number between is too large or too small, or so much cancels that few "
        f"digits are left{'' if raised is None else f' (the program raised {raised!r})'}"
    )


@contextlib.contextmanager
def defects() -> Iterator[None]:
    """Convert unexpected errors of passes and writers, so that the function runs uncompiled.

    Raises
    ------
    Unfit
        In place of an unexpected error.
    """
    try:
        yield
    except _DEFECTS as error:
        raise Unfit(
            f"its calls were recorded, and could not be written ({type(error).__name__}: {error}), "
            f"which is a defect of chainrules_compile; please report it"
        ) from error


_DEFECTS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, SyntaxError),
    *(TypeError, ValueError),
)

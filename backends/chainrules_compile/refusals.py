"""Refusals: what a call may give that a program can give again."""

from __future__ import annotations

import contextlib
import enum
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from chainrules_compile.blame import functions_of, raised_in
from chainrules_compile.calls import name_of
from chainrules_compile.errors import RecordingError, Unfit, behind
from chainrules_compile.recorded_values import Noted
from chainrules_py import ChainRulesError, NotDifferentiableError, Primitive
from chainrules_py.extend import TreeDef, attributes, flatten, is_library, type_info


def recordable(cls: type) -> bool:
    """Tell whether a value of a class can be noted: an array or a number, and no bool or int.

    Nor is a number of somebody's own class that computes otherwise, or a member of an enum.
    """
    info = type_info(cls)
    own = issubclass(cls, (float, complex)) and not hasattr(cls, "dtype")
    if issubclass(cls, (int, enum.Enum)) or (own and not info.is_plain_number):
        return False
    return info.is_array or info.is_number


def has_own(x: Any) -> bool:
    """Tell whether a number has attributes of its own, which what is noted in its place has not."""
    return not type_info(type(x)).is_array and bool(attributes(x))


def is_ours(function: Any) -> bool:
    """Tell whether a function is an operation of this library."""
    return isinstance(function, Primitive) and function.__module__.startswith("chainrules_")


def of_library(function: Any) -> bool:
    """Tell whether a function is an installed library's, and not NumPy's, of which we know more."""
    home = getattr(function, "__module__", None) or "numpy"
    return is_library(home) and not home.startswith("numpy")


def check_nothing(function: Any) -> None:
    """Raise for a function that gives nothing, and is none of ours, which only looks.

    Raises
    ------
    RecordingError
        With the line to write.
    """
    if is_ours(function):
        return
    msg = (
        f"{name_of(function)} gives nothing, so it writes somewhere, and a program would not: "
        f"use what a function gives"
    )
    raise RecordingError(msg)


def parts_of(function: Any, y: Any) -> tuple[list[Any], TreeDef]:
    """Take apart what a call gives.

    Raises
    ------
    Unfit
        If it is an object of a library whose numbers are not known, as some sparse arrays are.
    """
    try:
        return flatten(y)
    except NotDifferentiableError as error:
        msg = (
            f"{name_of(function)} gives a {type(y).__name__}, of which no program is made: {error}"
        )
        raise Unfit(msg) from error


def check_leaves(function: Any, leaves: Iterable[Any]) -> None:
    """Raise for a result that is no array, number, or structure of them.

    Raises
    ------
    RecordingError
        With the line to write.
    Unfit
        If it is an operation of ours that decides, by numbers, what is computed next; or a
        library's.
    """
    for y in leaves:
        if isinstance(y, Noted):
            msg = (
                f"{name_of(function)} looks up, and is not given, a value that is computed in a "
                f"function that is being compiled; give it as an argument"
            )
            raise RecordingError(msg)
        known = y is None or isinstance(y, (bool, int, type, np.dtype)) or recordable(type(y))
        if known:
            continue
        if is_ours(function):
            msg = (
                f"{name_of(function)} chooses by numbers what is computed, as the steps of a "
                f"solver, and would choose otherwise at the next call"
            )
            raise Unfit(msg)
        msg = (
            f"{name_of(function)} gives a {type(y).__name__}, which is another at the next call "
            f"and which no program has"
        )
        if of_library(function):
            raise Unfit(msg)
        raise RecordingError(f"{msg}; call it outside, and name what it gives in static=")


_OF_C = re.compile(r"must be numpy\.ndarray, not ndarray$")
"""Arguments that a library takes apart in C: only a noted array is one, and none, by its name."""
_UNBOUND = re.compile(r"descriptor '(\w+)' (?:for|requires an?) '([\w.]+)'")


def refusal(name: str, error: BaseException, again: Callable[[], Any]) -> RecordingError | Unfit:
    """Return the error for one that a function raises where it is recorded, and not again.

    It runs as it is where a library raises that, of which nobody is going to write a line.
    """
    if "strong_pass" in functions_of(error.__traceback__):
        return Unfit("a gradient is not finite here: what is zero by structure is found", once=True)
    found = behind(error)
    if found is None:
        again()  # which raises it as well, most often
        if isinstance(error.__cause__, Unfit):
            return error.__cause__
    who = raised_in(error.__traceback__)
    if not who and isinstance(error, TypeError) and _OF_C.search(str(error)):
        who = "what is written in C"
    if who:
        return Unfit(f"{who} raises {type(error).__name__} of values that are noted: {error}")
    if found is not None:
        return found
    method = _UNBOUND.match(str(error))
    remedy = "leave what does so outside, or make it a primitive"
    if method is not None:  # of a class written in C, which takes none but its own
        operation, cls = method.groups()
        remedy = f"what is noted has it itself: write x.{operation} for {cls}.{operation}"
    made = RecordingError(
        f"{name} raises {type(error).__name__}: {error}, where it is recorded, and gives a result "
        f"without compile; {remedy}"
    )
    made.__cause__ = error
    return made


def of_this_call(error: Unfit) -> Unfit:
    """Return an error that holds for this call alone, where a gradient is not finite in it."""
    if "strong_pass" not in functions_of(error.__traceback__):
        return error
    return Unfit("a gradient is not finite here: what is zero by structure is found", once=True)


NOT_CALLED = "was not called yet, so there is no program; call it first"


OF_OTHER_NUMBERS = (
    "what was written does not fit the numbers of this call, as where a matrix has no factor"
)


def may_fit_others(raised: Exception | None, target: str) -> bool:
    """Tell whether a program that gives nothing may fit other numbers: what it factors has none."""
    return isinstance(raised, np.linalg.LinAlgError) or (raised is None and target != "numpy")


def another_result(raised: Exception | None) -> str:
    """Say that a program gives another result than its function, and what may be the reason."""
    return (
        f"gives another result than the program that was recorded of it, so it runs as it is: it "
        f"computes otherwise each time, or looks at the class of an argument, or asks whether two "
        f"are one object, or a number between is too large or too small"
        f"{'' if raised is None else f' (the program raised {raised!r})'}"
    )


@contextlib.contextmanager
def defects() -> Iterator[None]:
    """Have a function run as it is where passes or a writer fail, which is no fault of its own.

    Raises
    ------
    Unfit
        In place of an error that none of them raises on purpose.
    """
    try:
        yield
    except ChainRulesError:
        raise
    except _DEFECTS as error:
        msg = (
            f"its calls were recorded, and could not be written ({type(error).__name__}: {error}), "
            f"which is a defect of chainrules_compile; please report it"
        )
        raise Unfit(msg) from error


_DEFECTS = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, SyntaxError),
    *(TypeError, ValueError),
)

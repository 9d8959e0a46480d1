"""The checks of what a call leaves behind: in the function, in random state, and in later calls."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_diagnosis import is_named
from chainrules_py.errors import ChainRulesError
from chainrules_py.testing.checks.layouts import agree
from chainrules_py.testing.data.case import Case
from chainrules_py.testing.data.differences import derivative
from chainrules_py.testing.data.values import fingerprint, value_vector
from chainrules_py.testing.errors import WrongError, not_judged_if
from chainrules_py.testing.modes import code_of


def check_state(case: Case) -> None:
    """Check that calls of the function elsewhere change nothing of what a rule gives here."""
    _check_alias(case)
    _check_elsewhere(case)
    _check_generator(case)


def _check_elsewhere(case: Case) -> None:
    moved = case.inputs.moved(case.u[:, -1] / 8)
    if case.has_push:
        before = case.raw.vector(case.push(case.u[:, -1])[1])
        _elsewhere(case, moved)
        if not agree(case, "push", case.raw.vector(case.push(case.u[:, -1])[1]), before):
            msg = "the push is another one after the function was called elsewhere"
            raise WrongError(msg, "state between calls")
    if case.has_pull:
        _, pullback = case.pullback()
        y_bar = case.cotangent(case.w[:, -1])
        before = case.bars_vector(pullback(y_bar))
        _elsewhere(case, moved)
        if not agree(case, "pull", case.bars_vector(pullback(y_bar)), before):
            msg = "a pullback gives something else after the function was called elsewhere"
            raise WrongError(msg, "state between calls")


def _check_alias(case: Case) -> None:
    """Check that a rule's value shares memory with operands only where the function's does."""
    values = [case.kept_pullback()[0]] if case.has_pull else []
    values += [case.push(case.u[:, -1])[0]] if case.has_push else []
    for y in values:
        for x in case.operands:
            arrays = type(x) is np.ndarray and type(y) is np.ndarray is type(case.y)
            if arrays and np.shares_memory(x, y) and not np.shares_memory(x, case.y):
                msg = "the rule's value is the memory of an operand, and the function's is not"
                raise WrongError(msg, "aliased value")


def check_random(case: Case) -> None:
    """Check that a call gives the same again."""
    state = np.random.get_state()  # noqa: NPY002
    try:
        if fingerprint(case.call(*case.operands)) != fingerprint(case.y):
            msg = "two calls with the same operands give two values"
            raise WrongError(msg, "random function")
    finally:
        np.random.set_state(state)  # noqa: NPY002


def _check_generator(case: Case) -> None:
    """Check that a rule seeds nothing that all share: from two states it comes to two others."""
    kept = np.random.get_state()  # noqa: NPY002
    states: list[Any] = []
    try:
        for _ in range(2):
            np.random.set_state(kept)  # noqa: NPY002
            np.random.random(1 + len(states))  # noqa: NPY002
            if case.has_push:
                case.push(case.u[:, -1])
            if case.has_pull:
                case.pullback()[1](case.cotangent(case.w[:, -1]))
            state: Any = np.random.get_state()  # noqa: NPY002
            states.append(fingerprint(state[1:3]))
    finally:
        np.random.set_state(kept)  # noqa: NPY002
    if states[0] == states[1] and not is_named([getattr(case.f, "__wrapped__", case.f)], "seed"):
        raise WrongError("the rule seeds the generator that all share", "random state changed")


def _elsewhere(case: Case, moved: Any) -> None:
    """Call the rule at another point, and use what it gives."""
    other = case.beside(tuple(moved))
    try:
        if case.has_push:
            other.push(case.u[:, -1])
        if case.has_pull:
            y, pullback = other.pullback()
            shapes = [getattr(value, "shape", None) for value in (y, case.y)]
            if type(y) is type(case.y) and shapes[0] == shapes[1]:
                pullback(case.cotangent(case.w[:, -1]))
    except (ChainRulesError, ValueError, ArithmeticError, TypeError, np.linalg.LinAlgError):
        return  # the function does not take that point


def check_nan_entries(case: Case) -> None:
    """Check that one NaN among the operands leaves derivatives finite where the value is finite."""
    judged = False
    for i, (x, part) in enumerate(zip(case.operands, case.parts, strict=True)):
        if type(x) is not np.ndarray or part.kind != "real" or x.size < 2 or case.pick is not None:
            continue
        holed = x.copy()
        holed.reshape(-1)[0] = np.nan
        operands = (*case.operands[:i], holed, *case.operands[i + 1 :])
        judged = _check_beside(case, operands, i) or judged
    not_judged_if(not judged, "no operand may have a NaN, or all of the result is NaN then")


def _check_beside(case: Case, operands: tuple[Any, ...], i: int) -> bool:
    """Check one call with a NaN in an operand, if its value is finite."""
    try:
        values = value_vector(case.call(*operands))
    except Exception:
        return False
    same = len(values) == len(value_vector(case.y)) > 0
    if not same or not np.all(np.isfinite(values)) or not _is_of_numbers(case, operands, i, values):
        return False
    other, first = case.beside(operands), sum(part.size for part in case.parts[:i])
    try:
        bars = other.bars_vector(other.bars()) if case.has_pull else np.zeros(0)
        pushed = other.pushed()[:, -1:] if case.has_push else np.zeros(0)
    except np.linalg.LinAlgError:
        return False
    call, named = (operands, case.options), is_named(code_of(case), "nan")
    if named and len(bars):
        _check_others(case, other, first, bars, i)
    if not named:
        # Where a comparison with a NaN is false the value is a number, and nobody thought of it:
        # what is left are the other numbers of its array.
        bars, pushed = bars[first + 1 : first + case.parts[i].size], np.zeros(0)
    for half, found in (("pull", bars), ("push", pushed)):
        # Where all are NaN, the function has made a finite number of a NaN: there is no derivative.
        if not np.all(np.isfinite(found)) and np.any(np.isfinite(found)):
            msg = f"the value is finite with a NaN in argument {i + 1}, and the {half} is not"
            raise WrongError(msg, "NaN where the value is finite", call=call)
    return True


def _is_of_numbers(case: Case, operands: tuple[Any, ...], i: int, values: Any) -> bool:
    """Tell whether a value is what some number gives in place of the NaN, or NaN is meant.

    LAPACK makes finite eigenvalues of some matrices with a NaN, of which there is no derivative.
    """
    if is_named(code_of(case), "nan"):
        return True
    for number in (case.operands[i].reshape(-1)[0], 0.0, 1.0, -1.0, 1e300, -1e300):
        filled = operands[i].copy()
        filled.reshape(-1)[0] = number
        try:
            found = value_vector(case.call(*operands[:i], filled, *operands[i + 1 :]))
        except Exception:
            continue
        if np.array_equal(found, values):
            return True
    return False


def _check_others(case: Case, other: Case, first: int, bars: Any, i: int) -> None:
    """Check where NaN is meant: it has no cotangent, and the others have that of differences."""
    call = other.operands, case.options
    if bars[first] and np.isfinite(bars[first]):
        msg = f"a NaN in argument {i + 1} is left out, and its cotangent is {bars[first]:.6g}"
        raise WrongError(msg, "cotangent of a NaN", call=call)
    if not case.settled or case.grain:
        return
    u, w, wide = case.u[:, -1].copy(), case.w[:, -1], other.wide()
    u[first] = 0.0
    size = 1.0 / max(float(np.max(np.abs(u) / case.steps)), 1e-300)
    want, error = derivative(lambda t: other.value_there(wide.moved(t * u)), size)
    known = np.all(50 * error <= 1e-6 * np.max(np.abs(want)))
    have = np.delete(bars, first) @ np.delete(u, first)
    if known and not abs(have - w @ want) <= 1e-4 * (np.abs(w) @ np.abs(want)):
        msg = f"with a NaN in argument {i + 1} the pull is {have:.6g} along one direction"
        raise WrongError(f"{msg}, and differences {w @ want:.6g}", "wrong beside a NaN", call=call)

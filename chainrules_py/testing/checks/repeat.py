"""The checks of what a call leaves behind: in the function, in random state, and in later calls."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from chainrules_py.errors import ChainRulesError
from chainrules_py.registry.table import name_of
from chainrules_py.testing.checks.derived import value_at
from chainrules_py.testing.checks.layouts import agree
from chainrules_py.testing.data.backends import to_numpy
from chainrules_py.testing.data.case import Case
from chainrules_py.testing.data.differences import derivative
from chainrules_py.testing.data.values import fingerprint, value_vector
from chainrules_py.testing.diagnosis import is_float_array, of_lengths
from chainrules_py.testing.errors import WrongError, not_judged_if
from chainrules_py.values.type_info import type_info


def check_state(case: Case) -> None:
    """Check that calls elsewhere change nothing of what a rule gives here, nor random numbers."""
    kept = _shared_states()
    try:
        random.random()
        np.random.random()  # noqa: NPY002
        before = _shared_states()
        _check_elsewhere(case)
        changed = not _same_states(before) and not _draws(case)
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])  # noqa: NPY002
    if changed:
        msg = "the rule seeds, or draws from, a generator that all share, and its function does not"
        raise WrongError(msg, "random state changed")


def _draws(case: Case) -> bool:
    """Tell whether a function draws itself, here or for operands of twice the length.

    Functions of matrices are differentiated by those of twice as large ones, and SciPy's draw for
    these alone.
    """
    before = _shared_states()
    for operands in (case.operands, tuple(map(_of_twice_the_length, case.operands))):
        value_at(case, operands)
    return not _same_states(before)


def _of_twice_the_length(x: Any) -> Any:
    x = to_numpy(x) if type_info(type(x)).is_array else x
    n = x.shape[-1] if is_float_array(x) and x.ndim else 0
    return of_lengths(n, 2 * n)(x) if n else x


def _check_elsewhere(case: Case) -> None:
    y_bar, pushed = case.cotangent(case.w[:, -1]), case.kept_push() if case.has_push else None
    y, pullback = case.pullback() if case.has_pull else (None, None)
    for value in (y, None if pushed is None else pushed[0]):
        _check_alias(case, value)
    pulled = case.bars_vector(pullback(y_bar)) if pullback else None
    _elsewhere(case, case.inputs.moved(case.u[:, -1] / 8))
    if pushed is not None:
        again = case.raw.vector(case.push(case.u[:, -1])[1])
        if not agree(case, "push", again, case.raw.vector(pushed[1])):
            msg = "the push is another one after the function was called elsewhere"
            raise WrongError(msg, "state between calls")
    if pullback is not None and not agree(case, "pull", case.bars_vector(pullback(y_bar)), pulled):
        msg = "a pullback gives something else after the function was called elsewhere"
        raise WrongError(msg, "state between calls")


def _check_alias(case: Case, y: Any) -> None:
    """Check that a rule's value shares memory with operands only where the function's does."""
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


def _shared_states() -> tuple[Any, Any]:
    return random.getstate(), np.random.get_state()  # noqa: NPY002


def _same_states(before: tuple[Any, Any]) -> bool:
    now = _shared_states()
    return bool(now[0] == before[0] and fingerprint(now[1][1:3]) == fingerprint(before[1][1:3]))


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
    call, named = (operands, case.options), _means_nan(case)
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
    if _means_nan(case):
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


def _means_nan(case: Case) -> bool:
    """Tell whether a function is called after what it makes of NaN, as ``nansum``."""
    return "nan" in name_of(case.f).lower()


def _check_others(case: Case, other: Case, first: int, bars: Any, i: int) -> None:
    """Check where NaN is meant: it has no cotangent, and the others have that of differences."""
    call = other.operands, case.options
    if bars[first] and np.isfinite(bars[first]):
        msg = f"a NaN in argument {i + 1} is left out, and its cotangent is {bars[first]:.6g}"
        raise WrongError(msg, "cotangent of a NaN", call=call)
    if not case.settled:
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

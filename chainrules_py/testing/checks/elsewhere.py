"""The check of arrays of another library, and the reason why a rule for NumPy's alone is one."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py.errors import NoRuleError, NotDifferentiableError
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.registry.table import find_rule, primal_of
from chainrules_py.tangents.structural import Tangent
from chainrules_py.testing.checks.derived import value_at
from chainrules_py.testing.checks.layouts import agree
from chainrules_py.testing.data import hostile
from chainrules_py.testing.data.case import Case
from chainrules_py.testing.data.values import mismatch, value_vector
from chainrules_py.testing.diagnosis import is_numpy, scale_of
from chainrules_py.testing.errors import NotJudgedError, WrongError, line_of, not_judged_if


def check_hostile(case: Case) -> None:
    """On arrays whose values nobody can see, the rule computes the same and leaks nothing.

    A rule for NumPy's arrays alone may look at their values; one for structures does not say what
    is in them.
    """
    f: Any = case.f if isinstance(case.f, Primitive) else primal_of(case.f)
    why = "it is no primitive, its shape depends on values, or it is determined up to a gauge"
    not_judged_if(f is None or getattr(f, "shape_from_data", False) or case.gauge is not None, why)
    not_judged_if(not any(map(is_numpy, case.operands)), "no operand is an array of NumPy")
    with hostile.present():
        operands = tuple(map(hostile.as_distant, case.operands))
        y = _value_at(case, f, operands)
        not_judged_if(y is None, "the function, or its rule, takes only arrays of its own library")
        is_meant = bool(hostile.worded)
        try:
            _ask(case, f, operands, y)
        except WrongError as wrong:
            if is_meant:
                raise
            msg = "the rule is NumPy's alone, and the function takes any array: write x: np.ndarray"
            raise NotJudgedError(f"{msg}; {wrong.text}") from wrong


def _value_at(case: Case, f: Any, operands: tuple[Any, ...]) -> Any:
    """Compute the value of distant arrays; None if a function or its rule takes none of them."""
    hostile.leaked.clear()
    hostile.worded.clear()
    y = value_at(case, operands, f)
    known = not hostile.leaked and find_rule(f, tuple(map(type, operands))) is not None
    return y if known else None


def why_no_higher(case: Case, error: Exception) -> str:
    """Say why derivatives of a rule need not exist: it is NumPy's alone, or ends at another one.

    Empty where it is for arrays of other libraries as well: an error is a mistake there.
    """
    f: Any = case.f if isinstance(case.f, Primitive) else primal_of(case.f)
    if f is not None and any(map(is_numpy, case.operands)) and not is_refusal(error):
        with hostile.present():
            operands = tuple(map(hostile.as_distant, case.operands))
            if _value_at(case, f, operands) is not None and hostile.worded:
                return ""
    place, text = line_of(error), str(error).split("\n")[0]
    return (
        f"the rule is NumPy's alone, or calls what has no rule{f' ({place})' if place else ''}: no "
        f"derivative can be taken of it: {type(error).__name__}: {text}"
    )


def is_refusal(error: Exception) -> bool:
    """Tell whether an error says that a derivative is not stated."""
    return isinstance(error, (NoRuleError, NotDifferentiableError, NotImplementedError))


def _ask(case: Case, f: Any, operands: tuple[Any, ...], y: Any) -> None:
    varied = case.beside(operands)
    varied.f, varied.y = f, y
    try:
        _compare_hostile(case, varied)
        if hostile.leaked:
            msg = f"the rule calls NumPy itself: {', '.join(hostile.leaked)}"
            raise WrongError(msg, "leaks NumPy")
    except hostile.ValueAskedError as error:
        raise WrongError(str(error) + _notes(error), error.pattern) from error
    except NotDifferentiableError:
        raise
    except (TypeError, AttributeError) as error:
        hint = "\n  a rule that is for NumPy alone says so: x: np.ndarray"
        text = f"{type(error).__name__}: {error}{_notes(error)}{hint}"
        raise WrongError(text, "leaks NumPy") from error


def _notes(error: BaseException) -> str:
    return "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))


def _compare_hostile(case: Case, varied: Case) -> None:
    if case.has_push:
        tangents = case.tangents(case.u[:, -1])
        y, y_dot = varied.frule(tuple([_hostile_tangent(t) for t in tangents]))
        if problem := mismatch(y_dot, varied.y, "y_dot"):
            raise WrongError(problem, "leaks NumPy")
        want = case.raw.vector(case.frule(tangents)[1])
        values = value_vector(y), value_vector(case.y)
        near = max(1e-9, 1e4 * case.precision) * scale_of(values[1])
        same = np.allclose(*values, rtol=0, atol=near, equal_nan=True)
        if not same or not agree(case, "push", case.raw.vector(y_dot), want):
            msg = "on arrays of another library the push is another one"
            raise WrongError(msg, "depends on the array library")
    if case.has_pull:
        y_bar = case.cotangent(case.w[:, -1])
        bars = varied.pullback()[1](_hostile_tangent(y_bar))
        for name, bar, x in zip(case.operand_names(), bars, varied.operands, strict=True):
            if problem := mismatch(bar, x, f"the cotangent of {name}"):
                raise WrongError(problem, "leaks NumPy")
        if not agree(case, "pull", case.bars_vector(bars), case.bars_vector(case.bars())):
            msg = "on arrays of another library the pull is another one"
            raise WrongError(msg, "depends on the array library")


def _hostile_tangent(t: Any) -> Any:
    if isinstance(t, Tangent):
        return t.map_with(lambda _, part: _hostile_tangent(part))
    return hostile.as_distant(t)

"""The checks of other calls: points, shapes, options, kinds of arrays.

Each call is checked for its value, its types, and both halves along one random direction. Calls
that the function itself rejects are left out.
"""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from chainrules_py.errors import (
    NoRuleError,
    NotDifferentiableError,
    ProjectionError,
    UnsupportedKeywordError,
)
from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.zeros import is_zero
from chainrules_py.testing.budget import unlimited
from chainrules_py.testing.cases.case import SMALL, Case
from chainrules_py.testing.cases.differences import derivative
from chainrules_py.testing.cases.operand_variants import (
    floating,
    is_number,
    is_numpy,
    is_whole,
    meet,
)
from chainrules_py.testing.cases.value_comparison import fingerprint, narrowed
from chainrules_py.testing.checks import call_variants as derived
from chainrules_py.testing.checks.call_variants import Call
from chainrules_py.testing.checks.contract import check_types
from chainrules_py.testing.checks.derivatives import (
    check_adjoint,
    check_push,
    check_value,
    wrong_halves,
)
from chainrules_py.testing.diagnosis import is_said, name_at_call
from chainrules_py.testing.errors import SkippedCheckError, WrongError, skip_if
from chainrules_py.testing.find_rule import recipes
from chainrules_py.testing.report.case_diagnosis import diagnose
from chainrules_py.values.structure import is_structure_type

_REFUSALS = (NoRuleError, NotDifferentiableError, UnsupportedKeywordError, NotImplementedError)
_WHOLE = 12


_CHECKS = check_types, check_value, check_push, check_adjoint


def _judge(case: Case, call: Call, few: bool = True) -> None:
    """Check another call, if the function takes it; with ``few`` along one random direction."""
    name = f"wrong only for {call.name}" if call.name else ""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        varied = _other(case, call, few)
        if varied is None or (not name and any(map(varied.is_held, range(len(call.operands))))):
            return  # the rule states no derivative for an integer operand
        where = call.operands, call.options
        try:
            for check in _CHECKS:
                with contextlib.suppress(SkippedCheckError):
                    check(varied)
        except _REFUSALS:
            return
        except WrongError as wrong:
            is_nan = wrong.pattern.startswith("NaN")
            if is_nan and few and varied.inputs.size <= SMALL:
                _judge(case, call, few=False)  # f itself may be NaN nearby, in one of its operands
                return
            if is_nan and _is_nobodys(case, varied, name):
                return
            if wrong.derivative and (case.rounds or varied.rounds):
                return  # differences of a function that rounds are those of a staircase
            with unlimited():
                part = diagnose(varied, case)[0] if wrong.derivative else ""
            inner = part or wrong.pattern
            raise WrongError(wrong.text, name_at_call(name, inner), call=where) from wrong
        except Exception as error:
            # The text 'other' is ours: a rule need not know it.
            if "'other'" in call.name or _says_nothing(case, varied, call.name, error):
                return
            kind = type(error).__name__
            raise WrongError(
                f"the function takes this call, and its rule raises {kind}: {error}",
                f"{name} (raises {kind})".strip(),
                call=where,
            ) from error


def _other(case: Case, call: Call, few: bool) -> Case | None:
    """Return the case of another call; None where the function rejects it, or diverges."""
    try:
        varied = case.another(call.operands, call.options, few=few, derived=True, near=case)
    except Exception:
        return None
    varied.jointly = not few
    varied.is_extreme = any(operation in call.name for operation in ("large", "small", "float32"))
    if "large" in call.name:
        varied.slack = varied.tolerance = max(varied.slack, 5e-2)
    ys = [np.abs(c.vector_of_values()) for c in (case, varied)]
    most = np.inf if varied.is_extreme else 1e60 * max(1.0, np.max(ys[0], initial=0.0))
    return varied if np.all(ys[1] < most) else None


def _is_nobodys(case: Case, varied: Case, name: str) -> bool:
    """Return whether a NaN may come from overflow, underflow or a distance, and not from the rule.

    Where two operands are equal, a distance has no derivative. Operands that are all zero are equal
    too: they count as a distance only if other numbers showed one before.
    """
    if not varied.settled and "large" in name:
        return True
    extreme = any(operation in name for operation in ("small", "ties", "same object"))
    if extreme and not np.any(varied.seen(varied.y)) and varied.settled:
        return not np.any(varied.judged()[0])  # all underflows
    arrays = [np.asarray(x) for x in varied.operands if is_numpy(x) or is_number(x)]
    arrays = [x for x in arrays if x.size]
    equal = any(meet(x, y) for x, y in itertools.combinations(arrays, 2))
    case.is_distance = equal and (case.is_distance or any(map(np.any, arrays)))
    return case.is_distance and not varied.settled


_REFUSES = (ValueError, ProjectionError)
_UNSAID: tuple[tuple[str, tuple[type[Exception], ...]], ...] = (
    ("leading axis", (Exception,)),
    ("entries", (Exception,)),
    ("0-d", (Exception,)),
    ("a vector", (Exception,)),
    ("whole number", (Exception,)),
    ("for None", (Exception,)),
    ("another shape: one", (IndexError, *_REFUSES)),
    ("a number for", (TypeError, AttributeError, *_REFUSES)),
    ("empty", _REFUSES),
    ("axes", (TypeError,)),
)
"""Calls that a function may take by accident, and errors that a rule may raise there."""


def _says_nothing(case: Case, varied: Case, name: str, error: Exception) -> bool:
    """Return whether an error of a rule at another call is no mistake of the rule."""
    if is_said(error) or (isinstance(error, IndexError) and not name):  # the number is an index
        return True
    shapes = [getattr(c.y, "shape", ()) for c in (case, varied)]
    counts = [f"{k}={n}" for k, n in varied.options.items() if type(n) is int and k != "axis"]
    if (
        any(operation in name and isinstance(error, kinds) for operation, kinds in _UNSAID)
        or ("another shape" in name and len(shapes[0]) != len(shapes[1]))
        or ("another length" in name and shapes[0] == shapes[1])
        or (not varied.raw.size and isinstance(error, ValueError))
        or any(count in name for count in counts)
        or isinstance(error, np.linalg.LinAlgError)  # a formula with an inverse, where singular
    ):
        case.refused.append(f"it raises an error with {name}: {error}")
        return True
    return isinstance(error, ArithmeticError) and not varied.settled  # there may be no derivative


def _judge_calls(case: Case, calls: Iterable[Call]) -> None:
    """Check other calls, each of them once; half precision shows too little."""
    skip_if(case.precision > 1e-4, "operands are in half precision")
    seen = [case.operands]
    for call in calls:
        if call.options == case.options and "input" not in call.name:  # "input": another layout
            if any(_identical(call.operands, other) for other in seen):
                continue
            seen.append(call.operands)
        small = case.inputs.size <= (SMALL if call.at_kink else _WHOLE)
        if (call.at_kink and not small) or (case.is_large and call.name not in _AT_LARGE):
            continue
        one_will_do = call.name.startswith(("another", "a leading", "axes"))
        try:
            _judge(case, call, few=not call.at_kink and (case.brief or not small or one_will_do))
        except WrongError as wrong:
            if call.name != derived.DISORDER_OF_SEVERAL:
                raise
            case.refused.append(f"it is wrong with {call.name}: {wrong.pattern}")
    refused, case.refused = case.refused, []
    skip_if(refused, f"all else is right; {''.join(refused[:1])}")


_AT_LARGE = ("another point", "negative operands", "another shape: one element fewer")
"""Calls derived from a large one for which there is no smaller one."""


def _identical(xs: tuple[Any, ...], ys: tuple[Any, ...]) -> bool:
    objects = len(set(map(id, xs))), len(set(map(id, ys)))
    same = objects[0] == objects[1] and _texts(xs) == _texts(ys)
    return same and fingerprint(xs) == fingerprint(ys)


def _texts(xs: tuple[Any, ...]) -> list[str]:
    """Return the representations of the operands that are not numbers."""
    plain = [x for x in xs if not is_structure_type(type(x))]
    return [repr(x) for x in plain if kind_of(x) == "none"]


def judged_at(calls: Callable[[Case], Iterable[Call]]) -> Callable[[Case], None]:
    """Return a check that checks the calls derived from a case."""

    def check(case: Case) -> None:
        skip_if(case.gauge is not None, "the result is determined up to a gauge")
        found = list(calls(case))
        skip_if(not found, "no other call follows from this one")
        _judge_calls(case, found)

    return check


check_nearby, check_first = judged_at(derived.near_calls), judged_at(derived.first_calls)
check_points, check_shapes = judged_at(derived.point_calls), judged_at(derived.shape_calls)
check_options = judged_at(derived.option_calls)


def check_whole_numbers(case: Case) -> None:
    """Check the rule at other integers, and at floating-point numbers in place of integers."""
    calls = list(derived.whole_number_calls(case))
    skip_if(not calls, "no operand is a whole number that could be any number")
    _judge_calls(case, calls)
    _check_partials_of_whole(case)


def _check_partials_of_whole(case: Case) -> None:
    """Check the derivative to an integer, if a rule returns one, where f takes floats there."""
    w = case.w[:, -1]
    for i, x in enumerate(case.operands if case.has_pull and len(w) else ()):
        bar = case.bars()[i] if is_whole(x) else None
        if bar is None or is_zero(bar):
            continue
        value = lambda t, i=i: case.value_there(
            (*case.operands[:i], floating(case.operands[i], t), *case.operands[i + 1 :])
        )
        with contextlib.suppress(TypeError):  # it takes only integers
            want, error = derivative(value, max(1.0, float(np.max(np.abs(x)))))
            known = np.all(50 * error <= 1e-6 * np.max(np.abs(want), initial=0.0))
            have, right = float(np.sum(bar)), float(w @ want)
            if known and not abs(have - right) <= 1e-4 * (np.abs(w) @ np.abs(want)):
                name = f"argument {i + 1} ({case.operand_names()[i]})"
                raise WrongError(
                    f"the pull to the whole number {name} is {have:.6g}, not {right:.6g}",
                    f"wrong numbers for {name}",
                )


def check_varied(case: Case, vary: Mapping[str, tuple[Any, ...]]) -> None:
    """Check every value that is given for an option, or for an operand by its name."""
    names = case.operand_names()
    for name, value in [(name, value) for name, values in vary.items() for value in values]:
        plain = np.ndim(value) == 0 or type(value) is tuple
        told = f"{name}={value!r}" if plain else f"another {name}"
        if name in names:
            i = names.index(name)
            operands = (*case.operands[:i], value, *case.operands[i + 1 :])
            _judge(case, Call(told, operands, case.options))
        else:
            _judge(case, Call(told, case.operands, {**case.options, name: value}))


def check_single(case: Case) -> None:
    """Check the rule with operands in single precision: value, types, and both halves."""
    alike: Any = lambda x, n: n if n is x or not isinstance(x, np.ndarray) else x.astype(n.dtype)
    narrow = tuple([alike(x, narrowed(x)) for x in case.operands])  # arrays keep their class
    same = all(a is b for a, b in zip(narrow, case.operands, strict=True))
    skip_if(same, "no operand is an array in double precision")
    try:
        single = case.another(narrow, derived=True, few=True)
    except Exception as error:
        raise SkippedCheckError("in single precision the function raises an error") from error
    check_value(single)
    check_types(single)
    skip_if(case.gauge is not None, "the result is determined up to a gauge")
    halves = [Case.pushed] * case.has_push + [Case.pulled] * case.has_pull
    seen = all(np.all(np.isfinite(half(single))) for half in halves)
    skip_if(not seen, "in single precision there are no numbers of this size")
    if wrong_halves(single) != []:
        _judge(case, Call("float32", narrow, case.options))


def check_complex(case: Case) -> None:
    """Check that a rule that takes complex operands returns the real adjoint there.

    Many rules are for real operands only, so that a mistake of a rule that is called with real
    operands is reported, but is no failure. It is a failure if the rule states ``complex=``, or if
    another operand, or the result, is complex.
    """
    xs = case.operands
    real = [
        p.kind == "real" and is_numpy(x) and x.size for p, x in zip(case.parts, xs, strict=True)
    ]
    why = "no real array of NumPy among the operands, or they are complex already"
    skip_if(not any(real) or case.gauge is not None or case.is_large, why)
    nonzero: Any = lambda x: x + np.asarray(x == 0, x.dtype) / 4
    turn: Any = lambda x: nonzero(x) * np.asarray(1 + 0.3j, np.result_type(x, np.complex64))
    operands = tuple([turn(x) if r else x for r, x in zip(real, xs, strict=True)])
    said = {getattr(r, "complex", None) for r in recipes(case)} & {"holomorphic", "real"}
    of = "".join([f", of which it says complex={x!r}" for x in list(said)[:1]])
    if said or any(part.kind == "complex" for part in (*case.parts, case.raw)):
        _judge(case, Call(f"complex operands{of}", operands, case.options))
        return
    try:
        varied = case.another(operands, derived=True, few=True)
        check_value(varied)
        wrong = wrong_halves(varied) or []
    except WrongError:
        wrong = ["value"]
    except Exception:  # the function or its rule rejects complex operands
        return
    skip_if(
        wrong, f"its {' and '.join(wrong)} is wrong with complex operands: give some to check it"
    )

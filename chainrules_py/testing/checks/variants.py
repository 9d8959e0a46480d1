"""Variations of the call that was given: shapes, options, kinds of arrays.

A variant is judged by a few numbers: value, types, and both halves along one random direction. It
is left out where the function itself does not take it.
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
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.zeros import is_zero
from chainrules_py.testing.budget import unlimited
from chainrules_py.testing.checks import derived
from chainrules_py.testing.checks.contract import check_strong_zero, check_types
from chainrules_py.testing.checks.derivatives import (
    check_adjoint,
    check_finite,
    check_push,
    check_value,
    wrong_halves,
)
from chainrules_py.testing.checks.derived import Call
from chainrules_py.testing.data.case import SMALL, Case
from chainrules_py.testing.data.closer import is_continuous
from chainrules_py.testing.data.differences import derivative
from chainrules_py.testing.data.values import differs, fingerprint, narrowed
from chainrules_py.testing.diagnosis import (
    first_element,
    floating,
    is_number,
    is_numpy,
    is_said,
    is_sorted,
    is_whole,
    meet,
    name_at_call,
    other_axes,
    read_only,
    strided,
    with_zeros,
)
from chainrules_py.testing.errors import NotJudgedError, WrongError, not_judged_if
from chainrules_py.testing.modes import recipes
from chainrules_py.testing.report.patterns import diagnose
from chainrules_py.values.structure import is_structure_type

_REFUSALS = (NoRuleError, NotDifferentiableError, UnsupportedKeywordError, NotImplementedError)


# -------------------------------------------------------------------- other calls of a function


_WHOLE = 12


def _check_runs(case: Case) -> None:
    """Check that a rule runs where there is nothing to compare."""
    if not case.inputs.size and case.has_pull:
        case.pullback()[1](case.cotangent(np.zeros(case.raw.size)))


_CHECKS = _check_runs, check_types, check_value, check_push, check_adjoint


def _judge_variant(
    case: Case,
    name: str,
    operands: tuple[Any, ...],
    options: dict[str, Any],
    few: bool = True,
) -> None:
    """Judge one other call, if the function takes it; with ``few`` along one random direction."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            how = case.gauge, case.smooth, 0, None
            varied = Case(case.f, operands, options, *how, few=few, derived=True, near=case)
        except Exception:
            return  # the function itself does not take it
        varied.jointly = not few
        varied.is_extreme = any(word in name for word in ("large", "small", "float32"))
        ys = [np.abs(c.vector_of_values()) for c in (case, varied)]
        most = np.inf if varied.is_extreme else 1e60 * max(1.0, np.max(ys[0], initial=0.0))
        if not np.all(ys[1] < most):  # what iterates may diverge there
            return
        call = operands, options
        if not name and any(map(varied.is_held, range(len(operands)))):
            return  # what was a whole number stays one: the rule says so
        is_told = few or varied.precision > 1e-4 or is_continuous(varied)  # but for rounding
        checks = _CHECKS if is_told else (check_finite,)
        checks = checks if few or varied.is_extreme else (check_strong_zero, *checks)
        if "large" in name:
            varied.slack = varied.tolerance = max(varied.slack, 5e-2)
        varied.has_push, varied.has_pull = case.has_push, case.has_pull
        try:
            for check in checks:
                try:
                    check(varied)
                except NotJudgedError:
                    continue
        except _REFUSALS:
            return
        except WrongError as wrong:
            if wrong.pattern.startswith("NaN") and _is_nobodys(case, varied, name):
                return
            if wrong.derivative and (case.rounds or varied.rounds):
                return  # its differences are those of a staircase
            if wrong.derivative and _is_that_of(case, varied):
                raise WrongError(wrong.text, "state between calls", call=call) from wrong
            with unlimited():
                part = diagnose(varied, case)[0] if wrong.derivative else ""
            inner = part or wrong.pattern
            raise WrongError(wrong.text, name_at_call(name, inner), call=call) from wrong
        except Exception as error:
            if _says_nothing(case, varied, name, error):
                return
            kind = type(error).__name__
            msg = f"the function takes this call, and its rule raises {kind}: {error}"
            raise WrongError(msg, f"{name} (raises {kind})".strip(), call=call) from error


def _is_nobodys(case: Case, varied: Case, name: str) -> bool:
    """Tell whether a NaN may be none of the rule's: of overflow, of nothing, or of a distance.

    Where two operands are equal a distance has no derivative. At zeros they are equal as well:
    there it is, if it was with other numbers.
    """
    if not varied.settled and "large" in name:
        return True
    extreme = any(word in name for word in ("small", "ties", "same object"))
    if extreme and not np.any(varied.seen(varied.y)) and varied.settled:
        return not np.any(varied.judged()[0])  # all underflows
    arrays = [np.asarray(x) for x in varied.operands if is_numpy(x) or is_number(x)]
    arrays = [x for x in arrays if x.size]
    equal = any(meet(x, y) for x, y in itertools.combinations(arrays, 2))
    case.is_distance = equal and (case.is_distance or any(map(np.any, arrays)))
    return case.is_distance and not varied.settled


def _is_that_of(case: Case, varied: Case) -> bool:
    """Tell whether a derivative is, bit for bit, that of another call, where it was right."""
    cases = case, varied
    kinds = {(str(c.options), *_texts(c.operands), c.raw.size, c.inputs.size) for c in cases}
    if len(kinds) > 1 or not case.has_pull:
        return False
    u, w = case.u[:, -1], case.w[:, -1]
    bars = [c.bars_vector(c.pullback()[1](c.cotangent(w))) for c in cases]
    if not np.any(bars[0]) or not np.array_equal(*bars) or np.array_equal(case.raw.x, varied.raw.x):
        return False
    # The derivative may be the same all around, as that of the largest element is.
    beside = Case(case.f, case.inputs.moved(u / 64), case.options, None, True, 0, None, few=True)
    slopes = [c.differences(case.u[:, -1:])[0] for c in (case, beside)]
    return slopes[0].shape == slopes[1].shape and not np.allclose(slopes[0], slopes[1], 1e-6)


def _says_nothing(case: Case, varied: Case, name: str, error: Exception) -> bool:
    """Tell whether an error of a rule is none that its author would mend."""
    if isinstance(error, IndexError) and not name:
        return True  # what was a whole number was an index
    if is_said(error):
        return True
    shapes = [getattr(c.y, "shape", ()) for c in (case, varied)]
    alike = shapes[0] == shapes[1]
    refuses = isinstance(error, ValueError) and not isinstance(error, np.linalg.LinAlgError)
    refuses |= isinstance(error, ProjectionError)
    what = name.removeprefix("wrong only for ")
    counts = {k: n for k, n in varied.options.items() if type(n) is int and k != "axis"}
    if (
        "leading axis" in name
        or "entries" in name
        or "0-d" in name
        or "a vector" in name
        or ("fewer" in name and isinstance(error, (IndexError, ValueError)))
        or "whole number" in name
        or name.endswith("for None")
        or " spelled " in name
        or ("another shape" in name and len(shapes[0]) != len(shapes[1]))
        or ("another length" in name and alike)
        or ("another shape" in name and alike and shapes[0] and refuses)
        or ("a number for" in name and (refuses or isinstance(error, (TypeError, AttributeError))))
        or (("empty" in name or not varied.raw.size) and isinstance(error, ValueError))
        or ("empty" in name and varied.raw.size and refuses)  # a sum of nothing
        or ("axes" in name and isinstance(error, TypeError))
        or ("axes=" in name and "-1" in name and refuses)
        or any(f"{k}={n}" in name for k, n in counts.items())
        or _is_short_of(case, varied)
        or isinstance(error, np.linalg.LinAlgError)  # a formula by the inverse, at singular ones
    ):
        # A function may happen to take what the rule was not meant for: it is told, no more.
        case.refused.append(f"it raises an error with {what}: {error}")
        return True
    if _is_of_even_lengths(case, varied, name):
        case.refused.append(f"it raises an error with {what}, and not with two: {error}")
        return True
    return isinstance(error, ArithmeticError) and not varied.settled  # there may be no derivative


def _is_of_even_lengths(case: Case, varied: Case, name: str) -> bool:
    """Tell whether a rule that raises one element away is right two away, as of odd lengths."""
    if "one element" not in name:
        return False
    for cut in (lambda x: x[..., :-2], lambda x: np.concatenate([x, x[..., :2]], axis=-1)):
        operands = _with(case, lambda _, x, cut=cut: cut(x))  # type: ignore[misc]
        try:
            two = Case(case.f, operands, case.options, None, case.smooth, 0, None, few=True)
            two.has_push, two.has_pull = case.has_push, case.has_pull
            for check in (check_types, check_value, check_push, check_adjoint):
                check(two)
        except Exception:
            return False
    return True


def _is_short_of(case: Case, varied: Case) -> bool:
    """Tell whether arrays are shorter than a whole number among the options that they were not."""
    lengths = [max([0, *(n for x in c.operands for n in np.shape(x))]) for c in (case, varied)]
    return any(type(n) is int and lengths[1] < n <= lengths[0] for n in case.options.values())


def _tell_refused(case: Case) -> None:
    """Say which calls, of those that were tried last, say nothing: a rule raises an error there."""
    refused, case.refused = case.refused, []
    first = refused[0] if refused else ""
    not_judged_if(refused, f"all else is right; {first}")


def _judge_calls(case: Case, calls: Iterable[Call]) -> None:
    """Judge derived calls, each of them once; in half precision there is little to be seen."""
    not_judged_if(case.precision > 1e-4, "operands are in half precision")
    seen = [case.operands]
    for name, operands, options in calls:
        if options == case.options:
            if any(_identical(operands, other) for other in seen):
                continue
            seen.append(operands)
        pattern = f"wrong only for {name}" if name else ""
        at_kinks = name in derived.AT_KINKS
        if at_kinks and case.inputs.size > SMALL:
            continue
        if case.is_large and name not in derived.AT_LARGE:
            continue
        one_will_do = name.startswith(("another", "a leading", "axes", "signs"))
        few = not at_kinks and (case.brief or case.inputs.size > _WHOLE or one_will_do)
        try:
            _judge_variant(case, pattern, operands, options, few=few)
        except WrongError as wrong:
            if name == derived.DISORDER_OF_SEVERAL:
                case.refused.append(f"it is wrong with {name}: {wrong.pattern}")
                continue
            for call in derived.row_calls(case, name, operands):
                _judge_variant(case, f"wrong only for {call.name}", call.operands, options)
            raise
    _tell_refused(case)


def _identical(xs: tuple[Any, ...], ys: tuple[Any, ...]) -> bool:
    objects = len(set(map(id, xs))), len(set(map(id, ys)))
    same = objects[0] == objects[1] and _texts(xs) == _texts(ys)
    return same and fingerprint(xs) == fingerprint(ys)


def _texts(xs: tuple[Any, ...]) -> list[str]:
    """Write out the operands that are no numbers."""
    plain = [x for x in xs if not is_structure_type(type(x))]
    return [repr(x) for x in plain if kind_of(x) == "none"]


def judged_at(calls: Callable[[Case], Iterable[Call]]) -> Callable[[Case], None]:
    """Make the check that judges such other calls."""

    def check(case: Case) -> None:
        not_judged_if(case.gauge is not None, "the result is determined up to a gauge")
        _judge_calls(case, calls(case))

    return check


check_nearby, check_first = judged_at(derived.near_calls), judged_at(derived.first_calls)
check_points = judged_at(derived.point_calls)
check_other_shapes = judged_at(derived.shape_calls)


def check_other_options(case: Case) -> None:
    """Check the rule with other values of its options, by their type and annotation."""
    calls = list(derived.option_calls(case))
    why = "no option of a type that others follow from, or it is determined up to a gauge"
    not_judged_if(not calls or case.gauge is not None, why)
    _judge_calls(case, calls)


def check_whole_numbers(case: Case) -> None:
    """Check the rule at other whole numbers, and at floating-point ones, where whole are given."""
    calls = list(derived.whole_number_calls(case))
    not_judged_if(not calls, "no operand is a whole number that could be any number")
    _judge_calls(case, calls)
    _check_partials_of_whole(case)


def _check_partials_of_whole(case: Case) -> None:
    """Check the partial of a whole number, if a rule gives any, where its function takes others."""
    w = case.w[:, -1]
    for i, x in enumerate(case.operands if case.has_pull and len(w) else ()):
        bar = case.bars()[i] if is_whole(x) else None
        if bar is None or is_zero(bar):
            continue
        value = lambda t, i=i: case.value_there(
            (*case.operands[:i], floating(case.operands[i], t), *case.operands[i + 1 :])
        )
        with contextlib.suppress(TypeError):  # it takes whole numbers alone
            want, error = derivative(value, max(1.0, float(np.max(np.abs(x)))))
            known = np.all(50 * error <= 1e-6 * np.max(np.abs(want), initial=0.0))
            have, right = float(np.sum(bar)), float(w @ want)
            if known and not abs(have - right) <= 1e-4 * (np.abs(w) @ np.abs(want)):
                name = f"argument {i + 1} ({case.operand_names()[i]})"
                msg = f"the pull to the whole number {name} is {have:.6g}, not {right:.6g}"
                raise WrongError(msg, f"wrong numbers for {name}")


def _arrays(case: Case) -> list[int]:
    return [i for i, x in enumerate(case.operands) if is_numpy(x)]


def _with(case: Case, change: Callable[[int, Any], Any]) -> tuple[Any, ...]:
    arrays = set(_arrays(case))
    return tuple([change(i, x) if i in arrays else x for i, x in enumerate(case.operands)])


def check_shapes(case: Case) -> None:
    """0-d, size 1, empty, broadcast; and a zero, which is where many kinks are."""
    arrays = _arrays(case)
    why = "no operand is an array of NumPy, or the result is determined up to a gauge"
    not_judged_if(not arrays or case.gauge is not None, why)
    # Arrays of integers may be indices into others: they fit together in their own way.
    floating = all(case.parts[i].size or not case.operands[i].size for i in arrays)
    if floating and any(case.operands[i].ndim for i in arrays):
        _check_small(case)
    _check_broadcast(case, arrays)
    for i in arrays:
        x = case.operands[i]
        if case.parts[i].kind == "real" and x.size and not case.is_large:
            # What is sorted stays so.
            place = int(np.argmin(np.abs(x))) if is_sorted(x) else 0
            zeroed = (*case.operands[:i], with_zeros(x, [place]), *case.operands[i + 1 :])
            _judge_variant(case, "wrong only at a zero", zeroed, case.options, few=False)
    for name, lay in _LAYOUTS.items():
        laid = _with(case, lambda _, x, lay=lay: lay(x) if x.ndim and x.size else x)  # type: ignore[misc]
        _judge_variant(case, f"wrong for {name}", laid, case.options)
    _tell_refused(case)


_LAYOUTS: Mapping[str, Callable[[Any], Any]] = {
    "non-contiguous input": strided,
    "non-contiguous input (Fortran order)": np.asfortranarray,
    "read-only input": read_only,
}


def check_single(case: Case) -> None:
    """Check the rule with operands in single precision: everything is in single precision then."""
    narrow = tuple(map(narrowed, case.operands))
    same = all(a is b for a, b in zip(narrow, case.operands, strict=True))
    not_judged_if(same, "no operand is an array in double precision")
    single = _beside(case, narrow)
    not_judged_if(single is None, "in single precision the function raises an error")
    check_types(single)  # type: ignore[arg-type]
    not_judged_if(case.gauge is not None, "the result is determined up to a gauge")
    halves = [Case.pushed] * case.has_push + [Case.pulled] * case.has_pull
    seen = all(np.all(np.isfinite(half(single))) for half in halves)  # type: ignore[arg-type]
    not_judged_if(not seen, "in single precision there are no numbers of this size")
    if wrong_halves(single) != []:  # type: ignore[arg-type]
        _judge_variant(case, "wrong only for float32", narrow, case.options)


def _check_small(case: Case) -> None:
    options = case.options
    if options.get("axis") is None:  # an axis of an array that has none is nobody's promise
        zero_d = _with(case, lambda _, x: first_element(x))
        _judge_variant(case, "wrong only for 0-d", zero_d, options)
    one = _with(case, lambda _, x: x[(slice(0, 1),) * x.ndim])
    _judge_variant(case, "wrong only for size 1", one, options)
    for place in (slice(0, 0), (..., slice(0, 0))):
        empty = _with(case, lambda _, x, place=place: x[place] if x.ndim else x)  # type: ignore[misc]
        _judge_variant(case, "wrong for an empty array", empty, options)


def _check_broadcast(case: Case, arrays: list[int]) -> None:
    """Check an operand with an axis of length 1, or without it, if the result keeps its shape."""
    if len(arrays) < 2 or not hasattr(case.y, "shape"):
        return
    for i in arrays:
        x = case.operands[i]
        if not x.ndim or x.shape != case.y.shape or x.shape[0] < 2:
            continue
        for narrow in (x[:1], x[0], x[..., :1]):
            operands = (*case.operands[:i], np.ascontiguousarray(narrow), *case.operands[i + 1 :])
            spread = (*operands[:i], np.broadcast_to(narrow, x.shape).copy(), *operands[i + 1 :])
            y, same = derived.value_at(case, operands), derived.value_at(case, spread)
            if y is not None and differs(y, same, case.precision) is None:
                name = f"wrong only for a broadcast operand, argument {i + 1}"
                _judge_variant(case, name, operands, case.options)


def check_options(case: Case) -> None:
    """Every way to say the axis, and keepdims."""
    declared = case.f.options if isinstance(case.f, Primitive) else {}
    names = {*case.options, *declared} & {"axis", "keepdims"}
    arrays = _arrays(case)
    not_judged_if(not names or not arrays or case.gauge is not None, "no option of a known meaning")
    ndim = case.operands[arrays[0]].ndim
    takes_none = declared.get("axis") is None
    for pattern, changed in other_axes(names, case.options, ndim, declared.get("axis")):
        if changed.get("axis", 0) is None and not takes_none:
            pattern = f"{pattern}, for None"  # which the function may happen to take
        _judge_variant(case, pattern, case.operands, {**case.options, **changed})
    _tell_refused(case)


def check_varied(case: Case, vary: Mapping[str, tuple[Any, ...]]) -> None:
    """Every value that was given for an option, or for an operand by its name."""
    names = case.operand_names()
    for name, values in vary.items():
        for value in values:
            pattern = f"wrong only for {_said(name, value)}"
            if name in names:
                i = names.index(name)
                operands = (*case.operands[:i], value, *case.operands[i + 1 :])
                _judge_variant(case, pattern, operands, case.options)
            else:
                _judge_variant(case, pattern, case.operands, {**case.options, name: value})


def _said(name: str, value: Any) -> str:
    if name == "axis" and type(value) is int and value < 0:
        return "negative axis"
    return f"{name}={value!r}" if np.ndim(value) == 0 or type(value) is tuple else f"another {name}"


def check_complex(case: Case) -> None:
    """Check that a rule that takes complex operands has the real adjoint there.

    What is wrong is told, and not held against a rule of which only real operands were asked: many
    are meant for those alone. It is where the rule says ``complex=``, or something else of the call
    is complex: another operand, or the result.
    """
    arrays = [i for i in _arrays(case) if case.parts[i].kind == "real" and case.operands[i].size]
    why = "no real array of NumPy among the operands, or they are complex already"
    not_judged_if(not arrays or case.gauge is not None or case.is_large, why)
    operands = _with(case, lambda i, x: _turned(x) if i in arrays else x)
    said = {getattr(r, "complex", None) for r in recipes(case)} & {"holomorphic", "real"}
    of = "".join([f", of which it says complex={x!r}" for x in list(said)[:1]])
    if said or any(part.kind == "complex" for part in (*case.parts, case.raw)):
        _judge_variant(case, f"wrong for complex operands{of}", operands, case.options)
        return
    try:
        varied = _beside(case, operands)
        wrong = None if varied is None else wrong_halves(varied)
    except Exception:  # the rule refuses it
        return
    if wrong:
        halves = " and ".join(wrong)
        msg = f"its {halves} is wrong with complex operands: give some to have them judged"
        raise NotJudgedError(msg)


def _turned(x: Any) -> Any:
    return x * np.asarray(1 + 0.3j, np.result_type(x, np.complex64))


def _beside(case: Case, operands: tuple[Any, ...]) -> Case | None:
    """Make the same call at other operands, along one direction; None where f does not take it."""
    how = case.gauge, case.smooth, 0, None
    try:
        varied = Case(case.f, operands, case.options, *how, derived=True, few=True)
    except Exception:
        return None
    varied.has_push, varied.has_pull = case.has_push, case.has_pull
    return varied

"""The judge: one call checks everything that a rule promises at one point."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, final

import numpy as np

from chainrules_py.calling import frule
from chainrules_py.dispatch import where_defined
from chainrules_py.errors import NoRuleError, NotDifferentiableError, describe
from chainrules_py.project import space
from chainrules_py.registry import find_rule, name_of
from chainrules_py.tangents import NoTangent, ZeroTangent, is_zero
from chainrules_py.testing.case import SMALL, Case
from chainrules_py.testing.differences import derivative
from chainrules_py.testing.nesting import Loss, default_engine, second_derivative
from chainrules_py.testing.report import Finding, Report, RuleCheckError, Table
from chainrules_py.testing.values import differs, fingerprint, mismatch, narrowed

__all__ = ["CHECKS", "check_rule"]


@final
class _NotJudgedError(Exception):
    """A check cannot say anything here."""


@final
class _WrongError(Exception):
    """What a check found wrong."""


# ---------------------------------------------------------------------------------- the checks


def _check_value(case: Case) -> None:
    """The rule computes what the function computes."""
    values = {}
    if case.has_push:
        values["frule"] = case.push(case.u[:, -1])[0]
    if case.has_pull:
        values["rrule"] = case.pullback()[0]
    for kind, y in values.items():
        if (problem := differs(y, case.y, case.precision)) is not None:
            msg = f"the value of {kind} is not that of the function: {problem}"
            raise _WrongError(msg)


def _check_push(case: Case) -> None:
    """The push agrees with finite differences."""
    if not case.has_push:
        raise _NotJudgedError("there is no forward rule")
    want, allowed, unsettled = _judged_differences(case)
    names = case.output_names(), case.input_names()
    _compare(Table(case.pushed(), want, *names, allowed, ("push", "differences")))
    if unsettled:
        raise _NotJudgedError(unsettled)


def _judged_differences(case: Case) -> tuple[Any, Any, str]:
    """Differences, what they may be off by, and which of them say nothing, if any.

    Where they do not settle any number is allowed.
    """
    if not case.smooth:
        raise _NotJudgedError("not smooth here, says the sample")
    want, error = case.differences()
    scale = _scale(want)
    allowed = np.maximum(case.tolerance * scale, 50 * error)
    unsettled = ~(allowed <= max(1e-4, case.tolerance) * scale)
    text = ""
    if np.any(unsettled):
        text = (
            f"{int(unsettled.sum())} of {want.size} finite differences do not settle: the function "
            f"is not smooth here, or the point is at the edge of its domain"
        )
    return want, np.where(unsettled, np.inf, allowed), text


def _scale(derivatives: Any) -> float:
    finite = derivatives[np.isfinite(derivatives)]
    return max(1.0, float(np.max(np.abs(finite), initial=0.0)))


def _check_adjoint(case: Case) -> None:
    """The pull is the adjoint of the push: Re<y_bar, push x_dot> = Re<pull y_bar, x_dot>."""
    if not case.has_pull:
        raise _NotJudgedError("there is no reverse rule")
    title, allowed = "push", max(1e-10, 1e4 * case.precision)
    if case.has_push:
        push = case.pushed()
    else:
        title = "differences"
        push, slack, unsettled = _judged_differences(case)
        if unsettled:
            raise _NotJudgedError(unsettled)
        allowed = 10 * float(np.max(slack, initial=0.0))
    have, want = case.pulled().T @ case.u, case.w.T @ push
    names = case.weight_names(), case.input_names()
    _compare(Table(have, want, *names, allowed * _scale(want), ("pull", title)))


def _check_linear(case: Case) -> None:
    """Push and pull are linear."""
    for title, given, images, names in (
        ("push", case.u, case.pushed if case.has_push else None, case.output_names()),
        ("pull", case.w, case.pulled if case.has_pull else None, case.input_names()),
    ):
        if images is None:
            continue
        n = given.shape[0]
        have = images()
        if n <= SMALL:
            want = have[:, :n] @ given[:, n:]
            have = have[:, n:]
        else:
            total = given.sum(axis=1)
            one = (
                case.bars_vector(case.pullback()[1](case.cotangent(total)))
                if title == "pull"
                else case.seen_tangent(case.push(total)[1])
            )
            want, have = have.sum(axis=1, keepdims=True), one[:, None]
        if not np.all(np.isfinite(want)):
            continue
        scale = _scale(want)
        rows = names if len(names) >= have.shape[0] else [str(i) for i in range(have.shape[0])]
        allowed = max(1e-10, 1e4 * case.precision) * scale
        _compare(
            Table(have, want, rows, ["a random direction"], allowed, (title, "sum of its parts"))
        )


def _check_types(case: Case) -> None:
    """Tangents have the shape, dtype, realness, device and structure of what they belong to."""
    problems = []
    if case.has_push:
        _, y_dot = case.push(case.u[:, -1])
        problems.append(mismatch(y_dot, case.y, "y_dot"))
    if case.has_pull:
        _, pullback = case.pullback()
        bars = pullback(case.cotangent(case.w[:, -1]))
        names = case.operand_names()
        problems += [
            mismatch(bar, x, f"the cotangent of {n}")
            for bar, x, n in zip(bars, case.operands, names, strict=True)
        ]
    if any(problems):
        raise _WrongError("; ".join(p for p in problems if p))


def _check_unmodified(case: Case) -> None:
    """Nothing that a rule was given is written to, and pulling back twice gives the same."""
    if case.has_push:
        before = [fingerprint(case.operands)]
        case.push(case.u[:, -1])
        if before != [fingerprint(case.operands)]:
            raise _WrongError("the push wrote to an operand")
    if case.has_pull:
        y, pullback = case.pullback()
        y_bar = case.cotangent(case.w[:, -1])
        before = [fingerprint(t) for t in (case.operands, y, y_bar)]
        first = case.bars_vector(pullback(y_bar))
        after = [fingerprint(t) for t in (case.operands, y, y_bar)]
        for what, a, b in zip(
            ("an operand", "the result", "the cotangent"), before, after, strict=True
        ):
            if a != b:
                raise _WrongError(f"the pull wrote to {what}")
        second = case.bars_vector(pullback(y_bar))
        if first.tobytes() != second.tobytes():
            raise _WrongError("pulling back a second time gives something else")


def _check_zeros(case: Case) -> None:
    """Zero tangents give zero, and what is not wanted changes nothing else."""
    if case.has_push:
        _, y_dot = frule(
            tuple(NoTangent() if is_zero(space(x)) else ZeroTangent() for x in case.operands),
            case.f,
            *case.operands,
            **case.options,
        )
        if np.any(case.raw.vector(y_dot)):
            raise _WrongError("the push of ZeroTangent() is not zero")
    if case.has_pull:
        _, pullback = case.pullback()
        if np.any(case.bars_vector(pullback(ZeroTangent()))):
            raise _WrongError("the pull of ZeroTangent() is not zero")
        y_bar = case.cotangent(case.w[:, -1])
        bars = pullback(y_bar)
        for i, name in enumerate(case.operand_names()):
            if len(bars) == 1:
                break
            alone = pullback(y_bar, wanted=tuple(k == i for k in range(len(bars))))
            if not np.allclose(
                case.parts[i].vector(alone[i]), case.parts[i].vector(bars[i]), equal_nan=True
            ):
                raise _WrongError(f"the cotangent of {name}, wanted alone, is another one")


def _check_float32(case: Case) -> None:
    """With operands in single precision everything is in single precision, and nearly the same."""
    narrow = tuple([narrowed(x) for x in case.operands])
    if all(a is b for a, b in zip(narrow, case.operands, strict=True)):
        raise _NotJudgedError("no operand is an array in double precision")
    single = Case(case.f, narrow, case.options, case.gauge, case.smooth, 0, None)
    single.has_push, single.has_pull = case.has_push, case.has_pull
    single.u, single.w, single.pick = case.u[:, -1:], case.w[:, -1:], case.pick
    _check_types(single)
    pairs = []
    if case.has_push:
        pairs.append(("push", single.pushed(), case.pushed()[:, -1:]))
    if case.has_pull:
        pairs.append(("pull", single.pulled(), case.pulled()[:, -1:]))
    for title, have, want in pairs:
        if case.smooth and np.all(np.isfinite(want)) and np.all(np.isfinite(have)):
            scale = _scale(want)
            rows = [str(i) for i in range(have.shape[0])]
            _compare(
                Table(
                    have,
                    want,
                    rows,
                    ["a random direction"],
                    2e-2 * scale,
                    (f"{title} in float32", "in float64"),
                )
            )


def _check_second_order(case: Case) -> None:
    """The derivative of the derivative is right, in all four nestings of the modes."""
    engine = default_engine()
    if engine is None:
        raise _NotJudgedError("no engine is installed")
    loss = Loss(case.call, case.operands, case.gauge, case.rng)
    if not loss.exists:
        raise _NotJudgedError("no derivative flows")
    if not (case.has_push and case.has_pull):
        raise _NotJudgedError("only one mode is stated")
    u, w = case.rng.standard_normal((2, loss.inputs.size))
    products = loss.products(engine, u, w)
    if case.precision > 1e-10:
        return  # that it runs is all that differences in single precision can say
    want, error = products["reverse over reverse"], np.zeros(loss.inputs.size)
    title = "reverse over reverse"
    if case.smooth:
        want, error = second_derivative(loss, engine, w, derivative)
        title = "differences of the gradient"
    scale = max(
        1.0, float(np.max(np.abs(want[np.isfinite(want)]), initial=0.0)), float(np.abs(u @ want))
    )
    allowed = np.maximum(10 * case.tolerance * scale, 50 * error)
    if not np.all(allowed <= 1e-4 * scale):
        raise _NotJudgedError("differences of the gradient do not settle")
    for name, have in products.items():
        whole = have.shape == want.shape and name.startswith("reverse")
        there = want if whole else np.asarray([u @ want])
        rows = [str(i) for i in range(there.size)]
        limit = allowed if whole else np.asarray([float(np.abs(u) @ allowed)])
        _compare(
            Table(
                have[:, None],
                there[:, None],
                rows,
                ["a random direction"],
                limit[:, None],
                (name, title),
            )
        )


CHECKS: dict[str, Callable[[Case], None]] = {
    "value": _check_value,
    "types": _check_types,
    "push": _check_push,
    "adjoint": _check_adjoint,
    "linear": _check_linear,
    "zeros": _check_zeros,
    "unmodified": _check_unmodified,
    "float32": _check_float32,
    "second order": _check_second_order,
}
"""The checks by name, in the order in which they run."""


def check_rule(
    f: Callable[..., Any],
    *operands: Any,
    gauge: Callable[[Any], Any] | None = None,
    smooth: bool = True,
    seed: int = 0,
    tolerance: float | None = None,
    only: tuple[str, ...] | None = None,
    **options: Any,
) -> Report:
    """Check the rule of a function at one point, in both modes and to second order.

    Parameters
    ----------
    f : callable
        A primitive, a library's function, or an object whose class's ``__call__`` has a rule.
    *operands
        Where: arrays of any library, numbers, structures of them, and whatever f takes besides.
    gauge : callable, optional
        Applied to the result before derivatives are compared, where only that is determined, as of
        singular vectors; written in words, so that it can be differentiated.
    smooth : bool
        False at a kink, where finite differences mean nothing.
    seed : int
        Where directions are drawn from.
    tolerance : float, optional
        What may differ from finite differences, relative to the largest derivative: 1e-8 for double
        precision by default.
    only : tuple of str, optional
        The names of the checks to run, of `CHECKS`.
    **options
        Options of f.

    Returns
    -------
    Report
        What each check said; what could not be judged here is named.

    Raises
    ------
    RuleCheckError
        If a check fails: with the entries that differ most, and the place of the rule.

    Notes
    -----
    The push is compared with central finite differences, whose steps are chosen where they agree
    best, and the pull with the push by Re<y_bar, push x_dot> = Re<pull y_bar, x_dot>. Complex
    numbers count as two real ones. Second derivatives are taken by the installed engine, and
    compared with differences of the gradient.

    Examples
    --------
    >>> from chainrules_py.vocabulary import multiply
    >>> check_rule(multiply, 2.0, 3.0, only=("value", "push", "adjoint"))
    multiply(float, float): passed value, push, adjoint
    seed 0; rule: ...
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = Case(f, operands, options, gauge, smooth, seed, tolerance)
        shown = [
            *map(describe, operands),
            *[f"{name}={value!r}" for name, value in options.items()],
        ]
        call = f"{name_of(f)}({', '.join(shown)})"
        rule = find_rule(case.f, tuple(map(type, case.operands)))
        statement = None if rule is None else rule.reverse or rule.forward
        report = Report(call, "none" if statement is None else where_defined(statement), seed)
        _find_modes(case, report)
        cause: BaseException | None = None
        for name in CHECKS if only is None else only:
            if report.failures and name not in ("types", "zeros", "unmodified"):
                continue  # derivatives that are wrong in one way are wrong in every other
            try:
                CHECKS[name](case)
            except _NotJudgedError as reason:
                report.findings.append(Finding(name, "not judged", str(reason)))
            except _WrongError as wrong:
                report.findings.append(Finding(name, "failed", str(wrong)))
            except Exception as error:
                cause = cause or error
                notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
                report.findings.append(
                    Finding(name, "failed", f"raised {type(error).__name__}: {error}{notes}")
                )
            else:
                report.findings.append(Finding(name, "passed"))
    if report.failures:
        raise RuleCheckError(report) from cause
    return report


def _find_modes(case: Case, report: Report) -> None:
    """Find out which halves are stated; a rule without any is wrong."""
    reasons = []
    try:
        case.push(case.u[:, -1])
    except (NoRuleError, NotDifferentiableError) as error:
        case.has_push = False
        reasons.append(str(error))
    except Exception:  # the checks will meet it again
        pass
    try:
        _, pullback = case.pullback()
        pullback(case.cotangent(case.w[:, -1]))
    except (NoRuleError, NotDifferentiableError) as error:
        case.has_pull = False
        reasons.append(str(error))
    except Exception:
        pass
    if not (case.has_push or case.has_pull):
        report.findings.append(Finding("rule", "failed", " / ".join(reasons)))


def _compare(table: Table) -> None:
    if not table.is_within:
        raise _WrongError(f"{table.titles[0]} and {table.titles[1]} differ\n{table}")

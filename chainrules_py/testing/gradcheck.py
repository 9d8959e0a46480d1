"""`check_grads`: check the derivatives that an engine takes of a whole function, to any order."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py.engines.frule_rrule import pull_through, push_through
from chainrules_py.primitives.method_table import where_defined
from chainrules_py.testing.call_arguments import shown_call
from chainrules_py.testing.cases.case import Case
from chainrules_py.testing.check import Settings, again_line, jacobian_of, run_check
from chainrules_py.testing.checks.derivatives import check_adjoint, check_push
from chainrules_py.testing.report.report import Report, RuleCheckError


def check_grads(
    f: Callable[..., Any],
    *operands: Any,
    order: int = 2,
    modes: tuple[str, ...] = ("forward", "reverse"),
    rtol: float | None = None,
    seed: int = 0,
) -> Report:
    """Check the derivatives of a whole program, by the installed engine, against differences.

    Parameters
    ----------
    f : callable
        Any function that the engine differentiates.
    *operands
        Where to check; operands that cannot be perturbed are constant.
    order : int
        The highest order; each is compared with differences of the one below, in each nesting.
    modes : tuple of str
        ``"forward"``, ``"reverse"`` or both.
    rtol, seed
        As in `check_rule`.

    Returns
    -------
    Report
        One finding for each nesting of modes.

    Raises
    ------
    RuleCheckError
        If a derivative is wrong, or cannot be computed; higher orders are not checked then.

    Examples
    --------
    >>> check_grads(lambda x: np.sum(np.sin(x) * x), np.ones(3), order=1)
    <lambda>(float64[3]): passed forward, reverse
    seed 0; gradient: ...
    """
    if order < 1 or not modes or not {*modes} <= {"forward", "reverse"}:
        raise ValueError(
            f"order is {order} and modes is {modes!r}; write an order from 1 on, and "
            f"('forward', 'reverse') or a tuple of one of them"
        )
    settings = Settings(seed=seed, rtol=rtol)
    again = again_line("check_grads", f, operands, {"order": order, "modes": modes}, settings)
    report = Report(shown_call(f, operands, {}), where_defined(f), seed, again, operands)
    report.kind = "gradient"
    todo: list[tuple[str, Callable[..., Any]]] = [("", f)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for _ in range(order):
            below, todo = todo, []
            for inner, g in below:
                case = _case(g, operands, modes, seed, rtol)
                report.compute_jacobian = functools.partial(jacobian_of, case)
                for mode in modes:
                    name = f"{mode} over {inner}" if inner else mode
                    check = check_push if mode == "forward" else check_adjoint
                    finding, error = run_check(case, name, check, "check_grads", report)
                    report.findings.append(finding)
                    if report.failures:
                        raise RuleCheckError(report) from error
                    todo.append((name, _derivative(case, mode)))
    return report


def _case(f: Any, operands: Any, modes: tuple[str, ...], seed: int, rtol: float | None) -> Case:
    """Return the case of a function whose derivatives come from an engine."""
    case = Case(f, operands, {}, None, True, seed, rtol)
    if not case.inputs.size:
        raise ValueError(
            f"nothing in {shown_call(f, operands, {})} can be perturbed; give floating numbers"
        )
    case.halves = (
        lambda tangents, g, *xs: push_through(g, xs, tangents),
        lambda g, *xs: pull_through(g, xs),
    )
    case.has_push, case.has_pull = "forward" in modes, "reverse" in modes
    return case


def _derivative(case: Case, mode: str) -> Callable[..., Any]:
    """Return the derivative along one direction as a function of the same operands."""
    dots, bar = case.tangents(case.u[:, -1]), case.cotangent(case.w[:, -1])
    if mode == "forward":
        return lambda *xs: push_through(case.f, xs, dots)[1]
    active = [i for i, part in enumerate(case.parts) if part.size]
    return lambda *xs: tuple(map(pull_through(case.f, xs)[1](bar).__getitem__, active))

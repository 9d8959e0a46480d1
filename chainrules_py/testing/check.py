"""`check_rule`: check everything that a rule promises, at a point and around it."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np

from chainrules_py.engines.frule_rrule import any_engine
from chainrules_py.errors import (
    MutationError,
    NoRuleError,
    NotDifferentiableError,
    ProjectionError,
    RuleError,
)
from chainrules_py.primitives.method_table import where_defined
from chainrules_py.registry.explain import rules_for
from chainrules_py.registry.table import find_rule, name_of, unbind
from chainrules_py.testing.budget import Budget, BudgetSpentError, unlimited
from chainrules_py.testing.call_arguments import (
    filled,
    is_own,
    options_first,
    samples_wanted,
    shown_call,
)
from chainrules_py.testing.cases.case import Case
from chainrules_py.testing.cases.smaller_call import smaller
from chainrules_py.testing.checks import batches, contract, derivatives, side_effects, variants
from chainrules_py.testing.debug_mode import copied
from chainrules_py.testing.diagnosis import Table, name_projection
from chainrules_py.testing.errors import SkippedCheckError, WrongError, line_of
from chainrules_py.testing.find_rule import is_ours, missing_mode, stated_besides
from chainrules_py.testing.report.case_diagnosis import diagnose, jacobian_tables
from chainrules_py.testing.report.diagnosis_by_smaller_call import name_by_smaller
from chainrules_py.testing.report.report import Finding, Report, RuleCheckError
from chainrules_py.values.structure import is_structure_type

CHECKS: dict[str, Callable[[Case], None]] = {
    "random": side_effects.check_random,
    "value": derivatives.check_value,
    "conduct": side_effects.check_conduct,
    "owned": contract.check_owned,
    "linear": derivatives.check_linear,
    "push": derivatives.check_push,
    "adjoint": derivatives.check_adjoint,
    "types": contract.check_types,
    "zeros": contract.check_zeros,
    "nearby": variants.check_nearby,
    "second order": derivatives.check_second_order,
    "other calls": variants.check_first,
    "options": variants.check_options,
    "whole numbers": variants.check_whole_numbers,
    "float32": variants.check_single,
    "complex": variants.check_complex,
    "accumulation": contract.check_accumulation,
    "batched": batches.check_batched,
    "shapes": variants.check_shapes,
    "points": variants.check_points,
}
"""The checks by name, in the order in which they run."""

# Checks that still run after a rule gave wrong numbers: one wrong derivative explains all others.
_CONDUCT = ("types", "zeros", "conduct", "owned")
DERIVED = (
    "nearby",
    "other calls",
    "points",
    "whole numbers",
)
"""Checks of calls that `check_rule` derives from the given one. They do not run on samples, which
state their own variations."""

THOROUGH = tuple(CHECKS)[tuple(CHECKS).index("accumulation") :]
"""The checks that run only on request."""

_VARIATIONS = ("shapes", "options", "complex", "float32", *DERIVED)
_LARGE = ("random", "conduct", "value", "push", "adjoint", "types", "varied")
"""Checks that run on a large call itself; the others run on a smaller version of the call."""


_SETTINGS = {"vary", "seed", "checks", "rtol", "gauge", "smooth", "thorough", "budget"}


def _judge_parted(f: Any, operands: tuple[Any, ...], given: dict[str, Any]) -> Report:
    return judge(f, operands, *Settings.split(f, given), "check_rule")


@options_first(_SETTINGS, _judge_parted)
def check_rule(
    f: Callable[..., Any],
    *operands: Any,
    vary: Mapping[str, tuple[Any, ...]] | bool = True,
    seed: int = 0,
    checks: tuple[str, ...] | None = None,
    rtol: float | None = None,
    gauge: Callable[[Any], Any] | None = None,
    smooth: bool = True,
    thorough: bool = False,
    budget: float | None = None,
    **options: Any,
) -> Report:
    """Check the rule of a function, in both modes and to second order.

    Parameters
    ----------
    f : callable
        A primitive, a library's function, or an object whose class's ``__call__`` has a rule.
    *operands
        Where to check: arrays of any library, numbers, structures of them, and other operands of f.
    vary : bool or mapping
        Whether to check other calls besides the given one: other shapes, each sign of ``axis``,
        ``keepdims``. A mapping gives further values of options or operands, by name; False checks
        the given call alone.
    seed : int
        Seed of the random directions.
    checks : tuple of str, optional
        Names of the checks to run, out of `CHECKS`.
    rtol : float, optional
        Tolerance against finite differences, relative to the largest derivative: 1e-8 for double
        precision by default.
    gauge : callable, optional
        Function applied to the result before derivatives are compared, where only that value is
        determined, as for singular vectors; written in operations, to be differentiable.
    smooth : bool
        False at a kink, where finite differences are meaningless.
    thorough : bool
        Whether to also run the checks of `THOROUGH`, and to check every direction. Without it, the
        rule of a function of one array of three numbers is checked in at most 60 calls of f.
    budget : int or float, optional
        The most calls of f, or seconds if it is a float. Checks for which none are left are not
        tried, and the report lists them. The diagnosis of a mistake does not count.
    **options
        Options of f. An option of f takes precedence over a parameter of the same name.

    Returns
    -------
    Report
        The outcome of each check; checks that could not run here are listed.

    Raises
    ------
    RuleCheckError
        If a check fails. The message states what is wrong, the entries that differ most, the
        location of the rule, and the line that repeats the check.

    Notes
    -----
    The push is compared with central finite differences at the step sizes where they agree best,
    and the pull with the push by Re<y_bar, push x_dot> = Re<pull y_bar, x_dot>. Complex numbers
    count as two real ones. Second derivatives are taken by the installed engine, and compared with
    differences of the gradient. Where differences do not converge, as at a kink, the check is
    skipped, which is neither a failure nor a pass.

    Examples
    --------
    >>> from chainrules_py.ops import multiply
    >>> check_rule(multiply, 2.0, 3.0, checks=("value", "push", "adjoint"))
    multiply(float, float): passed value, push, adjoint
    seed 0; rule: ...
    """
    settings = Settings(vary, seed, checks, rtol, gauge, smooth, thorough, budget)
    return judge(f, operands, options, settings, "check_rule")


def check_frule(f: Callable[..., Any], *operands: Any, **given: Any) -> Report:
    """Check the forward half of a rule; parameters are those of `check_rule`.

    Examples
    --------
    >>> from chainrules_py.ops import sin
    >>> check_frule(sin, 0.5, checks=("push",))
    sin(float): passed push
    seed 0; rule: ...
    """
    return judge(f, operands, *Settings.split(f, given, "push"), "check_frule")


def check_rrule(f: Callable[..., Any], *operands: Any, **given: Any) -> Report:
    """Check the reverse half of a rule against differences; parameters are those of `check_rule`.

    Examples
    --------
    >>> from chainrules_py.ops import sin
    >>> check_rrule(sin, 0.5, checks=("adjoint",))
    sin(float): passed adjoint
    seed 0; rule: ...
    """
    return judge(f, operands, *Settings.split(f, given, "pull"), "check_rrule")


for _half in (check_frule, check_rrule):  # both pass all parameters on
    _half.__signature__ = inspect.signature(check_rule)  # type: ignore[attr-defined]


@final
@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a check of a rule."""

    vary: Mapping[str, tuple[Any, ...]] | bool = True
    seed: int = 0
    checks: tuple[str, ...] | None = None
    rtol: float | None = None
    gauge: Callable[[Any], Any] | None = None
    smooth: bool = True
    thorough: bool = False
    budget: float | None = None
    halves: tuple[str, ...] = ("push", "pull")
    asks_for_all: bool = False

    @classmethod
    def named_by(cls, f: Any) -> set[str]:
        """Return the names of settings that are options of a function."""
        return set(cls.__slots__) & set(getattr(f, "options", ()))

    @classmethod
    def split(cls, f: Any, given: dict[str, Any], *halves: str) -> tuple[dict[str, Any], Settings]:
        """Split the options of a function from the settings, for one half or for both."""
        names = set(cls.__slots__) - cls.named_by(f)
        own = {name: given.pop(name) for name in names if name in given}
        return given, cls(**own, halves=halves or ("push", "pull"))

    def chosen(self) -> list[tuple[str, Callable[[Case], None]]]:
        """Return the checks to run, with their names."""
        if unknown := set(self.checks or ()) - CHECKS.keys():
            raise ValueError(f"there is no check {sorted(unknown)}; there are {', '.join(CHECKS)}")
        default = [name for name in CHECKS if self.thorough or name not in THOROUGH]
        asked = default if self.checks is None else self.checks
        varied = self.vary is not False
        chosen = [(n, CHECKS[n]) for n in asked if varied or n not in _VARIATIONS]
        vary = self.vary
        if isinstance(vary, Mapping):
            chosen.append(("varied", lambda case: variants.check_varied(case, vary)))
        return chosen


def judge(
    f: Callable[..., Any],
    operands: tuple[Any, ...],
    options: dict[str, Any],
    settings: Settings,
    constructor: str,
) -> Report:
    """Check a rule as `check_rule` does; the report names the constructor."""
    budget = Budget(settings.budget)
    with warnings.catch_warnings(), np.errstate(all="ignore"), budget.running():
        warnings.simplefilter("ignore")
        operands, options = filled(f, operands, options)
        call = shown_call(f, operands, options)
        how = settings.gauge, settings.smooth, settings.seed, settings.rtol
        try:
            with unlimited():
                # A rule that writes to its operands writes to copies.
                case = Case(f, copied(operands), options, *how, brief=not settings.thorough)
        except Exception as error:
            g, given = unbind(f, operands)
            own = any(is_own(cls) for s in rules_for(g) for cls in s.signature)
            if own and find_rule(g, tuple(map(type, given))) is None:
                raise RuleError(
                    f"{call} raises {type(error).__name__}: {error}; {samples_wanted(g)}"
                ) from error
            raise
        again = again_line(constructor, f, operands, options, settings)
        report = Report(call, place_of_rule(case), settings.seed, again, operands)
        report.compute_jacobian = functools.partial(jacobian_of, case)
        _find_modes(case, report, settings.halves)
        small = smaller(case) if case.is_large else None
        cause: BaseException | None = None
        is_default = settings.checks is None and not settings.thorough
        besides = stated_besides(case) if is_default else []
        for name, check in [*settings.chosen(), *[(name, CHECKS[name]) for name in besides]]:
            # A rule that raises may also return wrong numbers.
            if name not in _CONDUCT and any("(raises " not in f.pattern for f in report.failures):
                continue
            if name == "owned" and report.verdict("conduct") == "failed":
                continue  # a rule that writes to its arguments also returns them
            judged = case if small is None or name in _LARGE else small
            soft = settings.checks is None or settings.asks_for_all
            how_run = {"derived": judged is small, "softly": soft}
            try:
                finding, met = run_check(judged, name, check, constructor, report, **how_run)
            except BudgetSpentError:
                report.not_tried.append(name)
                continue
            if name in besides and finding.verdict == "skipped":
                besides.remove(name)
                continue
            report.findings.append(finding)
            cause = cause or met
        report.calls = budget.calls
        if is_default:
            report.not_tried += [name for name in THOROUGH if name not in besides]
    if report.failures:
        raise RuleCheckError(report) from cause
    return report


def place_of_rule(case: Case) -> str:
    """Return ``file:line`` of the rule for a call."""
    rule = find_rule(case.f, tuple(map(type, case.operands)), any_engine)
    statement = None if rule is None else rule.reverse or rule.forward
    return "none" if statement is None else where_defined(statement)


def run_check(
    case: Case,
    name: str,
    check: Callable[[Case], None],
    constructor: str,
    report: Report,
    *,
    derived: bool = False,
    softly: bool = False,
) -> tuple[Finding, BaseException | None]:
    """Run a check, and return its finding and the error that it met.

    With ``softly``, an error in an optional part of a rule is not a mistake.
    """
    try:
        check(case)
    except SkippedCheckError as reason:
        return Finding(name, "skipped", str(reason)), None
    except WrongError as wrong:
        if wrong.derivative and case.smooth and not case.is_large and case.rounds:
            return Finding(name, "skipped", "the function rounds inside"), None
        if derived and wrong.call is None:
            wrong.call = case.operands, case.options
        with unlimited():
            finding, operands = _told(case.whole, name, wrong, constructor)
        if wrong.call is not None:
            report.derived[name] = operands
            if report.passed:
                report.compute_jacobian = functools.partial(jacobian_of, case, wrong.call)
        return finding, None
    except Exception as error:
        refuses = isinstance(error, (NoRuleError, NotDifferentiableError, NotImplementedError))
        if softly and name == "second order" and (refuses or not is_ours(case)):
            return Finding(name, "skipped", _why_no_higher(error)), None
        notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
        place = f"\n  at {line_of(error)}" if line_of(error) else ""
        text = f"raised {type(error).__name__}: {error}{notes}{place}"
        kind = type(error).__name__
        return Finding(name, "failed", text, _named(error) or f"raises {kind}"), error
    return Finding(name, "passed"), None


def _why_no_higher(error: Exception) -> str:
    """Return why a rule that is right to first order has no higher derivatives."""
    place = f" ({line_of(error)})" if line_of(error) else ""
    text = str(error).partition("\n")[0]
    return (
        f"the rule is for NumPy's arrays alone, or calls what has no rule{place}: no derivative "
        f"can be taken of it: {type(error).__name__}: {text}"
    )


def _named(error: Exception) -> str:
    """Return the name of the mistake that a known error reports; empty for other errors."""
    if isinstance(error, MutationError):
        known = [x for x in ("cotangent", "tangent", "operand") if f"to its {x} " in str(error)]
        state = "state between calls (what was saved is written to)"
        return f"{known[0]} mutated" if known else state
    if isinstance(error, ProjectionError):
        return name_projection(str(error))
    return ""


def _told(
    case: Case, name: str, wrong: WrongError, constructor: str
) -> tuple[Finding, tuple[Any, ...]]:
    """Return the finding of a failure, with a diagnosis from the whole Jacobian."""
    text, pattern = wrong.text, wrong.pattern
    if wrong.derivative and not pattern:
        try:
            pattern, table = diagnose(case)
            pattern = pattern or name_by_smaller(case)
        except Exception:  # the rule raises elsewhere; its numbers are wrong here regardless
            table = None
        if table is not None and not table.is_within:
            text = f"{table.titles[0]} and {table.titles[1]} differ\n{table}"
    text = f"{text}\n  {pattern}" if pattern else text
    operands: tuple[Any, ...] = ()
    if wrong.call is not None:
        operands, options = wrong.call
        alone = Settings(vary=False, gauge=case.gauge, smooth=case.smooth)
        again = again_line(
            constructor, case.f, operands, options, alone, f"report.derived[{name!r}]"
        )
        text = f"{text}\n  the call: {shown_call(case.f, operands, options)}\n  again: {again}"
    return Finding(name, "failed", text, pattern), operands


def jacobian_of(
    case: Case, call: tuple[tuple[Any, ...], dict[str, Any]] | None = None
) -> Table | None:
    """Compare the whole Jacobians of a call, or a derived one, in the first half that is wrong."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if call is not None:
            case = case.another(*call, derived=True)
        found = list(jacobian_tables(case).values())
    return next((t for t in found if not t.is_within), found[0] if found else None)


def _find_modes(case: Case, report: Report, halves: tuple[str, ...]) -> None:
    """Read from the registry which halves a rule states; a rule without any fails."""
    modes = {"push": "forward", "pull": "reverse"}
    missing = {half: missing_mode(case, mode, transposed=False) for half, mode in modes.items()}
    case.has_push, case.has_pull = (not missing[h] and h in halves for h in ("push", "pull"))
    if not (case.has_push or case.has_pull):
        reason = next(filter(None, missing.values()), "that half is not stated")
        report.findings.append(Finding("rule", "failed", reason, "no rule"))


_SHOWN = 64


def again_line(
    constructor: str,
    f: Any,
    operands: tuple[Any, ...],
    options: dict[str, Any],
    settings: Settings,
    kept: str = "report.operands",
) -> str:
    """Return the line of code that repeats the check."""
    given = [
        *[_literal(f"{kept}[{i}]", x) for i, x in enumerate(operands)],
        *[f"{k}={v!r}" for k, v in options.items()],
    ]
    told = {
        "vary": repr(settings.vary) if settings.vary is not True else "",
        "rtol": repr(settings.rtol) if settings.rtol is not None else "",
        "gauge": getattr(settings.gauge, "__name__", "gauge") if settings.gauge is not None else "",
        "smooth": "" if settings.smooth else "False",
        "thorough": "True" if settings.thorough else "",
        "budget": repr(settings.budget) if settings.budget is not None else "",
        "seed": str(settings.seed),
    }
    own = Settings.named_by(f)
    given += [f"{k}={text}" for k, text in told.items() if text and k not in own]
    name = type(f).__name__.lower() if is_structure_type(type(f)) else name_of(f)
    return f"{constructor}({', '.join([name.replace('<lambda>', 'f'), *given])})"


def _literal(place: str, x: Any) -> str:
    """Write a value as a literal; a large array is referred to by its place in the report."""
    if type(x) is np.ndarray and x.size <= _SHOWN:
        shape = f".reshape({x.shape})" if 0 in x.shape else ""
        return f"np.array({x.tolist()!r}, np.{x.dtype}){shape}"
    if isinstance(x, (bool, int, float, complex, str, type(None))):
        return repr(x)
    return place

"""Find the rule of a call, as engines bind it and as the registry holds it."""

from __future__ import annotations

from typing import Any, NamedTuple

from chainrules_py.engines.frule_rrule import demand
from chainrules_py.errors import NoRuleError, NotDifferentiableError
from chainrules_py.registry.bind.bind import bind
from chainrules_py.registry.bind.general import GeneralRecipe
from chainrules_py.registry.call_normalization import normalise_call
from chainrules_py.registry.table import find_rule, name_of
from chainrules_py.testing.cases.case import Case
from chainrules_py.testing.cases.coordinates import Coordinates


class Bound(NamedTuple):
    """A rule that is bound for a call, and the call in the form that the rule takes."""

    rule: Any
    bound: Any
    primal: Any
    operands: tuple[Any, ...]
    options: dict[str, Any]


def bound_rule(case: Case, mode: str, alone: int | None = None) -> Bound | None:
    """Bind the rule of a call for a mode; None if the call consists of several operations.

    With ``alone``, derivatives to the operand of that index alone are wanted.

    Raises
    ------
    NoRuleError, NotDifferentiableError
        If the mode is not stated.
    """
    f, operands, options, native = normalise_call(case.f, case.operands, dict(case.options))
    if f is None:
        return None
    classes = tuple(map(type, operands))
    unstated = case.unstated if len(operands) == len(case.operands) else ()
    wanted = tuple(
        [
            Coordinates(x).size > 0 and i not in unstated and alone in (None, i)
            for i, x in enumerate(operands)
        ]
    )
    rule, config = demand(f, classes, None, "forward" if mode == "linearize" else mode)
    bound = bind(rule, classes, wanted, mode, primal=native, config=config)
    return Bound(rule, bound, native or f, operands, options)


def missing_mode(case: Case, mode: str, *, transposed: bool = True) -> str:
    """Return why a mode is not stated for a call; empty if it is, even if it raises when run.

    With ``transposed``, the transpose of the other mode counts as stated.
    """
    try:
        found = bound_rule(case, mode)
    except (NoRuleError, NotDifferentiableError) as error:
        return str(error)
    stated = None if transposed or found is None else getattr(found.rule, mode)
    return (
        f"the rule of {name_of(case.f)} ({stated.source}) states no {mode} mode, which is the "
        f"transpose of the other\n  write check_rule({name_of(case.f)}, ...), which checks what is "
        f"stated"
        if stated and stated.transposed
        else ""
    )


def _statements(case: Case) -> list[Any]:
    rule = find_rule(case.f, tuple(map(type, case.operands)))
    return [] if rule is None else [s for s in (rule.forward, rule.reverse) if s is not None]


def recipes(case: Case) -> list[Any]:
    """Return the recipes of a call's rule, as they were stated."""
    return [s.recipe for s in _statements(case) if s.recipe is not None]


def is_ours(case: Case) -> bool:
    """Return whether the rule of a call is one of the library's own."""
    return any(s.source.is_ours for s in _statements(case))


def stated_besides(case: Case) -> list[str]:
    """Return the thorough checks of what a person's `rule` may state besides its two halves."""
    stated = [] if is_ours(case) else [r for r in recipes(case) if isinstance(r, GeneralRecipe)]
    batched = ["batched"] if any(recipe.batched for recipe in stated) else []
    return ["accumulation", *batched] if stated else []

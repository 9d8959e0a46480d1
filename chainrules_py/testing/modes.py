"""The modes that a rule is stated for, as the registry has them."""

from __future__ import annotations

from typing import Any

from chainrules_py.engines.default import demand
from chainrules_py.errors import NoRuleError, NotDifferentiableError
from chainrules_py.registry.bind.bind import bind
from chainrules_py.registry.normal_form import normalise_call
from chainrules_py.registry.table import find_rule
from chainrules_py.testing.data.case import Case
from chainrules_py.testing.data.coordinates import Coordinates


def missing_mode(case: Case, mode: str, *, transposed: bool = True) -> str:
    """Say why a mode is not stated for a call; empty if it is, whatever it does when it is run.

    With ``transposed``, the transpose of the other mode counts as stated.
    """
    f, operands, _, native = normalise_call(case.f, case.operands, dict(case.options))
    if f is None:  # of several words, each with its own rule
        return ""
    classes = tuple(map(type, operands))
    wanted = tuple([part.size > 0 for part in map(Coordinates, operands)])
    try:
        rule, config = demand(f, classes, None, mode)
        bind(rule, classes, wanted, mode, primal=native, config=config)
    except (NoRuleError, NotDifferentiableError) as error:
        return str(error)
    stated = None if transposed or rule is None else getattr(rule, mode)
    return f"the {mode} mode is the transpose of the other" if stated and stated.transposed else ""


def recipes(case: Case) -> list[Any]:
    """Find the recipes of a call's rule, as people stated them."""
    rule = find_rule(case.f, tuple(map(type, case.operands)))
    statements = () if rule is None else (rule.forward, rule.reverse)
    return [s.recipe for s in statements if s is not None and s.recipe is not None]

"""Statements for arrays of particular dtypes or devices: chosen at each call.

A class does not determine either. So the table has one choice for the class, which inspects the
operands and runs the statement that matches best, or the one that would be found without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chainrules_py.errors import AmbiguousRuleError, NoRuleError, describe
from chainrules_py.registry.bind.bind import (
    Bound,
    Recipe,
    Request,
    annotate,
    bind,
    constant,
    cotangents_of,
    tangents_of,
)
from chainrules_py.registry.statement_and_rule import Rule, Statement
from chainrules_py.values.array_annotations import ArrayOf, erased


def choice(
    statements: Sequence[Statement],
    otherwise: Callable[[tuple[type, ...]], Statement | None],
    mode: str,
) -> Statement:
    """Return a statement that chooses among several with one signature of classes."""
    first = max(statements, key=lambda s: s.rank)
    return Statement(
        first.primal,
        tuple(map(erased, first.signature)),
        erased(first.varargs),
        first.source,
        ChoiceRecipe(statements, otherwise),
        modes=(mode,),
        override=first.override,
        layer=first.layer,
    )


class ChoiceRecipe(Recipe):
    """A choice among statements for kinds of arrays, or what is found if none matches."""

    constructor = "rule"

    def __init__(
        self,
        statements: Sequence[Statement],
        otherwise: Callable[[tuple[type, ...]], Statement | None],
    ) -> None:
        self.statements = statements
        self.otherwise = otherwise
        self.always = any([s.recipe.always for s in statements])
        self.functions = tuple([f for s in statements for f in s.recipe.functions])
        self._rules: dict[Statement, Rule] = {}

    def chosen(self, xs: Sequence[Any], classes: tuple[type, ...]) -> Statement:
        """Return the statement for a call: the strictest that matches, then by layer."""
        found = [s for s in self.statements if all(map(_fits, _signature(s, len(xs)), xs))]
        best = [s for s in found if not any([_stricter(t, s, len(xs)) for t in found])]
        top = [s for s in best if s.rank == max([t.rank for t in best])]
        if len(top) > 1:
            raise AmbiguousRuleError(
                f"{top[0].primal.__name__}({', '.join(map(describe, xs))}) is ambiguous between "
                f"{' and '.join(map(repr, top))}; write one for both kinds"
            )
        rest = top[0] if top else self.otherwise(classes)
        if rest is None or rest.recipe is None:
            primal = self.statements[0].primal
            raise NoRuleError(
                f"no rule for {primal.__name__}({', '.join(map(describe, xs))})\n"
                f"  one of other dtypes or devices is {self.statements[0]!r}\n"
                f"  write @rule({primal.__name__}) for these as well"
            )
        return rest

    def _bound(self, request: Request, xs: tuple[Any, ...], mode: str) -> Bound:
        statement = self.chosen(xs, request.operands)
        rule = self._rules.get(statement)
        if rule is None:
            rule = self._rules[statement] = Rule(statement.primal, statement, statement)
        operands, wanted, primal = request.operands, request.wanted, request.primal
        found = bind(rule, operands, wanted, mode, primal=primal, config=request.config)
        return found or constant(request, mode)

    def forward(self, request: Request) -> Bound:
        """Bind the push of the chosen statement."""

        def run(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            bound = self._bound(request, xs, "forward")
            return bound.run(tangents_of(bound, request, tangents), *xs, **options)

        return Bound(request, run)

    def reverse(self, request: Request) -> Bound:
        """Bind the pull of the chosen statement, which is saved with its values."""

        def pull(y_bar: Any, half: Any, bound: Bound, *saved: Any) -> Any:
            bars = cotangents_of(bound, request, half(y_bar, *saved))
            return bars[0] if len(bars) == 1 else bars

        annotate(pull, request)

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            bound = self._bound(request, xs, "reverse")
            y, (half, _, *saved) = bound.run(None, *xs, **options)
            return y, (pull, links, half, bound, *saved)

        return Bound(request, run, may_be_zero=True)


def narrowed(rule: Rule, xs: Sequence[Any]) -> Rule | None:
    """Return the rule for these operands with any choice made, or None if there is none."""
    found: list[Any] = [rule.forward, rule.reverse]
    for i, s in enumerate(found):
        if s is not None and isinstance(s.recipe, ChoiceRecipe):
            try:
                found[i] = s.recipe.chosen(xs, tuple(map(type, xs)))
            except NoRuleError:
                found[i] = None
    if found == [rule.forward, rule.reverse]:
        return rule
    return Rule(rule.primal, *found) if any(found) else None


def _signature(s: Statement, n: int) -> tuple[Any, ...]:
    return (*s.signature, *[s.varargs] * (n - len(s.signature)))


def _fits(annotation: Any, x: Any) -> bool:
    return type(annotation) is not ArrayOf or annotation.fits(x)


def _stricter(a: Statement, b: Statement, n: int) -> bool:
    """Return whether a statement requires all that another requires, and more."""
    pairs = list(zip(_signature(a, n), _signature(b, n), strict=True))
    return all([_within(x, y) for x, y in pairs]) and not all([_within(y, x) for x, y in pairs])


def _within(x: Any, y: Any) -> bool:
    return x == y or (type(x) is ArrayOf and x.within(y))

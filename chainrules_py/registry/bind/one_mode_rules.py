"""Statements of one mode, whose other mode is the transpose, by the operation `transposed`."""

from __future__ import annotations

from typing import Any

from chainrules_py.ops.higher_order import transposed
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.registry.bind.bind import Bound, Recipe, Request
from chainrules_py.registry.statement_and_rule import MODES, Source, Statement
from chainrules_py.registry.table import enter
from chainrules_py.rule_config import Capability, ReverseMode


class OneMode(Recipe):
    """Recipe of one ``mode``, as written: a subclass has the method of that mode."""

    mode: str

    def reverse(self, request: Request) -> Bound:
        """Bind the transpose of the push."""
        return transposed(self, request)  # type: ignore[no-any-return]

    def linearize(self, request: Request) -> Bound:
        """Bind the transpose of the pull, or one more run of the push for each tangent."""
        if self.mode == "forward":
            return super().linearize(request)
        return transposed(self, request)  # type: ignore[no-any-return]


def state(
    primal: Primitive[..., Any],
    types: tuple[tuple[Any, ...], Any],
    source: Source,
    recipe: Recipe,
    *,
    requires: frozenset[Capability] = frozenset(),
    override: int = 0,
) -> None:
    """Enter a statement, and if it is of one mode, its transpose for the other.

    Parameters
    ----------
    primal : Primitive
        The function that it is about.
    types : tuple
        The types that it is dispatched on: those of the operands, and that of variadic ones or
        None.
    source : Source
        Where it was written.
    recipe : Recipe
        How it is bound.
    requires : frozenset of Capability
        What the written modes require of the engine.
    override : int
        Its layer of overrides, as in `Statement`.
    """
    stated = (recipe.mode,) if isinstance(recipe, OneMode) else MODES
    follows = tuple([mode for mode in MODES if mode not in stated])
    for modes, asked in ((stated, requires), (follows, requires | {ReverseMode})):
        if modes:
            enter(
                Statement(
                    primal,
                    *types,
                    source,
                    recipe,
                    modes=modes,
                    requires=asked,
                    override=override,
                    transposed=modes is follows,
                )
            )

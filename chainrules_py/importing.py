"""Rules that are made of another engine's functions: as oracles, or where nobody has stated one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py.dispatch import where_defined
from chainrules_py.errors import RuleError
from chainrules_py.loading import Layer
from chainrules_py.primitive import Primitive
from chainrules_py.recipes import FruleRecipe, RruleRecipe
from chainrules_py.registry import Source, Statement, enter, name_of, rules_for
from chainrules_py.statements import find_primal

__all__ = ["state_imported", "without_rule"]


def without_rule(to: Callable[..., Any], f: Callable[..., Any]) -> Primitive[..., Any]:
    """The primitive that is to get its rule from another engine's function.

    Raises
    ------
    RuleError
        If there is a rule for it already: that one is not replaced in silence.
    """
    primal = find_primal(to, "import_rule")
    stated = [s for s in rules_for(primal) if s.recipe is not None]
    if stated:
        msg = (
            f"import_rule({name_of(f)}, to={primal.__name__}): there is {stated[0]!r}; leave out "
            f"to=, and use what import_rule returns beside it"
        )
        raise RuleError(msg)
    return primal


def state_imported(
    primal: Primitive[..., Any],
    f: Callable[..., Any],
    frule: Callable[..., Any],
    rrule: Callable[..., Any],
    *,
    module: str,
    engine: str,
) -> None:
    """State both modes of a primitive, marked as imported, below all that people have stated.

    Parameters
    ----------
    primal : Primitive
        The function.
    f : callable
        The other engine's: where it is defined is where the rule is said to stand.
    frule, rrule : callable
        ``frule(tangents, *operands, **options) -> (y, y_dot)`` and ``rrule(*operands, **options) ->
        (y, pullback)``.
    module : str
        The adapter that imports it.
    engine : str
        The engine's name.
    """
    source = Source(module, f"import_rule({name_of(f)})", where_defined(f), None, True)
    signature = (object,) * len(primal.operands)
    varargs = object if primal.variadic else None
    recipes: tuple[tuple[str, Any], ...] = (
        ("forward", FruleRecipe(frule, False)),
        ("reverse", RruleRecipe(rrule, False)),
    )
    for mode, recipe in recipes:
        recipe.pen = f"import_rule of {engine}"
        enter(
            Statement(primal, signature, varargs, source, recipe, modes=(mode,), layer=Layer.ENGINE)
        )

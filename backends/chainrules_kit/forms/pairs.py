"""Statements of one mode, and the one of the other that follows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from chainrules_kit.forms.recipes import AugmentedRecipe, PushedRecipe
from chainrules_py import Primitive
from chainrules_py.extend import (
    Source,
    Types,
    any_types,
    checked_types,
    find_primal,
    state,
)


def augmented_rule(
    f: Callable[..., Any],
    augmented_forward: Callable[..., tuple[Any, tuple[Any, ...]]],
    backward: Callable[..., tuple[Any, ...]],
    *,
    types: Types = None,
    override: bool = False,
    recompute: bool = False,
) -> None:
    """State the reverse mode of f as a pair: a forward function that saves, and a backward one.

    Parameters
    ----------
    f : callable
        A primitive, or a library's function that engines can see being called.
    augmented_forward : callable
        ``augmented_forward(*operands, **options) -> (y, saved)``: the value, and a tuple of what
        ``backward`` needs. Its annotations are what the rule is dispatched on.
    backward : callable
        ``backward(*saved, y_bar)`` is a tuple with one cotangent per operand, also for one. For a
        y that is a tuple, list or dict ``y_bar`` is one too, with zeros filled in. Options that it
        names keyword-only are passed to it.
    types : tuple, optional
        Dispatched on instead of the annotations.
    override : bool
        Whether it beats more specific rules.
    recompute : bool
        Whether to keep the operands in place of ``saved``, and run ``augmented_forward`` again
        in the backward pass: less memory, more time.

    Raises
    ------
    RuleError
        If f cannot be seen by engines, if operands or options differ from those of f, or if the
        signature is taken.

    Notes
    -----
    Saved values may be intermediates: where they depend on an outer differentiation they carry its
    tracers, so derivatives of any order are right. Forward mode is the transpose of ``backward``.

    Examples
    --------
    >>> from chainrules_py import primitive, rrule
    >>> @primitive
    ... def product(x, y):
    ...     return x * y
    >>> augmented_rule(product, lambda x, y: (x * y, (x, y)), lambda x, y, v: (v * y, v * x))
    >>> rrule(product, 2.0, 3.0)[1](1.0)
    (3.0, 2.0)
    """
    primal = find_primal(f, "augmented_rule", written=augmented_forward)
    found = checked_types(primal, augmented_forward, types, 0)
    recipe = AugmentedRecipe(augmented_forward, backward, recompute=recompute)
    enter(primal, recipe, found, override=override)


def enter(
    primal: Primitive[..., Any],
    recipe: AugmentedRecipe | PushedRecipe,
    types: tuple[tuple[Any, ...], Any] | None = None,
    *,
    override: bool = False,
) -> None:
    """Enter a statement of the mode that a person wrote, and its transpose for the other.

    For operands of any types, unless types are given.
    """
    written: Any = recipe.functions[1]
    while isinstance(written, functools.partial):
        written = written.func
    source = Source.function(written if hasattr(written, "__qualname__") else type(written))
    state(primal, types or any_types(primal), source, recipe, override=override)

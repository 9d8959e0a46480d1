"""Rules stated in one mode, from which the other mode follows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from chainrules_kit.custom_derivatives.custom_rule_binding import AugmentedRecipe, PushedRecipe
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
        A primitive, or a library's function whose calls engines see.
    augmented_forward : callable
        ``augmented_forward(*operands, **options) -> (y, saved)``: the value, and a tuple of what
        ``backward`` needs. The rule is dispatched on its annotations.
    backward : callable
        ``backward(*saved, y_bar)`` returns a tuple with one cotangent per operand, also for one
        operand. ``y_bar`` has the tuple, list or dict structure of y, with zeros filled in. Options
        that it names keyword-only are passed to it.
    types : tuple, optional
        Types to dispatch on instead of the annotations.
    override : bool
        Whether the rule beats more specific rules.
    recompute : bool
        Whether to keep the operands instead of ``saved``, and to run ``augmented_forward`` again in
        the backward pass: less memory, more time.

    Raises
    ------
    RuleError
        If engines cannot see calls of f, if operands or options differ from those of f, or if the
        signature is taken.

    Notes
    -----
    Saved values may be intermediates: if they depend on an outer differentiation they are its
    tracers, so that derivatives of any order are correct. Forward mode is the transpose of
    ``backward``.

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
    found = checked_types(primal, augmented_forward, types, 0, called=f)
    recipe = AugmentedRecipe(augmented_forward, backward, recompute=recompute)
    enter(primal, recipe, found, override=override)


def enter(
    primal: Primitive[..., Any],
    recipe: AugmentedRecipe | PushedRecipe,
    types: tuple[tuple[Any, ...], Any] | None = None,
    *,
    override: bool = False,
) -> None:
    """Add a statement of one mode, whose transpose serves the other.

    It holds for operands of any types, unless types are given.
    """
    written: Any = recipe.functions[1]
    while isinstance(written, functools.partial):
        written = written.func
    source = Source.function(written if hasattr(written, "__qualname__") else type(written))
    state(primal, types or any_types(primal), source, recipe, override=override)

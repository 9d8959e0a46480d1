"""The pens of aggregates: a statement of one mode, and the one of the other that follows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from chainrules_py.config import ReverseMode
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.registry.bind.recipes import AugmentedRecipe, PushedRecipe
from chainrules_py.registry.checks import Types, checked_types, find_primal
from chainrules_py.registry.statement import Source, Statement
from chainrules_py.registry.table import enter

__all__ = ["augmented_rule", "state_pair", "state_push"]


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
    signature, varargs = checked_types(primal, augmented_forward, types, 0)
    recipe = AugmentedRecipe(augmented_forward, backward, recompute=recompute)
    _enter(primal, recipe, backward, ("reverse", "forward"), (signature, varargs), override)


def state_pair(
    f: Primitive[..., Any],
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    fixed: frozenset[int],
    *,
    recompute: bool,
    complex: str | None,
) -> None:
    """State the reverse mode of f, for any types, by a pair with residuals."""
    recipe = AugmentedRecipe(
        forward, backward, fixed, recompute=recompute, residuals=True, complex=complex
    )
    _enter(f, recipe, backward, ("reverse", "forward"), _any_types(f))


def state_push(
    f: Primitive[..., Any],
    make: Callable[..., Callable[..., Any]],
    written: tuple[Callable[..., Any], ...],
    fixed: frozenset[int],
    *,
    instantiate: bool = True,
) -> None:
    """State the forward mode of f, for any types: ``make(*written)`` of what a person wrote."""
    recipe = PushedRecipe(f, make, written, fixed, instantiate=instantiate)
    _enter(f, recipe, written[0], ("forward", "reverse"), _any_types(f))


def _any_types(f: Primitive[..., Any]) -> tuple[tuple[Any, ...], Any]:
    return (object,) * len(f.operands), object if f.variadic else None


def _enter(
    primal: Primitive[..., Any],
    recipe: AugmentedRecipe | PushedRecipe,
    written: Callable[..., Any],
    modes: tuple[str, str],
    types: tuple[tuple[Any, ...], Any],
    override: bool = False,
) -> None:
    """Enter a statement of the first mode, and its transpose for the second."""
    while isinstance(written, functools.partial):
        written = written.func
    source = Source.function(written if hasattr(written, "__qualname__") else type(written))
    for mode, transposed in zip(modes, (False, True), strict=True):
        statement = Statement(
            primal,
            *types,
            source,
            recipe,
            modes=(mode,),
            requires=frozenset((ReverseMode,)) if transposed else frozenset(),
            override=override,
            transposed=transposed,
        )
        enter(statement)

"""Calls of primitives in programs that JAX traces: whose derivative is taken.

Where JAX computes a word by its own function, and the rule is our core's, the two derivatives are
the same, and JAX takes its own: its programs are shorter. Elsewhere the call becomes one operation
with our rule for a derivative: a function of the user's, a word whose rule somebody replaced, one
that JAX has no derivative of, or another one at a kink.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from chainrules_jax.arrays import Concrete
from chainrules_jax.config import config
from chainrules_jax.calls import run
from chainrules_jax.values import OURS, as_values
from chainrules_py import Primitive
from chainrules_py.arrays import register_host
from chainrules_py.loading import Layer
from chainrules_py.recipes import BilinearRecipe, ConstantRecipe, LinearRecipe, ScalarRecipe
from chainrules_py.registry import Rule, find_rule, rules_for

_NUMPYS = (np.ndarray, np.generic)
_JAXS = (jax.core.Tracer, *_NUMPYS)

__all__ = ["host", "is_native"]


def is_native(word: Primitive[..., Any], rule: Rule, implementation: Any) -> bool:
    """Whether JAX's own derivative of a word is that of its rule."""
    statement = rule.reverse
    if statement is None or rule.forward is not statement or statement.layer != Layer.CORE:
        return False
    recipe = statement.recipe
    smooth = isinstance(recipe, (LinearRecipe, BilinearRecipe, ConstantRecipe)) or (
        isinstance(recipe, ScalarRecipe) and not recipe.singular
    )
    own = implementation is not None and implementation is not word.__wrapped__
    return smooth and own and word not in OURS


def host(
    word: Primitive[..., Any], classes: tuple[type, ...], implementation: Any
) -> Callable[..., Any]:
    """What a call runs whose operands are, or hold, values that JAX traces."""
    here = tuple([Concrete if issubclass(cls, _JAXS) else cls for cls in classes])
    mixed = any([issubclass(cls, _NUMPYS) for cls in classes])
    if mixed:
        implementation = word.implementation(here)
    rule = find_rule(word, here, config)
    if (rule is not None and is_native(word, rule, implementation)) or (
        rule is None and implementation is not None and not rules_for(word)
    ):
        return _converting(implementation) if mixed else implementation  # type: ignore[no-any-return]

    def hosted(*operands: Any, **options: Any) -> Any:
        operands, options = word.normalise(operands, options)
        return run(word, as_values(operands), options)

    return hosted


def _converting(implementation: Callable[..., Any]) -> Callable[..., Any]:
    """What computes a word, of NumPy's arrays beside those of JAX."""
    return lambda *operands, **options: implementation(*as_values(operands), **options)


register_host(jax.core.Tracer, host)

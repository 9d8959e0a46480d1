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
import jax.core
import numpy as np

from chainrules_jax.array_types import Concrete
from chainrules_jax.engine.call import run
from chainrules_jax.engine.config import config
from chainrules_jax.engine.pytrees import JAXS, OURS, as_values
from chainrules_py import Primitive
from chainrules_py import vocabulary as v
from chainrules_py.extend import (
    HigherOrder,
    Rule,
    find_rule,
    is_ruleless,
    register_host,
)

# JAX's own derivatives lose the digits where these are small: of expm1 far left, of sinc near 0.
OURS |= {v.expm1, v.sinc}
# At kinks JAX takes one side, or the bound's part for half of x's; where it divides by 0, infinity.
# Of nextafter, and so of spacing, it has no derivative.
OURS |= {v.abs, v.clip, v.clip_above, v.clip_below, v.copysign}
# What is computed apart where something is 0 has another's slope there.
OURS |= {v.strong_multiply, v.logaddexp_share}
OURS |= {v.fmax, v.fmin, v.fmod, v.nextafter, v.remainder, v.spacing}

_NUMPYS = (np.ndarray, np.generic)
_VALUES = (jax.core.Tracer, *_NUMPYS)


def is_native(word: Primitive[..., Any], rule: Rule, implementation: Any) -> bool:
    """Tell whether JAX's own derivative of a word is that of its rule."""
    statement = rule.reverse
    if statement is None or rule.forward is not statement or not rule.is_core:
        return False
    own = implementation is not None and implementation is not word.__wrapped__
    smooth = statement.recipe.is_smooth or word in JAXS
    return smooth and own and word not in OURS


def host(
    word: Primitive[..., Any], classes: tuple[type, ...], implementation: Any
) -> Callable[..., Any] | None:
    """Return the function that runs a call whose operands are, or hold, values JAX traces."""
    here = tuple([Concrete if issubclass(cls, _VALUES) else cls for cls in classes])
    if any([issubclass(cls, _NUMPYS) for cls in classes]):
        implementation = _converting(word.implementation(here))
    rule = find_rule(word, here, config)
    if rule is not None and is_native(word, rule, implementation):
        return implementation  # type: ignore[no-any-return]
    if rule is None and implementation is not None and is_ruleless(word, here, config):
        return implementation  # type: ignore[no-any-return]  # JAX differentiates through it
    return _running(word)


def host_of_arrays(
    word: Primitive[..., Any], classes: tuple[type, ...], implementation: Any
) -> Callable[..., Any] | None:
    """Return the function that runs a call whose operands are, or hold, concrete JAX arrays."""
    if any([issubclass(cls, jax.core.Tracer) for cls in classes]):
        return host(word, classes, implementation)
    if isinstance(word, HigherOrder):  # what it is given may be written in JAX's own operations
        return _running(word)
    if any([issubclass(cls, _NUMPYS) for cls in classes]):
        here = [Concrete if issubclass(cls, _NUMPYS) else cls for cls in classes]
        return _converting(word.implementation(tuple(here)))
    return implementation  # type: ignore[no-any-return]


def _running(word: Primitive[..., Any]) -> Callable[..., Any]:
    """Return a function that runs the call as a program, with the word's rule as derivative."""

    def running(*operands: Any, **options: Any) -> Any:
        operands, options = word.normalise(operands, options)
        return run(word, as_values(operands), options)

    return running


def _converting(implementation: Any) -> Callable[..., Any] | None:
    """Let a function that computes a word take NumPy's arrays beside JAX's; None stays None."""
    if implementation is None:
        return None
    return lambda *operands, **options: implementation(*as_values(operands), **options)


register_host(
    jax.core.Tracer, host, hidden=True, constant=jax.lax.stop_gradient, varies=lambda _: True
)
register_host(Concrete, host_of_arrays, varies=lambda _: False)

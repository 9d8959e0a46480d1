"""Calls of primitives in programs that JAX traces, and the choice of their derivative.

If JAX computes an operation by its own function, and the rule is the core's, the two derivatives
are equal, and JAX uses its own, which makes shorter programs. Otherwise the call becomes one
operation with our rule as its derivative: for a user-defined function, an operation with a replaced
rule, one without a derivative in JAX, or one with another derivative at a kink.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.core
import numpy as np

from chainrules_jax.array_types import Concrete
from chainrules_jax.engine.export import export
from chainrules_jax.engine.rule_config import config
from chainrules_jax.engine.value_conversions import JAXS, OURS, as_values
from chainrules_py import Primitive
from chainrules_py import ops as v
from chainrules_py.extend import (
    HigherOrder,
    Rule,
    find_rule,
    is_ruleless,
    register_host,
)

OURS |= {
    # JAX's own derivatives lose digits where they are small: of expm1 for very negative x, of sinc
    # near 0.
    v.expm1,
    v.sinc,
    # At kinks JAX takes one side, or splits x's derivative with a bound; at a division by 0 it
    # returns infinity. It has no derivative of nextafter, and hence of spacing.
    v.abs,
    v.clip,
    v.clip_above,
    v.clip_below,
    v.copysign,
    v.fmax,
    v.fmin,
    v.fmod,
    v.nextafter,
    v.remainder,
    v.spacing,
    # Functions with a special case at 0 have another slope there in JAX.
    v.strong_multiply,
    v.logaddexp_share,
}

_NUMPYS = (np.ndarray, np.generic)
_VALUES = (jax.core.Tracer, *_NUMPYS)


def is_native(operation: Primitive[..., Any], rule: Rule, implementation: Any) -> bool:
    """Return whether JAX's own derivative of an operation equals that of its rule."""
    statement = rule.reverse
    if statement is None or rule.forward is not statement or not rule.is_core:
        return False
    own = implementation is not None and implementation is not operation.__wrapped__
    smooth = statement.recipe.is_smooth or operation in JAXS
    return smooth and own and operation not in OURS


def host(
    operation: Primitive[..., Any], classes: tuple[type, ...], implementation: Any
) -> Callable[..., Any] | None:
    """Return the function that runs a call whose operands are, or hold, values JAX traces."""
    here = tuple([Concrete if issubclass(cls, _VALUES) else cls for cls in classes])
    implementation = _beside_numpy(operation, classes, implementation)
    rule = find_rule(operation, here, config)
    if rule is None:  # JAX differentiates through it, if it is all that there is
        is_own = implementation is not None and is_ruleless(operation, here, config)
    else:
        is_own = is_native(operation, rule, implementation)
    return implementation if is_own else export(operation)


def host_of_arrays(
    operation: Primitive[..., Any], classes: tuple[type, ...], implementation: Any
) -> Callable[..., Any] | None:
    """Return the function that runs a call whose operands are, or hold, concrete JAX arrays."""
    if any([issubclass(cls, jax.core.Tracer) for cls in classes]):
        return host(operation, classes, implementation)
    if isinstance(
        operation, HigherOrder
    ):  # function operands may be written in JAX's own operations
        return export(operation)
    return _beside_numpy(operation, classes, implementation)  # type: ignore[no-any-return]


def _beside_numpy(operation: Primitive[..., Any], classes: tuple[type, ...], found: Any) -> Any:
    """Return an implementation; for JAX arrays beside NumPy arrays, one that converts these."""
    if not any([issubclass(cls, _NUMPYS) for cls in classes]):
        return found
    here = [Concrete if issubclass(cls, _VALUES) else cls for cls in classes]
    of_jax = operation.implementation(tuple(here))
    return of_jax and (lambda *operands, **options: of_jax(*as_values(operands), **options))


register_host(
    jax.core.Tracer, host, hidden=True, constant=jax.lax.stop_gradient, varies=lambda _: True
)
register_host(Concrete, host_of_arrays, varies=lambda _: False)

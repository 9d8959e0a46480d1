"""``x.item()`` of what JAX differentiates, which it answers by a number, without a derivative.

`float`, `math.cos` and NumPy's functions raise there; this one does not. In rules and in code that
is exported it raises as well; a body that a rule is stated for may look at numbers.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray

_refuses: contextvars.ContextVar[bool] = contextvars.ContextVar("refuses", default=False)


def without_item(refuses: bool, f: Callable[..., Any], *operands: Any, **options: Any) -> Any:
    """Call a function in which ``x.item()`` of a tracer raises, or does not."""
    before = _refuses.get()
    try:
        _refuses.set(refuses)
        return f(*operands, **options)
    finally:
        _refuses.set(before)


def _refusing(method: Any) -> Any:
    def item(self: Any, *args: Any) -> Any:
        if _refuses.get() and jnp.issubdtype(self.dtype, jnp.inexact):
            raise jax.errors.ConcretizationTypeError(self, "This occurred in x.item().")
        return method.fun(self, *args)

    return type(method)(item)


# What tracers answer stands here; there is no other door. Newer versions may raise by themselves.
_method: Any = getattr(ShapedArray, "item", None)
if hasattr(_method, "fun"):
    ShapedArray.item = _refusing(_method)  # type: ignore[attr-defined]

"""`scan` on JAX: one iteration is traced, and JAX transforms the loop."""

from __future__ import annotations

from functools import partial
from typing import Any

from jax import lax

from chainrules_jax.array_types import JaxArray
from chainrules_py import ops as v

_OPERANDS: tuple[Any, ...] = (object, object, JaxArray)


def _scanned(f: Any, initial: Any, xs: Any, *, length: int | None = None) -> Any:
    """Run the loop as `lax.scan`, or step by step if the carried values change their type."""
    if length not in (None, len(xs)) or not len(xs):
        return v.scan.__wrapped__(f, initial, xs, length=length)
    try:
        return lax.scan(partial(f), initial, xs)  # a new object: JAX refers to functions weakly
    except TypeError:
        return v.scan.__wrapped__(f, initial, xs, length=length)


v.scan.implement(_scanned, types=_OPERANDS)

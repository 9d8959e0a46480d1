"""JAX's arrays and tracers as array types.

Both are one lazy type, `JaxArray`: a rule for it, or for ``jax.Array``, applies to either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from chainrules_jax import _private
from chainrules_py.extend import Library, lazy_array_type, register_array_type

_kind: Any = lazy_array_type("JaxArray", replaces=("jax.Array", _private.ARRAY))
if TYPE_CHECKING:
    JaxArray: TypeAlias = Any
else:
    JaxArray = _kind
"""Annotation of rules for JAX; ``jax.Array`` means the same."""

# The type of an array would show the class, but creating one initialises JAX's devices.
Concrete: type = min(
    [c for c in jax.Array.__subclasses__() if c.__name__ == "ArrayImpl"],
    key=lambda cls: not cls.__module__.startswith("jaxlib"),
)
"""The class of concrete arrays, as opposed to tracers."""

# JAX moves arrays between devices itself; its tracers have no device, and its arrays do not change.
for _class in (
    jax.core.Tracer,
    *[c for c in jax.Array.__subclasses__() if c is Concrete or c.__name__ == "PRNGKeyArray"],
):
    register_array_type(
        _class,  # type: ignore[arg-type]  # a class
        Library(
            jnp,
            kind=_kind,
            devices=False,
            reads=(np.ndarray,),
            own=None if _class is jax.core.Tracer else lambda x, theirs: x,
        ),
    )


def is_traced(x: Any) -> bool:
    """Return whether a value is a JAX tracer."""
    return isinstance(x, jax.core.Tracer)

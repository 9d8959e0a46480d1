"""Private name of JAX that is used here: the test whether JAX is tracing."""

from __future__ import annotations

import sys


def jax_traces() -> bool:
    """Return whether JAX is tracing; without JAX's own test, whether a new array is traced.

    The public way detects compilation, but not differentiation without compilation.
    """
    jax = sys.modules.get("jax")
    if jax is None:
        return False
    is_clean = getattr(sys.modules.get("jax._src.core"), "trace_state_clean", None)
    if is_clean is not None:
        return not is_clean()
    return isinstance(jax.numpy.zeros(()), jax.core.Tracer)

"""JAX's private name that is used here: whether JAX traces something."""

from __future__ import annotations

import sys


def jax_traces() -> bool:
    """Tell whether JAX traces something; without its own answer, whether what it makes is traced.

    The public way sees what is compiled, and not what is differentiated without being compiled.
    """
    jax = sys.modules.get("jax")
    if jax is None:
        return False
    is_clean = getattr(sys.modules.get("jax._src.core"), "trace_state_clean", None)
    if is_clean is not None:
        return not is_clean()
    return isinstance(jax.numpy.zeros(()), jax.core.Tracer)

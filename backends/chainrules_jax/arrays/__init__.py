"""Words on JAX's arrays, as JAX computes them."""

from chainrules_jax.arrays import matrices, odes, solve

__all__ = ["matrices", "odes", "solve"]

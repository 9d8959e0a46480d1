"""JAX's arrays, and how they compute the words."""

from chainrules_jax.arrays import array_types, matrices, odes, solve

__all__ = ["array_types", "matrices", "odes", "solve"]

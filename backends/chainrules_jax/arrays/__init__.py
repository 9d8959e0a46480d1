"""Implementations of the operations for JAX's arrays."""

from chainrules_jax.arrays import loops, matrices, odes, solve

__all__ = ["loops", "matrices", "odes", "solve"]

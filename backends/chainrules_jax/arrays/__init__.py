"""Implementations of the operations for JAX's arrays."""

from chainrules_jax.arrays import matrices, odes, solve

__all__ = ["matrices", "odes", "solve"]

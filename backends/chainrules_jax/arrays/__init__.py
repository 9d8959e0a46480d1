"""Implementations of the operations for JAX's arrays."""

from chainrules_jax.arrays import odes, solve

__all__ = ["odes", "solve"]

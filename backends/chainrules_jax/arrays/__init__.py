"""Implementations of the operations for JAX's arrays."""

from chainrules_jax.arrays import odes, signature_differences, solve

__all__ = ["odes", "signature_differences", "solve"]

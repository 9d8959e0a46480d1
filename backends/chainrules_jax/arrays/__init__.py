"""Operations on JAX's arrays, as JAX computes them."""

from chainrules_jax.arrays import loops, matrices, odes, solve

__all__ = ["loops", "matrices", "odes", "solve"]

"""How MLX's arrays compute the operations."""

from chainrules_mlx.arrays import aliases, elementwise, linalg, manipulation, reductions

__all__ = ["elementwise", "linalg", "manipulation", "reductions", "aliases"]

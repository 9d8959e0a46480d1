"""How MLX's arrays compute the words."""

from chainrules_mlx.arrays import elementwise, linalg, manipulation, reductions, rows

__all__ = ["elementwise", "linalg", "manipulation", "reductions", "rows"]

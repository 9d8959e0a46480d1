"""Implementations of the operations for MLX's arrays."""

from chainrules_mlx.arrays import (
    aliases,
    elementwise,
    linalg,
    manipulation_and_indexing,
    reductions,
)

__all__ = ["elementwise", "linalg", "manipulation_and_indexing", "reductions", "aliases"]

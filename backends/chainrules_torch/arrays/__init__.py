"""Implementations of the operations for PyTorch's tensors."""

from chainrules_torch.arrays import (
    elementwise_and_reductions,
    indexing,
    linalg,
    manipulation_and_creation,
    special,
)

__all__ = [
    "elementwise_and_reductions",
    "indexing",
    "linalg",
    "manipulation_and_creation",
    "special",
]

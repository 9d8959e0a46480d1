"""Implementations of the operations for PyTorch's tensors."""

from chainrules_torch.arrays import elementwise, indexing, linalg, manipulation, special

__all__ = ["elementwise", "indexing", "linalg", "manipulation", "special"]

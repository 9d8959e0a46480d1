"""PyTorch's tensors as arrays, and how they compute the words."""

from chainrules_torch.arrays import elementwise, indexing, linalg, manipulation, special, tensors

__all__ = ["elementwise", "indexing", "linalg", "manipulation", "special", "tensors"]

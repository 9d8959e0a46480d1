"""Operations on PyTorch's tensors, as PyTorch computes them."""

from chainrules_torch.arrays import elementwise, indexing, linalg, manipulation, special

__all__ = ["elementwise", "indexing", "linalg", "manipulation", "special"]

"""PyTorch's own functions and methods, of values that stand for tensors."""

from chainrules_torch.names import elementwise, matrices, reductions, shapes

__all__ = ["elementwise", "matrices", "reductions", "shapes"]

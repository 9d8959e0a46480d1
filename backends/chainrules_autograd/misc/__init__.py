"""Helpers of autograd: containers as vectors, optimizers, fixed points."""

from chainrules_autograd.misc.flatten import flatten, flatten_func

__all__ = ["flatten", "flatten_func"]

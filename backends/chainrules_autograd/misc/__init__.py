"""Helpers that autograd brings: vectors of containers, optimisers, fixed points."""

from chainrules_autograd.misc.flatten import flatten, flatten_func

__all__ = ["flatten", "flatten_func"]

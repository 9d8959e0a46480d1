"""The rules of the vocabulary: the mathematics, citing its source, and nothing about any library."""

from chainrules_py.rules import elementwise, reductions

__all__ = ["elementwise", "reductions"]

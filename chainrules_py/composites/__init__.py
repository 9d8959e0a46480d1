"""NumPy-like functions written in words, shared by every library."""

from chainrules_py.composites import elementwise, standard

__all__ = ["elementwise", "standard"]

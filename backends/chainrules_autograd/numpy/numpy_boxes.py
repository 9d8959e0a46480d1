"""The class of traced arrays."""

from chainrules_autograd.tracer import Box as ArrayBox

__all__ = ["ArrayBox"]

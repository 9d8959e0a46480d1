"""The ufuncs of ``scipy.special``: operations for those that the core has none for, and rules."""

from chainrules_scipy.ufuncs import distributions, elliptic, functions

__all__ = ["distributions", "elliptic", "functions"]

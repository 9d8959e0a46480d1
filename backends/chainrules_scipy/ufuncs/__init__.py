"""The ufuncs of ``scipy.special``: rows, words for those that the core has none for, and rules."""

from chainrules_scipy.ufuncs import distributions, elliptic, functions, rows

__all__ = ["distributions", "elliptic", "functions", "rows"]

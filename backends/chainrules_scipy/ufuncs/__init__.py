"""The ufuncs of ``scipy.special``: rows, words for those that the core has none for, and rules."""

from chainrules_scipy.ufuncs import distributions, elliptic, functions, inverses, rows, waves

__all__ = ["distributions", "elliptic", "functions", "inverses", "rows", "waves"]

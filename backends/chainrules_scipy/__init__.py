"""SciPy, as chainrules_py sees it: special functions, and linear algebra.

The ufuncs of ``scipy.special`` take traced values as they are. SciPy's functions that are written
in Python make plain arrays of their arguments first; `special` and `linalg` have functions of the
same names and parameters that take traced values as well.
"""

from chainrules_scipy import implementations, linalg, special, ufuncs

__all__ = ["implementations", "linalg", "special", "ufuncs"]

chainrules_contract = 1

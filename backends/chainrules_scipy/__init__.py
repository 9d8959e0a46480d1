"""SciPy, as chainrules_py sees it: special functions, linear algebra, and sparse arrays.

The ufuncs of ``scipy.special`` take traced values as they are. SciPy's functions that are written
in Python make plain arrays of their arguments first; `special` and `linalg` have functions of the
same names and parameters that take traced values as well.
"""

from chainrules_py.extend import later
from chainrules_scipy import implementations, linalg, special, ufuncs

__all__ = ["implementations", "linalg", "special", "ufuncs"]

chainrules_contract = 1

# An array that is passed to a function brings its module; one that it only multiplies is a plain
# array of SciPy's, and its operators have to be told before.
for _format in ("csr", "csc", "coo", "bsr", "dia", "dok", "lil"):
    later("chainrules_scipy.sparse", f"scipy.sparse._{_format}")
later("chainrules_scipy.sparse.hints", "scipy.sparse._base")

"""NumPy, as chainrules_py sees it: tables, and the exceptions to them.

Importing this registers them.
"""

from chainrules_numpy import (
    arrays,
    elementwise,
    functions,
    implementations,
    linalg,
    methods,
    ufuncs,
)

__all__ = [
    "arrays",
    "elementwise",
    "functions",
    "implementations",
    "linalg",
    "methods",
    "ufuncs",
]

chainrules_contract = 1

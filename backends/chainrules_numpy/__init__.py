"""NumPy, as chainrules_py sees it: tables, and the exceptions to them.

Importing this registers them.
"""

from chainrules_numpy import (
    arrays,
    decompositions,
    elementwise,
    functions,
    implementations,
    linalg,
    memory,
    methods,
    products,
    random,
    special,
    statistics,
    ufuncs,
    writing,
)

__all__ = [
    "arrays",
    "decompositions",
    "elementwise",
    "functions",
    "implementations",
    "linalg",
    "memory",
    "methods",
    "products",
    "random",
    "special",
    "statistics",
    "ufuncs",
    "writing",
]

chainrules_contract = 1

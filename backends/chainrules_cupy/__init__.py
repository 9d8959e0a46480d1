"""CuPy, as chainrules_py sees it: tables, and the exceptions to them.

Importing this registers them.
"""

from chainrules_cupy import (
    arrays,
    expressions,
    indexing,
    kernels,
    lazy,
    matrices,
    namespace,
    rows,
    special,
    words,
)

__all__ = [
    "arrays",
    "expressions",
    "indexing",
    "kernels",
    "lazy",
    "matrices",
    "namespace",
    "rows",
    "special",
    "words",
]

chainrules_contract = 1

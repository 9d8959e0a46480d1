"""CuPy, as chainrules_py sees it: tables, and the exceptions to them.

Importing this registers them.
"""

from chainrules_cupy import (
    arrays,
    indexing,
    matrices,
    namespace,
    rows,
    special,
    words,
)
from chainrules_cupy.indexing import deterministic
from chainrules_cupy.words import debug

__all__ = [
    "arrays",
    "debug",
    "deterministic",
    "indexing",
    "matrices",
    "namespace",
    "rows",
    "special",
    "words",
]

chainrules_contract = 1

"""CuPy support: aliases, and implementations where CuPy differs.

Importing this package registers them.
"""

from chainrules_cupy import (
    aliases,
    arrays,
    indexing,
    matrices,
    namespace,
    operations,
    special,
)
from chainrules_cupy.indexing import deterministic
from chainrules_cupy.operations import debug

__all__ = [
    "arrays",
    "debug",
    "deterministic",
    "indexing",
    "matrices",
    "namespace",
    "aliases",
    "special",
    "operations",
]

chainrules_contract = 1

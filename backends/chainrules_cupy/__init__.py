"""CuPy support: aliases, and implementations where CuPy differs.

Importing this package registers them.
"""

from chainrules_cupy import (
    aliases,
    array_types,
    indexing,
    matrices,
    namespace,
    operations,
    special,
)
from chainrules_cupy.indexing import deterministic
from chainrules_cupy.operations import debug

__all__ = [
    "array_types",
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

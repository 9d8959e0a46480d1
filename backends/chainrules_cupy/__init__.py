"""CuPy, as chainrules_py sees it: tables, and the exceptions to them.

Importing this registers them.
"""

from chainrules_cupy import (
    arrays,
    expressions,
    fusion,
    indexing,
    kernels,
    lazy,
    matrices,
    namespace,
    rows,
    special,
    words,
)
from chainrules_cupy.fusion import fuse
from chainrules_cupy.indexing import deterministic
from chainrules_cupy.kernels import fuse_pulls
from chainrules_cupy.words import debug

__all__ = [
    "arrays",
    "debug",
    "deterministic",
    "expressions",
    "fuse",
    "fuse_pulls",
    "fusion",
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

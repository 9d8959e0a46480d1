"""Sparse arrays of ``scipy.sparse``: products and systems, with derivatives on the stored pattern.

An array of these is a structure of one field, ``data``: its elements are what derivatives are taken
in, and where they stand is static. Import this module in programs that multiply sparse arrays by
traced ones: SciPy's operators then let the tracers answer.
"""

from chainrules_scipy.sparse import advising, operators
from chainrules_scipy.sparse.patterns import Pattern
from chainrules_scipy.sparse.solving import spsolve
from chainrules_scipy.sparse.traced import TracedSparse, with_data
from chainrules_scipy.sparse.words import sampled, sparse_product, sparse_solve

__all__ = [
    "Pattern",
    "TracedSparse",
    "advising",
    "operators",
    "sampled",
    "sparse_product",
    "sparse_solve",
    "spsolve",
    "with_data",
]

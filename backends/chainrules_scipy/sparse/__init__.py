"""Sparse arrays of ``scipy.sparse``: products and systems, with derivatives on the stored pattern.

An array of these is a structure of one field, ``data``: its elements are what derivatives are taken
in, and where they stand is static. Import this module in programs that multiply sparse arrays by
traced ones: SciPy's operators then let the tracers answer.
"""

from typing import Any

from chainrules_scipy.sparse import advising, making, operators, solvers
from chainrules_scipy.sparse.patterns import Pattern
from chainrules_scipy.sparse.solving import spsolve
from chainrules_scipy.sparse.structures import with_data
from chainrules_scipy.sparse.traced import TracedSparse
from chainrules_scipy.sparse.words import sampled, sparse_product, sparse_solve

__all__ = [
    "Pattern",
    "TracedSparse",
    "advising",
    "making",
    "operators",
    "sampled",
    "solvers",
    "sparse_product",
    "sparse_solve",
    "spsolve",
    "with_data",
]


def __getattr__(name: str) -> Any:
    for module in (making, solvers):
        if name in vars(module) and name[0] != "_":
            return vars(module)[name]
    if name in solvers.ITERATIVE:
        return solvers.ITERATIVE[name]
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)

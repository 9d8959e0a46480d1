"""Sparse arrays of ``scipy.sparse``, with derivatives on the stored pattern."""

from typing import Any

from chainrules_scipy.rows import reject
from chainrules_scipy.sparse import linalg, operators
from chainrules_scipy.sparse.linalg import ITERATIVE, spsolve
from chainrules_scipy.sparse.patterns import Pattern, sampled, sparse_product, sparse_solve
from chainrules_scipy.sparse.traced import MAKING, TracedSparse, with_data

__all__ = [
    "Pattern",
    "TracedSparse",
    "linalg",
    "operators",
    "sampled",
    "sparse_product",
    "sparse_solve",
    "spsolve",
    "with_data",
]


def __getattr__(name: str) -> Any:
    found = (MAKING | ITERATIVE).get(name) or vars(linalg).get(name)
    if found is None or name[0] == "_":
        reject(f"module {__name__!r} has no attribute {name!r}", AttributeError)
    return found

"""Sparse arrays of ``scipy.sparse``, with derivatives on the stored pattern."""

import functools

from chainrules_scipy.composites_and_operand_conversions import attribute
from chainrules_scipy.sparse import linalg
from chainrules_scipy.sparse.linalg import ITERATIVE, spsolve
from chainrules_scipy.sparse.patterns_and_products import (
    Pattern,
    sampled,
    sparse_product,
    sparse_solve,
)
from chainrules_scipy.sparse.traced_sparse import MAKING, TracedSparse, with_data

__all__ = [
    "Pattern",
    "TracedSparse",
    "linalg",
    "sampled",
    "sparse_product",
    "sparse_solve",
    "spsolve",
    "with_data",
]


__getattr__ = functools.partial(
    attribute,
    __name__,
    MAKING | ITERATIVE | {name: f for name, f in vars(linalg).items() if name[0] != "_"},
)

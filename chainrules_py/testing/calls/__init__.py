"""Calls of NumPy's functions, one module per family: what the coverage page counts."""

from chainrules_py.testing.calls import (
    creation,
    decompositions,
    elementwise,
    fourier,
    indexing,
    joining,
    manipulation,
    polynomials,
    products,
    reductions,
    sets,
    sorting,
    statistics,
)

__all__ = [
    "creation",
    "decompositions",
    "elementwise",
    "fourier",
    "indexing",
    "joining",
    "manipulation",
    "polynomials",
    "products",
    "reductions",
    "sets",
    "sorting",
    "statistics",
]

"""Calls of NumPy's functions, one module per family: what the coverage page counts."""

from chainrules_py.testing.calls import (
    creation,
    decompositions,
    elementwise,
    fourier,
    higher_order,
    indexing,
    joining,
    manipulation,
    polynomials,
    products,
    reductions,
    scipy_linalg,
    sets,
    sorting,
    special,
    statistics,
)

__all__ = [
    "creation",
    "decompositions",
    "elementwise",
    "fourier",
    "higher_order",
    "indexing",
    "joining",
    "manipulation",
    "polynomials",
    "products",
    "reductions",
    "scipy_linalg",
    "sets",
    "sorting",
    "special",
    "statistics",
]

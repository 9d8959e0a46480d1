"""The rows of NumPy's functions: which word, or which composite of words, each of them is."""

from chainrules_numpy.functions import (
    creation,
    decompositions,
    elementwise,
    facts,
    fourier,
    higher_order,
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
    "facts",
    "higher_order",
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

"""The samples, one module per family, under the same names as the rules."""

from chainrules_py.testing.samples import (
    contraction,
    creation,
    decompositions,
    elementwise,
    higher_order,
    fourier,
    indexing,
    interpolation,
    joining,
    linalg,
    manipulation,
    polynomials,
    reductions,
    reporting,
    sorting,
    statistics,
)

__all__ = [
    "contraction",
    "creation",
    "decompositions",
    "elementwise",
    "higher_order",
    "fourier",
    "indexing",
    "interpolation",
    "joining",
    "linalg",
    "manipulation",
    "polynomials",
    "reductions",
    "reporting",
    "sorting",
    "statistics",
]

"""The samples, one module per family, under the same names as the rules."""

from chainrules_py.testing.samples import (
    creation,
    elementwise,
    indexing,
    joining,
    linalg,
    manipulation,
    reductions,
    reporting,
    sorting,
)

__all__ = [
    "creation",
    "elementwise",
    "indexing",
    "joining",
    "linalg",
    "manipulation",
    "reductions",
    "reporting",
    "sorting",
]

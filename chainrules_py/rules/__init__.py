"""The rules of the vocabulary: the mathematics and its source, and nothing of any library."""

from chainrules_py.rules import (
    creation,
    elementwise,
    indexing,
    joining,
    linalg,
    manipulation,
    predicates,
    reductions,
    reporting,
    selection,
    sorting,
    svd,
    trigonometry,
)

__all__ = [
    "creation",
    "elementwise",
    "indexing",
    "joining",
    "linalg",
    "manipulation",
    "predicates",
    "reductions",
    "reporting",
    "selection",
    "sorting",
    "svd",
    "trigonometry",
]

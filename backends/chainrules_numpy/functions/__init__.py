"""The rows of NumPy's functions: which word, or which composite of words, each of them is."""

from chainrules_numpy.functions import (
    creation,
    facts,
    indexing,
    joining,
    manipulation,
    reductions,
    sorting,
)

__all__ = [
    "creation",
    "facts",
    "indexing",
    "joining",
    "manipulation",
    "reductions",
    "sorting",
]

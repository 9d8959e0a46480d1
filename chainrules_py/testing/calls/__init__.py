"""Calls of NumPy's functions, one module per family: what the coverage page counts."""

from chainrules_py.testing.calls import (
    reductions,
)

__all__ = [
    "reductions",
]

"""NumPy-like functions written in words, shared by every library."""

from chainrules_py.composites import (
    decompositions,
    elementwise,
    higher_order,
    matrix_functions,
    standard,
)

__all__ = [
    "decompositions",
    "elementwise",
    "higher_order",
    "matrix_functions",
    "standard",
]

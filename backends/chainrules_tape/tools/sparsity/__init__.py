"""Sparse Jacobians and Hessians by coloring, for every engine that pushes and pulls.

A pattern is detected (`detection`) or given, and its columns and rows are colored (`coloring`). A
`Plan` has the pushes and pulls that compute its entries, and `sparse_jacobian` runs them.
"""

from chainrules_tape.tools.sparsity.jacobian_products import Engine
from chainrules_tape.tools.sparsity.plan import DensePatternWarning, Plan
from chainrules_tape.tools.sparsity.sparse_jacobian import SparseJacobian

__all__ = ["DensePatternWarning", "Engine", "Plan", "SparseJacobian"]

"""Matrix functions and matrix equations; axes before the last two are batch axes.

The names are SciPy's.
"""

from typing import Any, NamedTuple

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Array

__all__ = [
    "LUFactors",
    "expm",
    "expm_frechet",
    "logm",
    "lu_factor",
    "solve_sylvester",
    "sqrtm",
    "unitary_factor",
]


@primitive
def expm(x: Array, /) -> Any:
    """Compute the exponential Σ xᵏ / k! of each matrix."""


@primitive
def expm_frechet(x: Array, t: Array, /) -> Any:
    """Compute the derivative of `expm` at x along t."""


logm = expm.alike(
    "logm", "Find the matrix y with x = expm(y) whose eigenvalues lie between -iπ and iπ."
)
sqrtm = expm.alike(
    "sqrtm", "Find the matrix y with x = y y whose eigenvalues have no negative real part."
)
unitary_factor = expm.alike(
    "unitary_factor",
    "Find the nearest matrix of orthonormal columns, or rows: that of its polar form.",
)


@primitive
def solve_sylvester(a: Array, b: Array, q: Array, /) -> Any:
    """Find the y with a y + y b = q."""


class LUFactors(NamedTuple):
    """Result of `lu_factor`."""

    lu: Any
    pivots: Any
    permutation: Any


@primitive
def lu_factor(x: Array, /) -> LUFactors:  # type: ignore[empty-body]
    """Find L and U of square x with L U = x[permutation], packed in one matrix without L's ones.

    ``pivots[i]`` is the row that was exchanged with row i.
    """

"""Operations of linear algebra; matrices are the last two axes, and other axes are batch axes."""

from typing import Any, NamedTuple

# The contents of the standard's namespace ``linalg``, which this module is for tracers.
from chainrules_py.ops.decompositions import (
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    matrix_rank,
    pinv,
    qr,
)
from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Array, Numeric
from chainrules_py.values.type_info import type_info

__all__ = [
    "SVDResult",
    "cholesky",
    "diagonal",
    "dot",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "from_diagonal",
    "inner",
    "inv",
    "matmul",
    "matrix_rank",
    "outer",
    "pinv",
    "qr",
    "resolution",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "tril",
    "triu",
    "vecdot",
]


# ---------------------------------------------------------------- products


@primitive
def matmul(x1: Array, x2: Array, /) -> Any:
    """Compute the matrix product; a vector is a row on the left and a column on the right."""


@primitive
def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Any:
    """Sum conj(x1) x2 along an axis of both, counted from the end."""


@primitive
def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[tuple[int, ...], tuple[int, ...]] = 2
) -> Any:
    """Sum products over axes: the last n of x1 and first n of x2, or those in the two tuples."""


@primitive
def outer(x1: Numeric, x2: Numeric, /) -> Any:
    """Multiply each element of x1 by each of x2, both flattened."""


inner = outer.alike(
    "inner", "Sum products over the last axis of both; with a number, multiply by it."
)
dot = outer.alike(
    "dot", "Sum products over the last axis of x1 and the last but one (or only one) of x2."
)


# ---------------------------------------------------------------- parts of matrices


@primitive
def diagonal(x: Array, /, *, offset: int = 0) -> Any:
    """Return the diagonal of each matrix that is ``offset`` above the main diagonal."""


@primitive
def from_diagonal(x: Array, /, *, rows: int, columns: int, offset: int = 0) -> Any:
    """Build matrices of this shape with x on the given diagonal, and zeros elsewhere."""


trace = diagonal.alike("trace", "Sum the diagonal of each matrix.")


@primitive
def tril(x: Array, /, *, k: int = 0) -> Any:
    """Return x with zeros above the k-th diagonal."""


triu = tril.alike("triu", "x with zeros below the k-th diagonal.")


# ---------------------------------------------------------------- solving


@primitive
def inv(x: Array, /) -> Any:
    """Compute the inverse of each matrix."""


solve = matmul.alike(
    "solve", "Find the x with x1 x = x2; x2 is one vector, or matrices of columns."
)
slogdet = inv.alike(
    "slogdet",
    "Compute the sign (or phase) and the logarithm of the absolute value of each determinant.",
)


# ---------------------------------------------------------------- singular values


class SVDResult(NamedTuple):
    """Result of `svd`; a library may return its own namedtuple with these fields."""

    U: Any
    S: Any
    Vh: Any


@primitive
def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:  # type: ignore[empty-body]
    """Find unitary U and Vh, and S >= 0 in descending order, with x = U diag(S) Vh."""


svdvals = inv.alike("svdvals", "Compute the singular values of each matrix, in descending order.")


def resolution(x: Any) -> float:
    """Return the relative distance between neighbouring numbers of x's dtype, as a constant.

    Examples
    --------
    >>> import numpy as np
    >>> resolution(np.zeros(2, np.float32)) == 2.0**-23
    True
    """
    xp = type_info(type(x)).namespace
    assert xp is not None
    return float(xp.finfo(x.dtype).eps)

"""Operations that factor matrices and solve with the factors. Leading axes are a batch.

Of a Hermitian matrix one triangle is read, with the real parts of its diagonal: the lower one
unless ``upper`` says otherwise. What stands in the other has no influence, and no derivative.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.arrays import Array

__all__ = [
    "EigResult",
    "EighResult",
    "QRResult",
    "cholesky",
    "cholesky_cotangent",
    "cholesky_tangent",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv_again",
    "lstsq",
    "matrix_rank",
    "pinv",
    "qr",
    "qr_raw",
    "solve_again",
    "solve_triangular",
]


# ---------------------------------------------------------------- triangular factors


@primitive
def cholesky(x: Array, /, *, upper: bool = False) -> Any:
    """Find the lower triangular L, of positive diagonal, with x = L Lᴴ, or Lᴴ if ``upper``."""


@primitive
def cholesky_cotangent(y_bar: Array, factor: Array, /) -> Any:
    """Turn a cotangent of L into that of the lower triangle of L Lᴴ: the adjoint of dL(dx)."""


@primitive
def cholesky_tangent(x_dot: Array, factor: Array, /) -> Any:
    """Turn a tangent of L Lᴴ, of which the lower triangle is read, into that of L: dL(dx)."""


@primitive
def solve_triangular(
    x1: Array, x2: Array, /, *, upper: bool = False, unit_diagonal: bool = False
) -> Any:
    """Solve x1 y = x2 for y, where one triangle of x1 is read; x2 is as for `solve`."""


@primitive
def solve_again(x1: Array, x2: Array, /) -> Any:
    """Solve once more in a rule, like `solve` up to rounding: a library may look at x1 first."""


@primitive
def inv_again(x: Array, /) -> Any:
    """Invert in a rule, like `inv` up to rounding: a library may have a shorter way."""


class QRResult(NamedTuple):
    """Result of `qr`; a library's own namedtuple with these fields takes its place."""

    Q: Any
    R: Any


@primitive
def qr(x: Array, /, *, mode: str = "reduced") -> QRResult:  # type: ignore[empty-body]
    """Find the unitary Q and the upper triangular R, of real diagonal, with x = Q R.

    ``mode`` is ``"reduced"``, or ``"complete"`` for a square Q.
    """


@primitive
def qr_raw(x: Array, /) -> tuple[Any, Any]:  # type: ignore[empty-body]
    """Return LAPACK's reflectors that make Q: packed with R, transposed, and their factors τ."""


# ---------------------------------------------------------------- eigenvalues


class EighResult(NamedTuple):
    """Result of `eigh`; a library's own namedtuple with these fields takes its place."""

    eigenvalues: Any
    eigenvectors: Any


@primitive
def eigh(x: Array, /, *, upper: bool = False) -> EighResult:  # type: ignore[empty-body]
    """Find the ascending real w and the unitary V with x = V diag(w) Vᴴ."""


eigvalsh = cholesky.alike(
    "eigvalsh", "Compute the real eigenvalues of each Hermitian matrix, in ascending order."
)


class EigResult(NamedTuple):
    """Result of `eig`; a library's own namedtuple with these fields takes its place."""

    eigenvalues: Any
    eigenvectors: Any


@primitive
def eig(x: Array, /) -> EigResult:  # type: ignore[empty-body]
    """Find the w and the V with x V = V diag(w), real where x and all eigenvalues are.

    Columns of V have length one, and their largest element is real.
    """


@primitive
def eigvals(x: Array, /) -> Any:
    """Compute the eigenvalues of each matrix, real where x and all of them are."""


# ---------------------------------------------------------------- least squares


@primitive
def pinv(x: Array, /, *, rtol: float | None = None, hermitian: bool = False) -> Any:
    """Compute each matrix's pseudoinverse; singular values below ``rtol`` of the first count as 0.

    The default is ε times the longer side. Of a Hermitian matrix the lower triangle is read.
    """


@primitive
def lstsq(x1: Array, x2: Array, /, *, rcond: float | None = None) -> Any:
    """Find the shortest y that minimises |x1 y - x2|, the squared residuals, rank, singular values.

    They come in a tuple. There are residuals only where x1 has more rows than columns and full
    rank.
    """


@primitive
def matrix_rank(x: Array, /, *, rtol: float | None = None) -> Any:
    """Count the singular values of each matrix that are above ``rtol`` of the first."""

"""Operations that factor matrices and solve with the factors; leading axes are batch axes.

Of a Hermitian matrix, only one triangle and the real parts of the diagonal are read: the lower
triangle, or the upper one with ``upper``. The other triangle has no influence, and no derivative.
"""

from typing import Any, NamedTuple

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Array

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
    """Find the lower triangular L with positive diagonal and x = L Lᴴ, or Lᴴ if ``upper``."""


@primitive
def cholesky_cotangent(y_bar: Array, factor: Array, /) -> Any:
    """Map a cotangent of L to one of the lower triangle of L Lᴴ: the adjoint of dL(dx)."""


@primitive
def cholesky_tangent(x_dot: Array, factor: Array, /) -> Any:
    """Map a tangent of L Lᴴ, of which the lower triangle is read, to one of L: dL(dx)."""


@primitive
def solve_triangular(
    x1: Array, x2: Array, /, *, upper: bool = False, unit_diagonal: bool = False
) -> Any:
    """Solve x1 y = x2 for y, reading one triangle of x1; x2 is as for `solve`."""


@primitive
def solve_again(x1: Array, x2: Array, /) -> Any:
    """Solve again in a rule; like `solve` up to rounding, but a library may inspect x1 first."""


@primitive
def inv_again(x: Array, /) -> Any:
    """Invert in a rule; like `inv` up to rounding, but a library may have a faster way."""


class QRResult(NamedTuple):
    """Result of `qr`; a library may return its own namedtuple with these fields."""

    Q: Any
    R: Any


@primitive
def qr(x: Array, /, *, mode: str = "reduced") -> QRResult:  # type: ignore[empty-body]
    """Find the unitary Q and the upper triangular R with real diagonal and x = Q R.

    ``mode`` is ``"reduced"``, or ``"complete"`` for a square Q.
    """


@primitive
def qr_raw(x: Array, /) -> tuple[Any, Any]:  # type: ignore[empty-body]
    """Return LAPACK's form of Q: the reflectors packed with R, transposed, and their factors τ."""


# ---------------------------------------------------------------- eigenvalues


class EighResult(NamedTuple):
    """Result of `eigh`; a library may return its own namedtuple with these fields."""

    eigenvalues: Any
    eigenvectors: Any


@primitive
def eigh(x: Array, /, *, upper: bool = False) -> EighResult:  # type: ignore[empty-body]
    """Find the real w, in ascending order, and the unitary V with x = V diag(w) Vᴴ."""


eigvalsh = cholesky.alike(
    "eigvalsh", "Compute the real eigenvalues of each Hermitian matrix, in ascending order."
)


class EigResult(NamedTuple):
    """Result of `eig`; a library may return its own namedtuple with these fields."""

    eigenvalues: Any
    eigenvectors: Any


@primitive
def eig(x: Array, /) -> EigResult:  # type: ignore[empty-body]
    """Find w and V with x V = V diag(w); they are real if x and all eigenvalues are.

    Columns of V have length one, and their largest element is real.
    """


@primitive
def eigvals(x: Array, /) -> Any:
    """Compute the eigenvalues of each matrix, which are real if x and all of them are."""


# ---------------------------------------------------------------- least squares


@primitive
def pinv(x: Array, /, *, rtol: float | None = None, hermitian: bool = False) -> Any:
    """Compute each matrix's pseudoinverse; singular values below ``rtol`` of the first count as 0.

    By default, ``rtol`` is ε times the longer side. With ``hermitian``, the lower triangle is read.
    """


@primitive
def lstsq(x1: Array, x2: Array, /, *, rcond: float | None = None) -> Any:
    """Find the shortest y that minimises |x1 y - x2|, the squared residuals, rank, singular values.

    The result is a tuple. There are residuals only if x1 has more rows than columns and full rank.
    """


@primitive
def matrix_rank(x: Array, /, *, rtol: float | None = None) -> Any:
    """Count the singular values of each matrix that are above ``rtol`` of the first."""

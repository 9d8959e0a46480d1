"""Linear algebra, contractions and Fourier transforms, as PyTorch computes them."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from chainrules_py import vocabulary as v
from chainrules_py.extend import adjugate_by_svd
from chainrules_py.vocabulary.decompositions import EighResult, EigResult, QRResult
from chainrules_py.vocabulary.linalg import SVDResult
from chainrules_py.vocabulary.matrix_functions import LUFactors
from chainrules_torch.engine.apart import is_hidden
from chainrules_torch.tensors import TENSOR, alike, entered

_tensordot: Any = torch.tensordot


class SlogdetResult(NamedTuple):
    """Result of `slogdet`: the sign, and the logarithm of the absolute value."""

    sign: Any
    logabsdet: Any


# ------------------------------------------------------------------------------------ products


def _einsum(*operands: Any, subscripts: str, optimize: Any = False) -> Any:
    return torch.einsum(subscripts, *alike(*operands))


v.einsum.implement(_einsum, types=(TENSOR,))


def _outer(x1: Any, x2: Any) -> Any:
    x1, x2 = alike(x1, x2)
    return x1.reshape(-1, 1) * x2.reshape(-1)


def _inner(x1: Any, x2: Any) -> Any:
    x1, x2 = alike(x1, x2)
    if x1.ndim == 0 or x2.ndim == 0:
        return x1 * x2
    return _tensordot(x1, x2, dims=([-1], [-1]))


def _dot(x1: Any, x2: Any) -> Any:
    x1, x2 = alike(x1, x2)
    if x1.ndim == 0 or x2.ndim == 0:
        return x1 * x2
    return _tensordot(x1, x2, dims=([-1], [-2 if x2.ndim > 1 else -1]))


entered(v.outer, _outer)
entered(v.inner, _inner)
entered(v.dot, _dot)


@v.matmul.implement
def matmul_torch(x1: torch.Tensor, x2: torch.Tensor) -> Any:
    """Multiply matrices, made to be of one dtype."""
    return torch.matmul(*alike(x1, x2))


@v.vecdot.implement
def vecdot_torch(x1: torch.Tensor, x2: torch.Tensor, *, axis: int = -1) -> Any:
    """Compute dot products along an axis, counted from the end: it is that of the product."""
    x1, x2 = alike(x1, x2)
    return (torch.conj_physical(x1) * x2).sum(axis)


# ---------------------------------------------------------------------------- parts of matrices


@v.diagonal.implement
def diagonal_torch(x: torch.Tensor, *, offset: int = 0) -> Any:
    """Return the diagonal of the last two axes."""
    return torch.diagonal(x, offset, -2, -1)


@v.trace.implement
def trace_torch(x: torch.Tensor, *, offset: int = 0) -> Any:
    """Compute the trace of the last two axes."""
    return torch.diagonal(x, offset, -2, -1).sum(-1)


def _matrix(x: torch.Tensor) -> torch.Tensor:
    """Return a matrix with a vector as each of its rows, as NumPy does."""
    return x.expand(x.shape[0], -1) if x.ndim == 1 else x


@v.tril.implement
def tril_torch(x: torch.Tensor, *, k: int = 0) -> Any:
    """Return the lower triangle, under PyTorch's own name for the diagonal."""
    return torch.tril(_matrix(x), k)


@v.triu.implement
def triu_torch(x: torch.Tensor, *, k: int = 0) -> Any:
    """Return the upper triangle, under PyTorch's own name for the diagonal."""
    return torch.triu(_matrix(x), k)


# ------------------------------------------------------------------- systems and decompositions


@v.solve.implement
def solve_torch(x1: torch.Tensor, x2: torch.Tensor) -> Any:
    """PyTorch takes some stacks of matrices for vectors, and vmap vectors for matrices."""
    x1, x2 = alike(x1, x2)
    if x2.ndim == 1:
        return torch.linalg.solve(x1, x2[:, None])[..., 0]
    return torch.linalg.solve(x1, x2 if x2.ndim >= x1.ndim else x2[(None,) * (x1.ndim - x2.ndim)])


@v.solve_again.implement
def solve_again_torch(x1: torch.Tensor, x2: torch.Tensor) -> Any:
    """To look at the matrix would be to wait for it."""
    return solve_torch(x1, x2)


@v.solve_triangular.implement
def solve_triangular_torch(
    x1: torch.Tensor, x2: torch.Tensor, *, upper: bool = False, unit_diagonal: bool = False
) -> Any:
    """PyTorch's takes matrices of columns alone."""
    x1, x2 = alike(x1, x2)
    columns = x2[:, None] if x2.ndim == 1 else x2
    y = torch.linalg.solve_triangular(x1, columns, upper=upper, unitriangular=unit_diagonal)
    return y[..., 0] if x2.ndim == 1 else y


@v.expm.implement
def expm_torch(x: torch.Tensor) -> Any:
    """Compute the matrix exponential, under its name in PyTorch."""
    return torch.linalg.matrix_exp(x)


@v.slogdet.implement
def slogdet_torch(x: torch.Tensor) -> Any:
    """Compute a namedtuple of sign and logarithm, which PyTorch's own result is not."""
    return SlogdetResult(*torch.linalg.slogdet(x))


@v.cholesky.implement
def cholesky_torch(x: torch.Tensor, *, upper: bool = False) -> Any:
    """torch.cholesky is another, older function."""
    return torch.linalg.cholesky(x, upper=bool(upper))


@v.cholesky_cotangent.implement
def cholesky_cotangent_torch(y_bar: torch.Tensor, factor: torch.Tensor) -> Any:
    """Murray (2016), arXiv:1602.07527, eq. (9): tril(L⁻ᴴ Φ(Lᴴ L̄) L⁻¹), made symmetric inside."""
    y_bar, factor = alike(y_bar, factor)
    phi = torch.tril(torch.tril(factor).mH @ torch.tril(y_bar))
    half = phi - 0.5 * torch.diag_embed(torch.diagonal(phi, 0, -2, -1))
    # LAPACK reads one triangle, and its own layout of the factor without a copy.
    upper = factor.mH
    inside = torch.linalg.solve_triangular(upper, half + half.mH, upper=True)
    full = torch.linalg.solve_triangular(upper, inside.mH, upper=True).mH
    return torch.tril(full) - 0.5 * torch.diag_embed(torch.diagonal(full, 0, -2, -1))


@v.svd.implement
def svd_torch(x: torch.Tensor, *, full_matrices: bool = True) -> Any:
    """torch.svd is another, older function."""
    return SVDResult(*torch.linalg.svd(x, full_matrices=full_matrices))


@v.svdvals.implement
def svdvals_torch(x: torch.Tensor) -> Any:
    """Compute the singular values, under the name in the linear algebra extension."""
    return torch.linalg.svdvals(x)


@v.eigh.implement
def eigh_torch(x: torch.Tensor, *, upper: bool = False) -> Any:
    """PyTorch names the triangle."""
    return EighResult(*torch.linalg.eigh(x, UPLO="U" if upper else "L"))


@v.eigvalsh.implement
def eigvalsh_torch(x: torch.Tensor, *, upper: bool = False) -> Any:
    """PyTorch names the triangle."""
    return torch.linalg.eigvalsh(x, UPLO="U" if upper else "L")


@v.eig.implement
def eig_torch(x: torch.Tensor) -> Any:
    """Complex always: which dtype a result has does not depend on data here."""
    return EigResult(*torch.linalg.eig(x))


@v.eigvals.implement
def eigvals_torch(x: torch.Tensor) -> Any:
    """Compute the eigenvalues, which are always complex, as in `eig_torch`."""
    return torch.linalg.eigvals(x)


@v.qr.implement
def qr_torch(x: torch.Tensor, *, mode: str = "reduced") -> Any:
    """torch.qr is another, older function."""
    return QRResult(*torch.linalg.qr(x, mode=mode))


@v.pinv.implement
def pinv_torch(x: torch.Tensor, *, rtol: float | None = None, hermitian: bool = False) -> Any:
    """Compute pinv by decompositions; compiled, PyTorch 2.13's is wrong for complex matrices."""
    if rtol is None:
        rtol = torch.finfo(x.dtype).eps * max(x.shape[-2:])
    if not hermitian:
        u, s, vh = torch.linalg.svd(x, full_matrices=False)
        return (vh.mH * _inverted(s, rtol).unsqueeze(-2)) @ u.mH
    w, q = torch.linalg.eigh(x)
    return (q * _inverted(w, rtol).unsqueeze(-2)) @ q.mH


def _inverted(s: torch.Tensor, rtol: float) -> torch.Tensor:
    """1 / s, and 0 for what is less than a part of the largest."""
    if not s.shape[-1]:
        return s
    size = torch.abs(s)
    kept = size > rtol * torch.amax(size, -1, keepdim=True)
    return torch.where(kept, 1 / torch.where(kept, s, 1), 0)


@v.matrix_rank.implement
def matrix_rank_torch(x: torch.Tensor, *, rtol: float | None = None) -> Any:
    """torch.matrix_rank is another, older function."""
    return torch.linalg.matrix_rank(x, rtol=rtol)


@v.qr_raw.implement
def qr_raw_torch(x: torch.Tensor) -> Any:
    """LAPACK's, whose matrix NumPy gives transposed."""
    packed, tau = torch.geqrf(x)
    return packed.mT, tau


@v.lstsq.implement
def lstsq_torch(x1: torch.Tensor, x2: torch.Tensor, *, rcond: float | None = None) -> Any:
    """From the singular values: PyTorch's own leaves out what NumPy's gives besides.

    NumPy gives no squares for a matrix of lesser rank. Where values are hidden, they are NaN.
    """
    x1, x2 = alike(x1, x2)
    rows, columns = x1.shape
    if rcond is None:
        rcond = torch.finfo(x1.dtype).eps * max(rows, columns)
    b = x2[:, None] if x2.ndim == 1 else x2
    u, s, vh = torch.linalg.svd(x1, full_matrices=False)
    inverse = _inverted(s, rcond)
    y = vh.mH @ (inverse[:, None] * (u.mH @ b))
    rank = (inverse != 0).sum()
    rest = b - x1 @ y
    squares = (rest * rest.conj()).real.sum(0)
    if rows <= columns:
        squares = squares[:0]
    elif is_hidden((rank,)):
        squares = torch.where(rank < columns, torch.nan, squares)
    elif rank < columns:
        squares = squares[:0]
    return (y[:, 0] if x2.ndim == 1 else y), squares, rank, s


@v.lu_factor.implement
def lu_factor_torch(x: torch.Tensor) -> Any:
    """LAPACK counts rows from one."""
    lu, pivots = torch.linalg.lu_factor(x)
    permutation = torch.linalg.lu(x)[0].real.mT.argmax(-1)
    return LUFactors(lu, pivots.to(torch.int64) - 1, permutation)


v.adjugate.implement(adjugate_by_svd, types=(TENSOR,))


# ------------------------------------------------------------------------------------- Fourier


def _transform(name: str) -> Any:
    function = getattr(torch.fft, name)

    def transform(
        x: torch.Tensor, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Any:
        return function(x, n=n, dim=axis, norm=norm)

    return transform


for _word in (v.fft, v.ifft, v.rfft, v.irfft):
    _word.implement(_transform(_word.__name__), types=(TENSOR,))

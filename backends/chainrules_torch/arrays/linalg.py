"""Linear algebra, contractions and Fourier transforms in PyTorch."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from chainrules_py import ops as v
from chainrules_py.extend import adjugate_by_svd, dot_standard, inner_standard
from chainrules_py.ops.decompositions import EighResult, EigResult, QRResult
from chainrules_py.ops.linalg import SVDResult
from chainrules_py.ops.matrix_functions import LUFactors
from chainrules_torch.array_types import alike, entered, implement, with_numbers
from chainrules_torch.engine.opaque_programs import is_hidden


class SlogdetResult(NamedTuple):
    """Result of `slogdet`: the sign, and the logarithm of the absolute value of a determinant."""

    sign: Any
    logabsdet: Any


# ------------------------------------------------------------------------------------ products


entered(v.outer, with_numbers(lambda x, y: x.reshape(-1, 1) * y.reshape(-1)))
entered(v.inner, inner_standard)
entered(v.dot, dot_standard)


@v.vecdot.implement
def vecdot_torch(x1: torch.Tensor, x2: torch.Tensor, *, axis: int = -1) -> Any:
    """Compute dot products along an axis of the broadcast product, counted from the end."""
    x1, x2 = alike(x1, x2)
    return (torch.conj_physical(x1) * x2).sum(axis)


def _matrix(x: torch.Tensor) -> torch.Tensor:
    """Return a matrix; a vector becomes each of its rows, as in NumPy."""
    return x.expand(x.shape[0], -1) if x.ndim == 1 else x


# ------------------------------------------------------------------- systems and decompositions


@v.solve.implement
def solve_torch(x1: torch.Tensor, x2: torch.Tensor) -> Any:
    """Solve linear equations; PyTorch and vmap confuse some stacks of vectors and matrices."""
    x1, x2 = alike(x1, x2)
    if x2.ndim == 1:
        x2 = x2[(None,) * (x1.ndim - 2)]  # vmap pairs its examples with the stack otherwise
        return torch.linalg.solve(x1, x2[..., None])[..., 0]
    return torch.linalg.solve(x1, x2 if x2.ndim >= x1.ndim else x2[(None,) * (x1.ndim - x2.ndim)])


@v.solve_triangular.implement
def solve_triangular_torch(
    x1: torch.Tensor, x2: torch.Tensor, *, upper: bool = False, unit_diagonal: bool = False
) -> Any:
    """Solve triangular equations; PyTorch's function takes matrices only."""
    x1, x2 = alike(x1, x2)
    columns = x2[:, None] if x2.ndim == 1 else x2
    y = torch.linalg.solve_triangular(x1, columns, upper=upper, unitriangular=unit_diagonal)
    return y[..., 0] if x2.ndim == 1 else y


@v.cholesky_cotangent.implement
def cholesky_cotangent_torch(y_bar: torch.Tensor, factor: torch.Tensor) -> Any:
    """Murray (2016), arXiv:1602.07527, eq. (9): tril(L⁻ᴴ Φ(Lᴴ L̄) L⁻¹), made symmetric inside."""
    y_bar, factor = alike(y_bar, factor)
    phi = torch.tril(torch.tril(factor).mH @ torch.tril(y_bar))
    half = phi - 0.5 * torch.diag_embed(torch.diagonal(phi, 0, -2, -1))
    # LAPACK reads one triangle; its own layout of the factor avoids a copy.
    upper = factor.mH
    inside = torch.linalg.solve_triangular(upper, half + half.mH, upper=True)
    full = torch.linalg.solve_triangular(upper, inside.mH, upper=True).mH
    return torch.tril(full) - 0.5 * torch.diag_embed(torch.diagonal(full, 0, -2, -1))


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
    """Return 1 / s, and 0 for values below rtol times the largest, which is first or last."""
    size = torch.abs(s)
    kept = size > rtol * torch.maximum(size[..., :1], size[..., -1:])
    return torch.where(kept, 1 / torch.where(kept, s, 1), 0)


@v.qr_raw.implement
def qr_raw_torch(x: torch.Tensor) -> Any:
    """Return LAPACK's raw QR factorisation, transposed as NumPy returns it."""
    packed, tau = torch.geqrf(x)
    return packed.mT, tau


@v.lstsq.implement
def lstsq_torch(x1: torch.Tensor, x2: torch.Tensor, *, rcond: float | None = None) -> Any:
    """Solve by singular values: PyTorch's lstsq lacks some of NumPy's results.

    The residuals are empty for a matrix of deficient rank, as in NumPy; where values are hidden,
    they are NaN.
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
    """Return LU factors with pivots from zero; LAPACK counts rows from one."""
    lu, pivots = torch.linalg.lu_factor(x)
    permutation = torch.linalg.lu(x)[0].real.mT.argmax(-1)
    return LUFactors(lu, pivots.to(torch.int64) - 1, permutation)


# ------------------------------------------------------------------------- functions by other names


def _transform(function: Any) -> Any:
    return lambda x, *, n=None, axis=-1, norm="backward": function(x, n=n, dim=axis, norm=norm)


implement(
    {
        v.einsum: lambda *operands, subscripts, optimize=False: torch.einsum(
            subscripts, *alike(*operands)
        ),
        v.matmul: lambda x1, x2: torch.matmul(*alike(x1, x2)),
        v.diagonal: lambda x, *, offset=0: torch.diagonal(x, offset, -2, -1),
        v.trace: lambda x, *, offset=0: torch.diagonal(x, offset, -2, -1).sum(-1),
        v.tril: lambda x, *, k=0: torch.tril(_matrix(x), k),
        v.triu: lambda x, *, k=0: torch.triu(_matrix(x), k),
        v.solve_again: solve_torch,  # a check of the matrix would synchronise
        v.expm: torch.linalg.matrix_exp,
        v.slogdet: lambda x: SlogdetResult(*torch.linalg.slogdet(x)),
        v.cholesky: lambda x, *, upper=False: torch.linalg.cholesky(x, upper=bool(upper)),
        v.svd: lambda x, *, full_matrices=True: SVDResult(
            *torch.linalg.svd(x, full_matrices=full_matrices)
        ),
        v.svdvals: torch.linalg.svdvals,
        v.eigh: lambda x, *, upper=False: EighResult(
            *torch.linalg.eigh(x, UPLO="U" if upper else "L")
        ),
        v.eigvalsh: lambda x, *, upper=False: torch.linalg.eigvalsh(x, UPLO="U" if upper else "L"),
        v.eig: lambda x: EigResult(*torch.linalg.eig(x)),
        v.eigvals: torch.linalg.eigvals,
        v.qr: lambda x, *, mode="reduced": QRResult(*torch.linalg.qr(x, mode=mode)),
        v.matrix_rank: lambda x, *, rtol=None: torch.linalg.matrix_rank(x, rtol=rtol),
        v.adjugate: adjugate_by_svd,
        v.fft: _transform(torch.fft.fft),
        v.ifft: _transform(torch.fft.ifft),
        v.rfft: _transform(torch.fft.rfft),
        v.irfft: _transform(torch.fft.irfft),
    }
)

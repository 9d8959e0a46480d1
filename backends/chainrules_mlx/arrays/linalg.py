"""Linear algebra, contractions and Fourier transforms, where MLX differs from the standard."""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from chainrules_mlx.array_types import alike, entered, implement
from chainrules_mlx.arrays.reductions import summed
from chainrules_mlx.arrays.where import select
from chainrules_mlx.namespace import is_complex, linalg, refuse_complex
from chainrules_py import NoRuleError
from chainrules_py import ops as v
from chainrules_py.extend import adjugate_by_svd
from chainrules_py.ops.decompositions import EighResult, EigResult, QRResult
from chainrules_py.ops.linalg import SVDResult
from chainrules_py.ops.matrix_functions import LUFactors

_mx: Any = mx


def _triangle(x: Any, k: int, *, upper: bool) -> Any:
    """Keep one triangle of matrices; a vector becomes each row of a matrix first."""
    x = _mx.broadcast_to(x, (x.shape[0],) * 2) if x.ndim == 1 else x
    below, zeros = _mx.tri(*x.shape[-2:], k - upper, _mx.bool_), _mx.zeros_like(x)
    return select(below, zeros, x) if upper else select(below, x, zeros)


def _convolved(x1: Any, x2: Any, *, mode: str = "full") -> Any:
    x1, x2 = [_mx.atleast_1d(x) for x in alike(x1, x2)]
    refuse_complex("convolve", x1)
    return _mx.convolve(x1, x2, mode)


# ------------------------------------------------------------- systems and decompositions


def _solved(x1: Any, x2: Any) -> Any:
    """Solve for vectors and matrices, with broadcasting of batch axes.

    Complex systems are solved as real ones of twice the size.
    """
    x1, x2 = alike(x1, x2)
    if x2.ndim == 1:
        return _solved(x1, x2[:, None])[..., 0]
    if is_complex(x1):
        n = x2.shape[-2]
        y = _solved(_doubled(x1), _mx.concatenate([_mx.real(x2), _mx.imag(x2)], -2))
        return y[..., :n, :] + 1j * y[..., n:, :]
    ahead = _mx.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return linalg.solve(*[_mx.broadcast_to(x, (*ahead, *x.shape[-2:])) for x in (x1, x2)])


def _doubled(x: Any) -> Any:
    """Return the real matrix that acts on real and imaginary parts as the complex one does."""
    a, b = _mx.real(x), _mx.imag(x)
    top, bottom = _mx.concatenate([a, -b], -1), _mx.concatenate([b, a], -1)
    return _mx.concatenate([top, bottom], -2)


def _inv(x: Any) -> Any:
    if not x.size:
        return x  # MLX's inv does not return for an empty matrix
    if not is_complex(x):
        return linalg.inv(x)
    n = x.shape[-1]
    y = linalg.inv(_doubled(x))
    return y[..., :n, :n] + 1j * y[..., n:, :n]


def _svd(x: Any, *, full_matrices: bool = True) -> Any:
    """Compute the SVD; MLX returns full matrices, which are cut to reduced ones."""
    u, s, vh = linalg.svd(x)
    k = min(x.shape[-2:])
    return SVDResult(u, s, vh) if full_matrices else SVDResult(u[..., :k], s, vh[..., :k, :])


def _eigh(x: Any, *, upper: bool = False) -> Any:
    return EighResult(*linalg.eigh(x, UPLO="U" if upper else "L"))


def _qr(x: Any, *, mode: str = "reduced") -> Any:
    if mode != "reduced" and x.shape[-2] > x.shape[-1]:
        raise NoRuleError(
            f"nothing computes qr(mode={mode!r}): MLX's matrices are the reduced ones"
        )
    return QRResult(*linalg.qr(x))


def _adjoint(x: Any) -> Any:
    return _mx.conj(_mx.matrix_transpose(x))


def _pinv(x: Any, *, rtol: float | None = None, hermitian: bool = False) -> Any:
    """Compute pinv by decompositions: MLX's function has no cutoff."""
    if hermitian:
        s, u = _eigh(x)
        vh = _adjoint(u)
    else:
        u, s, vh = _svd(x, full_matrices=False)
    size, eps = _mx.abs(s), _mx.finfo(x.dtype).eps
    least = _mx.maximum(size[..., :1], size[..., -1:])  # the largest; empty for no values
    some = size > least * (eps * max(x.shape[-2:]) if rtol is None else rtol)
    inverse = _mx.where(some, 1 / _mx.where(some, s, 1), 0)
    return (_adjoint(vh) * inverse[..., None, :]) @ _adjoint(u)


def _lu_factor(x: Any) -> Any:
    """Return the LU factors, the row exchanges, and the resulting permutation."""
    lu, pivots = linalg.lu_factor(x)
    permutation, _, _ = linalg.lu(x)
    order = _mx.argsort(permutation, -1)  # MLX's maps the rows of L U to those of x
    return LUFactors(lu, pivots.astype(mx.int32), order.astype(mx.int32))


entered(v.inner, lambda x, y: _mx.inner(*alike(x, y)))
entered(v.outer, lambda x, y: _mx.outer(*alike(x, y)))
implement(
    {
        v.einsum: lambda *operands, subscripts, optimize=False: _mx.einsum(subscripts, *operands),
        v.tril: lambda x, *, k=0: _triangle(x, k, upper=False),
        v.triu: lambda x, *, k=0: _triangle(x, k, upper=True),
        # The axis is counted from the end of the product's axes.
        v.vecdot: lambda x1, x2, *, axis=-1: summed(_mx.conj(x1) * x2, axis=axis),
        v.convolve: _convolved,
        v.diagonal: lambda x, *, offset=0: _mx.diagonal(x, offset, -2, -1),
        v.trace: lambda x, *, offset=0: summed(_mx.diagonal(x, offset, -2, -1), axis=-1),
        v.inv: _inv,
        v.solve: _solved,
        v.solve_again: _solved,
        v.svd: _svd,
        v.eigh: _eigh,
        v.eigvalsh: lambda x, *, upper=False: linalg.eigvalsh(x, UPLO="U" if upper else "L"),
        v.eig: lambda x: EigResult(*linalg.eig(x)),
        v.qr: _qr,
        v.pinv: _pinv,
        v.lu_factor: _lu_factor,
        v.adjugate: adjugate_by_svd,
    }
)

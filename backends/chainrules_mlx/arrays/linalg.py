"""Linear algebra, contractions and Fourier transforms, as MLX computes them."""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from chainrules_mlx.array_types import ARRAY, alike
from chainrules_mlx.arrays.reductions import summed
from chainrules_mlx.arrays.select import select
from chainrules_mlx.namespace import is_complex, linalg, refuse_complex
from chainrules_py import NoRuleError
from chainrules_py import vocabulary as v
from chainrules_py.extend import adjugate_by_svd
from chainrules_py.vocabulary.decompositions import EighResult, EigResult, QRResult
from chainrules_py.vocabulary.linalg import SVDResult
from chainrules_py.vocabulary.matrix_functions import LUFactors

_mx: Any = mx

# ------------------------------------------------------------------------------ products


def _einsum(*operands: Any, subscripts: str, optimize: Any = False) -> Any:
    return _mx.einsum(subscripts, *alike(*operands))


v.einsum.implement(_einsum, types=(ARRAY,))


@v.matmul.implement
def matmul_mlx(x1: mx.array, x2: mx.array) -> Any:
    """Multiply matrices; MLX has no products of integers."""
    return _mx.matmul(*alike(x1, x2))


def _matrix(x: mx.array) -> Any:
    """Return a matrix with a vector as each of its rows, as NumPy does."""
    return _mx.broadcast_to(x, (x.shape[0],) * 2) if x.ndim == 1 else x


def _below(x: Any, k: int) -> Any:
    return _mx.tri(*x.shape[-2:], k, _mx.bool_)


@v.tril.implement
def tril_mlx(x: mx.array, *, k: int = 0) -> Any:
    """Take vectors too."""
    x = _matrix(x)
    return select(_below(x, k), x, _mx.zeros_like(x))


@v.triu.implement
def triu_mlx(x: mx.array, *, k: int = 0) -> Any:
    """Take vectors too."""
    x = _matrix(x)
    return select(_below(x, k - 1), _mx.zeros_like(x), x)


@v.vecdot.implement
def vecdot_mlx(x1: mx.array, x2: mx.array, *, axis: int = -1) -> Any:
    """Compute dot products along an axis, counted from the end: it is that of the product."""
    x1, x2 = alike(x1, x2)
    return summed(v.conj(x1) * x2, axis=axis)


@v.tensordot.implement
def tensordot_mlx(x1: mx.array, x2: mx.array, *, axes: Any = 2) -> Any:
    """Contract axes of arrays of one dtype."""
    x1, x2 = alike(x1, x2)
    return _mx.tensordot(x1, x2, axes if type(axes) is int else [list(a) for a in axes])


@v.convolve.implement
def convolve_mlx(x1: mx.array, x2: mx.array, *, mode: str = "full") -> Any:
    """Convolve arrays, with numbers as arrays of one element."""
    x1, x2 = [_mx.atleast_1d(x) for x in alike(x1, x2)]
    refuse_complex("convolve", x1)
    return _mx.convolve(x1, x2, mode)


# --------------------------------------------------------------------- parts of matrices


@v.diagonal.implement
def diagonal_mlx(x: mx.array, *, offset: int = 0) -> Any:
    """Return the diagonal of the last two axes."""
    return _mx.diagonal(x, offset, -2, -1)


@v.trace.implement
def trace_mlx(x: mx.array, *, offset: int = 0) -> Any:
    """Sum the diagonal of the last two axes."""
    return summed(_mx.diagonal(x, offset, -2, -1), axis=-1)


# ------------------------------------------------------------- systems and decompositions


def _with_batch(x1: Any, x2: Any) -> Any:
    """Solve for vectors and matrices, whose batches broadcast."""
    x1, x2 = alike(x1, x2)
    vector = x2.ndim == 1
    x2 = x2[:, None] if vector else x2
    ahead = _mx.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    x1 = _mx.broadcast_to(x1, (*ahead, *x1.shape[-2:]))
    x2 = _mx.broadcast_to(x2, (*ahead, *x2.shape[-2:]))
    y = _solved(x1, x2)
    return y[..., 0] if vector else y


def _solved(x1: Any, x2: Any) -> Any:
    """Solve for matrices; complex systems are real ones of twice the size."""
    if not is_complex(x1):
        return linalg.solve(x1, x2)
    n = x2.shape[-2]
    right = _mx.concatenate([_mx.real(x2), _mx.imag(x2)], -2)
    y = linalg.solve(_doubled(x1), right)
    return y[..., :n, :] + 1j * y[..., n:, :]


def _doubled(x: Any) -> Any:
    """Return the real matrix that does to real and imaginary parts what a complex one does."""
    a, b = _mx.real(x), _mx.imag(x)
    top, bottom = _mx.concatenate([a, -b], -1), _mx.concatenate([b, a], -1)
    return _mx.concatenate([top, bottom], -2)


@v.inv.implement
def inv_mlx(x: mx.array) -> Any:
    """Invert; complex matrices by real ones of twice the size."""
    if not x.size:
        return x  # MLX's does not come back
    if not is_complex(x):
        return linalg.inv(x)
    n = x.shape[-1]
    y = linalg.inv(_doubled(x))
    return y[..., :n, :n] + 1j * y[..., n:, :n]


@v.solve.implement
def solve_mlx(x1: mx.array, x2: mx.array) -> Any:
    """Solve systems of equations."""
    return _with_batch(x1, x2)


@v.solve_again.implement
def solve_again_mlx(x1: mx.array, x2: mx.array) -> Any:
    """To look at the matrix would be to wait for it."""
    return _with_batch(x1, x2)


@v.solve_triangular.implement
def solve_triangular_mlx(
    x1: mx.array, x2: mx.array, *, upper: bool = False, unit_diagonal: bool = False
) -> Any:
    """Solve by one triangle, whatever is in the other."""
    x1 = _mx.triu(x1) if upper else _mx.tril(x1)
    if unit_diagonal:
        one = _mx.eye(x1.shape[-1], dtype=x1.dtype)
        x1 = x1 * (1 - one) + one
    return _with_batch(x1, x2)


@v.svd.implement
def svd_mlx(x: mx.array, *, full_matrices: bool = True) -> Any:
    """MLX gives full matrices, which are cut."""
    u, s, vh = linalg.svd(x)
    k = min(x.shape[-2:])
    return SVDResult(u, s, vh) if full_matrices else SVDResult(u[..., :k], s, vh[..., :k, :])


@v.eigh.implement
def eigh_mlx(x: mx.array, *, upper: bool = False) -> Any:
    """MLX names the triangle."""
    return EighResult(*linalg.eigh(x, UPLO="U" if upper else "L"))


@v.eigvalsh.implement
def eigvalsh_mlx(x: mx.array, *, upper: bool = False) -> Any:
    """MLX names the triangle."""
    return linalg.eigvalsh(x, UPLO="U" if upper else "L")


@v.eig.implement
def eig_mlx(x: mx.array) -> Any:
    """Complex always."""
    return EigResult(*linalg.eig(x))


@v.qr.implement
def qr_mlx(x: mx.array, *, mode: str = "reduced") -> Any:
    """Factor into reduced matrices, of which MLX gives no others."""
    if mode != "reduced" and x.shape[-2] > x.shape[-1]:
        msg = f"nothing computes qr(mode={mode!r}): MLX's matrices are the reduced ones"
        raise NoRuleError(msg)
    return QRResult(*linalg.qr(x))


def _inverted(s: Any, rtol: float) -> Any:
    """Return 1 / s, and 0 for what is less than a part of the largest."""
    if not s.shape[-1]:
        return s
    size = _mx.abs(s)
    kept = size > rtol * _mx.max(size, -1, keepdims=True)
    return _mx.where(kept, 1 / _mx.where(kept, s, 1), 0)


@v.pinv.implement
def pinv_mlx(x: mx.array, *, rtol: float | None = None, hermitian: bool = False) -> Any:
    """Compute it by decompositions: MLX's own knows no bound."""
    least: Any = _mx.finfo(x.dtype).eps * max(x.shape[-2:]) if rtol is None else rtol
    if hermitian:
        w, q = eigh_mlx(x)
        return (q * _inverted(w, least)[..., None, :]) @ v.conj(_mx.swapaxes(q, -1, -2))
    u, s, vh = svd_mlx(x, full_matrices=False)
    return (_mx.swapaxes(vh, -1, -2) * _inverted(s, least)[..., None, :]) @ _mx.swapaxes(u, -1, -2)


@v.lu_factor.implement
def lu_factor_mlx(x: mx.array) -> Any:
    """Return the factors, the rows exchanged, and the order that comes of it."""
    lu, pivots = linalg.lu_factor(x)
    permutation, _, _ = linalg.lu(x)
    order = _mx.argsort(permutation, -1)  # MLX's puts the rows of L U where those of x are
    return LUFactors(lu, pivots.astype(mx.int32), order.astype(mx.int32))


v.adjugate.implement(adjugate_by_svd, types=(ARRAY,))

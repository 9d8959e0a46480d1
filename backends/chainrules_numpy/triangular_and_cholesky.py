"""NumPy implementations of decompositions that NumPy lacks, or has in another form."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from chainrules_numpy.array_types import finite
from chainrules_numpy.lapack_calls import inv_numpy, solve_numpy
from chainrules_numpy.triangular_lapack import (
    has_triangles,
    inverse_by_factors,
    inverted,
    is_one_column,
    lower_mask,
    solved,
    solved_by_factors,
    which_triangle,
)
from chainrules_py import ops as v
from chainrules_py.extend import cholesky_tangent_standard, describe


@v.pinv.implement
def pinv_numpy(x: np.ndarray, *, rtol: float | None = None, hermitian: bool = False) -> Any:
    """Call np.linalg.pinv, with the standard's name of the tolerance."""
    if hermitian and x.shape[-1] != x.shape[-2]:  # NumPy does not check this for empty matrices
        raise np.linalg.LinAlgError(f"matrices of shape {x.shape[-2:]} are not Hermitian")
    tolerance: Any = rtol  # NumPy's annotation omits None
    return np.linalg.pinv(x, rtol=tolerance, hermitian=hermitian)


@v.eigh.implement
def eigh_numpy(x: np.ndarray, *, upper: bool = False) -> Any:
    """Decompose a Hermitian matrix; NumPy takes the name of the triangle."""
    return np.linalg.eigh(x, "U" if upper else "L")


@v.eigvalsh.implement
def eigvalsh_numpy(x: np.ndarray, *, upper: bool = False) -> Any:
    """Compute eigenvalues of a Hermitian matrix; NumPy takes the name of the triangle."""
    return np.linalg.eigvalsh(x, "U" if upper else "L")


@v.qr_raw.implement
def qr_raw_numpy(x: np.ndarray) -> Any:
    """Compute the QR factors by the raw mode of np.linalg.qr."""
    return np.linalg.qr(x, "raw")


# ---------------------------------------------------------------- triangular systems

# Size up to which inverting a block is cheaper than halving it; measured for n = 500.
_BLOCK = 32
# Rows and columns up to which elimination costs less than halving.
_FEW = 100
# Rows and columns up to which a factorisation costs less than testing for an upper triangle.
_UNSEEN = 180
# Rows up to which it costs less than any test of the matrix.
_FEW_ROWS = 16


@v.solve_triangular.implement
def solve_triangular_numpy(
    x1: np.ndarray, x2: np.ndarray, *, upper: bool = False, unit_diagonal: bool = False
) -> Any:
    """Solve by halves: nearly all work is matrix products, which use BLAS and its threads."""
    a, b = np.asarray(x1), np.asarray(x2)
    if a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError(
            f"the matrix of a triangular system is square, not {describe(x1)}"
        )
    if is_one_column(a, b) and has_triangles(a):
        return solved(a, b, upper, unit_diagonal)
    if unit_diagonal:
        a = a.copy()
        a[..., np.arange(a.shape[-1]), np.arange(a.shape[-1])] = 1
    if b.ndim == 1:
        return _substituted(a, b[:, None], upper)[..., 0]
    return _substituted(a, b, upper)


def _substituted(a: Any, b: Any, upper: bool) -> Any:
    n, columns = a.shape[-1], b.shape[-1]
    if columns <= n <= max(_BLOCK, _FEW - columns):
        return _eliminated(a, b, upper)
    if n <= _BLOCK:
        return np.matmul(_inverse(a, upper), b)
    h = n // 2
    first, last, mixed = a[..., :h, :h], a[..., h:, h:], a[..., h:, :h]
    if upper:
        y2 = _substituted(last, b[..., h:, :], upper)
        y1 = _substituted(first, b[..., :h, :] - a[..., :h, h:] @ y2, upper)
    else:
        y1 = _substituted(first, b[..., :h, :], upper)
        y2 = _substituted(last, b[..., h:, :] - mixed @ y1, upper)
    return np.concatenate((y1, y2), -2)


def _eliminated(a: Any, b: Any, upper: bool) -> Any:
    """Solve by elimination with the diagonal as pivots; a lower triangle is reversed first."""
    if upper:
        return solve_numpy(np.triu(a), b)
    return solve_numpy(np.triu(a[..., ::-1, ::-1]), b[..., ::-1, :])[..., ::-1, :]


def _inverse(a: Any, upper: bool) -> Any:
    """Invert a triangle; LAPACK's pivots of an upper one are its diagonal, without rounding."""
    return inv_numpy(np.triu(a)) if upper else inv_numpy(np.triu(a.mT)).mT


@v.solve_again.implement
def solve_again_numpy(x1: np.ndarray, x2: np.ndarray) -> Any:
    """Solve triangular matrices without factorisation; their corners are tested first."""
    a = np.asarray(x1)
    if is_one_column(a, x2) and has_triangles(a):
        upper = which_triangle(a) if len(a) > _FEW_ROWS else None
        if upper is not None:
            return solved(a, x2, upper)
        return solved_by_factors(a, x2) if len(a) <= _PANEL else solve_numpy(x1, x2)
    if a.ndim == 2 and (n := a.shape[-1]) > _BLOCK:
        if a[0, -1] == 0 and not np.triu(a, 1).any():
            return solve_triangular_numpy(a, x2)
        # LAPACK's pivots of an upper triangle are its diagonal in either case.
        columns = x2.shape[-1] if x2.ndim > 1 else 1
        if n + columns > _UNSEEN and a[-1, 0] == 0 and not np.tril(a, -1).any():
            return solve_triangular_numpy(a, x2, upper=True)
    return solve_numpy(x1, x2)


@v.inv_again.implement
def inv_again_numpy(x: np.ndarray) -> Any:
    """Invert a small matrix by its factors, in half of NumPy's time."""
    a = np.asarray(x)
    small = a.ndim == 2 and 0 < len(a) == a.shape[1] <= _PANEL
    return inverse_by_factors(a) if small and has_triangles(a) else inv_numpy(x)


# ---------------------------------------------------------------- the Cholesky factor

# Columns of a panel; 48 to 80 are equally fast for n = 500 and 1000. Two halves of so few columns
# would take as long as the formula, or a fifth less: for a kernel matrix of condition 1e11 they
# keep 7 digits, the formula keeps 11.
_PANEL = 64
_HALVED = 128  # Rows up to which two halves are faster than panels.
_WHOLE = 44  # Rows up to which LAPACK's inverse is faster than halving.


@v.cholesky_cotangent.implement
def cholesky_cotangent_numpy(y_bar: np.ndarray, factor: np.ndarray) -> Any:
    """Compute the cotangent by panels from last to first: twice the work of the factorisation.

    Murray (2016), arXiv:1602.07527, section 3.2 (chol_blocked_rev). Products and triangular systems
    of whole matrices would be six times the work.
    """
    n = _rows_of(factor)
    if n <= _HALVED:
        # Elements above the diagonal of the cotangent, to be ignored, may be infinite.
        lower = lower_mask(n, n)
        y_bar, factor = np.where(lower, y_bar, 0), np.where(lower, factor, 0)
        if n <= _PANEL:
            return _corner_cotangent(y_bar, factor)[0]
        return _in_halves(y_bar, factor, n // 2)
    shape = np.broadcast_shapes(y_bar.shape, factor.shape)
    a_bar = np.tril(np.broadcast_to(y_bar, shape)).astype(np.result_type(y_bar, factor), copy=False)
    for start in range(0, n, _PANEL)[::-1]:
        stop = min(n, start + _PANEL)
        before, panel, behind = slice(start), slice(start, stop), slice(stop, n)
        row, below, column = (
            factor[..., panel, before],
            factor[..., behind, before],
            factor[..., behind, panel],
        )
        corner = np.tril(factor[..., panel, panel])
        inverse = _inverse_by_halves(corner)
        column_bar = a_bar[..., behind, panel] @ inverse
        a_bar[..., behind, panel] = column_bar
        a_bar[..., behind, before] -= column_bar @ row
        corner_bar = a_bar[..., panel, panel] - _adjoint(column_bar) @ column
        corner_bar, both = _corner_cotangent(corner_bar, corner, inverse)
        a_bar[..., panel, panel] = corner_bar
        a_bar[..., panel, before] -= _adjoint(column_bar) @ below + both @ row
    return a_bar


@v.cholesky_tangent.implement
def cholesky_tangent_numpy(x_dot: np.ndarray, factor: np.ndarray) -> Any:
    """Compute the tangent of small matrices by the inverse: a third of the time of two systems."""
    n = _rows_of(factor)
    if n > _HALVED:
        return cholesky_tangent_standard(x_dot, factor)
    lower, phi = lower_mask(n, n), _phi(n, np.real(x_dot).dtype.char)
    factor, middle = np.where(lower, factor, 0), np.where(lower, x_dot, 0) * phi
    inverse = _inverse_by_halves(factor)
    middle = inverse @ (middle + _adjoint(middle)) @ _adjoint(inverse)
    return factor @ (middle * phi)


def _rows_of(factor: Any) -> int:
    n: int = factor.shape[-1]
    if factor.shape[-2] != n:
        raise ValueError(f"a factor of shape {factor.shape}, which is not square")
    return n


def cotangent_of_small(y_bar: Any, factor: Any) -> Any:
    """Return the cotangent of one small real matrix, as NumPy factors it; None for a large one.

    Elements above the diagonal of the cotangent are multiplied by zeros only; return None if some
    are not finite.
    """
    if len(factor) > _PANEL or not finite(y_bar):
        return None
    return _corner_cotangent(y_bar, factor)[0]


def _in_halves(y_bar: Any, factor: Any, h: int) -> Any:
    """Compute the cotangent by two panels, without a part before the first or after the last."""
    corner, row = factor[..., :h, :h], factor[..., h:, :h]
    last_bar, both = _corner_cotangent(y_bar[..., h:, h:], factor[..., h:, h:])
    inverse = _inverse_by_halves(corner)
    row_bar = (y_bar[..., h:, :h] - both @ row) @ inverse
    corner_bar = y_bar[..., :h, :h] - _adjoint(row_bar) @ row
    corner_bar, _ = _corner_cotangent(corner_bar, corner, inverse)
    a_bar = np.zeros((*last_bar.shape[:-2], *factor.shape[-2:]), last_bar.dtype)
    a_bar[..., :h, :h], a_bar[..., h:, :h], a_bar[..., h:, h:] = corner_bar, row_bar, last_bar
    return a_bar


def _corner_cotangent(y_bar: Any, factor: Any, inverse: Any = None) -> Any:
    """Return the cotangent by the formula, and the full matrix whose lower half it is.

    Temporaries are deleted early: matrices of this size are the peak memory of a likelihood.
    """
    inverse = _inverse_by_halves(factor) if inverse is None else inverse
    phi = _phi(factor.shape[-1], y_bar.real.dtype.char)
    product: Any = np.dot if y_bar.ndim == factor.ndim == 2 else np.matmul
    middle = product(_adjoint(factor), y_bar)
    middle *= phi
    middle += _adjoint(middle).copy()  # without a copy: a third longer, and memory for two
    middle = product(_adjoint(inverse), middle)
    both = product(middle, inverse)
    del middle, inverse
    return both * phi, both


def _inverse_by_halves(lower: Any) -> Any:
    """Invert a lower triangle with zeros above; LAPACK does three times the work."""
    n = lower.shape[-1]
    if 0 < n <= _PANEL and lower.ndim == 2 and has_triangles(lower):
        return inverted(lower)
    if n <= _WHOLE:
        return inv_numpy(lower.mT).mT
    h = n // 2
    first, last = _inverse_by_halves(lower[..., :h, :h]), _inverse_by_halves(lower[..., h:, h:])
    inverse = np.zeros(lower.shape, lower.dtype)
    inverse[..., :h, :h], inverse[..., h:, h:] = first, last
    np.matmul(last @ lower[..., h:, :h], -first, out=inverse[..., h:, :h])
    return inverse


@functools.lru_cache(maxsize=512)
def _phi(n: int, dtype: str) -> Any:
    """Return the factors of the lower triangle with half of the diagonal."""
    return np.tri(n, dtype=dtype) - 0.5 * np.eye(n, dtype=dtype)


def _adjoint(a: Any) -> Any:
    return a.mT if a.dtype.kind == "f" else a.mT.conj()

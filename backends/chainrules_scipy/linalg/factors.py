"""Factors of matrices, and systems that are solved with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_scipy.linalg.solving import solve_twice
from chainrules_scipy.rows import (
    adjoint,
    array_of,
    checked,
    permutation_of,
    readable,
    reject,
    stands_for,
)

# ---------------------------------------------------------------- Cholesky


@stands_for(scipy.linalg.cholesky)
def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Factor positive definite matrices into two triangular ones."""
    (a,) = checked(check_finite, a)
    return v.cholesky(a, upper=not lower)


@stands_for(scipy.linalg.cho_factor)
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Factor positive definite matrices, for `cho_solve`."""
    (a,) = checked(check_finite, a)
    left = v.triu(a, k=1) if lower else v.tril(a, k=-1)
    return cholesky(a, lower, check_finite=False) + left, lower


@stands_for(scipy.linalg.cho_solve)
def cho_solve(
    c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve ``a @ x == b`` with the factor of a."""
    c, lower = c_and_lower
    lower = bool(np.all(lower))  # SciPy gives one for each matrix
    c, b = checked(check_finite, c, b)
    return solve_twice(c if lower else adjoint(c), b)


# ---------------------------------------------------------------- Gauss


def _packed(a: Any) -> tuple[Any, Any, Any]:
    """Factor a matrix of any shape; triangular systems with the square part give the rest."""
    m, n = a.shape[-2:]
    if m == n:
        y = v.lu_factor(a)
        return y.lu, y.pivots, y.permutation
    pivots = np.asarray(scipy.linalg.lu_factor(readable(a))[1])
    rows = np.broadcast_to(np.arange(m), (*pivots.shape[:-1], m))
    k = min(m, n)
    longer = np.concatenate((pivots, rows[..., k:]), -1)
    p = permutation_of(longer)
    a = _rows(a, p)
    square = v.lu_factor(a[..., :k, :k]).lu
    if m < n:
        right = v.solve_triangular(square, a[..., :, k:], unit_diagonal=True)
        return v.concat(square, right, axis=-1), pivots, p
    below = adjoint(v.solve_triangular(adjoint(square), adjoint(a[..., k:, :])))
    return v.concat(square, below, axis=-2), pivots, p


def _rows(a: Any, p: Any) -> Any:
    """Rows of each matrix, in another order for each."""
    if p.ndim == 1:
        return v.take(a, p, axis=-2)
    batch = np.broadcast_shapes(a.shape[:-2], p.shape[:-1])
    a = v.broadcast_to(a, shape=(*batch, *a.shape[-2:]))
    return v.take_along_axis(a, np.broadcast_to(p, (*batch, p.shape[-1]))[..., None], axis=-2)


@stands_for(scipy.linalg.lu_factor)
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Factor matrices into two triangular ones, for `lu_solve`."""
    (a,) = checked(check_finite, a)
    return _packed(a)[:2]


@stands_for(scipy.linalg.lu_solve)
def lu_solve(
    lu_and_piv: Any,
    b: Any,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve ``a @ x == b`` with the factors of a."""
    factors, pivots = lu_and_piv
    factors, b = checked(check_finite, factors, b)
    p = permutation_of(readable(pivots))
    vector = b.ndim == 1
    y = v.expand_dims(b, axis=-1) if vector else b
    if trans == 0:
        y = v.solve_triangular(factors, _rows(y, p), unit_diagonal=True)
        y = v.solve_triangular(factors, y, upper=True)
    elif trans in (1, 2):
        turned = v.matrix_transpose(factors) if trans == 1 else adjoint(factors)
        y = v.solve_triangular(turned, y)
        y = v.solve_triangular(turned, y, upper=True, unit_diagonal=True)
        y = _rows(y, np.argsort(p, axis=-1))
    else:
        reject(f"trans={trans!r}: there are 0, 1 and 2", ValueError)
    return v.squeeze(y, axis=-1) if vector else y


@stands_for(scipy.linalg.lu)
def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> Any:
    """Factor matrices into a permutation and two triangular ones."""
    (a,) = checked(check_finite, a)
    factors, _, p = _packed(a)
    m, k = a.shape[-2], min(a.shape[-2:])
    lower = v.tril(factors[..., :, :k], k=-1) + v.eye_like(a, rows=m, columns=k)
    upper = v.triu(factors[..., :k, :])
    back = np.argsort(readable(p), axis=-1)
    if permute_l:
        return _rows(lower, back), upper
    p = back if p_indices else v.take(v.eye_like(v.real(a), rows=m), back, axis=0)
    return p, lower, upper


# ---------------------------------------------------------------- orthogonal


@stands_for(scipy.linalg.qr)
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """Factor a matrix into a unitary and a triangular one."""
    (a,) = checked(check_finite, a)
    if mode not in ("full", "r", "economic"):
        reject(
            f"qr(mode={mode!r}) has no derivative here; it is 'full', 'r' or 'economic'",
            UnsupportedKeywordError,
        )
    last: tuple[Any, ...] = ()
    if pivoting:
        last = (np.asarray(scipy.linalg.qr(readable(a), mode="r", pivoting=True)[-1]),)
        a = v.take_along_axis(a, last[0][..., None, :], axis=-1)
    if mode == "economic":
        y = v.qr(a)
        return y.Q, y.R, *last
    y = v.qr(a, mode="complete")
    return (y.R, *last) if mode == "r" else (y.Q, y.R, *last)


@stands_for(scipy.linalg.svd)
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """Factor matrices into two unitary ones and singular values."""
    (a,) = checked(check_finite, a)
    if not compute_uv:
        return v.svdvals(a)
    y = v.svd(a, full_matrices=bool(full_matrices))
    return y.U, y.S, y.Vh


@stands_for(scipy.linalg.svdvals)
def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Compute singular values, in descending order."""
    (a,) = checked(check_finite, a)
    return v.svdvals(a)


@stands_for(scipy.linalg.polar)
def polar(a: Any, side: str = "right") -> Any:
    """Factor a matrix into a unitary and a positive semidefinite one."""
    if side not in ("right", "left"):
        reject(f"side={side!r}: there are 'right' and 'left'", ValueError)
    a = array_of(a)
    u = v.unitary_factor(a)
    p = adjoint(u) @ a if side == "right" else a @ adjoint(u)
    return u, 0.5 * (p + adjoint(p))

"""Systems of linear equations, inverses, and factors of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import untraced
from chainrules_py.vocabulary.linalg import resolution
from chainrules_scipy.rows import (
    adjoint,
    checked,
    of_stacks,
    permutation_of,
    readable,
    reject,
    stands_for,
    words,
)


def _mirrored(a: Any, lower: bool, turn: Any, diagonal: Any) -> Any:
    """Complete a matrix from one triangle, whose turned half is the other one."""
    half = v.tril(a, k=-1) if lower else v.triu(a, k=1)
    n = a.shape[-1]
    return half + turn(half) + v.from_diagonal(diagonal(v.diagonal(a)), rows=n, columns=n)


_READ: dict[str, Any] = {
    "general": lambda a, _: a,
    "diagonal": lambda a, _: v.from_diagonal(v.diagonal(a), rows=a.shape[-2], columns=a.shape[-1]),
    "tridiagonal": lambda a, _: v.triu(v.tril(a, k=1), k=-1),
    "upper triangular": lambda a, _: v.triu(a),
    "lower triangular": lambda a, _: v.tril(a),
    "symmetric": lambda a, lower: _mirrored(a, lower, v.matrix_transpose, lambda d: d),
    "hermitian": lambda a, lower: _mirrored(a, lower, adjoint, v.real),
    "positive definite": lambda a, lower: _mirrored(a, lower, adjoint, v.real),
}
_SHORT = {
    "gen": "general",
    "banded": "general",
    "sym": "symmetric",
    "her": "hermitian",
    "pos": "positive definite",
}


def read(a: Any, structure: str | None, lower: bool) -> Any:
    """Complete the matrix that is meant from the part that SciPy reads."""
    structure = structure or "general"
    how = _READ.get(_SHORT.get(structure, structure))
    if how is None:
        reject(f"assume_a={structure!r} is no structure that SciPy knows", ValueError)
    return how(a, lower)


def solve_twice(factor: Any, b: Any) -> Any:
    """Solve with L Lᴴ, of a lower triangle, or several, each for the same vector."""
    is_vector = b.ndim == 1 and factor.ndim > 2
    y = v.solve_triangular(factor, b[:, None] if is_vector else b)
    x = v.solve_triangular(adjoint(factor), y, upper=True)
    return x[..., 0] if is_vector else x


@stands_for(scipy.linalg.solve, finite="a b")
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Any:
    """Solve ``a @ x == b``."""
    if assume_a in ("upper triangular", "lower triangular"):
        trans = 1 if transposed else 0
        return solve_triangular(a, b, trans, assume_a == "lower triangular", check_finite=False)
    if assume_a in ("pos", "positive definite"):
        factor = v.cholesky(a, upper=not lower)
        factor = adjoint(factor) if not lower else factor
        factor = v.conj(factor) if transposed else factor
        return solve_twice(factor, b)
    a = read(a, assume_a, lower)
    return v.solve(v.matrix_transpose(a) if transposed else a, b)


@stands_for(scipy.linalg.solve_triangular, finite="a b")
def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve ``a @ x == b``, where one triangle of a is read."""
    kinds: dict[Any, int] = {"N": 0, "T": 1, "C": 2, 0: 0, 1: 1, 2: 2}
    kind = kinds.get(trans)
    if kind is None:
        reject(f"trans={trans!r}: there are 0, 1, 2, 'N', 'T' and 'C'", ValueError)
    if kind:
        a, lower = (v.matrix_transpose(a) if kind == 1 else adjoint(a)), not lower
    return v.solve_triangular(a, b, upper=not lower, unit_diagonal=bool(unit_diagonal))


def _residuals(y: Any, a: Any, b: Any, rank: int) -> Any:
    if _SINCE_1_18 and rank < a.shape[1] < a.shape[0]:
        return np.full(b.shape[1:], np.nan, y.dtype)
    return v.reshape(y, shape=()) if b.ndim == 1 and y.shape == (1,) else y


# Of a matrix with less than full rank, what no residuals are; none at all before SciPy 1.18.
_SINCE_1_18 = np.lib.NumpyVersion(scipy.__version__) >= "1.18.0"


@stands_for(scipy.linalg.lstsq, finite="a b")
@of_stacks(a=2, b=0)
def lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> Any:
    """Find the shortest x that minimises ``norm(a @ x - b)``."""
    rcond = resolution(a) if cond is None else float(untraced(cond))
    x, residuals, rank, s = v.lstsq(a, b, rcond=rcond)
    rank = int(untraced(rank))
    if lapack_driver == "gelsy":
        return x, v.full_like(x, shape=(0,), fill=0), rank, None
    return x, _residuals(residuals, a, b, rank), rank, s


def _pinv(a: Any, atol: Any, rtol: Any, return_rank: bool, hermitian: bool = False) -> Any:
    """Compute the pseudoinverse; both tolerances are one share of the largest singular value."""
    share = eps = max(a.shape[-2:]) * resolution(a)
    s = np.zeros(1)
    if atol or return_rank:
        s = np.linalg.svd(readable(a), compute_uv=False, hermitian=hermitian)
    largest = s.max(initial=0.0)
    if atol is not None or rtol is not None:
        share = (0.0 if atol is not None else eps) if rtol is None else float(rtol)
        share += float(atol or 0.0) / largest if largest else 0.0
    y = v.pinv(a, rtol=None if atol is rtol is None else share, hermitian=hermitian)
    return (y, int(np.sum(s > share * largest))) if return_rank else y


@stands_for(scipy.linalg.pinv, finite="a")
def pinv(
    a: Any,
    *,
    atol: Any = None,
    rtol: Any = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """Compute the pseudoinverse."""
    compute = of_stacks(a=2)(_pinv) if atol or return_rank else _pinv
    return compute(a, atol, rtol, return_rank)


# ---------------------------------------------------------------- Cholesky


@stands_for(scipy.linalg.cho_factor, finite="a")
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """Factor positive definite matrices, for `cho_solve`."""
    factor = v.cholesky(a, upper=not lower)
    if not _SINCE_1_18:  # what is in the other triangle stays there
        factor = factor + (v.triu(a, k=1) if lower else v.tril(a, k=-1))
    return factor, lower


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


@stands_for(scipy.linalg.lu, finite="a")
def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> Any:
    """Factor matrices into a permutation and two triangular ones."""
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


@stands_for(scipy.linalg.qr, finite="a")
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """Factor a matrix into a unitary and a triangular one."""
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


@stands_for(scipy.linalg.polar, arrays="a")
def polar(a: Any, side: str = "right") -> Any:
    """Factor a matrix into a unitary and a positive semidefinite one."""
    if side not in ("right", "left"):
        reject(f"side={side!r}: there are 'right' and 'left'", ValueError)
    u = v.unitary_factor(a)
    p = adjoint(u) @ a if side == "right" else a @ adjoint(u)
    return u, 0.5 * (p + adjoint(p))


WORDS = words(
    scipy.linalg,
    finite="a",
    cholesky=lambda a, lower: v.cholesky(a, upper=not lower),
    det=lambda a: v.det(a),  # noqa: PLW0108 - the parameters are SciPy's
    inv=lambda a, assume_a, lower: v.inv(read(a, assume_a, lower)),
    lu_factor=lambda a: _packed(a)[:2],
    pinvh=of_stacks(a=2)(
        lambda a, atol, rtol, lower, return_rank: _pinv(
            a if lower else adjoint(a), atol, rtol, return_rank, hermitian=True
        )
    ),
    svd=lambda a, full_matrices, compute_uv: (
        tuple(v.svd(a, full_matrices=bool(full_matrices))) if compute_uv else v.svdvals(a)
    ),
    svdvals=lambda a: v.svdvals(a),  # noqa: PLW0108 - the parameters are SciPy's
)

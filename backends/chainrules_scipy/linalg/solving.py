"""Systems of linear equations, and inverses."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from chainrules_py import vocabulary as v
from chainrules_py.extend import untraced
from chainrules_py.vocabulary.linalg import resolution
from chainrules_scipy.rows import adjoint, checked, of_stacks, readable, reject, stands_for

_STRUCTURES = {
    "gen": "general",
    "sym": "symmetric",
    "her": "hermitian",
    "pos": "positive definite",
    "banded": "general",
}


def read(a: Any, structure: str | None, lower: bool) -> Any:
    """Complete the matrix that is meant from the part that SciPy reads."""
    structure = _STRUCTURES.get(structure or "general", structure or "general")
    if structure == "general":
        return a
    if structure == "diagonal":
        return v.from_diagonal(v.diagonal(a), rows=a.shape[-2], columns=a.shape[-1])
    if structure == "tridiagonal":
        return v.triu(v.tril(a, k=1), k=-1)
    if structure in ("upper triangular", "lower triangular"):
        return v.triu(a) if structure == "upper triangular" else v.tril(a)
    half = v.tril(a, k=-1) if lower else v.triu(a, k=1)
    diagonal = v.diagonal(a)
    if structure == "symmetric":
        other = v.matrix_transpose(half)
    elif structure in ("hermitian", "positive definite"):
        other, diagonal = adjoint(half), v.real(diagonal)
    else:
        reject(f"assume_a={structure!r} is no structure that SciPy knows", ValueError)
    n = a.shape[-1]
    return half + other + v.from_diagonal(diagonal, rows=n, columns=n)


def solve_twice(factor: Any, b: Any) -> Any:
    """Solve with L Lᴴ, of a lower triangle, or several, each for the same vector."""
    is_vector = b.ndim == 1 and factor.ndim > 2
    y = v.solve_triangular(factor, b[:, None] if is_vector else b)
    x = v.solve_triangular(adjoint(factor), y, upper=True)
    return x[..., 0] if is_vector else x


@stands_for(scipy.linalg.solve)
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
    a, b = checked(check_finite, a, b)
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


@stands_for(scipy.linalg.solve_triangular)
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
    a, b = checked(check_finite, a, b)
    kinds: dict[Any, int] = {"N": 0, "T": 1, "C": 2, 0: 0, 1: 1, 2: 2}
    kind = kinds.get(trans)
    if kind is None:
        reject(f"trans={trans!r}: there are 0, 1, 2, 'N', 'T' and 'C'", ValueError)
    if kind:
        a, lower = (v.matrix_transpose(a) if kind == 1 else adjoint(a)), not lower
    return v.solve_triangular(a, b, upper=not lower, unit_diagonal=bool(unit_diagonal))


@stands_for(scipy.linalg.inv)
def inv(
    a: Any,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: str | None = None,
    lower: bool = False,
) -> Any:
    """Invert matrices."""
    (a,) = checked(check_finite, a)
    return v.inv(read(a, assume_a, lower))


@stands_for(scipy.linalg.det)
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Compute the determinant of matrices."""
    (a,) = checked(check_finite, a)
    return v.det(a)


def _residuals(y: Any, a: Any, b: Any, rank: int) -> Any:
    if _UNKNOWN_ARE_NAN and rank < a.shape[1] < a.shape[0]:
        return np.full(b.shape[1:], np.nan, y.dtype)
    return v.reshape(y, shape=()) if b.ndim == 1 and y.shape == (1,) else y


# Of a matrix with less than full rank, what no residuals are; none at all before SciPy 1.18.
_UNKNOWN_ARE_NAN = np.lib.NumpyVersion(scipy.__version__) >= "1.18.0"


@stands_for(scipy.linalg.lstsq)
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
    a, b = checked(check_finite, a, b)
    rcond = resolution(a) if cond is None else float(untraced(cond))
    x, residuals, rank, s = v.lstsq(a, b, rcond=rcond)
    rank = int(untraced(rank))
    if lapack_driver == "gelsy":
        return x, v.full_like(x, shape=(0,), fill=0), rank, None
    return x, _residuals(residuals, a, b, rank), rank, s


def _tolerance(a: Any, atol: Any, rtol: Any, scale: float) -> float | None:
    """Merge both tolerances in one share of the largest singular value; None if both are None."""
    if atol is None and rtol is None:
        return None
    eps = max(a.shape[-2:]) * resolution(a)
    relative = (0.0 if atol is not None else eps) if rtol is None else float(rtol)
    return relative + (float(atol or 0.0) / scale if scale else 0.0)


def _ranked(a: Any, rtol: float | None, hermitian: bool, return_rank: bool) -> Any:
    y = v.pinv(a, rtol=rtol, hermitian=hermitian)
    if not return_rank:
        return y
    known = readable(a)
    s = np.linalg.svd(known, compute_uv=False, hermitian=hermitian)
    cut = max(known.shape) * resolution(known) if rtol is None else rtol
    return y, int(np.sum(s > cut * s.max(initial=0.0)))


@stands_for(scipy.linalg.pinv)
def pinv(
    a: Any,
    *,
    atol: Any = None,
    rtol: Any = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """Compute the pseudoinverse."""
    (a,) = checked(check_finite, a)
    if a.ndim > 2 and (atol or return_rank):
        return _of_each(a, atol, rtol, return_rank)
    scale = float(np.linalg.norm(readable(a), 2)) if atol else 0.0
    return _ranked(a, _tolerance(a, atol, rtol, scale), False, return_rank)


@of_stacks(a=2)
def _of_each(a: Any, atol: Any, rtol: Any, return_rank: bool) -> Any:
    return pinv(a, atol=atol, rtol=rtol, return_rank=return_rank, check_finite=False)


@stands_for(scipy.linalg.pinvh)
@of_stacks(a=2)
def pinvh(
    a: Any,
    atol: Any = None,
    rtol: Any = None,
    lower: bool = True,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """Compute the pseudoinverse of a Hermitian matrix."""
    (a,) = checked(check_finite, a)
    a = a if lower else adjoint(a)
    scale = 0.0
    if atol:
        scale = float(np.max(np.abs(np.linalg.eigvalsh(readable(a)))))
    return _ranked(a, _tolerance(a, atol, rtol, scale), True, return_rank)

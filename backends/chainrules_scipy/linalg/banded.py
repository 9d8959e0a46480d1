"""Systems and spectra of matrices that are given by their diagonals, or by one row and column.

Systems with few diagonals are solved on the pattern of these: nothing dense is made, and cotangents
have the shape of the diagonals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as native

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import kind_of
from chainrules_scipy.linalg.functions import toeplitz
from chainrules_scipy.linalg.solving import solve
from chainrules_scipy.linalg.spectra import eigh, of_phase
from chainrules_scipy.rows import checked, of_stacks, readable, reject, stands_for, words


def _elements(ab: Any, above: int) -> tuple[Any, Any, Any]:
    """Return elements with rows and columns, of diagonals of which some are above the main."""
    n = ab.shape[-1]
    of = [(i, above - i) for i in range(ab.shape[0])]
    columns = [np.arange(max(k, 0), max(n + min(k, 0), k, 0)) for _, k in of]
    data = [
        ab[i, c[0] : c[-1] + 1] if c.size else ab[i, :0]
        for (i, _), c in zip(of, columns, strict=True)
    ]
    rows = [c - k for (_, k), c in zip(of, columns, strict=True)]
    return v.concat(*data, axis=0), np.concatenate(rows), np.concatenate(columns)


def _solved(data: Any, rows: Any, columns: Any, b: Any) -> Any:
    import scipy.sparse  # takes as long as all else here

    from chainrules_scipy.sparse import patterns

    n = b.shape[0]
    pattern = patterns.Pattern(scipy.sparse.coo_array, "coo", (rows, columns), (n, n))
    return patterns.sparse_solve(data, b, pattern=pattern)


def _both_sides(ab: Any, lower: bool) -> tuple[Any, Any, Any]:
    """Return the elements of a Hermitian matrix, of which one side is given."""
    data, rows, columns = _elements(ab, 0 if lower else ab.shape[0] - 1)
    other = rows != columns
    if kind_of(data) == "complex":  # LAPACK reads the real part of the main diagonal
        data = v.where(other, data, v.real(data) + 0j)
    mirrored = v.conj(v.take(data, np.flatnonzero(other), axis=0))
    return (
        v.concat(data, mirrored, axis=0),
        np.concatenate([rows, columns[other]]),
        np.concatenate([columns, rows[other]]),
    )


def _dense(data: Any, rows: Any, columns: Any, n: int) -> Any:
    index, places = v.Index.split((rows, columns))
    return v.scatter_add(v.full_like(data, shape=(n, n), fill=0), data, *places, index=index)


@stands_for(native.solve_banded, finite="ab b")
@of_stacks(ab=2, b=0)
def solve_banded(
    l_and_u: Any,
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve a system whose matrix is given by its diagonals."""
    below, above = l_and_u
    if ab.shape[0] != below + above + 1:
        reject(f"{ab.shape[0]} diagonals, where l + u + 1 = {below + above + 1}", ValueError)
    return _solved(*_elements(ab, above), b)


@stands_for(native.cho_solve_banded)
def cho_solve_banded(
    cb_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Solve a system whose matrix has a factor that is given by its diagonals."""
    cb, lower = cb_and_lower
    return _cho_solved(*checked(check_finite, cb, b), lower)


@of_stacks(cb=2, b=0)
def _cho_solved(cb: Any, b: Any, lower: bool) -> Any:
    data, rows, columns = _elements(cb, 0 if lower else cb.shape[0] - 1)
    outer, inner = ((data, rows, columns), (v.conj(data), columns, rows))
    first, second = (outer, inner) if lower else (inner, outer)
    return _solved(*second, _solved(*first, b))


@stands_for(native.cholesky_banded, finite="ab")
@of_stacks(ab=2)
def cholesky_banded(
    ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> Any:
    """Compute the Cholesky factor of a matrix that is given by its diagonals."""
    n, count = ab.shape[-1], ab.shape[0]
    factor = v.cholesky(_dense(*_both_sides(ab, lower), n), upper=not lower)
    offsets = range(0, -count, -1) if lower else range(count - 1, -1, -1)
    rows = [v.diagonal(factor, offset=k) for k in offsets]
    rests = [ab[i, n - abs(k) :] if lower else ab[i, : abs(k)] for i, k in enumerate(offsets)]
    both = zip(rows, rests, strict=True)
    return v.stack(*[v.concat(*((r, x) if lower else (x, r)), axis=0) for r, x in both])


def _spectrum(a: Any, known: Any, wants_vectors: bool, select: Any, select_range: Any) -> Any:
    """Take eigenvalues, and vectors with the signs of SciPy's, of a dense matrix."""
    w, u = eigh(a)
    values, chosen = readable(w), slice(None)
    if str(select) in ("i", "2", "index"):
        chosen = slice(int(select_range[0]), int(select_range[1]) + 1)
    elif str(select) in ("v", "1", "value"):
        low, high = np.searchsorted(values, select_range, side="right")
        chosen = slice(int(low), int(high))
    if not wants_vectors:
        return w[chosen]
    return w[chosen], of_phase(u[:, chosen], known[1])


@stands_for(native.eig_banded, finite="a_band")
@of_stacks(a_band=2)
def eig_banded(
    a_band: Any,
    lower: bool = False,
    eigvals_only: bool = False,
    overwrite_a_band: bool = False,
    select: Any = "a",
    select_range: Any = None,
    max_ev: int = 0,
    check_finite: bool = True,
) -> Any:
    """Compute the spectrum of a Hermitian matrix that is given by its diagonals."""
    known = None
    if not eigvals_only:
        known = native.eig_banded(readable(a_band), lower, select=select, select_range=select_range)
    a = _dense(*_both_sides(a_band, lower), a_band.shape[-1])
    return _spectrum(a, known, not eigvals_only, select, select_range)


@stands_for(native.eigh_tridiagonal, finite="d e")
@of_stacks(d=1, e=1)
def eigh_tridiagonal(
    d: Any,
    e: Any,
    eigvals_only: bool = False,
    select: Any = "a",
    select_range: Any = None,
    check_finite: bool = True,
    tol: float = 0.0,
    lapack_driver: str = "auto",
) -> Any:
    """Compute the spectrum of a symmetric matrix of three diagonals."""
    n = d.shape[0]
    known = None
    if not eigvals_only:
        known = native.eigh_tridiagonal(
            readable(d), readable(e), select=select, select_range=select_range
        )
    beside = [v.from_diagonal(e, rows=n, columns=n, offset=k) for k in (-1, 1)]
    a = v.from_diagonal(d, rows=n, columns=n) + beside[0] + beside[1]
    return _spectrum(a, known, not eigvals_only, select, select_range)


@stands_for(native.solve_toeplitz)
def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """Solve a system whose matrix is constant along its diagonals."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    if np.ndim(c) != 1:
        reject(
            "solve_toeplitz of several columns has no derivative here; solve one after another",
            UnsupportedKeywordError,
        )
    return solve(toeplitz(c, r), b, check_finite=check_finite)


WORDS = words(
    native,
    finite="ab b",
    solveh_banded=of_stacks(ab=2, b=0)(lambda ab, b, lower: _solved(*_both_sides(ab, lower), b)),
)

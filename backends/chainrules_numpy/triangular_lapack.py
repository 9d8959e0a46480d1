"""LAPACK's functions of one triangle, and of small matrices, if SciPy is installed.

Only functions that use one thread: SciPy's BLAS has a thread pool of its own, and two pools
collide. At n = 50 the solution takes a third of NumPy's time, which factorises first, and the
inverse a quarter.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
"""Prefixes of LAPACK's names, by the character of the dtype."""


@functools.cache
def _scipy() -> Any:
    """Return SciPy's linear algebra, imported at the first call, or None."""
    try:
        import scipy.linalg
    except ImportError:
        return None
    return scipy.linalg


@functools.cache
def _function(name: str, dtype: str) -> Any:
    from scipy.linalg import lapack  # no attribute of it if its first import was interrupted

    return getattr(lapack, _LETTERS[dtype] + name)


def has_triangles(a: np.ndarray) -> bool:
    """Return whether LAPACK's functions of one triangle are available for this dtype."""
    return a.dtype.char in _LETTERS and _scipy() is not None


def is_one_column(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether a system of equations is one matrix with one right side."""
    return a.ndim == 2 and b.size == len(a) > 0 and a.dtype == b.dtype and b.ndim < 3


def which_triangle(a: np.ndarray) -> bool | None:
    """Return True for an upper triangular matrix, False for a lower one, None for others."""
    n = len(a)
    if n > _LARGE:
        if a[0, -1] and a[-1, 0]:
            return None
        below, above = _scipy().bandwidth(a)
    else:
        below = a[-1, 0] or _any_below(a)
        above = below and (a[0, -1] or _any_below(a.T))
    return False if below and not above else None if below else True


def _any_below(a: np.ndarray) -> bool:
    # In the order of memory; the other order takes half as long again.
    n = len(a)
    found = a[lower_mask(n, n, -1)] if a.flags.c_contiguous else a.T[upper_mask(n, n, 1)]
    return bool(np.count_nonzero(found))


_LARGE = 100
"""Rows up to which reading the elements of a triangle is as fast as SciPy's function."""


@functools.lru_cache(maxsize=128)
def lower_mask(rows: int, columns: int, k: int = 0) -> Any:
    """Return a mask of a lower triangle, cached: making it costs as much as using it."""
    return np.tri(rows, columns, k, dtype=bool)


@functools.lru_cache(maxsize=128)
def upper_mask(rows: int, columns: int, k: int = 0) -> Any:
    """Return a mask of an upper triangle."""
    return ~np.tri(rows, columns, k - 1, dtype=bool)


def inverted(lower: np.ndarray) -> Any:
    """Invert a matrix with zeros above its diagonal; uses one thread for up to 100 rows."""
    inverse, singular = _function("trtri", lower.dtype.char)(lower.T)
    if singular:
        raise np.linalg.LinAlgError(_SINGULAR)
    return inverse.T


def solved(a: np.ndarray, b: np.ndarray, upper: bool, unit_diagonal: bool = False) -> Any:
    """Solve a triangular system with one right side."""
    solve = _function("trtrs", a.dtype.char)
    if a.flags.f_contiguous:
        x, singular = solve(a, b, not upper, 0, unit_diagonal)
    else:  # its transpose is Fortran-contiguous
        x, singular = solve(a.T, b, upper, 1, unit_diagonal)
    if singular:
        raise np.linalg.LinAlgError(_SINGULAR)
    return x


def solved_by_factors(a: np.ndarray, b: np.ndarray) -> Any:
    """Solve a system with one right side; uses one thread for up to 64 rows."""
    letter = a.dtype.char
    factors, pivots, singular = _function("getrf", letter)(a)
    if singular:
        raise np.linalg.LinAlgError(_SINGULAR)
    return _function("getrs", letter)(factors, pivots, b)[0]


def inverse_by_factors(a: np.ndarray) -> Any:
    """Invert a matrix, in Fortran order; uses one thread for up to 64 rows."""
    letter = a.dtype.char
    factors, pivots, singular = _function("getrf", letter)(a)
    if singular:
        raise np.linalg.LinAlgError(_SINGULAR)
    return _function("getri", letter)(factors, pivots, overwrite_lu=True)[0]


def determinant_and_inverse(a: np.ndarray) -> tuple[Any, Any]:
    """Return determinant and inverse of a small matrix by one factorisation, in Fortran order."""
    letter = a.dtype.char
    factors, pivots, singular = _function("getrf", letter)(a)
    if singular:
        raise np.linalg.LinAlgError(_SINGULAR)
    swapped = np.count_nonzero(pivots != _in_order(len(a)))
    determinant = np.multiply.reduce(factors.diagonal())
    inverse = _function("getri", letter)(factors, pivots, overwrite_lu=True)[0]
    return -determinant if swapped % 2 else determinant, inverse


@functools.lru_cache(maxsize=64)
def _in_order(n: int) -> Any:
    return np.arange(n)


_SINGULAR = "Singular matrix"

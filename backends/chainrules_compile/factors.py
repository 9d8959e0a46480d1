"""Factors of one matrix for several systems, its inverse and its determinant.

NumPy's functions factor a matrix each time, and keep nothing. What they call of LAPACK's is called
here, in the library that NumPy is linked to, so that results have the bits of NumPy's functions.
"""

from __future__ import annotations

import ctypes
import functools
import math
from typing import Any

import numpy as np

from chainrules_py.vocabulary import solve_again

_NAMES = (("scipy_{}_64_", True), ("{}_64_", True), ("{}_", False))
"""What NumPy's builds call LAPACK's functions, and whether their integers have 64 bits."""


def _found() -> Any:
    """NumPy's own `gesv` and `getrs` of double numbers, and their integers, or None."""
    module: Any = getattr(np.linalg, "_umath_linalg", None)
    try:
        library: Any = ctypes.CDLL(module.__file__)
    except (AttributeError, OSError, TypeError):
        return None
    for name, wide in _NAMES:
        if getattr(module, "_ilp64", None) is not wide:
            continue
        gesv = getattr(library, name.format("dgesv"), None)
        getrs = getattr(library, name.format("dgetrs"), None)
        if gesv is not None and getrs is not None:
            gesv.restype = getrs.restype = None
            gesv.argtypes = [ctypes.c_void_p] * 8
            getrs.argtypes = [ctypes.c_char_p] + [ctypes.c_void_p] * 8
            return gesv, getrs, (ctypes.c_int64 if wide else ctypes.c_int32)
    return None


_LAPACK: Any = _found()
INTEGER: Any = _LAPACK[2] if _LAPACK else np.int64
"""Of which class the places are."""


@functools.lru_cache(maxsize=64)
def _number(n: int) -> Any:
    """Where LAPACK reads a number that it does not write to."""
    return ctypes.byref(_LAPACK[2](n))


def factored(a: Any) -> tuple[Any, Any]:
    """Factor a matrix by rows that change places: columns of both triangles, and the places.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it is singular, as `np.linalg.solve` and `np.linalg.inv` do.
    """
    if _LAPACK is None:
        return a.copy(), np.empty(0, INTEGER)
    gesv, _, integer = _LAPACK
    n, columns = len(a), a.T.copy()
    pivots, right, missed = np.empty(n, integer), np.zeros(n), integer()
    size, right_sides = _number(n), _number(1)
    # Not getrf, whose last bits are others than those of gesv for some sizes.
    gesv(
        size,
        right_sides,
        columns.__array_interface__["data"][0],
        size,
        pivots.__array_interface__["data"][0],
        right.__array_interface__["data"][0],
        size,
        ctypes.byref(missed),
    )
    if missed.value:
        msg = "Singular matrix"
        raise np.linalg.LinAlgError(msg)
    return columns, pivots


def solved(columns: Any, pivots: Any, b: Any) -> Any:
    """Solve a system, as `np.linalg.solve` does."""
    return _solved(columns, pivots, b, b"N")


def turned(columns: Any, pivots: Any, b: Any) -> Any:
    """Solve the system of the transpose of the matrix."""
    return _solved(columns, pivots, b, b"T")


def _solved(columns: Any, pivots: Any, b: Any, form: bytes) -> Any:
    if not len(pivots):
        return np.linalg.solve(columns if form == b"N" else columns.T, b)
    _, getrs, integer = _LAPACK
    n, x = len(columns), b.T.copy()
    size = _number(n)
    getrs(
        form,
        size,
        size if b.size == n * n else _number(b.size // n),
        columns.__array_interface__["data"][0],
        size,
        pivots.__array_interface__["data"][0],
        x.__array_interface__["data"][0],
        size,
        ctypes.byref(integer()),
    )
    # In the order of C, as NumPy's is.
    return x if b.ndim == 1 else np.ascontiguousarray(x.T)


def inverse(columns: Any, pivots: Any) -> Any:
    """Invert the matrix, as `np.linalg.inv` does."""
    if not len(pivots):
        return np.linalg.inv(columns)
    return _solved(columns, pivots, np.eye(len(columns)), b"N")


inverse_by_columns = inverse
"""The same, where a program has it in another order: none has, of so many rows."""


def log_determinant(columns: Any, pivots: Any) -> tuple[Any, Any]:
    """Give the sign and the logarithm of the determinant, as `np.linalg.slogdet` does."""
    if not len(pivots):
        return np.linalg.slogdet(columns)
    sign, total = _signed(columns, pivots)
    return np.float64(sign), np.float64(total)


def determinant(columns: Any, pivots: Any) -> Any:
    """Give the determinant, as `np.linalg.det` does."""
    if not len(pivots):
        return np.linalg.det(columns)
    sign, total = _signed(columns, pivots)
    try:
        return np.float64(sign * math.exp(total))
    except OverflowError:
        return np.float64(sign * math.inf)


def _signed(columns: Any, pivots: Any) -> tuple[float, float]:
    diagonal = columns.diagonal()
    swapped = np.count_nonzero(pivots != np.arange(1, len(pivots) + 1))
    sign = -1.0 if (swapped + np.count_nonzero(diagonal < 0)) % 2 else 1.0
    # One logarithm of the C library's after the other, as NumPy has it.
    total = 0.0
    for x in np.abs(diagonal).tolist():
        total += math.log(x)
    return sign, total


def again(a: Any, b: Any, columns: Any, pivots: Any) -> Any:
    """Solve the system of the transpose as the word `solve_again` does, which may look for zeros.

    The factors of a symmetric matrix are those of its transpose.
    """
    if a[0, -1] and (a == a.T).all():
        return _solved(columns, pivots, b, b"N")
    return solve_again(a.T, b)


def pull(y_bar: Any, a: Any, y: Any, columns: Any, pivots: Any) -> Any:
    """Pull back through a system with one right side, to the matrix."""
    return again(a, y_bar, columns, pivots)[:, None] * -y


_MOST = 512
"""Rows up to which each size is asked."""


@functools.cache
def agrees(n: int) -> tuple[bool, bool]:
    """Tell whether systems and inverses, and determinants, of n rows have NumPy's bits here.

    One matrix is asked, whose way through LAPACK is that of all others of its size.
    """
    if _LAPACK is None:
        return False, False
    n = min(n, _MOST)
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(n, n)), rng.normal(size=(n, 3))
    factors = factored(a)
    systems = (
        np.array_equal(solved(*factors, b[:, 0]), np.linalg.solve(a, b[:, 0]))
        and np.array_equal(solved(*factors, b), np.linalg.solve(a, b))
        and np.array_equal(inverse(*factors), np.linalg.inv(a))
    )
    sign, total = np.linalg.slogdet(a)
    determinants = log_determinant(*factors) == (sign, total) and bool(
        determinant(*factors) == np.linalg.det(a)
    )
    return systems, determinants

"""Factors for looser programs: small matrices by SciPy, whose functions begin with less.

What needs no bits takes whichever is shorter. Beyond 64 rows SciPy's BLAS has threads of its own,
which collide with NumPy's.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from chainrules_compile import factors

_SMALL = 64


@functools.cache
def _scipy() -> Any:
    """SciPy's LAPACK, or None."""
    try:
        from scipy.linalg import lapack
    except ImportError:
        return None
    return lapack


def is_small(n: int) -> bool:
    """Tell whether a matrix of n rows is factored by SciPy."""
    return n <= _SMALL and _scipy() is not None


def factored(a: Any) -> tuple[Any, Any]:
    """Factor a matrix by rows that change places; see `chainrules_compile.factors`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it is singular.
    """
    if not is_small(len(a)):
        return factors.factored(a)
    columns, pivots, missed = _scipy().dgetrf(a)
    if missed:
        msg = "Singular matrix"
        raise np.linalg.LinAlgError(msg)
    return columns, pivots


def solved(columns: Any, pivots: Any, b: Any) -> Any:
    """Solve a system."""
    if not is_small(len(columns)):
        return factors.solved(columns, pivots, b)
    return np.ascontiguousarray(_scipy().dgetrs(columns, pivots, b)[0])


def turned(columns: Any, pivots: Any, b: Any) -> Any:
    """Solve the system of the transpose of the matrix."""
    if not is_small(len(columns)):
        return factors.turned(columns, pivots, b)
    return np.ascontiguousarray(_scipy().dgetrs(columns, pivots, b, 1)[0])


def pull(y_bar: Any, y: Any, columns: Any, pivots: Any) -> Any:
    """Pull back through a system with one right side, to the matrix."""
    return turned(columns, pivots, y_bar)[:, None] * -y


def inverse(columns: Any, pivots: Any) -> Any:
    """Invert the matrix."""
    return np.ascontiguousarray(inverse_by_columns(columns, pivots))


def inverse_by_columns(columns: Any, pivots: Any) -> Any:
    """Invert the matrix, in the order of Fortran if it is small."""
    if not is_small(len(columns)):
        return factors.inverse(columns, pivots)
    return _scipy().dgetri(columns, pivots)[0]


def log_determinant(columns: Any, pivots: Any) -> tuple[Any, Any]:
    """Give the sign and the logarithm of the determinant."""
    n = len(columns)
    if not is_small(n):
        return factors.log_determinant(columns, pivots)
    diagonal = columns.diagonal()
    swapped = np.count_nonzero(pivots != np.arange(n)) + np.count_nonzero(diagonal < 0)
    return np.float64(-1.0 if swapped % 2 else 1.0), np.log(np.abs(diagonal)).sum()


def determinant(columns: Any, pivots: Any) -> Any:
    """Give the determinant."""
    sign, total = log_determinant(columns, pivots)
    return sign * np.exp(total)

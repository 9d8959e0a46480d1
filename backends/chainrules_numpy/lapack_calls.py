"""NumPy's functions of one matrix, without the Python code around LAPACK.

For a matrix of 3 rows, that code takes four times as long as the rest. The same LAPACK functions
are called, and a singular matrix raises the same error. This applies to arrays of double precision;
others call NumPy's function.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy._private import lapack
from chainrules_py import ops as v

_DOUBLE = np.dtype(np.float64)


_PARTS: Any = lapack()
_LAPACK: Any = _PARTS[0] if _PARTS else None
_STATE: Any = _PARTS[1] if _PARTS else None


def _raising(text: str) -> Any:
    """Return an error state in which an error of LAPACK raises LinAlgError with a text."""

    def raise_it(_error: str, _flag: int) -> None:
        raise np.linalg.LinAlgError(text)

    how = {"invalid": "call", "over": "ignore", "divide": "ignore", "under": "ignore"}
    return _PARTS[2](call=raise_it, **how) if _PARTS else None


_SINGULAR = _raising("Singular matrix")
_INDEFINITE = _raising("Matrix is not positive definite")
_SIGN_AND_LOGARITHM: Any = type(np.linalg.slogdet(np.eye(1)))


def _is_matrix(x: Any) -> bool:
    """Return whether an operand is one nonempty square matrix of double precision."""
    if type(x) is not np.ndarray or x.dtype is not _DOUBLE or _LAPACK is None:
        return False
    shape = x.shape
    return len(shape) == 2 and shape[0] == shape[1] > 0


def _called(gufunc: Any, errors: Any, *xs: Any) -> Any:
    """Call a LAPACK loop with an error state."""
    token = _STATE.set(errors)
    try:
        return gufunc(*xs)
    finally:
        _STATE.reset(token)


@v.solve.implement
def solve_numpy(x1: np.ndarray, x2: np.ndarray) -> Any:
    """Compute np.linalg.solve, for one right side or a matrix of them."""
    if _is_matrix(x1) and type(x2) is np.ndarray and x2.dtype is _DOUBLE:
        shape = x2.shape
        if shape[:1] == x1.shape[:1] and len(shape) < 3:
            gufunc = _LAPACK.solve1 if len(shape) == 1 else _LAPACK.solve
            return _called(gufunc, _SINGULAR, x1, x2)
    return np.linalg.solve(x1, x2)


@v.inv.implement
def inv_numpy(x: np.ndarray) -> Any:
    """Compute np.linalg.inv."""
    return _called(_LAPACK.inv, _SINGULAR, x) if _is_matrix(x) else np.linalg.inv(x)


@v.det.implement
def det_numpy(x: np.ndarray) -> Any:
    """Compute np.linalg.det."""
    return _LAPACK.det(x) if _is_matrix(x) else np.linalg.det(x)


@v.slogdet.implement
def slogdet_numpy(x: np.ndarray) -> Any:
    """Compute np.linalg.slogdet."""
    return _SIGN_AND_LOGARITHM(*_LAPACK.slogdet(x)) if _is_matrix(x) else np.linalg.slogdet(x)


@v.cholesky.implement
def cholesky_numpy(x: np.ndarray, *, upper: bool = False) -> Any:
    """Compute np.linalg.cholesky."""
    if not _is_matrix(x):
        return np.linalg.cholesky(x, upper=upper)
    return _called(_LAPACK.cholesky_up if upper else _LAPACK.cholesky_lo, _INDEFINITE, x)


_PUBLIC: tuple[Any, ...] = (solve_numpy, inv_numpy, det_numpy, slogdet_numpy, cholesky_numpy)
for _function in _PUBLIC:  # saved programs use NumPy's public names
    _function.public = getattr(np.linalg, _function.__name__.removesuffix("_numpy"))

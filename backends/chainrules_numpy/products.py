"""Implementations of contractions, adjugates and norms for NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules_numpy.broadcasting import vdot
from chainrules_numpy.triangles import determinant_and_inverse, has_triangles
from chainrules_py import Scalar
from chainrules_py import ops as v
from chainrules_py.extend import adjugate_by_svd

_SMALL = 64
"""Rows up to which SciPy's LAPACK keeps to one thread."""
_WELL = 1e7
"""The largest condition number at which an inverse is as good as singular values."""


@v.einsum.implement
def einsum_numpy(*operands: np.ndarray | np.generic, subscripts: str, optimize: Any = False) -> Any:
    """np.einsum takes the subscripts first."""
    arrays: Any = operands
    return np.einsum(subscripts, *arrays, optimize=optimize)


@v.einsum.implement
def einsum_numbers(*operands: Scalar, subscripts: str, optimize: Any = False) -> Any:
    """Numbers alone are NumPy's: those of other libraries take them beside their arrays."""
    return np.einsum(subscripts, *operands, optimize=optimize)


@v.adjugate.implement
def adjugate_numpy(x: np.ndarray) -> Any:
    """Compute by the inverse, twenty times as fast, where all matrices are well-conditioned."""
    if x.size:
        small = x.ndim == 2 and 0 < len(x) == x.shape[1] <= _SMALL and has_triangles(x)
        try:
            found = determinant_and_inverse(x) if small else (1.0, np.linalg.inv(x))
        except np.linalg.LinAlgError:
            return _adjugate_as(x, small)
        determinant, inverse = found
        if small:
            if _length(x) * _length(inverse) < _WELL:
                return inverse * determinant
        elif np.all(np.abs(x).sum(-1).max(-1) * np.abs(inverse).sum(-1).max(-1) < _WELL):
            return inverse * np.linalg.det(x)[..., None, None]
        return _adjugate_as(x, small)
    return adjugate_by_svd(x)


def _adjugate_as(x: np.ndarray, small: bool) -> Any:
    """Lay elements as the inverse has them: a layout that hung on numbers no program in C knows."""
    y = adjugate_by_svd(x)
    return np.asfortranarray(y) if small else y


def _length(x: np.ndarray) -> float:
    """Return the length of all elements, as a number of Python's, which warns of nothing."""
    flat = x.ravel("K")
    return math.sqrt(vdot(flat, flat).real)


@v.vector_norm.implement
def vector_norm_numpy(
    x: np.ndarray | np.generic, *, axis: Any = None, keepdims: bool = False, ord: float = 2
) -> Any:
    """np.linalg.norm of all elements sums squares by a dot product, and vector_norm does not.

    Of matrices it is np.linalg.norm as well, which adds in the order of memory.
    """
    if ord == 2 and (axis is None or (type(axis) is tuple and len(axis) == 2)):
        return np.linalg.norm(x, None, axis, keepdims)
    norm: Any = np.linalg.vector_norm  # whose annotations know two values of keepdims
    return norm(x, axis=axis, keepdims=keepdims, ord=ord)

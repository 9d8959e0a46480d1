"""NumPy implementations of contractions, adjugates and norms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules_numpy.broadcast_sums import vdot
from chainrules_numpy.triangular_lapack import determinant_and_inverse, has_triangles
from chainrules_py import Scalar
from chainrules_py import ops as v
from chainrules_py.extend import adjugate_by_svd

_SMALL = 64
"""Rows up to which SciPy's LAPACK uses one thread."""
_WELL = 1e7
"""The largest condition number at which an inverse is as accurate as singular values."""


@v.einsum.implement
def einsum_numpy(*operands: np.ndarray | np.generic, subscripts: str, optimize: Any = False) -> Any:
    """Compute einsum; np.einsum takes the subscripts first."""
    arrays: Any = operands
    return np.einsum(subscripts, *arrays, optimize=optimize)


v.einsum.implement(einsum_numpy, types=(Scalar,))  # the result of numbers is NumPy's


@v.adjugate.implement
def adjugate_numpy(x: np.ndarray) -> Any:
    """Compute by the inverse, twenty times as fast, if all matrices are well-conditioned."""
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
    """Return the adjugate in the layout of the inverse, so that values do not affect the layout.

    It is NaN for a matrix with an element that is not finite, of which there is no SVD.
    """
    finite = np.isfinite(x).all((-2, -1), keepdims=True)
    y = adjugate_by_svd(x if finite.all() else np.where(finite, x, 0))
    y = y if finite.all() else np.where(finite, y, np.nan)
    return np.asfortranarray(y) if small else y


def _length(x: np.ndarray) -> float:
    """Return the norm of all elements as a Python number, without warnings."""
    flat = x.ravel("K")
    return math.sqrt(vdot(flat, flat).real)


@v.vector_norm.implement
def vector_norm_numpy(
    x: np.ndarray | np.generic, *, axis: Any = None, keepdims: bool = False, ord: float = 2
) -> Any:
    """Compute norms; of all elements by np.linalg.norm, which uses a dot product.

    It is also used for matrices, where it adds in the order of memory.
    """
    if ord == 2 and (axis is None or (type(axis) is tuple and len(axis) == 2)):
        return np.linalg.norm(x, None, axis, keepdims)
    norm: Any = np.linalg.vector_norm  # its annotations allow two values of keepdims
    return norm(x, axis=axis, keepdims=keepdims, ord=ord)

"""Singular values, condition numbers and systems of tensors, written in operations."""

import math
from typing import Any

import numpy as np

from chainrules_numpy.composites.products import matrix_norm
from chainrules_py import ops as v
from chainrules_py.extend import adjoint, real_numbers
from chainrules_py.ops.linalg import SVDResult

# ---------------------------------------------------------------- singular values


def hermitian_svd(x: Any) -> SVDResult:
    """Compute the SVD of Hermitian matrices from their eigenvectors; S is in descending order."""
    w, u = v.eigh(x)
    order = v.flip(v.argsort(v.abs(w)), axis=-1)
    s = v.take_along_axis(v.abs(w), order, axis=-1)
    sign = v.where(v.signbit(v.take_along_axis(w, order, axis=-1)), -1.0, 1.0)
    u = v.take_along_axis(u, v.expand_dims(order, axis=-2), axis=-1)
    return SVDResult(u, s, adjoint(u * v.astype(v.expand_dims(sign, axis=-2), dtype=u.dtype)))


def hermitian_svdvals(x: Any) -> Any:
    """Compute the absolute values of the eigenvalues, in descending order."""
    return v.flip(v.sort(v.abs(v.eigvalsh(x))), axis=-1)


SINGULAR = "cond: a matrix is singular, where its condition is infinite and has no derivative"


def cond(x: Any, p: Any = None) -> Any:
    """Compute the condition number: the norm of each matrix times the norm of its inverse.

    For p = 2 (the default), or -2, it is the quotient of the first and the last singular value.
    """
    if p not in (None, 2, -2):
        if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
            raise ValueError(f"Invalid norm order {p!r} for matrices.")
        x = real_numbers(x)
        r = matrix_norm(x, ord=p) * matrix_norm(v.inv(x), ord=p)
        known = v.logical_or(v.logical_not(v.isnan(r)), v.any(v.isnan(x), axis=(-2, -1)))
        return v.where(known, r, math.inf)
    s = v.svdvals(x)
    over, under = (s[..., -1], s[..., 0]) if p == -2 else (s[..., 0], s[..., -1])
    singular = v.equal(under, 0.0)
    v.report(singular, message=SINGULAR)
    return v.where(singular, math.inf, v.divide(over, v.where(singular, 1.0, under)))


# ---------------------------------------------------------------- tensors as matrices


def tensorinv(a: Any, ind: int = 2) -> Any:
    """Invert a as a linear map from tensors of its last axes to tensors of its first axes."""
    if not a.ndim:
        raise TypeError(
            "tensorinv of a number; its map is from the axes behind ind to those before it"
        )
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    inverse = v.inv(v.reshape(a, shape=(math.prod(a.shape[ind:]), -1)))
    return v.reshape(inverse, shape=(*a.shape[ind:], *a.shape[:ind]))


def tensorsolve(a: Any, b: Any, axes: tuple[int, ...] | None = None) -> Any:
    """Find the tensor that the linear map a maps to b; its axes in a are the last, or ``axes``."""
    if axes is not None:
        order = list(range(a.ndim))
        for axis in axes:
            order.remove(axis)
            order.append(axis)
        a = v.permute_dims(a, axes=tuple(order))
    shape = a.shape[-(a.ndim - b.ndim) :]
    n = math.prod(shape)
    if math.prod(a.shape) != n**2:
        raise np.linalg.LinAlgError(
            f"tensorsolve of a{list(a.shape)} and b{list(b.shape)}: the first axes of a have to "
            f"hold as many elements as the others"
        )
    return v.reshape(v.solve(v.reshape(a, shape=(n, n)), v.reshape(b, shape=(-1,))), shape=shape)

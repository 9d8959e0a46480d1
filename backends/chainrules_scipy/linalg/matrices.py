"""Matrices made of others, and their size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from chainrules_py import vocabulary as v
from chainrules_py.extend import products_composites, varies
from chainrules_scipy.rows import array_of, reject, stands_for, static


def _of_blocks(arrs: Sequence[Any]) -> Any:
    blocks = [_with_axes(x, 2) for x in arrs]
    if not blocks:
        return np.zeros((1, 0))
    batch = np.broadcast_shapes(*[b.shape[:-2] for b in blocks])
    width, start, rows = sum(b.shape[-1] for b in blocks), 0, []
    for b in blocks:
        b = _repeated(b, batch, 2)
        behind = width - start - b.shape[-1]
        rows.append(v.pad(b, 0, widths=((0, 0),) * (b.ndim - 1) + ((start, behind),)))
        start += b.shape[-1]
    return v.concat(*rows, axis=-2)


def _with_axes(x: Any, n: int) -> Any:
    """Convert to an array with at least n axes; integers stay integers."""
    x = array_of(x, floating=False)
    return x if x.ndim >= n else v.reshape(x, shape=(*(1,) * (n - x.ndim), *x.shape))


def _repeated(x: Any, batch: tuple[int, ...], n: int) -> Any:
    """Broadcast an array to these axes before its last n."""
    shape = (*batch, *x.shape[-n:])
    return x if x.shape == shape else v.broadcast_to(x, shape=shape)


@stands_for(scipy.linalg.block_diag, to=_of_blocks, parameters={"arrs": ()}, gather="arrs")
def block_diag(*arrs: Any) -> Any:
    """Put matrices on the diagonal of a larger one."""
    return _of_blocks(arrs)


@stands_for(scipy.linalg.toeplitz)
def toeplitz(c: Any, r: Any = None) -> Any:
    """Make a matrix that is constant along its diagonals."""
    c = _with_axes(c, 1)
    r = v.conj(c) if r is None else _with_axes(r, 1)
    m, n = c.shape[-1], r.shape[-1]
    return _gathered(v.flip(c, axis=-1), r, np.arange(n) - np.arange(m)[:, None] + m - 1)


@stands_for(scipy.linalg.circulant)
def circulant(c: Any) -> Any:
    """Make a matrix whose columns are one vector, turned."""
    c = _with_axes(c, 1)
    places = np.arange(c.shape[-1])
    return v.take(c, (places[:, None] - places) % max(c.shape[-1], 1), axis=-1)


@stands_for(scipy.linalg.hankel)
def hankel(c: Any, r: Any = None) -> Any:
    """Make a matrix that is constant along the diagonals from the right to the left."""
    c = v.reshape(array_of(c, floating=False), shape=(-1,))
    r = v.zeros_like(c) if r is None else v.reshape(array_of(r, floating=False), shape=(-1,))
    return _gathered(c, r, np.arange(c.shape[0])[:, None] + np.arange(r.shape[0]))


def _gathered(c: Any, r: Any, places: Any) -> Any:
    """Elements of c, and of r behind its first, where the places say."""
    batch = np.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    c, r = _repeated(c, batch, 1), _repeated(r, batch, 1)
    return v.take(v.concat(c, r[..., 1:], axis=-1), places, axis=-1)


@stands_for(scipy.linalg.khatri_rao, arrays="a b")
def khatri_rao(a: Any, b: Any) -> Any:
    """Compute the Kronecker products of the columns of two matrices."""
    if a.shape[-1] != b.shape[-1]:
        reject(f"matrices of {a.shape[-1]} and of {b.shape[-1]} columns", ValueError)
    y = v.expand_dims(a, axis=-2) * v.expand_dims(b, axis=-3)
    return v.reshape(y, shape=(*y.shape[:-3], y.shape[-3] * y.shape[-2], y.shape[-1]))


@stands_for(scipy.linalg.norm, finite="a")
def norm(
    a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True
) -> Any:
    """Compute a norm of vectors or matrices."""
    if varies(ord):
        reject("norm(ord=...) has no derivative in the order; write np.sum(abs(x)**p)**(1 / p)")
    return products_composites.norm(a, ord, static(axis), keepdims)

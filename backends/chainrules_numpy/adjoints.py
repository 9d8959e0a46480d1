"""Adjoints with fewer NumPy calls than the operations that they are written in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules_numpy import array_types
from chainrules_numpy.triangular_and_cholesky import cotangent_of_small, solve_again_numpy
from chainrules_py.extend import cholesky_rules as cholesky
from chainrules_py.extend import product_rules as products
from chainrules_py.extend import solving_rules as solving

# Rules have no type annotations.
_cholesky: Any = cholesky
_products: Any = products
_solving: Any = solving


def matmul_left_numpy(y_bar: Any, a: Any, b: Any) -> Any:
    """Compute Ȳ Bᵀ; for matrices and vectors, ``dot`` has less overhead than ``matmul``."""
    if b.dtype.kind == "c" or (a.ndim == 1 and b.ndim > 2):
        return _products.matmul_left(y_bar, a, b)
    if b.ndim == 1:
        return y_bar * b if a.ndim == 1 else y_bar[..., None] * b
    if b.ndim == 2 and a.ndim == y_bar.ndim > 2:  # a batch is one tall matrix
        rows = math.prod(y_bar.shape[:-1])
        return y_bar.reshape(rows, y_bar.shape[-1]).dot(b.T).reshape(*y_bar.shape[:-1], b.shape[0])
    return y_bar.dot(b.T) if b.ndim == 2 and a.ndim < 3 else np.matmul(y_bar, b.mT)


def matmul_right_numpy(y_bar: Any, a: Any, b: Any) -> Any:
    """Compute Aᵀ Ȳ, as above."""
    if b.ndim == 1 and a.ndim > 1 and a.dtype.kind != "c":
        rows = a if a.ndim == 2 else a.reshape(y_bar.size, a.shape[-1])
        return y_bar.dot(rows) if rows is a else y_bar.reshape(-1).dot(rows)
    if b.ndim == 2 and a.ndim == y_bar.ndim > 2 and a.dtype.kind != "c":
        rows = math.prod(a.shape[:-1])
        return a.reshape(rows, a.shape[-1]).T.dot(y_bar.reshape(rows, y_bar.shape[-1]))
    if a.dtype.kind == "c" or (a.ndim > 2 and b.ndim < 3) or (a.ndim == 1 and b.ndim > 2):
        return _products.matmul_right(y_bar, a, b)
    if a.ndim == 1:
        return a * y_bar if b.ndim == 1 else a[:, None] * y_bar
    return a.T.dot(y_bar) if a.ndim == b.ndim == 2 else np.matmul(a.mT, y_bar)


def solve_pull_numpy(y_bar: Any, a: Any, y: Any, vector: bool) -> Any:
    """Pull back through one system with one right side, by an outer product."""
    if type(y_bar) is not np.ndarray or y_bar.shape != y.shape or y.ndim > 1 or y.dtype.kind != "f":
        return _solving.solve_pull(y_bar, a, y, vector)
    return solve_again_numpy(a.T, y_bar)[:, None] * -y


def cholesky_pull_numpy(y_bar: Any, y: Any, upper: bool) -> Any:
    """Pull back through one small matrix, whose factor has zeros above its diagonal."""
    x_bar = None
    if type(y_bar) is np.ndarray and y_bar.dtype == y.dtype and y_bar.ndim == 2 and not upper:
        x_bar = cotangent_of_small(y_bar, y) if y.dtype.kind == "f" and y.ndim == 2 else None
    return _cholesky.cholesky_pull(y_bar, y, upper) if x_bar is None else x_bar


array_types.half |= {
    _solving.solve_pull: solve_pull_numpy,
    _cholesky.cholesky_pull: cholesky_pull_numpy,
}
array_types.adjoint |= {
    _products.matmul_left: matmul_left_numpy,
    _products.matmul_right: matmul_right_numpy,
    _products.dot_left: _products.as_matmul(matmul_left_numpy, _products.dot_left),
    _products.dot_right: _products.as_matmul(matmul_right_numpy, _products.dot_right),
}

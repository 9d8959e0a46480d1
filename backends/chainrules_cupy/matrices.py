"""Products and factorisations of matrices, where CuPy's functions have other parameters."""

from __future__ import annotations

import importlib
from typing import Any

import cupy
import numpy as np

from chainrules_cupy.namespace import on
from chainrules_py import Scalar
from chainrules_py import ops as v
from chainrules_py.extend import (
    dot_standard,
    inner_standard,
    matrix_rank_standard,
    outer_standard,
    roots_standard,
    solve_triangular_standard,
)
from chainrules_py.ops.decompositions import EighResult, EigResult
from chainrules_py.ops.matrix_functions import LUFactors

_ARRAY: Any = cupy.ndarray


def _scipys(name: str) -> Any:
    return getattr(importlib.import_module("cupyx.scipy.linalg"), name)


@v.einsum.implement
def einsum_cupy(*operands: cupy.ndarray, subscripts: str, optimize: Any = False) -> Any:
    """Compute einsum; cupy.einsum takes the subscripts first."""
    return cupy.einsum(subscripts, *operands, optimize=optimize)


@v.diagonal.implement
def diagonal_cupy(x: cupy.ndarray, *, offset: int = 0) -> Any:
    """Return diagonals of the last two axes; cupy.diagonal defaults to the first two."""
    return x.diagonal(offset, -2, -1)


@v.trace.implement
def trace_cupy(x: cupy.ndarray, *, offset: int = 0) -> Any:
    """Return traces of the last two axes; cupy.trace defaults to the first two."""
    return x.trace(offset, -2, -1)


# CuPy's functions take arrays only.
for _first, _second in ((_ARRAY, Scalar), (Scalar, _ARRAY)):
    for _operation, _standard in (
        (v.dot, dot_standard),
        (v.inner, inner_standard),
        (v.outer, outer_standard),
    ):
        _operation.implement(_standard, types=(_first, _second))


@v.qr_raw.implement
def qr_raw_cupy(x: cupy.ndarray) -> Any:
    """Compute the raw mode of cupy.linalg.qr."""
    return cupy.linalg.qr(x, "raw")


@v.eigh.implement
def eigh_cupy(x: cupy.ndarray, *, upper: bool = False) -> Any:
    """Decompose a Hermitian matrix; CuPy takes the name of the triangle."""
    return EighResult(*cupy.linalg.eigh(x, "U" if upper else "L"))


@v.eigvalsh.implement
def eigvalsh_cupy(x: cupy.ndarray, *, upper: bool = False) -> Any:
    """Compute eigenvalues of a Hermitian matrix; CuPy takes the name of the triangle."""
    return cupy.linalg.eigvalsh(x, "U" if upper else "L")


@v.eig.implement
def eig_cupy(x: cupy.ndarray) -> Any:
    """Compute eigenvalues and eigenvectors as a named tuple."""
    return EigResult(*cupy.linalg.eig(x))


@v.lstsq.implement
def lstsq_cupy(x1: cupy.ndarray, x2: cupy.ndarray, *, rcond: float | None = None) -> Any:
    """Solve least squares; CuPy's default of rcond raises a warning."""
    return cupy.linalg.lstsq(x1, x2, rcond)


v.matrix_rank.implement(matrix_rank_standard, types=(_ARRAY,))  # CuPy's tolerance is absolute
v.roots.implement(roots_standard, types=(_ARRAY,))  # CuPy's is for polynomials with real roots


_exchanged = cupy.ElementwiseKernel(
    "raw I pivots, int64 n",
    "raw int64 rows",
    """
    for (long long k = 0; k < n; ++k) {
        const long long row = rows[k], other = pivots[k];
        rows[k] = rows[other];
        rows[other] = row;
    }
    """,
    "chainrules_exchanged_rows",
)


@v.lu_factor.implement
def lu_factor_cupy(x: cupy.ndarray) -> Any:
    """Return LU factors; CuPy's function takes one matrix."""
    if x.ndim > 2:
        n = x.shape[-1]
        each = [lu_factor_cupy(a) for a in x.reshape(-1, n, n)]
        factors, shape = map(cupy.stack, zip(*each, strict=True)), x.shape[:-2]
        return LUFactors(*[y.reshape(*shape, *y.shape[1:]) for y in factors])
    lu, pivots = _scipys("lu_factor")(x, check_finite=False)
    with on(x.device):
        rows = cupy.arange(len(x))
        _exchanged(pivots, len(x), rows, size=1)
    return LUFactors(lu, pivots.astype(cupy.int64), rows)


@v.solve.implement
def solve_cupy(x1: cupy.ndarray, x2: cupy.ndarray) -> Any:
    """Solve linear equations; CuPy's function does not broadcast batch axes."""
    if x2.ndim > 1 and x1.shape[:-2] != x2.shape[:-2]:
        stack = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
        x1 = cupy.broadcast_to(x1, (*stack, *x1.shape[-2:]))
        x2 = cupy.broadcast_to(x2, (*stack, *x2.shape[-2:]))
    return cupy.linalg.solve(x1, x2)


@v.solve_triangular.implement
def solve_triangular_cupy(
    x1: cupy.ndarray, x2: cupy.ndarray, *, upper: bool = False, unit_diagonal: bool = False
) -> Any:
    """Solve triangular equations; cuBLAS takes one matrix."""
    if x1.ndim != 2 or x2.ndim > 2:
        return solve_triangular_standard(x1, x2, upper=upper, unit_diagonal=unit_diagonal)
    one = _scipys("solve_triangular")
    return one(x1, x2, lower=not upper, unit_diagonal=unit_diagonal)


@v.expm.implement
def expm_cupy(x: cupy.ndarray) -> Any:
    """Compute the matrix exponential; CuPy's function takes one matrix."""
    one = _scipys("expm")
    if x.ndim == 2:
        return one(x)
    flat = x.reshape(-1, *x.shape[-2:])
    return cupy.stack([one(a) for a in flat]).reshape(x.shape) if len(flat) else x.copy()

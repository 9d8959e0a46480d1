"""Products, parts and factors of matrices for libraries without a function of the name."""

from __future__ import annotations

import builtins
import math
from typing import Any

from chainrules_py import Array
from chainrules_py import ops as v
from chainrules_py.extend import kind_of, namespace, type_info
from chainrules_py.ops.linalg import resolution

# ---------------------------------------------------------------------- products


@v.inner.fallback
def inner_standard(x1: Any, x2: Any) -> Any:
    """Contract the last axes, or multiply by a number."""
    return _contracted(x1, x2, 1)


@v.dot.fallback
def dot_standard(x1: Any, x2: Any) -> Any:
    """Contract the last axis with the last but one, or multiply by a number."""
    return _contracted(x1, x2, 2)


def _contracted(x1: Any, x2: Any, behind: int) -> Any:
    if not (getattr(x1, "ndim", 0) and getattr(x2, "ndim", 0)):
        return v.multiply(x1, x2)
    return v.tensordot(x1, x2, axes=((x1.ndim - 1,), (builtins.max(x2.ndim - behind, 0),)))


v.svdvals.fallback(lambda x: v.svd(x, full_matrices=False)[1])


@v.outer.fallback
def outer_standard(x1: Any, x2: Any) -> Any:
    """Multiply a column by a row."""
    columns = [v.reshape(x, shape=(-1,)) if type_info(type(x)).is_array else x for x in (x1, x2)]
    return v.multiply(v.reshape(columns[0], shape=(-1, 1)), columns[1])


@v.einsum.fallback
def einsum_standard(*operands: Any, subscripts: str, optimize: Any = False) -> Any:
    """Give each operand an axis for each letter, multiply, and sum."""
    inputs, _, output = subscripts.partition("->")
    terms = inputs.split(",")
    every = output + "".join(sorted({*inputs} - {*output, ","}))
    total: Any = None
    for term, x in zip(terms, operands, strict=True):
        aligned = _aligned(x, term, every)
        total = aligned if total is None else v.multiply(total, aligned)
    summed = tuple(range(len(output), len(every)))
    return v.sum(total, axis=summed) if summed else total


def _aligned(x: Any, term: str, every: str) -> Any:
    if not term:
        return x if not every else v.reshape(x, shape=(1,) * len(every))
    for letter in sorted({*term}):
        while term.count(letter) > 1:  # the diagonal of two axes becomes the last axis
            i = term.index(letter)
            j = term.index(letter, i + 1)
            rest = [k for k in range(len(term)) if k not in (i, j)]
            x = v.diagonal(v.permute_dims(x, axes=(*rest, i, j)))
            term = "".join(term[k] for k in rest) + letter
    order = sorted(range(len(term)), key=lambda k: every.index(term[k]))
    lengths = dict(zip(term, x.shape, strict=True))
    return v.reshape(
        v.permute_dims(x, axes=tuple(order)), shape=tuple(lengths.get(c, 1) for c in every)
    )


@v.vector_norm.fallback
def vector_norm_standard(
    x: Array, *, axis: Any = None, keepdims: bool = False, ord: float = 2
) -> Any:
    """Compute the norm of each order by its formula."""
    size, how = v.abs(x), {"axis": axis, "keepdims": keepdims}
    if ord == math.inf:
        return v.max(size, **how)
    if ord == -math.inf:
        return v.min(size, **how)
    if ord == 0:
        return v.astype(
            v.sum(v.astype(v.not_equal(size, 0), dtype=size.dtype), **how), dtype=size.dtype
        )
    if ord == 1:
        return v.sum(size, **how)
    if ord == 2:
        return v.sqrt(v.sum(v.square(size), **how))
    return v.pow(v.sum(v.pow(size, ord), **how), 1 / ord)


# ---------------------------------------------------------------------- parts


@v.from_diagonal.fallback
def from_diagonal_standard(x: Array, *, rows: int, columns: int, offset: int = 0) -> Any:
    """Select one element per row, and keep it on the diagonal."""
    length = builtins.max(
        0,
        builtins.min(rows, columns - offset)
        if offset >= 0
        else builtins.min(rows + offset, columns),
    )
    if x.shape[-1] != length:
        of = f"diagonal {offset} of a {rows} x {columns} matrix"
        raise ValueError(f"{of} has {length} elements, not {x.shape[-1]}")
    if not length:
        return v.full_like(x, shape=(*x.shape[:-1], rows, columns), fill=0)
    i = v.reshape(v.arange_like(x, stop=rows), shape=(-1, 1))
    j = v.arange_like(x, stop=columns)
    which = v.reshape(i, shape=(-1,)) - builtins.max(0, -offset)
    which = v.where(v.less(which, 0), 0, v.where(v.greater(which, length - 1), length - 1, which))
    column = v.expand_dims(v.take(x, which, axis=-1), axis=-1)
    return v.where(v.equal(j - i, offset), column, v.zeros_like(column))


@v.matrix_rank.fallback
def matrix_rank_standard(x: Array, *, rtol: float | None = None) -> Any:
    """Count the singular values above a tolerance."""
    s = v.svdvals(x)
    rtol = builtins.max(x.shape[-2:]) * resolution(x) if rtol is None else rtol
    return v.count_nonzero(v.greater(s, rtol * v.max(s, axis=-1, keepdims=True)), axis=-1)


# ---------------------------------------------------------------------- least squares, polynomials


@v.lstsq.fallback
def lstsq_standard(x1: Array, x2: Array, *, rcond: float | None = None) -> Any:
    """Solve by singular values; return residuals only for full rank and more rows than columns."""
    rows, columns = x1.shape
    cut = builtins.max(rows, columns) * resolution(x1) if rcond is None else rcond
    u, s, vh = v.svd(x1, full_matrices=False)
    kept = v.greater(s, cut * v.max(s)) if s.shape[0] else v.astype(s, dtype=namespace(s).bool)
    rank = v.count_nonzero(kept)
    inverse = v.where(kept, 1.0 / v.where(kept, s, 1.0), 0.0)
    b = x2 if x2.ndim == 2 else v.expand_dims(x2, axis=-1)
    turned = v.matmul(v.conj(v.matrix_transpose(u)), b)
    y = v.matmul(
        v.conj(v.matrix_transpose(vh)),
        v.astype(v.expand_dims(inverse, axis=-1), dtype=turned.dtype) * turned,
    )
    rest = b - v.matmul(x1, y)
    residuals = v.sum(v.real(v.conj(rest) * rest), axis=0)
    if int(rank) < columns or rows <= columns:
        residuals = v.index(residuals, slice(0, 0))
    return (y if x2.ndim == 2 else v.squeeze(y, axis=-1)), residuals, rank, s


@v.polyval.fallback
def polyval_standard(p: Array, x: Any) -> Any:
    """Evaluate by Horner's scheme."""
    of_array = type_info(type(x)).is_array
    dtype = namespace(p).result_type(p, x) if of_array else p.dtype
    y: Any = v.zeros_like(x) if of_array else v.full_like(p, shape=(), fill=0)
    y = v.astype(y, dtype=dtype) if hasattr(y, "dtype") else y
    for i in range(p.shape[0]):
        y = y * x + v.index(p, i)
    return y


@v.roots.fallback
def roots_standard(p: Array) -> Any:
    """Return the companion matrix's eigenvalues, and a 0 for each trailing 0 coefficient."""
    dtype = p.dtype if kind_of(p) in ("real", "complex") else namespace(p).float64
    p = v.astype(p, dtype=dtype)
    places = [i for i in range(p.shape[0]) if bool(v.not_equal(v.index(p, i), 0))]
    if not places:
        return v.full_like(p, shape=(0,), fill=0)
    first, last = places[0], places[-1]
    zeros, n = p.shape[0] - 1 - last, last - first
    found = v.full_like(p, shape=(0,), fill=0)
    if n:
        leading = v.index(p, first)
        top = v.expand_dims(-v.index(p, slice(first + 1, last + 1)) / leading, axis=0)
        below = v.eye_like(p, rows=n - 1, columns=n)
        found = v.eigvals(v.concat(top, below, axis=0))
    return v.concat(found, v.full_like(found, shape=(zeros,), fill=0), axis=0)

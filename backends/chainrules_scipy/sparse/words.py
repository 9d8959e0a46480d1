"""The words that products and systems with sparse arrays are made of, with their rules.

The first operand is the stored elements, in the order of the pattern: so cotangents lie on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import Array, LinearMap, bilinear_rule, primitive, rule
from chainrules_py import vocabulary as v
from chainrules_py.vocabulary import conj
from chainrules_scipy.sparse.patterns import Pattern

_AT_ONCE = 1 << 20


@primitive
def sparse_product(data: Array, x: Array, /, *, pattern: Pattern) -> Any:
    """Compute A x, where A has these elements at the pattern's places; x has one axis or two."""


@primitive
def sampled(y: Array, x: Array, /, *, pattern: Pattern) -> Any:
    """Compute the elements of y xᵀ at the places of the pattern alone."""


@primitive
def sparse_solve(data: Array, b: Array, /, *, pattern: Pattern) -> Any:
    """Solve A x = b, where A has these elements at the places of the pattern."""


sparse_solve.instead = "write v.solve(A.toarray(), b), which is dense"


@sparse_product.implement
def sparse_product_numpy(data: np.ndarray, x: np.ndarray, *, pattern: Pattern) -> Any:
    """Compute the product by SciPy; of a list of one row and a vector it has no axis."""
    return np.reshape(pattern.operator(data) @ x, (pattern.shape[0], *x.shape[1:]))


@sampled.implement
def sampled_numpy(y: np.ndarray, x: np.ndarray, *, pattern: Pattern) -> Any:
    """In parts, so that what is read of y and x does not outgrow the two."""
    rows, columns = pattern.rows_columns
    if y.ndim == 1:
        return y[rows] * x[columns]
    s = np.empty(len(rows), np.result_type(y, x))
    step = max(1, _AT_ONCE // max(1, y.shape[1]))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        s[part] = np.einsum("kj,kj->k", y[rows[part]], x[columns[part]])
    return s


@sparse_product.implement
def sparse_product_words(data: Array, x: Array, *, pattern: Pattern) -> Any:
    """Compute it in words, for arrays of any library: what stands in a row is added up."""
    rows, columns = pattern.rows_columns
    at, where = v.Index.split(rows)
    parts = _beside(data, x) * v.take(x, columns, axis=0)
    zeros = v.full_like(parts, shape=(pattern.shape[0], *x.shape[1:]), fill=0)
    return v.scatter_add(zeros, parts, *where, index=at)


@sampled.implement
def sampled_words(y: Array, x: Array, *, pattern: Pattern) -> Any:
    """Compute them in words, for arrays of any library."""
    rows, columns = pattern.rows_columns
    s = v.take(y, rows, axis=0) * v.take(x, columns, axis=0)
    return s if len(s.shape) == 1 else v.sum(s, axis=1)


def _beside(data: Any, x: Any) -> Any:
    return data if len(x.shape) == 1 else v.expand_dims(data, axis=1)


@sparse_solve.implement
def sparse_solve_numpy(data: np.ndarray, b: np.ndarray, *, pattern: Pattern) -> Any:
    """Solve by SuperLU."""
    return pattern.solved(data, b)


# y = A x is linear in the elements of A and in x: Ā = ȳ xᴴ on the pattern, x̄ = Aᴴ ȳ.
bilinear_rule(
    sparse_product,
    lambda y_bar, data, x, *, pattern: sampled(y_bar, conj(x), pattern=pattern),
    lambda y_bar, data, x, *, pattern: sparse_product(conj(data), y_bar, pattern=pattern.T),
)
# s = (y xᵀ on the pattern): with S̄ the sparse array of the elements s̄, ȳ = S̄ conj(x).
bilinear_rule(
    sampled,
    lambda s_bar, y, x, *, pattern: sparse_product(s_bar, conj(x), pattern=pattern),
    lambda s_bar, y, x, *, pattern: sparse_product(s_bar, conj(y), pattern=pattern.T),
)


@rule(sparse_solve)
def sparse_solve_rule(data: Array, b: Array, *, pattern: Pattern) -> Any:
    """Differentiate A y = b: ẏ = A⁻¹ (ḃ - Ȧ y), b̄ = A⁻ᴴ ȳ, Ā = -b̄ yᴴ on the pattern.

    M. B. Giles, "An extended collection of matrix derivative results for forward and reverse mode
    algorithmic differentiation" (2008), section 2.3.1.
    """
    y = sparse_solve(data, b, pattern=pattern)
    return y, (
        LinearMap(elements_push, elements_pull, data, y, pattern),
        LinearMap(right_push, right_pull, data, pattern),
    )


def elements_push(data_dot: Any, data: Any, y: Any, pattern: Pattern) -> Any:
    """-A⁻¹ Ȧ y."""
    return -right_push(sparse_product(data_dot, y, pattern=pattern), data, pattern)


def elements_pull(y_bar: Any, data: Any, y: Any, pattern: Pattern) -> Any:
    """-b̄ yᴴ, on the pattern."""
    return -sampled(right_pull(y_bar, data, pattern), conj(y), pattern=pattern)


def right_push(b_dot: Any, data: Any, pattern: Pattern) -> Any:
    """A⁻¹ ḃ."""
    return sparse_solve(data, b_dot, pattern=pattern)


def right_pull(y_bar: Any, data: Any, pattern: Pattern) -> Any:
    """A⁻ᴴ ȳ."""
    return sparse_solve(conj(data), y_bar, pattern=pattern.T)

"""Adjoints, Hermitian parts and block matrices, for rules and composites."""

from typing import Any

from chainrules_py.ops import (
    abs,
    concat,
    conj,
    exp2,
    floor,
    log2,
    matrix_transpose,
    max,
    maximum,
    tril,
    triu,
    where,
    zeros_like,
)

__all__: list[str] = []
"""No operations, but functions written in them."""


def adjoint(a: Any) -> Any:
    """Return the adjoint Aᴴ of each matrix."""
    return conj(matrix_transpose(a))


def half(x: Any, upper: bool = False) -> Any:
    """Compute Φ: one triangle of a matrix, with half of its diagonal. It is its own adjoint."""
    return 0.5 * (triu(x) + triu(x, k=1) if upper else tril(x) + tril(x, k=-1))


def hermitian(x: Any, upper: bool = False) -> Any:
    """Build the Hermitian matrix from one triangle of x."""
    return (y := half(x, upper)) + adjoint(y)


def blocks(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Build the matrix [[a, b], [c, d]]."""
    return concat(concat(a, b, axis=-1), concat(c, d, axis=-1), axis=-2)


def bordered(x: Any, t: Any) -> Any:
    """Build [[x, t], [0, x]]: a function of it has its derivative at x along t in the corner."""
    if x.shape != t.shape:
        x, t = x + zeros_like(t), t + zeros_like(x)
    return blocks(x, t, zeros_like(x), x)


def magnitude(t: Any) -> Any:
    """Compute the powers of two by which large matrices t are divided in a `bordered` matrix."""
    largest = max(abs(t), axis=(-2, -1), keepdims=True)
    return where(largest > 8.0, exp2(floor(log2(maximum(largest, 1.0)))), 1.0)


def corner(y: Any) -> Any:
    """Return the upper right block."""
    n = y.shape[-1] // 2
    return y[..., :n, n:]

"""Parts of matrices, in words: what rules and composites write most often."""

from __future__ import annotations

from typing import Any

from chainrules_py.ops.creation import zeros_like
from chainrules_py.ops.elementwise import conj, exp2, log2
from chainrules_py.ops.joining import concat
from chainrules_py.ops.linalg import tril, triu
from chainrules_py.ops.manipulation import matrix_transpose
from chainrules_py.ops.predicates import floor
from chainrules_py.ops.reductions import max
from chainrules_py.ops.selection import abs, maximum, where

__all__: list[str] = []
"""No operations: what is made of them."""


def adjoint(a: Any) -> Any:
    """Return the adjoint Aᴴ of each matrix."""
    return conj(matrix_transpose(a))


def half(x: Any, upper: bool = False) -> Any:
    """Φ: one triangle of a matrix, with half of its diagonal. It is its own adjoint."""
    return 0.5 * (triu(x) + triu(x, k=1) if upper else tril(x) + tril(x, k=-1))


def hermitian(x: Any, upper: bool = False) -> Any:
    """Build the Hermitian matrix whose one triangle is read off x."""
    return (y := half(x, upper)) + adjoint(y)


def blocks(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Build the matrix [[a, b], [c, d]]."""
    return concat(concat(a, b, axis=-1), concat(c, d, axis=-1), axis=-2)


def bordered(x: Any, t: Any) -> Any:
    """[[x, t], [0, x]], of which a function has its derivative at x along t in the corner."""
    if x.shape != t.shape:
        x, t = x + zeros_like(t), t + zeros_like(x)
    return blocks(x, t, zeros_like(x), x)


def magnitude(t: Any) -> Any:
    """Powers of two by which matrices that are large in a border are divided: as of x there."""
    largest = max(abs(t), axis=(-2, -1), keepdims=True)
    return where(largest > 8.0, exp2(floor(log2(maximum(largest, 1.0)))), 1.0)


def corner(y: Any) -> Any:
    """Return the block above on the right."""
    n = y.shape[-1] // 2
    return y[..., :n, n:]

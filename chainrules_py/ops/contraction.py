"""Sums of products over named axes, determinants and norms."""

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Array, Numeric

__all__ = ["adjugate", "det", "einsum", "vector_norm"]


@primitive
def einsum(*operands: Numeric, subscripts: str, optimize: bool | str = False) -> Any:
    """Sum products over axes named by letters, ``"ij,jk->ik"``, without abbreviations."""


@primitive
def det(x: Array, /) -> Any:
    """Compute the determinant of each matrix."""


adjugate = det.alike(
    "adjugate",
    "Compute the transposed cofactors of each matrix: adj(A) A = det(A) I, also for singular A.",
)


@primitive
def vector_norm(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Any:
    """Compute the norm (Σ|x|ᵖ)^(1/p) along axes; the largest or least |x| for infinite orders."""

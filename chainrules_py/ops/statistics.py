"""Statistical operations: order statistics, counts in bins, differences, convolution."""

from typing import Any

from chainrules_py.ops.elementwise import subtract
from chainrules_py.ops.predicates import greater_equal
from chainrules_py.ops.selection import where
from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Array, Numeric

__all__ = ["bincount", "convolve", "diff", "lerp", "order_statistics", "weighted_quantile"]


@primitive
def order_statistics(x: Array, ranks: Array, /, *, skip_nan: bool = False) -> Any:
    """Return the elements with these ranks in ascending order along the last axis.

    The other axes of the ranks broadcast against those of x. If an element is NaN, all results are
    NaN; with ``skip_nan``, NaN counts as the greatest element.
    """


@primitive
def weighted_quantile(x: Array, q: Array, weights: Array, /, *, skip_nan: bool = False) -> Any:
    """Find the least element along the last axis that has a part q of the weight not above it.

    q is a vector, and runs along the last axis of the result. NaN is treated as in
    `order_statistics`.
    """


@primitive
def lerp(a: Numeric, b: Numeric, t: Numeric, /) -> Any:
    """Compute the point a + t (b - a) between a and b, from the nearer end."""
    step: Any = subtract(b, a)
    behind = greater_equal(t, 0.5)
    if type(behind) is bool:
        return b - step * (1 - t) if behind else a + step * t
    return where(behind, b - step * (1 - t), a + step * t)


@primitive(shape_from_data=True)
def bincount(x: Array, weights: Array, /, *, minlength: int = 0) -> Any:
    """Sum, for each integer from 0 on, the weights at the indices where x equals it."""


@primitive
def diff(x: Array, /, *, axis: int = -1, n: int = 1) -> Any:
    """Compute the differences x_{k+1} - x_k of neighbours along an axis, n times in succession."""


@primitive
def convolve(x1: Array, x2: Array, /, *, mode: str = "full") -> Any:
    """Compute the sums of products y_k = Σ_j a_{k-j} b_j of two vectors.

    For all k at which they overlap ("full"), at which the shorter one overlaps entirely ("valid"),
    or for as many in the middle as the longer one has elements ("same").
    """

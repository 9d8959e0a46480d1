"""Operations that interpolate between given points, and search in sorted arrays."""

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Array, Numeric

__all__ = ["interp", "searchsorted"]


@primitive
def interp(x: Numeric, xp: Array, fp: Array, /) -> Any:
    """Interpolate linearly at x between the points (xp_j, fp_j); constant beyond the ends.

    The knots xp are in ascending order. All operands are of double precision.
    """


@primitive
def searchsorted(x1: Array, x2: Numeric, /, *, side: str = "left") -> Any:
    """Return where to insert the elements of x2 in the sorted x1: left or right of equal ones."""

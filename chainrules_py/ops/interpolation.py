"""Operations that read a function between the points at which it is known."""

from __future__ import annotations

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.arrays import Array, Numeric

__all__ = ["interp", "searchsorted"]


@primitive
def interp(x: Numeric, xp: Array, fp: Array, /) -> Any:
    """Read the value at x off the straight lines through (xp_j, fp_j); constant beyond the ends.

    The knots xp ascend. All are of double precision.
    """


@primitive
def searchsorted(x1: Array, x2: Numeric, /, *, side: str = "left") -> Any:
    """Where the elements of x2 belong in x1, which ascends; on the left of equal ones, or right."""

"""Operations on polynomials; coefficients are a vector, that of the highest power first."""

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Array, Numeric

__all__ = ["polyval", "roots", "vander"]


@primitive
def polyval(p: Array, x: Numeric, /) -> Any:
    """Evaluate the polynomial with the coefficients p at each element of x."""


@primitive
def vander(x: Array, /, *, columns: int, increasing: bool = False) -> Any:
    """Make a matrix whose rows are the powers of each element, from the highest to the zeroth."""


@primitive(shape_from_data=True)
def roots(p: Array, /) -> Any:
    """Find the roots of the polynomial with coefficients p; leading zeros are ignored."""

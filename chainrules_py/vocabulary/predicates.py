"""Words that are constant wherever they are continuous: comparisons, logic, rounding, bits."""

from __future__ import annotations

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.arrays import Numeric

__all__ = [
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "equal",
    "floor",
    "gcd",
    "greater",
    "greater_equal",
    "isfinite",
    "isinf",
    "isnan",
    "lcm",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
    "round",
    "round_decimals",
    "signbit",
    "spacing",
    "trunc",
]


@primitive
def equal(x: Numeric, y: Numeric, /) -> Any:
    """Tell whether x and y are equal."""


@primitive
def not_equal(x: Numeric, y: Numeric, /) -> Any:
    """Tell whether x and y differ."""


@primitive
def less(x: Numeric, y: Numeric, /) -> Any:
    """Tell whether x is less than y."""


@primitive
def less_equal(x: Numeric, y: Numeric, /) -> Any:
    """Tell whether x is at most y."""


@primitive
def greater(x: Numeric, y: Numeric, /) -> Any:
    """Tell whether x is greater than y."""


@primitive
def greater_equal(x: Numeric, y: Numeric, /) -> Any:
    """Tell whether x is at least y."""


@primitive
def logical_and(x: Numeric, y: Numeric, /) -> Any:
    """Tell whether both x and y hold."""


@primitive
def logical_or(x: Numeric, y: Numeric, /) -> Any:
    """Tell whether x or y holds, or both."""


@primitive
def logical_xor(x: Numeric, y: Numeric, /) -> Any:
    """Tell whether exactly one of x and y holds."""


@primitive
def logical_not(x: Numeric, /) -> Any:
    """Tell whether x does not hold."""


@primitive
def isfinite(x: Numeric, /) -> Any:
    """Tell whether x is neither infinite nor NaN."""


@primitive
def isinf(x: Numeric, /) -> Any:
    """Tell whether x is infinite."""


@primitive
def isnan(x: Numeric, /) -> Any:
    """Tell whether x is NaN."""


@primitive
def signbit(x: Numeric, /) -> Any:
    """Tell whether the sign of x is minus, that of a zero as well."""


@primitive
def floor(x: Numeric, /) -> Any:
    """Find the greatest integer that is at most x."""


@primitive
def ceil(x: Numeric, /) -> Any:
    """Find the least integer that is at least x."""


@primitive
def trunc(x: Numeric, /) -> Any:
    """x without what is behind the point."""


@primitive
def round(x: Numeric, /) -> Any:
    """Round x to the nearest integer; to the even one of two."""


@primitive
def round_decimals(x: Numeric, /, *, decimals: int) -> Any:
    """x rounded to this many decimals; to tens or hundreds with negative ones."""


@primitive
def spacing(x: Numeric, /) -> Any:
    """Compute the distance from x to the floating-point number next to it, away from 0."""


@primitive
def bitwise_and(x: Numeric, y: Numeric, /) -> Any:
    """Return the bits that both x and y have."""


@primitive
def bitwise_or(x: Numeric, y: Numeric, /) -> Any:
    """Return the bits that x or y has, or both."""


@primitive
def bitwise_xor(x: Numeric, y: Numeric, /) -> Any:
    """Return the bits that exactly one of x and y has."""


@primitive
def bitwise_invert(x: Numeric, /) -> Any:
    """Return the bits that x does not have."""


@primitive
def bitwise_left_shift(x: Numeric, y: Numeric, /) -> Any:
    """Move the bits of x up by y places."""


@primitive
def bitwise_right_shift(x: Numeric, y: Numeric, /) -> Any:
    """Move the bits of x down by y places."""


@primitive
def bitwise_count(x: Numeric, /) -> Any:
    """Count the bits of abs(x) that are 1."""


@primitive
def gcd(x: Numeric, y: Numeric, /) -> Any:
    """Find the greatest integer that divides both x and y."""


@primitive
def lcm(x: Numeric, y: Numeric, /) -> Any:
    """Find the least integer, not negative, that both x and y divide."""

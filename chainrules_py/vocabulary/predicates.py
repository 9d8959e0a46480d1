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
    """Whether x and y are equal."""


@primitive
def not_equal(x: Numeric, y: Numeric, /) -> Any:
    """Whether x and y differ."""


@primitive
def less(x: Numeric, y: Numeric, /) -> Any:
    """Whether x is less than y."""


@primitive
def less_equal(x: Numeric, y: Numeric, /) -> Any:
    """Whether x is at most y."""


@primitive
def greater(x: Numeric, y: Numeric, /) -> Any:
    """Whether x is greater than y."""


@primitive
def greater_equal(x: Numeric, y: Numeric, /) -> Any:
    """Whether x is at least y."""


@primitive
def logical_and(x: Numeric, y: Numeric, /) -> Any:
    """Whether both hold."""


@primitive
def logical_or(x: Numeric, y: Numeric, /) -> Any:
    """Whether one of them holds, or both."""


@primitive
def logical_xor(x: Numeric, y: Numeric, /) -> Any:
    """Whether exactly one of them holds."""


@primitive
def logical_not(x: Numeric, /) -> Any:
    """Whether x does not hold."""


@primitive
def isfinite(x: Numeric, /) -> Any:
    """Whether x is neither infinite nor NaN."""


@primitive
def isinf(x: Numeric, /) -> Any:
    """Whether x is infinite."""


@primitive
def isnan(x: Numeric, /) -> Any:
    """Whether x is NaN."""


@primitive
def signbit(x: Numeric, /) -> Any:
    """Whether the sign of x is minus, that of a zero as well."""


@primitive
def floor(x: Numeric, /) -> Any:
    """The greatest integer that is at most x."""


@primitive
def ceil(x: Numeric, /) -> Any:
    """The least integer that is at least x."""


@primitive
def trunc(x: Numeric, /) -> Any:
    """x without what is behind the point."""


@primitive
def round(x: Numeric, /) -> Any:
    """The integer nearest to x; the even one of two."""


@primitive
def round_decimals(x: Numeric, /, *, decimals: int) -> Any:
    """x rounded to this many decimals; to tens or hundreds with negative ones."""


@primitive
def spacing(x: Numeric, /) -> Any:
    """The distance from x to the floating-point number next to it, away from 0."""


@primitive
def bitwise_and(x: Numeric, y: Numeric, /) -> Any:
    """The bits that both have."""


@primitive
def bitwise_or(x: Numeric, y: Numeric, /) -> Any:
    """The bits that one of them has, or both."""


@primitive
def bitwise_xor(x: Numeric, y: Numeric, /) -> Any:
    """The bits that exactly one of them has."""


@primitive
def bitwise_invert(x: Numeric, /) -> Any:
    """The bits that x does not have."""


@primitive
def bitwise_left_shift(x: Numeric, y: Numeric, /) -> Any:
    """The bits of x, moved y places up."""


@primitive
def bitwise_right_shift(x: Numeric, y: Numeric, /) -> Any:
    """The bits of x, moved y places down."""


@primitive
def bitwise_count(x: Numeric, /) -> Any:
    """How many bits of abs(x) are 1."""


@primitive
def gcd(x: Numeric, y: Numeric, /) -> Any:
    """The greatest integer that divides both."""


@primitive
def lcm(x: Numeric, y: Numeric, /) -> Any:
    """The least integer, not negative, that both divide."""

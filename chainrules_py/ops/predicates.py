"""Operations that are constant wherever they are continuous: comparisons, logic, rounding, bits."""

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Numeric

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
    """Return whether x and y are equal."""


not_equal = equal.alike("not_equal", "Tell whether x and y differ.")
less = equal.alike("less", "Tell whether x is less than y.")
less_equal = equal.alike("less_equal", "Tell whether x is at most y.")
greater = equal.alike("greater", "Tell whether x is greater than y.")
greater_equal = equal.alike("greater_equal", "Tell whether x is at least y.")
logical_and = equal.alike("logical_and", "Tell whether both x and y hold.")
logical_or = equal.alike("logical_or", "Tell whether x or y holds, or both.")
logical_xor = equal.alike("logical_xor", "Tell whether exactly one of x and y holds.")


@primitive
def logical_not(x: Numeric, /) -> Any:
    """Return whether x is false or zero."""


isfinite = logical_not.alike("isfinite", "Tell whether x is neither infinite nor NaN.")
isinf = logical_not.alike("isinf", "Tell whether x is infinite.")
isnan = logical_not.alike("isnan", "Tell whether x is NaN.")
signbit = logical_not.alike(
    "signbit", "Tell whether the sign of x is minus, that of a zero as well."
)
floor = logical_not.alike("floor", "Find the greatest integer that is at most x.")
ceil = logical_not.alike("ceil", "Find the least integer that is at least x.")
trunc = logical_not.alike("trunc", "x without what is behind the point.")
round = logical_not.alike("round", "Round x to the nearest integer; to the even one of two.")


@primitive
def round_decimals(x: Numeric, /, *, decimals: int) -> Any:
    """Round x to this many decimals; negative numbers round to tens or hundreds."""


spacing = logical_not.alike(
    "spacing", "Compute the distance from x to the floating-point number next to it, away from 0."
)
bitwise_and = equal.alike("bitwise_and", "Return the bits that both x and y have.")
bitwise_or = equal.alike("bitwise_or", "Return the bits that x or y has, or both.")
bitwise_xor = equal.alike("bitwise_xor", "Return the bits that exactly one of x and y has.")
bitwise_invert = logical_not.alike("bitwise_invert", "Return the bits that x does not have.")
bitwise_left_shift = equal.alike("bitwise_left_shift", "Move the bits of x up by y places.")
bitwise_right_shift = equal.alike("bitwise_right_shift", "Move the bits of x down by y places.")
bitwise_count = logical_not.alike("bitwise_count", "Count the bits of abs(x) that are 1.")
gcd = equal.alike("gcd", "Find the greatest integer that divides both x and y.")
lcm = equal.alike("lcm", "Find the least integer, not negative, that both x and y divide.")

"""Words of integers, where a library has no function of the name."""

from __future__ import annotations

from typing import Any

from chainrules_py import vocabulary as v
from chainrules_py.values.type_info import namespace, type_info

__all__: list[str] = []

_STEPS = 92
"""After so many of Euclid's steps every pair of integers of 64 bits has met: Fibonacci's last."""


@v.gcd.fallback
def gcd_standard(x: Any, y: Any) -> Any:
    """Euclid's algorithm, for all elements the same number of times."""
    a, b = v.abs(x), v.abs(y)
    for _ in range(_STEPS):
        done = v.equal(b, 0)
        rest = v.remainder(a, v.where(done, 1, b))
        a, b = v.where(done, a, b), v.where(done, b, rest)
    return a


@v.lcm.fallback
def lcm_standard(x: Any, y: Any) -> Any:
    """Divide the product by the greatest common divisor; give 0 for two zeros."""
    common = v.gcd(x, y)
    none = v.equal(common, 0)
    return v.where(none, 0, v.abs(v.floor_divide(x, v.where(none, 1, common)) * y))


@v.bitwise_count.fallback
def bitwise_count_standard(x: Any) -> Any:
    """Bit by bit."""
    assert type_info(type(x)).is_array
    size, total = v.abs(x), v.zeros_like(x)
    for place in range(namespace(x).iinfo(x.dtype).bits - 1):
        total = total + v.bitwise_and(v.bitwise_right_shift(size, place), 1)
    return v.astype(total, dtype=namespace(x).uint8)

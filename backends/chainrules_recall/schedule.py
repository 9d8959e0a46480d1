"""Binomial schedules: where values along a chain are kept so that least is computed again.

A. Griewank and A. Walther, "Algorithm 799: Revolve" (2000), doi:10.1145/347837.347846.
"""

from __future__ import annotations

import math


def repeated_steps(n: int, slots: int) -> int:
    """Count the steps that run again in a chain of n with so many slots: the least there can be.

    Examples
    --------
    >>> repeated_steps(10, 10), repeated_steps(10, 3), repeated_steps(10, 1)
    (9, 15, 45)
    """
    if n < 2:
        return 0
    r = 0
    while math.comb(slots + r, slots) < n:
        r += 1
    return r * n - math.comb(slots + r, slots + 1)


def first_part(n: int, more: int) -> int:
    """Choose how many steps lie before the next value that is kept, with ``more`` slots left."""
    if more == 0:
        return n - 1
    r = 1
    while math.comb(more + 1 + r, r) < n:
        r += 1
    # One of the ends of the interval of the best, which binomial numbers bound.
    ends = (
        math.comb(more + r - 1, r - 2) if r > 1 else 1,
        math.comb(more + r, r - 1),
        n - math.comb(more + r, r),
        n - math.comb(more + r - 1, r - 1),
    )
    inside = [m for m in ends if 0 < m < n]
    return min(inside, key=lambda m: m + repeated_steps(m, more + 1) + repeated_steps(n - m, more))

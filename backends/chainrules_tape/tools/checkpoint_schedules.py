"""Checkpoint schedules along a loop: which of its values are kept, and when."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Callable
from typing import Any

from chainrules_py.extend import Made
from chainrules_tape.checkpoint.checkpoint_and_policies import checkpoint


def checkpoint_chain(
    step: Callable[[Any, int], Any],
    n: int,
    *,
    segments: int | None = None,
    slots: int | None = None,
) -> Callable[[Any], Any]:
    """Build a loop ``for k in range(n): x = step(x, k)`` whose memory grows as the root of n.

    Parameters
    ----------
    step : callable
        Maps a value and the number of the step to the next value.
    n : int
        The number of steps.
    segments : int, optional
        The number of checkpointed parts; by default the root of n.
    slots : int, optional
        The number of values that are kept at once, including the first; an alternative to segments.
        The steps are then repeated as rarely as possible, `repeated_steps` times, by the binomial
        schedule: with s slots and each step run r times, a chain may have (s + r)! / (s! r!) steps.

    Returns
    -------
    callable
        Maps the first value to the last.

    Notes
    -----
    A. Griewank and A. Walther, "Algorithm 799: Revolve" (2000), doi:10.1145/347837.347846.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> grad(checkpoint_chain(lambda x, k: x * (k + 1), 4))(1.0)
    24.0
    >>> grad(checkpoint_chain(lambda x, k: x * (k + 1), 4, slots=2))(1.0)
    24.0
    """
    if isinstance(n, bool) or not isinstance(n, numbers.Integral) or n < 0:
        raise ValueError(
            f"checkpoint_chain(step, {n!r}): n is how many steps there are, a whole number"
        )
    n = int(n)
    if slots is not None:
        return _binomial(step, n, slots, segments)
    segments = max(1, math.isqrt(n)) if segments is None else segments
    if segments < 1:
        raise ValueError(f"segments={segments}; a chain has at least one")
    bounds = [n * i // segments for i in range(segments + 1)]

    @checkpoint
    def part(x: Any, start: int, stop: int) -> Any:
        for k in range(start, stop):
            x = step(x, k)
        return x

    def chain(x: Any) -> Any:
        for start, stop in itertools.pairwise(bounds):
            x = part(x, start, stop)
        return x

    whole = Made(chain)
    whole.recipe = checkpoint_chain, (step, n), {"segments": segments}
    return whole


def _binomial(
    step: Callable[[Any, int], Any], n: int, slots: int, segments: int | None
) -> Callable[[Any], Any]:
    """Build the loop whose values are kept by the binomial schedule."""
    if segments is not None or slots < 1:
        raise ValueError(f"slots={slots} and segments={segments}; give one of them, at least 1")

    def steps(x: Any, start: int, stop: int, more: int) -> Any:
        while stop - start > 1:
            middle = start + first_part(stop - start, more)
            x = part(x, start, middle, more)
            start, more = middle, more - 1
        return step(x, start) if start < stop else x

    part = checkpoint(steps)
    whole = Made(lambda x: steps(x, 0, n, slots - 1))
    whole.recipe = checkpoint_chain, (step, n), {"slots": slots}
    return whole


def repeated_steps(n: int, slots: int) -> int:
    """Return the least number of repeated steps in a chain of n steps with so many slots.

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
    """Return the number of steps before the next value that is kept, with ``more`` slots left."""
    if more == 0:
        return n - 1
    r = 1
    while math.comb(more + 1 + r, r) < n:
        r += 1
    # One end of the interval of the best choices, which binomial numbers bound.
    ends = (
        math.comb(more + r - 1, r - 2) if r > 1 else 1,
        math.comb(more + r, r - 1),
        n - math.comb(more + r, r),
        n - math.comb(more + r - 1, r - 1),
    )
    inside = [m for m in ends if 0 < m < n]
    return min(inside, key=lambda m: m + repeated_steps(m, more + 1) + repeated_steps(n - m, more))

"""Times that can be compared on a machine that does other things as well."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "process": time.process_time}
"""`process` counts the time of all threads, and none while the process waits for a processor."""


def turns(
    functions: Mapping[str, Callable[[], Any]],
    *,
    rounds: int = 25,
    seconds: float = 2e-3,
    limit: float = math.inf,
    clock: Callable[[], float] = time.perf_counter,
    collecting: bool = False,
) -> dict[str, list[float]]:
    """Measure the times of one call of each function, in seconds, one per round.

    The functions take turns, so that what slows the machine down slows all of them; each turn
    lasts about ``seconds``, by the shortest call of a turn before the first round: the second call
    of a function may take ten times as long as later ones. After ``limit`` seconds no round is
    begun, if there were three. Before its turn a function's attribute ``before``, if it has one, is
    called.

    Garbage is collected before each turn. With ``collecting`` it is collected during the turns as
    well, as in a program; otherwise a collection would be paid by whoever happens to be running.
    What was there before the turns is never walked.
    """
    numbers = {}
    for name, f in functions.items():
        getattr(f, "before", _nothing)()
        f()
        began = start = clock()
        least = math.inf
        while start - began <= seconds:
            f()
            least, start = min(least, clock() - start), clock()
        numbers[name] = max(1, int(seconds / max(least, 1e-9)))
    times: dict[str, list[float]] = {name: [] for name in functions}
    enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    end = time.perf_counter() + limit
    try:
        for done in range(rounds):
            if done >= 3 and time.perf_counter() > end:
                break
            for name, f in functions.items():
                gc.collect()
                getattr(f, "before", _nothing)()
                if collecting:
                    gc.enable()
                calls = range(numbers[name])
                start = clock()
                for _ in calls:
                    f()
                times[name].append((clock() - start) / numbers[name])
                gc.disable()
    finally:
        gc.unfreeze()
        if enabled:
            gc.enable()
    return times


def _nothing() -> None:
    pass


def medians(
    functions: Mapping[str, Callable[[], Any]],
    *,
    pick: Callable[[list[float]], float] = statistics.median,
    **keywords: Any,
) -> dict[str, float]:
    """Measure the median time of one call of each function, in seconds; keywords as for `turns`.

    ``pick=min`` gives the time of the least disturbed turn instead.
    """
    return {name: pick(values) for name, values in turns(functions, **keywords).items()}


def ratio(ours: Callable[[], Any], theirs: Callable[[], Any], **keywords: Any) -> float:
    """Measure how many times longer ours takes than theirs."""
    found = medians({"ours": ours, "theirs": theirs}, **keywords)
    return found["ours"] / found["theirs"]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Where the median lies with 95 % confidence, whatever the values are distributed like.

    The order statistics that a binomial distribution gives; with less than six values, all of them.
    """
    ordered, n = sorted(values), len(values)
    below, k = 0.5**n, 0
    while below + math.comb(n, k + 1) * 0.5**n <= 0.025:
        k += 1
        below += math.comb(n, k) * 0.5**n
    k = k if below <= 0.025 else -1
    return ordered[max(k, 0)], ordered[min(n - 1 - k, n - 1)]

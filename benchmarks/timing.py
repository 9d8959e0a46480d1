"""Times that can be compared on a machine that does other things as well."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["medians", "ratio"]


def medians(
    functions: Mapping[str, Callable[[], Any]],
    *,
    rounds: int = 25,
    seconds: float = 2e-3,
    pick: Callable[[list[float]], float] = statistics.median,
) -> dict[str, float]:
    """The median time of one call of each function, in seconds.

    The functions take turns, so that what slows the machine down slows all of them; each turn
    lasts about ``seconds``. ``pick=min`` gives the time of the least disturbed turn instead.
    """
    numbers = {}
    for name, f in functions.items():
        f()
        start = time.perf_counter()
        f()
        numbers[name] = max(1, int(seconds / max(time.perf_counter() - start, 1e-9)))
    times: dict[str, list[float]] = {name: [] for name in functions}
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()  # a collection would be paid by whoever happens to be running
    try:
        for _ in range(rounds):
            for name, f in functions.items():
                turns = range(numbers[name])
                start = time.perf_counter()
                for _ in turns:
                    f()
                times[name].append((time.perf_counter() - start) / numbers[name])
    finally:
        if enabled:
            gc.enable()
    return {name: pick(values) for name, values in times.items()}


def ratio(ours: Callable[[], Any], theirs: Callable[[], Any], **keywords: Any) -> float:
    """How many times longer ours takes."""
    found = medians({"ours": ours, "theirs": theirs}, **keywords)
    return found["ours"] / found["theirs"]

"""What the guard costs: gradients with locks, with samples and with no guard, interleaved."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_tape import grad

SIZES = {1_000: 40, 10_000: 20, 1_000_000: 1}
MODES = ("off", "sample", "lock")


def minima(calls: list[Callable[[], Any]], repeats: int, rounds: int = 150) -> list[float]:
    """Return the least time of each call in seconds, all measured in turns."""
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            best[k] = min(best[k], (time.perf_counter() - start) / repeats)
    return best


def main() -> None:
    """Print a line for each size: microseconds of each mode, and locks by none."""
    for n, repeats in SIZES.items():
        x, c = np.random.default_rng(0).random((2, n))
        x, c = x.copy(), c.copy()
        gradients = [grad(lambda x, c=c: np.sum(x * c), guard=mode) for mode in MODES]
        found = minima([lambda g=g, x=x: g(x) for g in gradients], repeats)
        shown = ", ".join(f"{m} {1e6 * t:.1f}" for m, t in zip(MODES, found, strict=True))
        print(f"{n:>9} elements: {shown}; lock by off {found[2] / found[0]:.3f}")


if __name__ == "__main__":
    main()

"""Growth of time and memory: with operations, elements, parameters, and workers."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import statistics
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.programs import OURS, Program, engine
from benchmarks.programs.many import deep, deep_by_hand, three
from benchmarks.timing import CLOCKS, turns

HAND = "NumPy by hand"
ENGINES = (HAND, OURS, "autograd", "MyGrad", "PyTorch, 1 thread")
TRACED = (HAND, OURS, "autograd", "MyGrad")
"""Those whose memory Python sees."""


@dataclasses.dataclass(frozen=True)
class Measure:
    """Data of one picture: what grows, how far, and the program of each size."""

    of: str
    sizes: tuple[int, ...]
    program: Callable[[int], Program]


def chain_of(operations: int, size: int) -> Program:
    """Sine, multiply, add, over and over."""
    return Program(
        "chain",
        functools.partial(three, size),
        3,
        functools.partial(deep, operations),
        functools.partial(deep_by_hand, operations),
        budget=3,
        aim=3,
        elements=size,
    )


def squares(xp: Any) -> Callable[..., Any]:
    """Build the sum of the squares of all parameters."""

    def loss(xs: Any) -> Any:
        total = 0.0
        for x in xs:
            total = total + xp.sum(x * x)
        return total

    return loss


def squares_by_hand(xs: list[Any]) -> tuple[Any, tuple[list[Any]]]:
    """Compute the sum of the squares of all parameters and its gradient, in NumPy."""
    total = 0.0
    for x in xs:
        total = total + np.sum(x * x)
    return total, ([2.0 * x for x in xs],)


def parameters(count: int) -> Program:
    """So many arrays, each used once."""
    return Program(
        "parameters",
        lambda: (list(np.random.default_rng(0).normal(size=(count, 8))),),
        1,
        squares,
        squares_by_hand,
        budget=5,
        aim=5,
        elements=8,
    )


MEASURES = {
    "operations": Measure(
        "operations on length 4", (30, 300, 3000, 10_000), lambda n: chain_of(n, 4)
    ),
    "elements": Measure(
        "elements, 30 operations", (4, 100, 1000, 10_000, 100_000), lambda n: chain_of(30, n)
    ),
    "parameters": Measure("parameters of length 8", (1, 10, 100, 1000), parameters),
}


def peak(run: Callable[[], Any]) -> int:
    """Measure the most bytes that a run holds at once."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def measure(
    limit: float = 60.0, say: Callable[[str], None] = lambda _: None, clock: str = "wall"
) -> dict[str, Any]:
    """Seconds and bytes of each size by each engine; None where one does not run it.

    Workers are measured by the wall, whatever the clock.
    """
    found: dict[str, Any] = {}
    points = sum(len(m.sizes) for m in MEASURES.values()) + 1
    for name, m in MEASURES.items():
        series: dict[str, dict[str, list[float | None]]] = {
            by: {"seconds": [], "bytes": []} for by in ENGINES
        }
        for size in m.sizes:
            say(f"scaling: {size} {m.of}")
            program = m.program(size)
            arguments, runs = program.inputs(), {}
            for by in ENGINES:
                try:
                    runs[by] = engine(by, program, arguments)
                    runs[by]()
                except (ImportError, NotImplementedError, RecursionError):
                    runs.pop(by, None)
            times = turns(
                runs, rounds=15, limit=limit / points / 2, clock=CLOCKS[clock], collecting=True
            )
            for by, kept in series.items():
                took = times.get(by)
                kept["seconds"].append(statistics.median(took) if took else None)
                sees = by in runs and by in TRACED
                kept["bytes"].append(peak(runs[by]) if sees else None)
        found[name] = {"of": m.of, "sizes": list(m.sizes), "engines": series}
    say("scaling: workers")
    found["workers"] = workers(limit / points)
    return found


# ------------------------------------------------------------------------------------ workers

ROWS, COLUMNS, BLOCKS = 40_000, 200, 8
COUNTS = (1, 2, 4)


def blocks() -> tuple[Any, list[tuple[Any, Any]]]:
    """Weights, and the blocks of data that a worker takes one after the other."""
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(ROWS, COLUMNS)), np.sign(rng.normal(size=ROWS))
    parts = zip(np.split(x, BLOCKS), np.split(labels, BLOCKS), strict=True)
    return 0.05 * rng.normal(size=COLUMNS), list(parts)


def block_loss(w: Any, x: Any, labels: Any) -> Any:
    """Compute the logistic loss of one block."""
    return np.sum(np.log1p(np.exp(-(labels * (x @ w)))))


def block_by_hand(w: Any, x: Any, labels: Any) -> Any:
    """Compute the logistic loss of one block and its gradient, in NumPy."""
    e = np.exp(-(labels * (x @ w)))
    return np.sum(np.log1p(e)), (-labels * e / (1 + e)) @ x


def workers(limit: float) -> dict[str, Any]:
    """Measure the gradient of a sum over blocks by so many threads; sums are added in order."""
    import chainrules_tape

    w, parts = blocks()
    both = chainrules_tape.value_and_grad(block_loss)
    series: dict[str, dict[str, list[float]]] = {}
    for by, of_block in ((OURS, both), (HAND, block_by_hand)):
        kept = series[by] = {"seconds": []}
        with concurrent.futures.ThreadPoolExecutor(max(COUNTS)) as pool:
            runs = {str(n): functools.partial(_summed, pool, n, of_block, w, parts) for n in COUNTS}
            times = turns(runs, rounds=9, limit=limit / 2)
        kept["seconds"] = [statistics.median(times[str(n)]) for n in COUNTS]
    return {"of": "threads", "sizes": list(COUNTS), "engines": series}


def _summed(pool: Any, count: int, of_block: Any, w: Any, parts: list[Any]) -> Any:
    shares = [parts[i::count] for i in range(count)]
    work = lambda share: [of_block(w, *part) for part in share]
    done = list(pool.map(work, shares)) if count > 1 else [work(shares[0])]
    ordered = [done[i % count][i // count] for i in range(len(parts))]
    return sum(y for y, _ in ordered), functools.reduce(np.add, (g for _, g in ordered))

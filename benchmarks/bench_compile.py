"""Compiled programs beside those written by hand and the tape: each call, and the first.

``python -m benchmarks.bench_compile`` prints the table of all programs, and their mean.
"""

from __future__ import annotations

import math
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers import HAND, differs
from benchmarks.programs import OURS, PROGRAMS, Program, engine, leaves
from benchmarks.timing import medians, ratio
from chainrules_compile import Compiled, compile
from chainrules_tape import value_and_grad


def compiled(program: Program) -> Compiled[..., Any]:
    """Compile the value and gradients of a program; nothing is recorded yet."""
    places = tuple(range(program.moving))
    found: Compiled[..., Any] = compile(value_and_grad(program.loss(np), argnums=places))
    return found


def beside(ours: Callable[[], Any], theirs: Callable[[], Any]) -> float:
    """Measure how many times longer ours takes: processor time, of the least disturbed turns."""
    return ratio(ours, theirs, rounds=15, limit=20.0, pick=min, clock=time.process_time)


def peak(run: Callable[[], Any]) -> int:
    """Count the bytes that a call has at most, what it gives included."""
    run()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def break_even(program: Program, arguments: tuple[Any, ...], eager: Callable[[], Any]) -> float:
    """Count the calls from which on all of them, the first one too, take less than on the tape."""
    f = compiled(program)
    start = time.process_time()
    f(*arguments)
    first = time.process_time() - start
    times = medians(
        {"compiled": lambda: f(*arguments), "eager": eager},
        rounds=5,
        limit=10.0,
        pick=min,
        clock=time.process_time,
    )
    saved = times["eager"] - times["compiled"]
    return 1 + (first - times["eager"]) / saved if saved > 0 else math.inf


def first_call(program: Program, arguments: tuple[Any, ...]) -> float:
    """Measure the microseconds of a first call, for each call that was noted."""
    f = compiled(program)
    start = time.process_time()
    f(*arguments)
    return 1e6 * (time.process_time() - start) / len(f.programs[0].recorded)


class Compiling:
    """Value and gradient of each program as a compiled one, beside the one written by hand."""

    params = (tuple(PROGRAMS),)
    param_names = ("program",)
    timeout = 300.0

    def setup(self, name: str) -> None:
        self.program = PROGRAMS[name]
        self.arguments = self.program.inputs()
        f = compiled(self.program)
        self.run: Callable[[], Any] = lambda: f(*self.arguments)
        self.by_hand = engine(HAND, self.program, self.arguments)
        self.eager = engine(OURS, self.program, self.arguments)
        if off := differs(self.program, leaves(self.by_hand()), self.run()):
            msg = f"compiled {name} is another gradient: {off}"
            raise AssertionError(msg)

    def track_ratio_to_numpy_by_hand(self, name: str) -> float:
        return beside(self.run, self.by_hand)

    def track_ratio_to_the_tape(self, name: str) -> float:
        return beside(self.run, self.eager)

    def track_memory_to_numpy_by_hand(self, name: str) -> float:
        return peak(self.run) / peak(self.by_hand)

    def track_break_even(self, name: str) -> float:
        return break_even(self.program, self.arguments, self.eager)

    def track_first_call(self, name: str) -> float:
        return first_call(self.program, self.arguments)

    def peakmem_value_and_gradient(self, name: str) -> None:
        self.run()

    track_ratio_to_numpy_by_hand.unit = "times"  # type: ignore[attr-defined]
    track_ratio_to_the_tape.unit = "times"  # type: ignore[attr-defined]
    track_memory_to_numpy_by_hand.unit = "times"  # type: ignore[attr-defined]
    track_break_even.unit = "calls"  # type: ignore[attr-defined]
    track_first_call.unit = "us for each noted call"  # type: ignore[attr-defined]


def main() -> None:
    """Print the table."""
    print(
        "| program | by hand | the tape | first call, us for each noted call | "
        "calls to break even | memory, by hand |\n|---|---|---|---|---|---|"
    )
    logs, sizes = [], []
    for name, program in PROGRAMS.items():
        suite = Compiling()
        suite.setup(name)
        hand, tape = suite.track_ratio_to_numpy_by_hand(name), suite.track_ratio_to_the_tape(name)
        first = first_call(program, suite.arguments)
        even, size = suite.track_break_even(name), suite.track_memory_to_numpy_by_hand(name)
        logs.append(math.log(hand))
        sizes.append(math.log(size))
        print(
            f"| {name} | {hand:.2f} | {tape:.2f} | {first:.0f} | {even:.0f} | {size:.2f} |",
            flush=True,
        )
    mean, memory = (math.exp(sum(each) / len(each)) for each in (logs, sizes))
    print(f"| geometric mean | {mean:.2f} | | | | {memory:.2f} |")


if __name__ == "__main__":
    main()

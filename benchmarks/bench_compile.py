"""Compiled programs beside those written by hand and the tape: each call, and the first.

``python -m benchmarks.bench_compile`` prints the table of all programs, and their mean.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers import HAND, differs
from benchmarks.programs import OURS, PROGRAMS, Program, engine, leaves
from benchmarks.timing import ratio
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

    def track_first_call(self, name: str) -> float:
        return first_call(self.program, self.arguments)

    def peakmem_value_and_gradient(self, name: str) -> None:
        self.run()

    track_ratio_to_numpy_by_hand.unit = "times"  # type: ignore[attr-defined]
    track_ratio_to_the_tape.unit = "times"  # type: ignore[attr-defined]
    track_first_call.unit = "us for each noted call"  # type: ignore[attr-defined]


def main() -> None:
    """Print the table."""
    print(
        "| program | by hand | the tape | first call, us for each noted call |\n|---|---|---|---|"
    )
    logs = []
    for name, program in PROGRAMS.items():
        suite = Compiling()
        suite.setup(name)
        hand, tape = suite.track_ratio_to_numpy_by_hand(name), suite.track_ratio_to_the_tape(name)
        first = first_call(program, suite.arguments)
        logs.append(math.log(hand))
        print(f"| {name} | {hand:.2f} | {tape:.2f} | {first:.0f} |", flush=True)
    print(f"| geometric mean | {math.exp(sum(logs) / len(logs)):.2f} | | |")


if __name__ == "__main__":
    main()

"""What each pass brings: the time of programs without it, as a multiple of the time with it.

``python -m benchmarks.passes`` prints the table of the page of design; operations name some
programs.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.bench_compile import compiled
from benchmarks.programs import PROGRAMS, Program
from benchmarks.timing import medians
from chainrules_compile.passes import PASSES

LEFT_OUT = ("recomputation", "dead code", "parts", "turns", "plain numbers", "short sums", "rows")
LEFT_OUT = ("zeros", "simplify", *LEFT_OUT, "lifetimes")
"""Passes without which a program is still right."""


def without(program: Program, title: str) -> Any:
    """Compile a program without a pass, and without what follows it under the same function."""
    found: Any = compiled(program)
    passes = {each: step for each, step in PASSES.items() if step is not PASSES.get(title)}
    found._setting = found._setting._replace(passes=passes)
    return found


def ratios(program: Program) -> Iterator[tuple[str, float]]:
    """Yield for each pass the time without it, as a multiple of that with all."""
    arguments = program.inputs()
    runs = {title: without(program, title) for title in ("", *LEFT_OUT)}
    for run in runs.values():
        run(*arguments)
    calls = {title: lambda run=run: run(*arguments) for title, run in runs.items()}
    times = medians(calls, rounds=9, limit=3.0, pick=min, clock=time.process_time)
    for title in LEFT_OUT:
        yield title, times[title] / times[""]


def main(operations: list[str]) -> None:
    """Print the table."""
    chosen = [
        x for x in PROGRAMS.values() if any([w in x.name for w in operations]) or not operations
    ]
    found: dict[str, list[tuple[float, str]]] = {title: [] for title in LEFT_OUT}
    for program in chosen:
        for title, ratio in ratios(program):
            found[title].append((ratio, program.name))
    print("| pass | without it, mean | most |\n|---|---|---|")
    for title, each in found.items():
        mean = math.exp(sum([math.log(ratio) for ratio, _ in each]) / len(each))
        print("| {} | {:.2f} | {:.2f} ({}) |".format(title, mean, *max(each)))


if __name__ == "__main__":
    main(sys.argv[1:])

"""The time to a first gradient in a new process: imports, tracing, compiling, and the gradient.

``python -m benchmarks.first ENGINE PROGRAM`` is that process.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks.machine import ROOT
from benchmarks.programs import OURS, PROGRAMS, Program, engine

JIT = "JAX, jit"
OTHERS = ("autograd", "MyGrad", "PyTorch, 1 thread")
PATIENCE = 60.0


def form(program: Program) -> str:
    """Name the way a program is compiled: a loop is not unrolled where there is a scan."""
    return "JAX, jit, scan" if program.scanned is not None else JIT


def once(by: str, name: str, patience: float = PATIENCE, clock: str = "wall") -> float | None:
    """Seconds from the start of a process to its first gradient.

    None if it fails, infinity if it does not come in time. By the clock ``process``, the time of
    the processor that it takes.
    """
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.first", by, name],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        text=True,
    ) as process:
        try:
            out, _ = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            return math.inf if clock == "wall" else None  # how much it used is not known
    if process.returncode:
        return None
    wall, used = map(float, out.split()[-2:])
    return wall - start if clock == "wall" else used


def said(seconds: float | None, digits: int = 1) -> str:
    """Format a time for people."""
    if seconds is None:
        return "–"
    return f"> {PATIENCE:.0f} s" if seconds >= PATIENCE else f"{seconds:.{digits}f} s"


def measure(
    programs: Iterable[Program],
    limit: float = 240.0,
    say: Callable[[str], None] = lambda _: None,
    clock: str = "wall",
) -> dict[str, dict[str, float]]:
    """Medians of three for ours, of two for `jax.jit`; once, of the first program, for the others.

    Ours takes its turns on both sides of theirs. What does not fit into ``limit`` seconds is asked
    once, then not at all. What does not come in time is given the time that was waited for it.
    """
    programs, start = list(programs), time.perf_counter()
    found: dict[str, dict[str, float]] = {}
    once(OURS, programs[0].name)  # compiles to bytecode, and reads files into memory
    for i, program in enumerate(programs):
        say(f"first gradient: {program.name}")
        taken: dict[str, list[float | None]] = {OURS: [], JIT: []}
        share = limit * (i + 1) / len(programs)
        for turn in range(2):
            spent = time.perf_counter() - start
            if spent > limit + PATIENCE or (turn and spent > share):
                break
            taken[OURS].append(once(OURS, program.name, clock=clock))
            taken[JIT].append(once(form(program), program.name, clock=clock))
        taken[OURS].append(once(OURS, program.name, clock=clock))
        if i == 0:
            for by in OTHERS:
                taken[by] = [once(by, program.name, clock=clock)]
        medians = {
            by: statistics.median(times)
            for by, values in taken.items()
            if (times := [t for t in values if t is not None])
        }
        found[program.name] = {by: round(min(t, PATIENCE), 3) for by, t in medians.items()}
    return found


def main(by: str, name: str) -> None:
    """Compute one gradient, and say when it was there."""
    program: Any = PROGRAMS[name]
    engine(by, program, program.inputs())()
    # The clock is the same in all processes of a machine: time.perf_counter is CLOCK_MONOTONIC.
    print(time.perf_counter(), time.process_time(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

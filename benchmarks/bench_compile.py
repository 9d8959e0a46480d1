"""Compiled programs beside those written by hand and the tape: each call, and the first.

``python -m benchmarks.bench_compile`` prints the table of all programs, and their mean; with
``--keep`` it is kept in ``benchmarks/results/compile.csv`` and on the page of benchmarks, with
operations only of programs whose names hold one of them. ``--jit`` adds how long the first call
takes beside that of `jax.jit`, ``--compilers`` measures PyTensor, `torch.compile` and `jax.jit`
instead: their times over those by hand, and in brackets the seconds until the first result.
"""

from __future__ import annotations

import csv
import functools
import math
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import tables
from benchmarks.machine import ROOT
from benchmarks.peers import HAND, differs, figure
from benchmarks.programs import COMPILERS, OURS, PROGRAMS, Program, engine, leaves
from benchmarks.programs.bests import BEST
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


PEERS = ("autograd", "PyTorch, 1 thread")
COLUMNS = (
    "program",
    "by hand",
    "the tape, by hand",
    *[f"{by}, by hand" for by in PEERS],
    "first call, us for each noted call",
    "calls to break even",
    "memory, by hand",
    "best NumPy, by hand",
    "by the best NumPy",
)
MEANS = (1, 2, 3, 4, 7, 8, 9)
"""The columns that have a mean."""
KEPT = ROOT / "benchmarks" / "results" / "compile.csv"


BEGIN = "<!-- compiled: begin (python -m benchmarks.bench_compile --keep writes what follows) -->"
END = "<!-- compiled: end -->"


def row(program: Program) -> list[str]:
    """Measure a program: a row of the table."""
    arguments = program.inputs()
    f, firsts = compiled(program), []
    for each in (compiled(program), compiled(program), f):
        begun = time.process_time()
        each(*arguments)
        firsts.append(time.process_time() - begun)
    first = min(firsts)
    wanted = leaves(engine(HAND, program, arguments)())
    if off := differs(program, wanted, f(*arguments)):
        msg = f"compiled {program.name} is another gradient: {off}"
        raise AssertionError(msg)
    runs = {
        "hand": engine(HAND, program, arguments),
        "compiled": lambda: f(*arguments),
        "tape": engine(OURS, program, arguments),
    }
    if program.name in BEST:
        best = functools.partial(BEST[program.name], *arguments)
        if off := differs(program, wanted, best()):
            msg = f"the best NumPy of {program.name} is another gradient: {off}"
            raise AssertionError(msg)
        runs["best"] = best
    times = medians(runs, rounds=15, limit=15.0, pick=min, clock=time.process_time)
    hand, saved = times["hand"], times["tape"] - times["compiled"]
    even = 1 + (first - times["tape"]) / saved if saved > 0 else math.inf
    size = peak(runs["compiled"]) / peak(runs["hand"])
    noted = 1e6 * first / len(f.programs[0].recorded)
    ratios = [f"{times[name] / hand:.2f}" for name in ("compiled", "tape")]
    ratios += [peer(by, program, arguments, wanted) for by in PEERS]
    calls = f"{even:.0f}" if math.isfinite(even) else "–"
    best_ = [times["best"] / hand, times["compiled"] / times["best"]] if "best" in times else []
    others = [f"{ratio_:.2f}" for ratio_ in best_] or ["–", "–"]
    return [program.name, *ratios, f"{noted:.0f}", calls, f"{size:.2f}", *others]


def peer(by: str, program: Program, arguments: tuple[Any, ...], wanted: list[Any]) -> str:
    """Measure another engine beside the program by hand; a dash where it does not run it."""
    try:
        run = engine(by, program, arguments)
        found = run()
    except Exception:  # each engine has errors of its own
        return "–"
    if differs(program, wanted, found):
        return "–"
    hand = engine(HAND, program, arguments)
    times = medians({"hand": hand, by: run}, rounds=7, limit=4.0, pick=min, clock=time.process_time)
    return figure(times[by] / times["hand"])


def mean(rows: list[list[str]], column: int) -> str:
    """Return the geometric mean of a column, over the rows that have a figure."""
    logs = [math.log(float(row[column])) for row in rows if row[column] != "–"]
    return f"{math.exp(sum(logs) / len(logs)):.2f}"


def table(rows: list[list[str]]) -> str:
    """Write the table, with the means of what has a mean."""
    means = [mean(rows, k) if k in MEANS else "" for k in range(1, len(COLUMNS))]
    lines = [COLUMNS, ("---",) * len(COLUMNS), *rows, ["geometric mean", *means]]
    return "\n".join([f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines])


def beside_jit(program: Program) -> str:
    """Measure the first calls of ours and of `jax.jit`, imports and inputs not counted."""
    times = {}
    for name in ("ours", "JAX, jit"):
        arguments = program.inputs()
        run = compiled(program) if name == "ours" else engine(name, program, arguments)
        begun = time.process_time()
        if name == "ours":
            run(*arguments)
        else:
            run()
        times[name] = time.process_time() - begun
    share = times["ours"] / times["JAX, jit"]
    return f"{program.name}: {times['ours']:.3f} s, {times['JAX, jit']:.3f} s, {share:.2f}"


def beside_compilers(program: Program) -> list[str]:
    """Measure what else compiles beside the program by hand: a row."""
    arguments = program.inputs()
    wanted = leaves(engine(HAND, program, arguments)())
    hand, cells = engine(HAND, program, arguments), [program.name]
    prepare = {"ours": lambda *given: functools.partial(compiled(given[0]), *given[1])}
    for name in ("ours", *COMPILERS):
        try:
            begun = time.perf_counter()  # compilers are processes of their own
            run = prepare.get(name, functools.partial(engine, name))(program, arguments)
            found = run()
            first = time.perf_counter() - begun
            off = differs(program, wanted, found)
        except Exception as error:  # each engine has errors of its own
            cells.append(f"{type(error).__name__}")
            continue
        pair = {"hand": hand, name: run}
        times = medians(pair, rounds=9, limit=4.0, pick=min, clock=time.process_time)
        ratio_ = figure(times[name] / times["hand"])
        cells.append("wrong" if off else f"{ratio_} ({first:.2g} s)")
    return cells


def main(operations: list[str]) -> None:
    """Print the table."""
    chosen = [w for w in operations if not w.startswith("--")]
    programs = [p for n, p in PROGRAMS.items() if not chosen or any(w in n for w in chosen)]
    if "--jit" in operations:
        engine("JAX, jit", PROGRAMS["Poisson regression 500 x 8"], _inputs())()
        for program in programs:
            if "JAX, jit" not in program.without:
                print(beside_jit(program), flush=True)
        return
    if "--compilers" in operations:
        print(" | ".join(["program", "ours", *COMPILERS]))
        for program in programs:
            print(" | ".join(beside_compilers(program)), flush=True)
        return
    compiled(programs[0])(*programs[0].inputs())  # what is imported at first is not counted
    rows = []
    for program in programs:
        rows.append(row(program))
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    print(table(rows))
    if "--keep" in operations:
        with KEPT.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
        text = tables.PAGE.read_text(encoding="utf-8")
        tables.PAGE.write_text(tables.between(text, BEGIN, END, table(rows)), encoding="utf-8")


def _inputs() -> tuple[Any, ...]:
    return PROGRAMS["Poisson regression 500 x 8"].inputs()


if __name__ == "__main__":
    main(sys.argv[1:])

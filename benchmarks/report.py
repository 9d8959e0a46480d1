"""Table of the numbers that have to hold, each beside what it is compared with.

The peers and whole programs have a table of their own: ``python -m benchmarks.peers``.

Ratios come from medians of functions that take turns, so that they hold on a machine that is busy
with other things as well.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Iterator

import numpy as np
import plum  # noqa: F401  (its import, 60 ms, is no part of a first call)

from benchmarks import derivatives, facts
from benchmarks.chain import OPERATIONS, PEERS, SHAPES, by_hand, by_tape, inputs, measure_tape, peer
from benchmarks.families import FAMILIES, family
from benchmarks.programs import OURS, PROGRAMS, engine
from benchmarks.registries import Own, many_operations, operation, state
from benchmarks.timing import medians
from chainrules_py.extend import find_rule

Row = tuple[str, str, str]


def lookups(rounds: int) -> Iterator[Row]:
    """Measure what it takes to find a rule."""
    nanoseconds = facts.lookup_times(4 * rounds)
    yield "hot lookup", f"{nanoseconds['hot']:.0f} ns", "200 ns"
    yield "cached miss", f"{nanoseconds['miss']:.0f} ns", "300 ns"
    yield "cached miss, function without any rule", f"{nanoseconds['unknown']:.0f} ns", "300 ns"

    firsts, registrations = [], []
    for _ in range(max(3, rounds // 5)):
        operations = many_operations()
        fresh = [operation() for _ in range(100)]
        start = time.perf_counter()
        for f in fresh:
            state(f)
        registrations.append((time.perf_counter() - start) / len(fresh))
        start = time.perf_counter()
        find_rule(operations[300], (Own, Own))
        firsts.append(time.perf_counter() - start)
    yield "first lookup among 600 rules", f"{1e3 * statistics.median(firsts):.2f} ms", "5 ms"
    yield "registration of a rule", f"{1e6 * statistics.median(registrations):.0f} µs", ""


def imports(rounds: int) -> Iterator[Row]:
    """Measure what an import takes, in new processes, compiled as an installation is."""
    median = facts.import_times(rounds)
    core, numpy = (1e3 * (median[name] - median["nothing"]) for name in ("core", "numpy"))
    yield "import chainrules_py", f"{core:.0f} ms, {core / numpy:.2f} × import numpy", "1 ×"


def rules(rounds: int) -> Iterator[Row]:
    """Measure what a rule takes, beside the NumPy calls that it makes."""
    for name in FAMILIES:
        of = family(name)
        base = "NumPy" if of.pull is not None else "the value"
        for mode, ours, numpy in (
            ("frule", of.frule, of.push or of.value),
            ("rrule and pullback", of.rrule, of.pull or of.value),
        ):
            found = medians({"ours": ours, "numpy": numpy}, rounds=rounds)
            budget = "5 ×" if (name, mode) == ("sin", "rrule and pullback") else ""
            yield f"{name}: {mode}", f"{found['ours'] / found['numpy']:.1f} × {base}", budget


def chains(rounds: int) -> Iterator[Row]:
    """Measure what an operation of a deep program takes."""
    for case in SHAPES:
        xs = inputs(case)
        functions = {
            "NumPy by hand": lambda xs=xs: by_hand(*xs),
            "tape": lambda xs=xs: by_tape(*xs),
        }
        found = medians(functions, rounds=4 * rounds)
        base = found.pop("NumPy by hand")
        microseconds = 1e6 / OPERATIONS
        yield f"chain, {case}: NumPy by hand", f"{microseconds * base:.2f} µs", ""
        yield (
            f"chain, {case}: tape",
            f"{microseconds * found['tape']:.2f} µs, {found['tape'] / base:.2f} × by hand",
            "3.0 ×",
        )
        yield from peers(case, rounds)
        paid = measure_tape(case)
        yield f"chain, {case}: bytes kept per operation", f"{paid['bytes']:.0f}", "300"
        yield f"chain, {case}: blocks kept per operation", f"{paid['blocks']:.1f}", ""
        yield f"chain, {case}: records per operation", f"{paid['records']:.2f}", ""
        yield f"chain, {case}: Python calls per operation", f"{paid['calls']:.1f}", ""


def peers(case: str, rounds: int, names: tuple[str, ...] = PEERS) -> Iterator[Row]:
    """Measure the chain of operations in the peers."""
    xs = inputs(case)
    for name in names:
        try:
            run = peer(name, *xs)
        except (ImportError, NotImplementedError) as error:
            reason = "not installed" if isinstance(error, ImportError) else str(error)
            yield f"chain, {case}: {name}", reason, ""
            continue
        found = medians({"hand": lambda: by_hand(*xs), "peer": run}, rounds=rounds // 4 + 3)
        measured = f"{1e6 / OPERATIONS * found['peer']:.2f} µs"
        times = f"{found['peer'] / found['hand']:.1f} × by hand"
        yield f"chain, {case}: {name}", f"{measured}, {times}", ""


def whole_derivatives(rounds: int) -> Iterator[Row]:
    """Hessians, Jacobians, products with them, and what checkpoints cost."""
    for case in derivatives.CASES:
        by = {"NumPy by hand": derivatives.by_hand(case), "tape": derivatives.by_tape(case)}
        missing = {}
        for name in derivatives.PEERS:
            try:
                by[name] = derivatives.peer(name, case)
            except (ImportError, NotImplementedError) as error:
                missing[name] = "not installed" if isinstance(error, ImportError) else str(error)
        found = medians(by, rounds=rounds)
        base = found.pop("NumPy by hand")
        yield f"{case}: NumPy by hand", f"{1e6 * base:.0f} µs", ""
        for name, time_taken in found.items():
            budget = f"{derivatives.BUDGETS[case]} ×" if name == "tape" else ""
            measured = f"{1e6 * time_taken:.0f} µs, {time_taken / base:.1f} × by hand"
            yield f"{case}: {name}", measured, budget
        yield from ((f"{case}: {name}", reason, "") for name, reason in missing.items())
    for case in derivatives.CHAINS:
        by = {c: derivatives.chain(case, checkpointed=c) for c in (False, True)}
        found = medians(by, rounds=rounds // 5 + 1)
        arrays = {c: derivatives.peak(run, case) for c, run in by.items()}
        title = f"checkpoints, {derivatives.STEPS} steps, {case}"
        yield f"{title}: time", f"{found[True] / found[False]:.2f} × that without", "1.4 ×"
        yield f"{title}: peak", f"{arrays[True]:.0f} arrays, {arrays[False]:.0f} without", ""


def programs(rounds: int) -> Iterator[Row]:
    """Whole programs by ours, as multiples of the same by hand."""
    for name, program in PROGRAMS.items():
        arguments = program.inputs()
        runs = {by: engine(by, program, arguments) for by in ("NumPy by hand", OURS)}
        found = medians(runs, rounds=max(3, rounds // 4), seconds=0.02)
        base = found["NumPy by hand"]
        yield f"{name}: by hand", f"{1e3 * base:.3g} ms", ""
        yield f"{name}: {OURS}", f"{found[OURS] / base:.2f} × by hand", f"{program.budget:g} ×"


PARTS = {
    "programs": programs,
    "lookup": lookups,
    "import": imports,
    "rules": rules,
    "chain": chains,
    "derivatives": whole_derivatives,
}


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", metavar="part", help=f"some of {', '.join(PARTS)}; all by default"
    )
    parser.add_argument("--rounds", type=int, default=25, help="how often the functions take turns")
    given = parser.parse_args(arguments)
    if unknown := set(given.parts) - PARTS.keys():
        parser.error(f"{', '.join(sorted(unknown))}: no part; there are {', '.join(PARTS)}")
    busy = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(
        f"CPython {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}, "
        f"{os.cpu_count()} cores{busy}\n"
        f"Medians of interleaved runs, minima of lookups; an operation is forward and backward.\n"
    )
    print(f"| {'what':45} | {'measured':36} | budget |")
    print(f"|{'-' * 47}|{'-' * 38}|--------|")
    for part in given.parts or PARTS:
        for what, measured, budget in PARTS[part](given.rounds):
            print(f"| {what:45} | {measured:36} | {budget:6} |", flush=True)


if __name__ == "__main__":
    main()

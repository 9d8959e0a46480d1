"""The table of peers and workloads: who takes how many times the time of the same by hand.

Every engine computes value and gradient of every program. Gradients are compared with those by hand
before anything is timed; an engine that disagrees is reported, and not timed. Then the engines take
turns; a ratio is that of the least time of each to the least by hand.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from benchmarks import facts, first, keeping, machine, scaling
from benchmarks.programs import ENGINES, OURS, PROGRAMS, Program, engine, leaves
from benchmarks.timing import CLOCKS, turns

HAND = "NumPy by hand"
SMALL = 10_000
"""Up to so many elements ours is to be ahead of every engine that does not compile."""
COMPILED = ("JAX, jit", "JAX, jit, scan")
IN_TABLE = tuple(PROGRAMS)[:17]
"""The programs that are measured where none is named."""
EAGER = tuple(name for name in ENGINES if name not in (*COMPILED, HAND))


def differs(program: Program, wanted: list[Any], answer: Any) -> str:
    """Describe how an answer differs from the one by hand; empty where it does not."""
    found = leaves(answer)
    if len(found) != len(wanted):
        return f"{len(found)} arrays instead of {len(wanted)}"
    for i, (a, b) in enumerate(zip(wanted, found, strict=True)):
        if a.shape != b.shape:
            return f"array {i} has shape {b.shape} instead of {a.shape}"
        scale = max(1.0, float(np.max(np.abs(a), initial=0.0)))
        if not np.allclose(b, a, rtol=program.rtol, atol=1e-9 * scale):
            return f"array {i} is off by {float(np.max(np.abs(a - b))):.1e}"
    return ""


def prepared(
    program: Program, names: Iterable[str], patience: float, now: Callable[[], float]
) -> tuple[dict[str, Callable[[], Any]], dict[str, dict[str, Any]]]:
    """Prepare the runs, their answers compared; and the reasons why other engines do not run."""
    arguments = program.inputs()
    wanted = leaves(program.by_hand(*arguments))
    runs, reasons = {}, {}
    for name in names:
        try:
            run = engine(name, program, arguments)
            getattr(run, "before", int)()
            start = now()
            answer = run()
            took = now() - start
            off = differs(program, wanted, answer)
            # The first call of JAX compiles, and says nothing; the others only warm up.
            if name.startswith("JAX") or took < 5 * patience:
                start = now()
                run()
                took = now() - start
        except ImportError:
            reasons[name] = {"reason": "not installed"}
        except NotImplementedError as error:
            reasons[name] = {"reason": str(error)}
        except RecursionError:
            reasons[name] = {"reason": "exceeds the recursion limit"}
        except Exception as error:  # of an engine; the others are still compared
            if name in (OURS, HAND):
                raise
            reasons[name] = {"reason": f"{type(error).__name__} {error}".partition("\n")[0]}
        else:
            if off:
                reasons[name] = {"reason": f"wrong: {off}", "wrong": True}
            elif took > patience and name not in (OURS, HAND):
                reasons[name] = {"seconds": took, "rounds": 1}
            else:
                runs[name] = run
    return runs, reasons


def compare(
    program: Program,
    *,
    names: Iterable[str] = tuple(ENGINES),
    rounds: int = 31,
    limit: float = 8.0,
    clock: str = "wall",
) -> dict[str, dict[str, Any]]:
    """Measure the time of each engine for a program; or tell why one does not run it."""
    now = CLOCKS[clock]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs, others = prepared(program, (HAND, *(n for n in names if n != HAND)), limit / 6, now)
        found = turns(runs, rounds=rounds, seconds=0.01, limit=limit, clock=now, collecting=True)
    hand = min(found[HAND])
    entries: dict[str, dict[str, Any]] = {}
    for name in ENGINES:
        if name in found:
            least = min(found[name])
            entries[name] = {
                "seconds": _short(least),
                "ratio": _short(least / hand),
                "rounds": len(found[name]),
            }
        elif name in others:
            entry = entries[name] = others[name]
            if "seconds" in entry:
                entry["ratio"] = _short(entry["seconds"] / hand)
                entry["seconds"] = _short(entry["seconds"])
    return entries


def _short(x: float) -> float:
    return float(f"{x:.4g}")


# ------------------------------------------------------------------------------------ the table


def fastest(entries: dict[str, Any], names: Iterable[str]) -> tuple[str, float]:
    """Find the fastest of some engines, and its ratio."""
    ran = {n: entries[n]["ratio"] for n in names if "ratio" in entries.get(n, {})}
    name = min(ran, key=lambda n: ran[n], default="")
    return name, ran.get(name, math.inf)


def figure(x: float) -> str:
    """Format a ratio with as many digits as mean something."""
    return f"{x:.2f}" if x < 10 else f"{x:.0f}" if x >= 100 else f"{x:.1f}"


def seconds(x: float) -> str:
    """Format a time with its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if x >= size or unit == "µs":
            return f"{x / size:.3g} {unit}"
    raise AssertionError


def xla(entries: dict[str, Any]) -> str:
    """Describe what compiling changes: how far XLA is ahead of ours, or behind."""
    name, ratio = fastest(entries, COMPILED)
    if not name:
        return "–"
    ours = entries[OURS]["ratio"]
    return f"XLA {figure(ours / ratio)} ×" if ratio < ours else f"ours {figure(ratio / ours)} ×"


def table(found: dict[str, Any], *, mark: str = "*") -> Iterator[list[str]]:
    """Rows of text: the head, then one per program. The first of the eager engines is marked."""
    starts = found.get("first", {})
    yield [
        "workload",
        "elements",
        "by hand",
        *EAGER,
        "JAX, jit",
        "after compiling, first is",
        *(["first gradient, ours", "first gradient, JAX, jit"] if starts else []),
    ]
    for name, entries in found["programs"].items():
        leader, _ = fastest(entries, EAGER)
        row = [name, f"{PROGRAMS[name].elements:,}" if name in PROGRAMS else ""]
        row.append(seconds(entries[HAND]["seconds"]))
        for by in EAGER:
            text = figure(entries[by]["ratio"]) if "ratio" in entries.get(by, {}) else "–"
            row.append(f"{mark}{text}{mark}" if by == leader else text)
        by, ratio = fastest(entries, COMPILED)
        row += [figure(ratio) if by else "–", xla(entries)]
        if starts:
            took = starts.get(name, {})
            row += [first.said(took.get(by), 2) for by in (OURS, "JAX, jit")]
        yield row


def claims(found: dict[str, Any]) -> Iterator[str]:
    """Yield what has to hold, and where it does not, with figures."""
    small = [n for n in found["programs"] if n in PROGRAMS and PROGRAMS[n].elements <= SMALL]
    ran = {by for name in small for by, e in found["programs"][name].items() if "ratio" in e}
    others = [name for name in EAGER if name != OURS and name in ran]
    behind: dict[str, list[str]] = {}
    ahead = {by: [0, 0] for by in others}
    for name in small:
        entries = found["programs"][name]
        ours = entries[OURS]["ratio"]
        for by in others:
            theirs = entries.get(by, {}).get("ratio")
            if theirs is None:
                continue
            ahead[by][0] += theirs >= ours
            ahead[by][1] += 1
            if theirs < ours:
                behind.setdefault(name, []).append(f"{by}, {figure(theirs / ours)} × our time")
    counts = "; ".join([f"{by} in {k} of {n}" for by, (k, n) in ahead.items()])
    yield f"Ahead, in workloads of up to {SMALL:,} elements, of {counts}."
    yield from (f"Behind in {name}: {'; '.join(peers)}." for name, peers in behind.items())
    starts = {n: t for n, t in found.get("first", {}).items() if OURS in t and "JAX, jit" in t}
    if starts:
        late = [n for n, t in starts.items() if t[OURS] >= t["JAX, jit"]]
        yield (
            f"First gradient of a new process before jax.jit's in {len(starts) - len(late)} of "
            f"{len(starts)} workloads."
        )
        for name in late:
            took = starts[name]
            yield f"Later in {name}: {took[OURS]:.2f} s, jax.jit's {took['JAX, jit']:.2f} s."
    wrong = {
        f"{by} computes a wrong gradient of {name}: {entry['reason']}."
        for name, entries in found["programs"].items()
        for by, entry in entries.items()
        if entry.get("wrong")
    }
    yield from sorted(wrong)


def show(found: dict[str, Any]) -> None:
    """Print the table, what it depends on, and what has to hold."""
    rows = list(table(found))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for i, row in enumerate(rows):
        cells = [
            cell.ljust(w) if j == 0 else cell.rjust(w)
            for j, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        print("| " + " | ".join(cells) + " |")
        if i == 0:
            print("|" + "|".join("-" * (w + 2) for w in widths) + "|")
    print("\nLeast times of value and gradient over those by hand; * the first that is eager.")
    for name, entries in found["programs"].items():
        reasons = [f"{by}: {e['reason']}" for by, e in entries.items() if "ratio" not in e]
        reasons = [r for r in reasons if not r.endswith("has no loop")]
        if reasons:
            print(f"  {name} without {'; '.join(reasons)}")
    print(machine.sentence(found))
    for line in claims(found):
        print(line)


# ---------------------------------------------------------------------------------- by command


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("operations", nargs="*", help="only programs whose names hold one of these")
    parser.add_argument("--minutes", type=float, default=4.5, help="how long to take, about")
    parser.add_argument("--clock", choices=tuple(CLOCKS), default="wall")
    parser.add_argument("--no-first", action="store_true", help="no new processes")
    parser.add_argument("--no-scaling", action="store_true", help="nothing for the pictures")
    parser.add_argument(
        "--keep",
        action="store_true",
        help="measure compilers too, keep all, and write the pages and pictures from it",
    )
    given = parser.parse_args(arguments)
    if given.keep and given.operations:
        parser.error("what is kept is the whole table")
    if given.keep and (reason := machine.noise()):
        parser.error(reason)
    chosen = (
        [n for n in PROGRAMS if any(w in n for w in given.operations)]
        if given.operations
        else IN_TABLE
    )
    if not chosen:
        parser.error(f"no program is called so; there are: {'; '.join(PROGRAMS)}")
    found = {"clock": given.clock, **machine.describe(), "programs": {}}
    end = time.perf_counter() + 60 * given.minutes
    share = {"first": 0 if given.no_first else 0.4, "scaling": 0 if given.no_scaling else 0.15}
    # New processes come first: least is known about them, and the rest fits into what is left.
    if not given.no_first:
        limit = 60 * given.minutes * share["first"]
        found["first"] = first.measure([PROGRAMS[n] for n in chosen], limit, progress, given.clock)
    if not given.operations:
        progress("lookups, imports, counts")
        found["facts"] = facts.measure()
    if not given.no_scaling:
        found["scaling"] = scaling.measure(
            60 * given.minutes * share["scaling"], progress, given.clock
        )
    for i, name in enumerate(chosen):
        progress(name)
        # Preparing, which compiles, takes as long again.
        limit = max(1.0, (end - time.perf_counter()) / (len(chosen) - i) / 2)
        names = [by for by in ENGINES if limit > 1.0 or by != "JAX, eager"]
        found["programs"][name] = compare(
            PROGRAMS[name], names=names, limit=limit, clock=given.clock
        )
        path = keeping.keep(found, keeping.KEPT if given.keep else keeping.LATEST)
    progress("")
    show(found)
    print(f"Kept in {path.relative_to(machine.ROOT)}.")
    if given.keep:
        from benchmarks import compilers, pictures, tables

        compilers.keep()
        tables.main([])
        pictures.summarise(found)
        if "scaling" in found:
            pictures.draw(found["scaling"])
    return any("wrong" in e for entries in found["programs"].values() for e in entries.values())


def progress(what: str) -> None:
    """Say on a terminal what is being done."""
    if sys.stderr.isatty():
        print(f"\r\033[K{what}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""Writes the tables of docs/benchmarks.md between its two markers, from the last measurement kept.

``python -m benchmarks.tables`` writes; with ``--check`` it only says whether they are written.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import Any

from benchmarks import first, keeping, machine, peers
from benchmarks.programs import OURS

BEGIN = "<!-- benchmarks: begin (python -m benchmarks.tables writes what follows) -->"
END = "<!-- benchmarks: end -->"
INTRODUCTION = """\
Value and gradient of whole programs relative to hand-written NumPy; lower is better.
**Bold** is the first of those that do not compile. JAX is compiled (`jit`, loops as `scan`); what
that costs is in the last two columns: seconds from the start of a process to its first gradient,
imports included. Where `JAX, jit` is the smallest number of a line, XLA is that much faster."""
FACTS = """\
| | chainrules_py | autograd | ChainRules.jl |
|---|---|---|---|
| both modes of a function come from one statement | every rule | no: 217 reverse rules, \
127 forward rules | no: no forward rule for `svd`, `cholesky`, `prod`, `mean` |
| finding a rule by function and types, when it has been found before | {hot lookup, ns} ns | | |
| `rrule(np.sin, x)` and its pullback, length 4 | {rrule of sin, ratio} × the three NumPy calls it \
makes | | |
| importing it | {import, ratio} × `import numpy` | | |
| kept per operation of a deep program | {bytes per operation} bytes | | |"""
REPRODUCE = """\
Measured on {sentence}. NumPy on one thread; JAX takes all cores. Engines take turns;
gradients are compared first.{clock} `make bench` measures them on your machine in five minutes."""
PAGE = machine.ROOT / "docs" / "benchmarks.md"
COLUMNS = (OURS, "autograd", "MyGrad", "PyTorch, 1 thread", "PyTorch, 2 threads")


def section(found: dict[str, Any]) -> str:
    """Write the tables, what they were measured with, what holds and what does not."""
    lines = [INTRODUCTION, "", *_programs(found), ""]
    lines += [f"- {line}" for line in peers.claims(found)]
    facts = found.get("facts")
    if facts:
        lines += ["", FACTS.format_map(facts)]
    clock = " The clock is that of the processor." if found["clock"] == "process" else ""
    measured = REPRODUCE.format(sentence=machine.sentence(found), clock=clock)
    lines += ["", textwrap.fill(measured, 100, break_on_hyphens=False, break_long_words=False)]
    return "\n".join(lines)


def _programs(found: dict[str, Any]) -> list[str]:
    names = ("by hand", *(f"`{by}`" if by == OURS else by for by in COLUMNS), "JAX, jit")
    firsts = ("first gradient: ours", "first gradient: JAX")
    lines = ["| " + " | ".join(("", *names, *firsts)) + " |"]
    lines.append("|---|" + "---|" * (len(names) + len(firsts)))
    for name, entries in found["programs"].items():
        leader, _ = peers.fastest(entries, peers.EAGER)
        cells = [name, peers.seconds(entries[peers.HAND]["seconds"])]
        for by in COLUMNS:
            text = peers.figure(entries[by]["ratio"]) if "ratio" in entries.get(by, {}) else "–"
            cells.append(f"**{text}**" if by == leader else text)
        by, ratio = peers.fastest(entries, peers.COMPILED)
        cells.append(peers.figure(ratio) if by else "–")
        took = found.get("first", {}).get(name, {})
        cells += [first.said(took.get(by)) for by in (OURS, "JAX, jit")]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def rewritten(text: str, found: dict[str, Any]) -> str:
    """Return the text with what stands between the markers replaced."""
    return between(text, BEGIN, END, section(found))


def between(text: str, begin: str, end: str, new: str) -> str:
    """Return a text with something else between two markers.

    Raises
    ------
    ValueError
        If the markers are not there, once each and in their order.
    """
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        msg = f"the file has to hold the lines {begin!r} and {end!r}, once each"
        raise ValueError(msg)
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n\n{new}\n\n{end}{after}"


def main(arguments: list[str] | None = None, path: Path = PAGE) -> int:
    """Write, or check."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    given = parser.parse_args(arguments)
    text = path.read_text(encoding="utf-8")
    new = rewritten(text, keeping.latest())
    if given.check:
        if new != text:
            print(
                f"{path.name} does not show the last measurement; run python -m benchmarks.tables"
            )
        return int(new != text)
    path.write_text(new, encoding="utf-8")
    print(f"Wrote {path.name}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

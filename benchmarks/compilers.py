"""What compiles a program and its gradient, beside the same by hand in NumPy.

``python -m benchmarks.compilers`` measures, each engine in a process of its own whose caches are
empty, which takes up to ten minutes. With ``--keep``, as in ``make bench ARGS=--keep``, it writes
``benchmarks/results/compilers.csv`` and the table of docs/native.md.
"""

from __future__ import annotations

import csv
import importlib.metadata
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import machine
from benchmarks.by_numba import BY_NUMBA, by_numba
from benchmarks.first import JIT, form
from benchmarks.native import compiled
from benchmarks.peers import differs, figure
from benchmarks.programs import PROGRAMS, engine, leaves
from benchmarks.tables import between
from benchmarks.timing import medians
from chainrules_compile.c.native_programs import driver

BEGIN = "<!-- compilers: begin (make bench ARGS=--keep writes what follows) -->"
END = "<!-- compilers: end -->"
KEPT = machine.ROOT / "benchmarks" / "results" / "compilers.csv"
PAGE = machine.ROOT / "docs" / "native.md"
HAND = "NumPy by hand"
COLUMNS = ("compiled, C", "numba, by hand", "torch.compile, 1 thread", JIT, "PyTensor, C")
LIMIT = 240.0
"""So many seconds an engine has for a program."""
CACHES = {
    "CHAINRULES_C_CACHE": "",
    "NUMBA_CACHE_DIR": "",
    "TORCHINDUCTOR_CACHE_DIR": "",
    "PYTENSOR_FLAGS": "base_compiledir=",
}
"""What says where each compiler keeps its results, and what stands before the folder."""
Row = tuple[str, str, str, str]


def prepared(name: str, by: str) -> Callable[[], Any]:
    """Prepare a program for what compiles it."""
    program = PROGRAMS[name]
    arguments = program.inputs()
    if by.startswith("compiled"):
        run = compiled(program, "c")
        return lambda: run(*arguments)
    if by.startswith("numba"):
        return by_numba(name, arguments)
    return engine(form(program) if by == JIT else by, program, arguments)


def cell(name: str, by: str) -> dict[str, Any]:
    """Measure one engine on one program: its time by that by hand, and its first call."""
    program = PROGRAMS[name]
    hand = engine(HAND, program, program.inputs())
    begun = time.perf_counter()
    run = prepared(name, by)
    getattr(run, "before", int)()
    answer = run()
    first = time.perf_counter() - begun
    if by.startswith("compiled"):
        driver()  # which a thread compiles after the first call
    off = differs(program, leaves(hand()), answer)
    if off:
        return {"said": f"wrong: {off}"}
    times = medians({"hand": hand, "run": run}, rounds=25, limit=2.0, pick=min)
    return {"ratio": times["run"] / times["hand"], "first": first}


def measured(name: str, by: str) -> Row:
    """Measure in a process of its own, which finds nothing that was compiled before."""
    command = [sys.executable, "-m", "benchmarks.compilers", "--cell", name, by]
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            done = subprocess.run(
                command,
                env={**os.environ, **{key: value + folder for key, value in CACHES.items()}},
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=True,
            )
        found = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        found = {"said": f"over {LIMIT:.0f} s"}
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines() or [""]
        found = {"said": lines[-1].partition(":")[0]}
    if "said" in found:
        return name, by, found["said"], ""
    return name, by, f"{found['ratio']:.4f}", f"{found['first']:.2f}"


def kept() -> list[Row]:
    """Return what was kept."""
    with KEPT.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    return [(name, by, ratio, first) for name, by, ratio, first in rows]


def table(rows: Sequence[Row]) -> str:
    """Write the table: ratios, and in brackets the seconds of the first call."""
    cells: dict[str, dict[str, tuple[str, str]]] = {}
    for name, by, ratio, first in rows:
        if name == "measured":
            continue
        cells.setdefault(name, {})[by] = ratio, first
    lines = [f"| | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    logs: dict[str, list[float]] = {by: [] for by in COLUMNS}
    for name, found in cells.items():
        texts = []
        for by in COLUMNS:
            ratio, first = found.get(by, ("–", ""))
            if not ratio[:1].isdigit():
                texts.append(ratio if ratio.startswith("over") else "–")
                continue
            logs[by].append(math.log(float(ratio)))
            texts.append(f"{digits(float(ratio))} ({float(first):.1f} s)")
        lines.append(f"| {name} | {' | '.join(texts)} |")
    means = [
        digits(math.exp(sum(xs) / len(xs))) if len(xs) == len(cells) else "–"
        for xs in logs.values()
    ]
    lines.append(f"| geometric mean | {' | '.join(means)} |")
    return "\n".join([*lines, "", *[said for name, _, said, _ in rows if name == "measured"]])


def digits(x: float) -> str:
    """Format a ratio, which may be small."""
    return f"{x:.3f}" if x < 0.1 else figure(x)


def rewritten(text: str) -> str:
    """Return the page with the table of what was kept."""
    return between(text, BEGIN, END, table(kept()))


def measure() -> list[Row]:
    """Measure every engine on every program; the last row says what they were measured with."""
    rows: list[Row] = []
    for name in BY_NUMBA:
        for by in COLUMNS:
            rows.append(measured(name, by))
            print(*rows[-1], sep=" | ", flush=True)
    versions = [f"{k} {importlib.metadata.version(k.lower())}" for k in ("numba", "PyTensor")]
    said = f"Measured on {machine.sentence(machine.describe())}, {', '.join(versions)}."
    return [*rows, ("measured", "", said, "")]


def keep() -> None:
    """Measure, and write the file of results and the page."""
    rows = measure()
    with KEPT.open("w", newline="", encoding="utf-8") as file:
        head = ("program", "by", "times that by hand, or why not", "seconds of the first call")
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--cell"]:
        print(json.dumps(cell(*sys.argv[2:])))
    elif sys.argv[1:] == ["--keep"]:
        if reason := machine.noise():
            sys.exit(reason)
        keep()
    else:
        print(table(measure()))

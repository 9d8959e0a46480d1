"""Measures programs by each engine, and compares them with the same by hand in NumPy.

``python -m benchmarks.others`` runs each program in a process of its own, on one thread. There the
engines' answers are compared with those by hand, and then the engines take turns; a ratio is that
of least times. Each program is a line of JSON in a file, so that a run that was stopped goes on
where it was. ``--first`` measures the first call of each engine as well, in new processes whose
caches are empty; imports are not part of it. Means are printed if the machine did nothing else.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import keeping, machine
from benchmarks.others import ENGINES, OTHERS, WASTED, difference
from benchmarks.timing import medians

FILE = keeping.LATEST / "others.jsonl"
PATIENCE = 300.0
"""So many seconds a process has."""
ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
PAIRS = (("eager", "torch"), ("eager", "autograd"), ("np", "eager"), ("c", "jax"), ("c", "torch"))
"""Whose times are compared: a line says in how many programs the first is behind the second."""
Line = dict[str, Any]


# ----------------------------------------------------------------------------- in a process each


def one_thread() -> None:
    """Keep the process to one processor: XLA has as many threads as there are."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def measured(name: str, engines: Sequence[str], seconds: float) -> Line:
    """Measure a program by engines; what fails or disagrees is said, and not timed."""
    program = OTHERS[name]
    runs: dict[str, Callable[[], Any]] = {}
    off: dict[str, float] = {}
    reasons: dict[str, str] = {}
    for by in dict.fromkeys(("hand", *engines)):
        try:
            run = ENGINES[by](program, program.inputs())
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                answer = run()
            off[by] = difference(program, answer)
        except Exception as error:  # of an engine; the others are still compared
            reasons[by] = f"{type(error).__name__}: {error}".partition("\n")[0][:200]
            continue
        if off[by] > program.rtol:
            reasons[by] = f"differs by {off[by]:.1e}"
            continue
        runs[by] = run
        if by in ("np", "c") and caught:
            reasons[by] = str(caught[0].message).partition("\n")[0][:200]
    times = medians(runs, rounds=40, seconds=0.01, limit=seconds, pick=min)
    return {"times": times, "off": off, "reasons": reasons}


def first(name: str, by: str) -> float:
    """Measure the seconds that the first call of an engine takes, imports left out."""
    program = OTHERS[name]
    arguments = program.inputs()
    module = {"np": "chainrules_compile", "c": "chainrules_compile", "eager": "chainrules_tape"}
    __import__(module.get(by, by if by != "hand" else "numpy"))
    start = time.perf_counter()
    ENGINES[by](program, arguments)()
    return time.perf_counter() - start


def in_process(*arguments: str) -> Any:
    """Run a part of this in a new process, and read what it found: JSON, or why there is none."""
    command = [sys.executable, "-m", "benchmarks.others", *arguments]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        env = {**os.environ, **ONE_THREAD, "CHAINRULES_C_CACHE": folder}
        try:
            done = subprocess.run(
                command, env=env, capture_output=True, text=True, timeout=PATIENCE, check=True
            )
        except subprocess.TimeoutExpired:
            return f"over {PATIENCE:.0f} s"
        except subprocess.CalledProcessError as error:
            return (error.stderr.strip().splitlines() or ["failed"])[-1][:200]
    return json.loads(done.stdout.splitlines()[-1])


# ------------------------------------------------------------------------------------- the file


def kept(path: Path, commit: str) -> dict[str, Line]:
    """Read what was measured of a commit; of a program's lines the newest counts."""
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {line["name"]: line for line in lines if line["commit"] == commit}


def lacks(line: Line, engines: Sequence[str], firsts: bool) -> bool:
    """Return whether something of a program has still to be measured."""
    seen = {*line["times"], *line["reasons"]}
    return not seen.issuperset(engines) or (firsts and not line["first"].keys() >= set(engines))


def complete(name: str, engines: Sequence[str], seconds: float, firsts: bool) -> Line:
    """Measure a program in processes of its own."""
    found = in_process("--one", name, "--only", ",".join(engines), "--seconds", str(seconds))
    if isinstance(found, str):
        found = {"times": {}, "off": {}, "reasons": dict.fromkeys(engines, found)}
    found["first"] = {}
    for by in engines if firsts else ():
        took = in_process("--first-of", name, "--only", by)
        found["first"][by] = None if isinstance(took, str) else took
    return {"name": name, **found}


# ------------------------------------------------------------------------------------ the table


def ratios(line: Line) -> dict[str, float]:
    """Return the times of the engines by that of NumPy by hand."""
    times = line["times"]
    return {by: t / times["hand"] for by, t in times.items() if by != "hand"}


def table(lines: Sequence[Line], engines: Sequence[str]) -> Iterator[str]:
    """Yield a row for each program: microseconds by hand, ratios, milliseconds of first calls."""
    columns = [by for by in engines if by != "hand"]
    firsts = [by for by in engines if any(by in line["first"] for line in lines)]
    heads = [f"{by:>9}" for by in columns] + [f"{'1st ' + by:>13}" for by in firsts]
    yield f"{'program':20}{'by hand us':>12}{''.join(heads)}"
    for line in lines:
        if "hand" not in line["times"]:
            yield f"{line['name']:20}{'':>12}  {line['reasons']}"
            continue
        found = ratios(line)
        cells = [f"{found[by]:9.3f}" if by in found else f"{'-':>9}" for by in columns]
        for by in firsts:
            took = line["first"].get(by)
            cells.append(f"{'-':>13}" if took is None else f"{took * 1e3:13.1f}")
        yield f"{line['name']:20}{line['times']['hand'] * 1e6:12.1f}{''.join(cells)}"
    for line in lines:
        for by, reason in line["reasons"].items():
            yield f"  {line['name']}, {by}: {reason}"


def means(lines: Sequence[Line], engines: Sequence[str]) -> Iterator[str]:
    """Yield geometric means of the ratios, and who is behind whom."""
    chosen = {"all": lines, "without work left out": [x for x in lines if x["name"] not in WASTED]}
    for what, some in chosen.items():
        texts = []
        for by in engines:
            logs = [math.log(r[by]) for x in some if by in (r := ratios(x))]
            if logs:
                texts.append(f"{by} {math.exp(sum(logs) / len(logs)):.3f} of {len(logs)}")
        yield f"geometric means, {what}: {'; '.join(texts)}"
    for key in ("times", "first"):
        for ours, theirs in PAIRS:
            both = [x for x in lines if x[key].get(ours) and x[key].get(theirs)]
            behind = {x["name"]: x[key][ours] / x[key][theirs] for x in both}
            late = sorted((ratio, name) for name, ratio in behind.items() if ratio > 1.0)
            if both:
                names = ", ".join([f"{name} {ratio:.2f}" for ratio, name in reversed(late)])
                what = "first call of " if key == "first" else ""
                yield f"{what}{ours} behind {theirs} in {len(late)} of {len(both)}: {names}"


# ----------------------------------------------------------------------------------- by command


def named(words: Sequence[str]) -> list[str]:
    """List the programs that are called by a word, or whose names hold one that is no name."""
    parts = [word for word in words if word not in OTHERS]
    return [n for n in OTHERS if not words or n in words or any([part in n for part in parts])]


def main(arguments: list[str] | None = None) -> int:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.others", description=__doc__)
    parser.add_argument("names", nargs="*", help="programs, or parts of their names")
    parser.add_argument("--only", default=",".join(ENGINES), help="engines, joined by commas")
    parser.add_argument("--seconds", type=float, default=4.0, help="of turns for each program")
    parser.add_argument("--first", action="store_true", help="first calls as well")
    parser.add_argument("--any-load", action="store_true", help="print means on a busy machine too")
    parser.add_argument("--anew", action="store_true", help="measure again what the file has")
    parser.add_argument("--file", type=Path, default=FILE, help="where the lines are")
    parser.add_argument("--one", metavar="NAME", help=argparse.SUPPRESS)
    parser.add_argument("--first-of", metavar="NAME", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    engines = [by for by in ENGINES if by in given.only.split(",")]
    if unknown := set(given.only.split(",")) - ENGINES.keys():
        parser.error(f"no engine is called {', '.join(sorted(unknown))}; there are: {given.only}")
    if given.one or given.first_of:
        one_thread()
        found: Any = (
            measured(given.one, engines, given.seconds)
            if given.one
            else first(given.first_of, engines[0])
        )
        print(json.dumps(found))
        return 0
    names = named(given.names)
    if not names:
        parser.error(f"no program is called so; there are: {', '.join(OTHERS)}")
    commit, busy = machine.commit(), machine.noise()
    lines = {} if given.anew else kept(given.file, commit)
    given.file.parent.mkdir(parents=True, exist_ok=True)
    for name in names:
        if name in lines and not lacks(lines[name], engines, given.first):
            continue
        print(f"\r\033[K{name}", end="", file=sys.stderr, flush=True)
        line = complete(name, engines, given.seconds, given.first)
        lines[name] = {**line, "commit": commit, "quiet": not busy}
        with given.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(lines[name]) + "\n")
    print(file=sys.stderr)
    chosen = [lines[name] for name in names]
    for text in table(chosen, engines):
        print(text)
    if all([line["quiet"] for line in chosen]) or given.any_load:
        for text in means(chosen, engines):
            print(text)
    else:
        print("No means: other programs ran on this machine meanwhile; --any-load prints them.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

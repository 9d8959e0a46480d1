"""Compiled programs in C beside those written by hand, the NumPy target, and JAX's compiler.

``python -m benchmarks.native`` prints a table of all programs; operations name some of them, and
``--jax`` adds its column: each program in a process of its own, which JAX has two minutes for.
First calls wait for the compiler, where its library is not on disk.
"""

from __future__ import annotations

import contextlib
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.programs import PROGRAMS, Program, engine
from benchmarks.timing import medians
from chainrules_compile import Compiled, compile
from chainrules_compile.c.native_programs import driver
from chainrules_tape import value_and_grad

COLUMNS = ("C", "NumPy source", "jax.jit")
FIRSTS = ("C", "jax.jit")
Times = dict[str, float]


def compiled(program: Program, target: str) -> Compiled[..., Any]:
    """Compile the value and gradients of a program for a target; nothing is recorded yet."""
    places = tuple(range(program.moving))
    both = value_and_grad(program.loss(np), argnums=places)
    found: Compiled[..., Any] = compile(both, target=target)
    return found


def first(run: Callable[[], Any]) -> float:
    """Measure the seconds of a first call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measured(
    program: Program, with_jax: bool = False, rounds: int = 15, limit: float = 10.0
) -> tuple[Times, Times]:
    """Return the least time of a call of each, and that of its first call."""
    arguments = program.inputs()
    by_c, by_numpy = compiled(program, "c"), compiled(program, "numpy")
    runs: dict[str, Callable[[], Any]] = {
        "C": lambda: by_c(*arguments),
        "NumPy source": lambda: by_numpy(*arguments),
        "by hand": engine("NumPy by hand", program, arguments),
    }
    if with_jax:
        by = "JAX, jit" if program.scanned is None else "JAX, jit, scan"
        with contextlib.suppress(ImportError, NotImplementedError):
            runs["jax.jit"] = engine(by, program, arguments)
    firsts = {name: first(run) for name, run in runs.items()}
    driver()  # which a thread compiles after the first call
    return medians(runs, rounds=rounds, limit=limit, pick=min), firsts


def apart(name: str, seconds: float = 120.0) -> tuple[Times, Times]:
    """Measure a program in a process of its own; without JAX if that takes too long."""
    command = [sys.executable, "-m", "benchmarks.native", "--one", name]
    for operations, limit in ((["--jax"], seconds), ([], None)):
        try:
            done = subprocess.run(
                [*command, *operations], capture_output=True, text=True, check=True, timeout=limit
            )
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
            continue
        times, firsts = json.loads(done.stdout.splitlines()[-1])
        return times, firsts
    msg = f"{name} does not run"
    raise RuntimeError(msg)


def rows(names: Iterable[str], with_jax: bool = False) -> Iterable[str]:
    """Yield the lines of the table, and of its means."""
    yield f"| program | {' | '.join(COLUMNS)} | {' | '.join([f'first, {k}' for k in FIRSTS])} |"
    yield f"|---{'|---' * len((*COLUMNS, *FIRSTS))}|"
    logs: dict[str, list[float]] = {}
    both: list[tuple[bool, bool]] = []
    for name in names:
        times, firsts = apart(name) if with_jax else measured(PROGRAMS[name])
        ratios = {key: times[key] / times["by hand"] for key in times if key != "by hand"}
        for key, ratio in ratios.items():
            logs.setdefault(key, []).append(math.log(ratio))
        cells = [f"{ratios[k]:.3f}" if k in ratios else "" for k in COLUMNS]
        cells += [f"{firsts[k]:.2f} s" if k in firsts else "" for k in FIRSTS]
        yield f"| {name} | {' | '.join(cells)} |"
        if "jax.jit" in times:
            both.append((times["C"] < times["jax.jit"], firsts["C"] <= firsts["jax.jit"]))
    if both:
        faster, sooner = [sum(column) for column in zip(*both, strict=True)]
        yield f"faster than jax.jit in {faster} of {len(both)}, the first call in {sooner}"
    for key, found in logs.items():
        mean = math.exp(sum(found) / len(found))
        yield f"geometric mean, {key}: {mean:.3f} of {len(found)}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measured(PROGRAMS[sys.argv[2]], "--jax" in sys.argv)))
        sys.exit()
    operations = [operation for operation in sys.argv[1:] if operation != "--jax"]
    chosen = [
        n for n in PROGRAMS if not operations or any([operation in n for operation in operations])
    ]
    for line in rows(chosen, "--jax" in sys.argv):
        print(line, flush=True)

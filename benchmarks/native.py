"""Compiled programs in C beside those written by hand, the NumPy target, and JAX's compiler.

``python -m benchmarks.native`` prints a table of all programs; words name some of them, and
``--jax`` adds its column, which takes minutes.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.programs import PROGRAMS, Program, engine
from benchmarks.timing import medians
from chainrules_compile import Compiled, compile
from chainrules_tape import value_and_grad

COLUMNS = ("C", "C, exact=False", "NumPy source", "jax.jit")
FIRSTS = ("C", "jax.jit")
Times = dict[str, float]


def compiled(program: Program, target: str, exact: bool = True) -> Compiled[..., Any]:
    """Compile the value and gradients of a program for a target; nothing is recorded yet."""
    places = tuple(range(program.moving))
    both = value_and_grad(program.loss(np), argnums=places)
    found: Compiled[..., Any] = compile(both, target=target, exact=exact, background=False)
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
    loose = compiled(program, "c", exact=False)
    runs: dict[str, Callable[[], Any]] = {
        "C": lambda: by_c(*arguments),
        "C, exact=False": lambda: loose(*arguments),
        "NumPy source": lambda: by_numpy(*arguments),
        "by hand": engine("NumPy by hand", program, arguments),
    }
    if with_jax:
        with contextlib.suppress(ImportError, NotImplementedError):
            runs["jax.jit"] = engine("JAX, jit", program, arguments)
    firsts = {name: first(run) for name, run in runs.items()}
    return medians(runs, rounds=rounds, limit=limit, pick=min), firsts


def rows(names: Iterable[str], with_jax: bool = False) -> Iterable[str]:
    """Yield the lines of the table, and of its means."""
    yield f"| program | {' | '.join(COLUMNS)} | {' | '.join([f'first, {k}' for k in FIRSTS])} |"
    yield f"|---{'|---' * len((*COLUMNS, *FIRSTS))}|"
    logs: dict[str, list[float]] = {}
    for name in names:
        times, firsts = measured(PROGRAMS[name], with_jax)
        ratios = {key: times[key] / times["by hand"] for key in times if key != "by hand"}
        for key, ratio in ratios.items():
            logs.setdefault(key, []).append(math.log(ratio))
        cells = [f"{ratios[k]:.3f}" if k in ratios else "" for k in COLUMNS]
        cells += [f"{firsts[k]:.2f} s" if k in firsts else "" for k in FIRSTS]
        yield f"| {name} | {' | '.join(cells)} |"
    for key, found in logs.items():
        mean = math.exp(sum(found) / len(found))
        yield f"geometric mean, {key}: {mean:.3f} of {len(found)}"


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--jax"]
    chosen = [n for n in PROGRAMS if not words or any([word in n for word in words])]
    for line in rows(chosen, "--jax" in sys.argv):
        print(line, flush=True)

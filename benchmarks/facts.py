"""Single numbers: what it takes to find a rule, to use one, to import; what an operation keeps."""

from __future__ import annotations

import compileall
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

from benchmarks import chain
from benchmarks.families import family
from benchmarks.machine import ROOT
from benchmarks.timing import interval, medians, turns


def lookup_times(rounds: int = 100) -> dict[str, float]:
    """Nanoseconds of lookups that were made before: found, missed, of a function without rules."""
    from chainrules_py import ops as v
    from chainrules_py.extend import find_rule

    array, text = (np.ndarray,), (str,)
    unknown = lambda x: x
    found = medians(
        {
            "hot": lambda: find_rule(np.sin, array),
            "miss": lambda: find_rule(v.sum, text),
            "unknown": lambda: find_rule(unknown, text),
            "empty": lambda: None,
        },
        rounds=rounds,
        pick=min,
    )
    empty = found.pop("empty")
    return {name: 1e9 * (t - empty) for name, t in found.items()}


def import_times(rounds: int = 11) -> dict[str, float]:
    """Seconds to import the core, NumPy, and nothing, in new processes, compiled as installed."""
    compileall.compile_dir(ROOT / "chainrules_py", quiet=2)
    codes = {"nothing": "pass", "numpy": "import numpy", "core": "import chainrules_py"}
    times: dict[str, list[float]] = {name: [] for name in codes}
    for _ in range(rounds):
        for name, code in codes.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def measure() -> dict[str, Any]:
    """All of them, as they are kept."""
    imports = import_times()
    sine = family("sin")
    rounds = turns({"ours": sine.rrule, "numpy": sine.pull}, rounds=51)
    ratios = [a / b for a, b in zip(rounds["ours"], rounds["numpy"], strict=True)]
    paid = chain.measure_tape("same shape")
    return {
        "hot lookup, ns": round(lookup_times()["hot"]),
        "rrule of sin, ratio": round(statistics.median(ratios), 2),
        "rrule of sin, interval": [round(x, 2) for x in interval(ratios)],
        "import, ratio": round(
            (imports["core"] - imports["nothing"]) / (imports["numpy"] - imports["nothing"]), 2
        ),
        "bytes per operation": round(paid["bytes"]),
        "calls per operation": round(paid["calls"], 2),
    }

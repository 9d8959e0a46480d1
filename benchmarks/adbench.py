"""ADBench's mixtures beside the C++ that its authors wrote by hand, built here from their sources.

``python -m benchmarks.adbench PATH`` takes a checkout of ADBench, with its data.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import medians
from chainrules_compile import compile
from chainrules_tape import value_and_grad

FILES = ("gmm_d2_K5", "gmm_d10_K25", "gmm_d32_K25", "gmm_d64_K10", "gmm_d128_K5")
DRIVER = """
#include "src/cpp/modules/manual/gmm_d.h"
extern "C" void run(int d, int k, int n, const double* a, const double* means, const double* icf,
                    const double* x, double gamma, int m, double* value, double* bars) {
    Wishart prior;
    prior.gamma = gamma;
    prior.m = m;
    gmm_objective_d(d, k, n, a, means, icf, x, prior, value, bars);
}
"""


def loss(a: Any, means: Any, icf: Any, points: Any, places: Any, gamma: float, m: int) -> Any:
    """Compute the log-likelihood of points, but for a constant, with its prior."""
    parts, d = means.shape
    logs, lower = icf[:, :d], icf[:, d:]
    q, sums = np.exp(logs), np.sum(logs, axis=1)
    triangles = np.zeros((parts, d * d), like=lower)
    triangles[:, places] = lower
    triangles = triangles.reshape(parts, d, d)
    centred = points[None] - means[:, None]
    moved = centred * q[:, None] + centred @ triangles
    inner = (a + sums)[:, None] - 0.5 * np.sum(moved * moved, axis=2)
    top, highest = np.max(inner, axis=0), np.max(a)
    likelihood = np.sum(np.log(np.sum(np.exp(inner - top), axis=0)) + top)
    weights = np.log(np.sum(np.exp(a - highest))) + highest
    prior = 0.5 * gamma**2 * (np.sum(q * q) + np.sum(lower * lower)) - m * np.sum(sums)
    return likelihood - points.shape[0] * weights + prior


def inputs(path: Path) -> tuple[Any, ...]:
    """Read a file of ADBench's: weights, means, factors, points, places of elements, prior."""
    first, *rest = path.read_text(encoding="utf-8").split("\n", 1)
    d, k, n = map(int, first.split())
    numbers = np.array(rest[0].split(), float)
    cuts = np.cumsum([k, k * d, k * (d + d * (d - 1) // 2), n * d])
    a, means, icf, x, (gamma, m) = np.split(numbers, cuts)
    columns, rows = np.triu_indices(d, 1)
    shaped = (means.reshape(k, d), icf.reshape(k, -1), x.reshape(n, d))
    return a, *map(np.ascontiguousarray, shaped), columns * d + rows, float(gamma), int(m)


def built(root: Path, folder: Path) -> Any:
    """Build the function that was written by hand in C++."""
    (folder / "driver.cpp").write_text(DRIVER, encoding="utf-8")
    sources = ("driver.cpp", str(root / "src/cpp/modules/manual/gmm_d.cpp"))
    flags = ("-O3", "-march=native", "-shared", "-fPIC", f"-I{root}", "-o", "gmm.so")
    subprocess.run(["g++", *flags, *sources], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "gmm.so")).run


def row(run: Any, name: str, arguments: tuple[Any, ...]) -> str:
    """Measure one file: what it takes as a multiple of the C++ by hand."""
    a, means, icf, x, _, gamma, m = arguments
    (k, d), n = means.shape, len(x)
    value, bars = np.zeros(1), np.zeros(a.size + means.size + icf.size)
    given = [ctypes.c_void_p(y.ctypes.data) for y in (a, means, icf, x)]
    found = [ctypes.c_void_p(y.ctypes.data) for y in (value, bars)]
    both = value_and_grad(loss, argnums=(0, 1, 2))
    in_c = compile(both, target="c", static=(5, 6))
    runs: dict[str, Callable[[], Any]] = {
        "by hand in C++": lambda: run(d, k, n, *given, ctypes.c_double(gamma), m, *found),
        "compiled, C": lambda: in_c(*arguments),
    }
    runs["by hand in C++"]()
    ours = np.concatenate([y.ravel() for y in in_c(*arguments)[1]])
    off = float(np.max(np.abs(ours - bars)) / np.max(np.abs(bars)))
    times = medians(runs, rounds=25, limit=15.0, pick=min)
    by_hand = times.pop("by hand in C++")
    ratios = " | ".join([f"{t / by_hand:.2f}" for t in times.values()])
    return f"| {name} | {by_hand * 1e3:.2f} ms | {ratios} | {off:.0e} |"


def main(root: Path) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        run = built(root, Path(folder))
        print("| | by hand in C++ | compiled, C | gradients differ by |")
        print("|---|---|---|---|")
        for name in FILES:
            path = root / "data" / "gmm" / "1k" / f"{name}.txt"
            if path.exists():
                print(row(run, name, inputs(path)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

"""Sparse Jacobians, of 1e3 to 1e5 numbers: ours, the dense one, grouped differences, and JAX.

By JAX it is written by hand: the seeds of the colors through ``vmap`` of ``jvp``, compiled.

    python -m benchmarks.sparse_jacobians     # minima of processor time, taken in turns
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.timing import turns
from chainrules_compile import compile
from chainrules_tape import jacobian, sparsity

SIZES = (1_000, 10_000, 100_000)
DENSE = 1_000
"""The largest size of which the dense Jacobian is taken: at 10,000 it has 800 MB."""


def tridiagonal(xp: Any, x: Any) -> Any:
    """Broyden's function: each number of the result reads three."""
    p = xp.pad(x, 1)
    return (3 - 2 * x) * x + 1 - p[:-2] - 2 * p[2:]


def five_points(xp: Any, x: Any) -> Any:
    """Bratu's equation on a square: each number of the result reads five."""
    k = int(x.size**0.5)
    u = x[: k * k].reshape(k, k)
    p = xp.pad(u, 1)
    inside = 4 * u - p[2:, 1:-1] - p[:-2, 1:-1] - p[1:-1, 2:] - p[1:-1, :-2]
    return (inside - xp.exp(u) / k**2).reshape(-1)


CASES = {"tridiagonal": tridiagonal, "five points": five_points}
WAYS = ("sparse", "without the check", "compiled", "differences in groups", "JAX by hand", "dense")


def point(size: int) -> Any:
    """Where Jacobians are taken."""
    return np.random.default_rng(0).normal(size=size)


def detection(case: str, size: int) -> Callable[[], Any]:
    """Build the detection of a pattern, with its coloring: what is done once."""
    f, x = CASES[case], point(size)
    return lambda: sparsity(lambda x: f(np, x))(x)


def by(way: str, case: str, size: int) -> Callable[[], Any]:
    """Build a computation of the Jacobian by the pattern that was detected.

    ImportError where something is not installed, NotImplementedError where it is too large.
    """
    f, x = (lambda x: CASES[case](np, x)), point(size)
    if way == "dense":
        if size > DENSE:
            raise NotImplementedError
        full = jacobian(f)
        return lambda: full(x)
    plan = detection(case, size)()
    if way == "JAX by hand":
        return _by_jax(case, x, plan)
    if way == "differences in groups":
        return lambda: _differences(f, x, plan)
    run: Any = jacobian(f, sparsity=plan, check=way != "without the check")
    run = compile(run) if way == "compiled" else run
    return lambda: run(x)


def _read(plan: Any, images: Any) -> Any:
    """Build the sparse array of the images of the colors."""
    data = images[plan.direction, plan.place]
    return sparse.csr_array((data, plan.pattern.indices, plan.pattern.indptr), plan.shape)


def _differences(f: Callable[[Any], Any], x: Any, plan: Any) -> Any:
    """Take forward differences of all columns of a color at once, as SciPy does."""
    y, h = f(x), 1.5e-8 * np.maximum(1.0, np.abs(x))
    images = [(f(x + h * (plan.columns == c)) - y) for c in range(plan.pushes)]
    found = _read(plan, np.array(images))
    found.data /= h[found.indices]
    return found


def _by_jax(case: str, x: Any, plan: Any) -> Callable[[], Any]:
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    f, colors = CASES[case], np.arange(plan.pushes)[:, None]
    seeds = jax.numpy.asarray(plan.columns == colors, float)

    def images(x: Any) -> Any:
        push = lambda t: jax.jvp(lambda x: f(jax.numpy, x), (x,), (t,))[1]
        return jax.vmap(push)(seeds)[plan.direction, plan.place]

    data, pattern = jax.jit(images), plan.pattern
    x = jax.numpy.asarray(x)
    return lambda: sparse.csr_array(
        (np.asarray(data(x)), pattern.indices, pattern.indptr), plan.shape
    )


def main() -> None:
    """Print a table."""
    print(f"| ms | {' | '.join(['detected once', *WAYS])} |")
    print("|---" * (2 + len(WAYS)) + "|")
    for case in CASES:
        for size in SIZES:
            found = {}
            for way in WAYS:
                try:
                    found[way] = by(way, case, size)
                except (ImportError, NotImplementedError):
                    continue
            found["once"] = detection(case, size)
            times = turns(found, rounds=9, limit=8.0, clock=time.process_time)
            best = {way: 1e3 * min(each) for way, each in times.items()}
            cells = [f"{best[way]:.3g}" if way in best else "–" for way in ("once", *WAYS)]
            print(f"| {case}, {size:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

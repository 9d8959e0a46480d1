"""Value and gradient of five programs, written by hand as loops for numba's compiler.

Nothing of numba's is imported before a program is asked for.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np


def poisson(w: Any, x: Any, y: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the loss of counts and its gradient, one point after the other."""
    n, k = x.shape
    value, bars = 0.0, np.zeros(k)
    for i in range(n):
        eta = 0.0
        for j in range(k):
            eta += x[i, j] * w[j]
        rate = math.exp(eta)
        value += rate - y[i] * eta
        share = (rate - y[i]) / n
        for j in range(k):
            bars[j] += share * x[i, j]
    return value / n, (bars,)


def atoms(x: Any, first: Any, second: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the energy of atoms and its gradient, one pair after the other."""
    value, bars, d = 0.0, np.zeros_like(x), np.zeros(3)
    for i in range(len(first)):
        a, b, square = first[i], second[i], 0.0
        for j in range(3):
            d[j] = x[a, j] - x[b, j]
            square += d[j] * d[j]
        u = 1.0 / square
        s = u * u * u
        value += s * s - s
        factor = 24.0 * (s - 2.0 * s * s) * u
        for j in range(3):
            bars[a, j] += factor * d[j]
            bars[b, j] -= factor * d[j]
    return 4.0 * value, (bars,)


def density(x: Any, width: Any, centres: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the likelihood of points and its gradient, one point after the other."""
    n, m = x.shape[0], centres.shape[0]
    w = width.item()
    w2, value, bars, far = w * w, n * math.log(w), np.zeros_like(x), 0.0
    k, q = np.empty(m), np.empty(m)
    for i in range(n):
        total = 0.0
        for j in range(m):
            q[j] = 0.0
            for c in range(3):
                d = x[i, c] - centres[j, c]
                q[j] += d * d
            k[j] = math.exp(-q[j] / (2.0 * w2))
            total += k[j]
        value -= math.log(total)
        for j in range(m):
            share = k[j] / total
            far += share * q[j]
            for c in range(3):
                bars[i, c] += (x[i, c] - centres[j, c]) * share / w2
    return value, (bars, n / w - far / (w2 * w))


def heat(a: Any, u: Any, wanted: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the misfit of temperatures and its gradient, one place after the other."""
    n = len(u)
    kept, flux, u = np.empty((100, n)), np.empty(n), u.copy()
    for t in range(100):
        for i in range(n):
            kept[t, i] = u[(i + 1) % n] - u[i]
            flux[i] = a[i] * kept[t, i]
        for i in range(n):
            u[i] += 0.2 * (flux[i] - flux[i - 1])
    value, a_bar, u_bar, d_bar = 0.0, np.zeros(n), np.empty(n), np.empty(n)
    for i in range(n):
        value += (u[i] - wanted[i]) ** 2
        u_bar[i] = 2.0 * (u[i] - wanted[i])
    for t in range(99, -1, -1):
        for i in range(n):
            flux_bar = 0.2 * (u_bar[i] - u_bar[(i + 1) % n])
            a_bar[i] += flux_bar * kept[t, i]
            d_bar[i] = flux_bar * a[i]
        for i in range(n):
            u_bar[i] += d_bar[i - 1] - d_bar[i]
    return value, (a_bar,)


def chain(h: Any, w: Any, b: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the chain of a hundred sines, products and sums, one element after the other."""
    n, value = len(h), 0.0
    h_bar, w_bar, b_bar, kept = np.empty(n), np.zeros(n), np.zeros(n), np.empty(101)
    for i in range(n):
        kept[0] = h[i]
        for t in range(100):
            kept[t + 1] = math.sin(kept[t]) * w[i] + b[i]
        value += kept[100]
        bar = 1.0
        for t in range(99, -1, -1):
            b_bar[i] += bar
            w_bar[i] += bar * math.sin(kept[t])
            bar *= w[i] * math.cos(kept[t])
        h_bar[i] = bar
    return value, (h_bar, w_bar, b_bar)


BY_NUMBA: dict[str, Callable[..., Any]] = {
    "Poisson regression 500 x 8": poisson,
    "Lennard-Jones, 64 atoms": atoms,
    "density of 300 kernels at 200 points": density,
    "heat on a ring of 200, 100 steps": heat,
    "chain of 300 operations, length 10000": chain,
}
"""By the name of a program, its formulas as loops."""


def by_numba(name: str, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """Return a call of a program, which numba compiles when it is called first."""
    run = importlib.import_module("numba").njit(BY_NUMBA[name])
    return lambda: run(*arguments)

"""A recurrent network: many small operations, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.programs.program import Program

STEPS, HIDDEN, BATCH = 200, 32, 16


def step(xp: Any, w: Any, u: Any, b: Any, x: Any, h: Any, c: Any) -> tuple[Any, Any]:
    """Compute the next states, hidden and of the cell."""
    n = HIDDEN
    z = x @ w + h @ u + b
    i = 1.0 / (1.0 + xp.exp(-z[:, :n]))
    f = 1.0 / (1.0 + xp.exp(-z[:, n : 2 * n]))
    o = 1.0 / (1.0 + xp.exp(-z[:, 2 * n : 3 * n]))
    c = f * c + i * xp.tanh(z[:, 3 * n :])
    return o * xp.tanh(c), c


def lstm(xp: Any) -> Callable[..., Any]:
    """Build the mean square of the last hidden state, after all steps."""

    def loss(w: Any, u: Any, b: Any, xs: Any, h: Any, c: Any) -> Any:
        for x in xs:
            h, c = step(xp, w, u, b, x, h, c)
        return xp.sum(h * h) / h.shape[0]

    return loss


def scanned(jax: Any) -> Callable[..., Any]:
    """Build the mean square of the last hidden state, the loop over its steps a scan."""

    def loss(w: Any, u: Any, b: Any, xs: Any, h: Any, c: Any) -> Any:
        body = lambda state, x: (step(jax.numpy, w, u, b, x, *state), None)
        (h, _), _ = jax.lax.scan(body, (h, c), xs)
        return jax.numpy.sum(h * h) / h.shape[0]

    return loss


def by_hand(w: Any, u: Any, b: Any, xs: Any, h: Any, c: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the loss of the bundle adjustment and its gradient, in NumPy."""
    n, kept = HIDDEN, []
    for x in xs:
        z = x @ w + h @ u + b
        i = 1.0 / (1.0 + np.exp(-z[:, :n]))
        f = 1.0 / (1.0 + np.exp(-z[:, n : 2 * n]))
        o = 1.0 / (1.0 + np.exp(-z[:, 2 * n : 3 * n]))
        g = np.tanh(z[:, 3 * n :])
        before, c = c, f * c + i * g
        t = np.tanh(c)
        kept.append((x, h, before, i, f, o, g, t))
        h = o * t
    value = np.sum(h * h) / h.shape[0]
    h_bar, c_bar = 2.0 * h / h.shape[0], np.zeros_like(c)
    w_bar, u_bar, b_bar = np.zeros_like(w), np.zeros_like(u), np.zeros_like(b)
    for x, h, before, i, f, o, g, t in reversed(kept):
        c_bar = c_bar + h_bar * o * (1 - t * t)
        z_bar = np.empty((h.shape[0], 4 * n))
        z_bar[:, :n] = c_bar * g * i * (1 - i)
        z_bar[:, n : 2 * n] = c_bar * before * f * (1 - f)
        z_bar[:, 2 * n : 3 * n] = h_bar * t * o * (1 - o)
        z_bar[:, 3 * n :] = c_bar * i * (1 - g * g)
        w_bar += x.T @ z_bar
        u_bar += h.T @ z_bar
        b_bar += np.sum(z_bar, axis=0)
        h_bar, c_bar = z_bar @ u.T, c_bar * f
    return value, (w_bar, u_bar, b_bar)


def inputs(steps: int = STEPS) -> tuple[Any, ...]:
    """Weights, a sequence, and states of zero."""
    rng = np.random.default_rng(0)
    w, u = (rng.normal(size=(HIDDEN, 4 * HIDDEN)) / np.sqrt(HIDDEN) for _ in range(2))
    zero = np.zeros((BATCH, HIDDEN))
    xs = rng.normal(size=(steps, BATCH, HIDDEN))
    return w, u, 0.1 * rng.normal(size=4 * HIDDEN), xs, zero, zero


LSTM = Program(
    f"LSTM {STEPS} steps, hidden {HIDDEN}",
    inputs,
    3,
    lstm,
    by_hand,
    budget=1.8,
    aim=1.45,
    elements=BATCH * 4 * HIDDEN,
    without={"JAX, jit": "unrolled, it compiles for minutes"},
    scanned=scanned,
)

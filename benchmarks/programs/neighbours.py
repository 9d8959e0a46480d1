"""Programs next to those that are tuned for: each has something that a compiler trips over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.programs.program import Program

# ------------------------------------------------------------------- what nothing uses


def unused(xp: Any) -> Callable[..., Any]:
    """Build a misfit that three of many parameters matter to."""

    def loss(xs: Any, y: Any) -> Any:
        off = xs[0] * xp.tanh(xs[30]) + xs[59] - y
        return xp.sum(off * off)

    return loss


def unused_by_hand(xs: list[Any], y: Any) -> tuple[Any, tuple[list[Any]]]:
    """Compute the misfit and its gradient, most of which is zero."""
    t = np.tanh(xs[30])
    off = xs[0] * t + xs[59] - y
    bars = [np.zeros_like(x) for x in xs]
    off_bar = 2.0 * off
    bars[0], bars[30], bars[59] = off_bar * t, off_bar * xs[0] * (1.0 - t * t), off_bar
    return np.sum(off * off), (bars,)


def unused_inputs(number: int = 60, size: int = 30) -> tuple[Any, ...]:
    """Make the parameters, and what is wanted."""
    rng = np.random.default_rng(0)
    return list(rng.normal(size=(number, size))), rng.normal(size=size)


# -------------------------------------------------------------------------- small arrays


def turns(xp: Any) -> Callable[..., Any]:
    """Build where a direction points after many small matrices."""

    def loss(matrices: Any, v: Any, wanted: Any) -> Any:
        for m in matrices:
            v = m @ v
            v = v / xp.sqrt(v @ v)
        return xp.sum((v - wanted) ** 2)

    return loss


def turns_by_hand(matrices: list[Any], v: Any, wanted: Any) -> tuple[Any, tuple[list[Any]]]:
    """Compute where a direction points and the gradient in the matrices."""
    kept = []
    for m in matrices:
        before, v = v, m @ v
        length = np.sqrt(v @ v)
        v = v / length
        kept.append((before, v, length))
    off = v - wanted
    v_bar, bars = 2.0 * off, []
    for m, (before, v, length) in zip(matrices[::-1], kept[::-1], strict=True):
        u_bar = (v_bar - v * (v @ v_bar)) / length
        bars.append(u_bar[:, None] * before)
        v_bar = u_bar @ m
    return np.sum(off**2), (bars[::-1],)


def turns_inputs() -> tuple[Any, ...]:
    """Matrices near the identity, a direction, and the one that is wanted."""
    rng = np.random.default_rng(0)
    matrices = np.eye(3) + 0.2 * rng.normal(size=(100, 3, 3))
    return list(matrices), np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])


# ------------------------------------------------------------------------------ branches


def branches(xp: Any) -> Callable[..., Any]:
    """Build Huber's loss of Python's numbers, each of which takes its branch."""

    def loss(xs: Any) -> Any:
        total = 0.0
        for x in xs:
            r = 2.0 * x - 0.3
            if r > 1.0:
                total = total + r - 0.5
            elif r < -1.0:
                total = total - r - 0.5
            else:
                total = total + 0.5 * r * r
        return total

    return loss


def branches_by_hand(xs: list[float]) -> tuple[float, tuple[list[float]]]:
    """Compute Huber's loss of numbers and its gradient."""
    total, bars = 0.0, []
    for x in xs:
        r = 2.0 * x - 0.3
        if r > 1.0:
            total = total + r - 0.5
            bars.append(2.0)
        elif r < -1.0:
            total = total - r - 0.5
            bars.append(-2.0)
        else:
            total = total + 0.5 * r * r
            bars.append(2.0 * r)
    return total, (bars,)


# --------------------------------------------------------------------- writing in place


def written(xp: Any) -> Callable[..., Any]:
    """Build the energy of a filter that writes its results into an array, block by block."""

    def loss(x: Any) -> Any:
        y = xp.zeros(x.shape, like=x)
        y[0] = x[0]
        for i in range(1, x.shape[0]):
            y[i] = 0.9 * y[i - 1] + xp.sin(x[i])
        return xp.sum(y * y)

    return loss


def written_by_hand(x: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the energy of a filter and its gradient."""
    y = np.zeros(x.shape)
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = 0.9 * y[i - 1] + np.sin(x[i])
    y_bar, x_bar = 2.0 * y, np.empty_like(x)
    for i in range(x.shape[0] - 1, 0, -1):
        x_bar[i] = y_bar[i] * np.cos(x[i])
        y_bar[i - 1] += 0.9 * y_bar[i]
    x_bar[0] = y_bar[0]
    return np.sum(y * y), (x_bar,)


# ---------------------------------------------------------------------- large broadcasts


def density(xp: Any) -> Callable[..., Any]:
    """Build the likelihood of points under a density of kernels, all pairs at once."""

    def loss(x: Any, width: Any, centres: Any) -> Any:
        d = x[:, None] - centres
        k = xp.exp(-xp.sum(d * d, 2) / (2.0 * width * width))
        return x.shape[0] * xp.log(width) - xp.sum(xp.log(xp.sum(k, 1)))

    return loss


def density_by_hand(x: Any, width: Any, centres: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the likelihood of points and its gradient."""
    n, d = x.shape[0], x[:, None] - centres
    q, w2 = np.sum(d * d, 2), width * width
    k = np.exp(-q / (2.0 * w2))
    total = np.sum(k, 1)
    value = n * np.log(width) - np.sum(np.log(total))
    share = k / total[:, None]
    x_bar = np.sum(d * (share / w2)[:, :, None], 1)
    return value, (x_bar, n / width - np.sum(share * q) / (w2 * width))


def density_inputs() -> tuple[Any, ...]:
    """Points, the width of kernels, their centres."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(200, 3)), np.asarray(0.7), rng.normal(size=(300, 3))


# ----------------------------------------------------------------------------- one large gather


def bags(xp: Any) -> Callable[..., Any]:
    """Build a function of the sums of many rows of a table, many of them taken again."""

    def loss(table: Any, taken: Any) -> Any:
        h = xp.tanh(xp.sum(table[taken], 1))
        return xp.sum(h * h)

    return loss


def bags_by_hand(table: Any, taken: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute a function of sums of rows and its gradient."""
    h = np.tanh(np.sum(table[taken], 1))
    h_bar = 2.0 * h * (1.0 - h * h)
    table_bar = np.zeros_like(table)
    np.add.at(table_bar, taken, h_bar[:, None])
    return np.sum(h * h), (table_bar,)


def bags_inputs() -> tuple[Any, ...]:
    """Make a table, and the rows that are taken of it."""
    rng = np.random.default_rng(0)
    return 0.1 * rng.normal(size=(2000, 16)), rng.integers(0, 2000, (300, 20))


UNUSED = Program(
    "60 parameters, 3 used",
    unused_inputs,
    1,
    unused,
    unused_by_hand,
    5,
    4,
    30,
    without={
        "MyGrad": "has no gradient where nothing was used",
        "PyTorch, 1 thread": "refuses parameters that nothing uses",
        "PyTorch, 2 threads": "refuses parameters that nothing uses",
    },
)
TURNS = Program("100 matrices of 3 x 3", turns_inputs, 1, turns, turns_by_hand, 5, 3.5, 9)
BRANCHES = Program(
    "branches over 200 Python scalars",
    lambda: (np.random.default_rng(0).normal(size=200).tolist(),),
    1,
    branches,
    branches_by_hand,
    110,
    60,
    1,
    without={
        "JAX, eager": "minutes: each operation on a number is dispatched to a device",
        "JAX, jit": "has no branches of Python",
    },
)
IN_PLACE = Program(
    "filter written in place, 100 rows of 50",
    lambda: (np.random.default_rng(0).normal(size=(100, 50)),),
    1,
    written,
    written_by_hand,
    11,
    7,
    5000,
    without=dict.fromkeys(
        (
            "autograd",
            "MyGrad",
            "PyTorch, 1 thread",
            "PyTorch, 2 threads",
            "JAX, eager",
            "JAX, jit",
        ),
        "does not write into arrays, or has no zeros like an array",
    ),
)
DENSITY = Program(
    "density of 300 kernels at 200 points",
    density_inputs,
    2,
    density,
    density_by_hand,
    2,
    1.5,
    180_000,
)
BAGS = Program("sums of 6000 rows of 2000", bags_inputs, 1, bags, bags_by_hand, 2, 1.5, 96_000)

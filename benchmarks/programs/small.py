"""Programs of many small operations: scalars, slices, one array used over and over."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.programs.program import Program

NUMBERS, SLICES_TAKEN, LENGTH, USES, DEEP = 1000, 500, 100_000, 1000, 100_000
SCALARS_IN_JAX = {
    "JAX, eager": "minutes: each operation on a number is dispatched to a device",
    "JAX, jit": "unrolled, it compiles for minutes",
}


def rosenbrock(xp: Any) -> Callable[..., Any]:
    """Rosenbrock's function of a list of Python's numbers."""

    def loss(x: Any) -> Any:
        total = 0.0
        for a, b in itertools.pairwise(x):
            total = total + (100.0 * (b - a * a) ** 2 + (1.0 - a) ** 2)
        return total

    return loss


def rosenbrock_of_an_array(jax: Any) -> Callable[..., Any]:
    """Build Rosenbrock's function of one array with all numbers, as JAX wants them."""

    def loss(x: Any) -> Any:
        a, b = x[:-1], x[1:]
        return jax.numpy.sum(100.0 * (b - a * a) ** 2 + (1.0 - a) ** 2)

    return loss


def rosenbrock_by_hand(x: list[float]) -> tuple[float, tuple[list[float]]]:
    """Compute Rosenbrock's function and its gradient, in Python's numbers."""
    total, bars = 0.0, [0.0] * len(x)
    for i in range(len(x) - 1):
        a, b = x[i], x[i + 1]
        u, v = b - a * a, 1.0 - a
        total += 100.0 * u**2 + v**2
        bars[i] -= 400.0 * u * a + 2.0 * v
        bars[i + 1] += 200.0 * u
    return total, (bars,)


ROSENBROCK = Program(
    f"Rosenbrock over {NUMBERS} Python scalars",
    lambda: (np.random.default_rng(0).normal(size=NUMBERS).tolist(),),
    1,
    rosenbrock,
    rosenbrock_by_hand,
    budget=60,
    aim=25,
    elements=1,
    without=SCALARS_IN_JAX,
    scanned=rosenbrock_of_an_array,
)


def slices(xp: Any, stride: int = 100) -> Callable[..., Any]:
    """Build the sum of squares of short slices out of a long vector."""

    def loss(x: Any) -> Any:
        total = 0.0
        for i in range(SLICES_TAKEN):
            part = x[stride * i : stride * i + 50]
            total = total + xp.sum(part * part)
        return total

    return loss


def slices_scanned(jax: Any, stride: int = 100) -> Callable[..., Any]:
    """Build the sum of squares of short slices out of a long vector, its loop a scan."""

    def loss(x: Any) -> Any:
        def body(total: Any, i: Any) -> tuple[Any, None]:
            part = jax.lax.dynamic_slice(x, (stride * i,), (50,))
            return total + jax.numpy.sum(part * part), None

        return jax.lax.scan(body, 0.0, jax.numpy.arange(SLICES_TAKEN))[0]

    return loss


def slices_by_hand(x: Any, stride: int = 100) -> tuple[Any, tuple[Any, ...]]:
    """Compute the sum of squares of short slices and its gradient, in NumPy."""
    total, x_bar = 0.0, np.zeros_like(x)
    for i in range(SLICES_TAKEN):
        part = x[stride * i : stride * i + 50]
        total = total + np.sum(part * part)
    for i in range(SLICES_TAKEN):
        x_bar[stride * i : stride * i + 50] += 2.0 * x[stride * i : stride * i + 50]
    return total, (x_bar,)


SLICES = Program(
    f"{SLICES_TAKEN} slices out of {LENGTH:.0e}",
    lambda: (np.random.default_rng(0).normal(size=LENGTH),),
    1,
    slices,
    slices_by_hand,
    budget=5,
    aim=3.5,
    elements=50,
    without={"JAX, jit": "unrolled, it compiles for minutes"},
    scanned=slices_scanned,
)


def fan_out(xp: Any) -> Callable[..., Any]:
    """Build a sum in which one array is scaled and added up again and again."""

    def loss(x: Any) -> Any:
        total = 0.0
        for i in range(USES):
            total = total + xp.sum(x * (1.0 + 0.001 * i))
        return total

    return loss


def fan_out_scanned(jax: Any) -> Callable[..., Any]:
    """Build a sum in which one array is scaled and added up many times, its loop a scan."""

    def loss(x: Any) -> Any:
        body = lambda total, i: (total + jax.numpy.sum(x * (1.0 + 0.001 * i)), None)
        return jax.lax.scan(body, 0.0, jax.numpy.arange(USES))[0]

    return loss


def fan_out_by_hand(x: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the sum of many scaled uses of one array and its gradient, in NumPy."""
    total, x_bar = 0.0, np.zeros_like(x)
    for i in range(USES):
        total = total + np.sum(x * (1.0 + 0.001 * i))
    for i in range(USES):
        x_bar += 1.0 + 0.001 * i
    return total, (x_bar,)


FAN_OUT = Program(
    f"{USES} uses of one array of {LENGTH:.0e}",
    lambda: (np.random.default_rng(0).normal(size=LENGTH),),
    1,
    fan_out,
    fan_out_by_hand,
    budget=4,
    aim=3,
    elements=LENGTH,
    without={"JAX, jit": "unrolled, it compiles for minutes"},
    scanned=fan_out_scanned,
    rtol=1e-6,
)


def scalars(xp: Any, turns: int = DEEP // 2) -> Callable[..., Any]:
    """Build a chain of multiplications and additions of Python's numbers."""

    def loss(x: Any) -> Any:
        y = x
        for _ in range(turns):
            y = y * 0.999
            y = y + x
        return y

    return loss


def scalars_scanned(jax: Any, turns: int = DEEP // 2) -> Callable[..., Any]:
    """Build a chain of multiplications and additions of numbers, its loop a scan."""

    def loss(x: Any) -> Any:
        body = lambda y, _: (y * 0.999 + x, None)
        return jax.lax.scan(body, jax.numpy.asarray(x), length=turns)[0]

    return loss


def scalars_by_hand(x: float, turns: int = DEEP // 2) -> tuple[float, tuple[float]]:
    """Compute the chain of multiplications and additions and its derivative."""
    y = x
    for _ in range(turns):
        y = y * 0.999
        y = y + x
    x_bar, y_bar = 0.0, 1.0
    for _ in range(turns):
        x_bar = x_bar + y_bar
        y_bar = y_bar * 0.999
    return y, (x_bar + y_bar,)


SCALARS = Program(
    f"chain of {DEEP:.0e} scalars",
    lambda: (0.5,),
    1,
    scalars,
    scalars_by_hand,
    budget=60,
    aim=30,
    elements=1,
    without=SCALARS_IN_JAX,
    scanned=scalars_scanned,
)

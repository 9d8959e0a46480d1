"""Right rules at kinks, steps, zeros and ties, at the edge of domains, and of nothing at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import ops as v
from tests.testing.planted.build import Right, back, both, mean_rule, of_gradients, sine, slope
from tests.testing.planted.draws import SHAPE, given, normal


def with_zero(rng: Any) -> Any:
    return (np.concatenate([[0.0], rng.standard_normal(4)]),)


def step(operation: Any) -> Any:
    """A function that is constant between its jumps."""
    return slope(operation, lambda _y, x: 0.0 * x)


def root_slope(_y, x):
    """Nothing infinite where the root is not used."""
    return v.where(x > 0, 0.5 / v.sqrt(v.where(x > 0, x, 1.0)), 0.0)


def shares(x):
    """One for the maximum, shared by all that are equal to it."""
    is_largest = v.where(x == v.max(x), 1.0, 0.0)
    return is_largest / v.sum(is_largest)


def put(t, x):
    """Written into an array of zeros, as one writes it with NumPy."""
    x_bar = np.zeros(x.shape)
    x_bar.reshape(-1)[np.argmax(x)] = t
    return x_bar


def unsorted(t, x):
    x_bar = np.empty(t.shape)
    np.put_along_axis(x_bar, np.argsort(x, axis=-1), t, axis=-1)
    return x_bar


def nothing(*shape: int) -> Any:
    return given(np.zeros(shape))


def unit(x):
    y = v.sqrt(v.sum(x * x))
    return x / v.where(y > 0, y, 1.0)


INF = float("inf")
POSITIVE_PART = slope(lambda x: v.maximum(x, 0.0), lambda _y, x: v.where(x > 0, 1.0, 0.0))
SAFE_ROOT = slope(lambda x: v.sqrt(v.maximum(x, 0.0)), root_slope)
SHARED_MAXIMUM = both(v.max, *of_gradients(shares))
LEAKY = slope(lambda x: v.where(x > 0, x, 0.1 * x), lambda _y, x: v.where(x > 0, 1.0, 0.1))
BRANCHES = slope(
    lambda x: v.where(x > 0, v.exp(x), -x * x), lambda _y, x: v.where(x > 0, v.exp(x), -2.0 * x)
)
CLIPPED = slope(lambda x: v.clip(x, -1.0, 1.0), lambda _y, x: v.where(v.abs(x) <= 1.0, 1.0, 0.0))
SQUARED_NORM = both(lambda x: v.sum(x * x), *of_gradients(lambda x: 2.0 * x))
SAFE_LENGTH = both(lambda x: v.sqrt(v.sum(x * x)), *of_gradients(unit))

RIGHT: dict[str, Right] = {
    # ---------------------------------------------------------------------- kinks and steps
    "positive part at zero": Right(POSITIVE_PART, with_zero),
    "positive part near zero": Right(POSITIVE_PART, given(np.asarray([1e-9, 1.3, -1e-7]))),
    "positive part in single precision": Right(
        POSITIVE_PART, lambda rng: (rng.standard_normal(SHAPE).astype(np.float32),)
    ),
    "positive part of a whole number": Right(POSITIVE_PART, given(3)),
    "leaky part": Right(LEAKY, normal(SHAPE)),
    "leaky part at zero": Right(LEAKY, with_zero),
    "floor at whole numbers": Right(step(v.floor), given(np.asarray([0.0, 1.0, -2.0]))),
    "sign at zero": Right(step(v.sign), with_zero),
    "round at halves": Right(step(v.round), given(np.asarray([0.5, 1.5, 2.0]))),
    "step": Right(step(lambda x: v.where(x > 0, 1.0, 0.0) + 0.0 * x), normal(SHAPE)),
    "branches with a jump": Right(BRANCHES, normal(SHAPE)),
    "branches at the jump": Right(BRANCHES, with_zero),
    "clipped at its bounds": Right(CLIPPED, given(np.asarray([1.0, -1.0, 0.3]))),
    "root of the positive part": Right(SAFE_ROOT, normal(SHAPE)),
    "root of the positive part at zero": Right(SAFE_ROOT, with_zero),
    "length at zero": Right(SAFE_LENGTH, given(np.zeros(3))),
    "shared maximum of ties": Right(SHARED_MAXIMUM, given(np.asarray([1.0, 2.0, 2.0]))),
    "operation sinc at zero": Right(v.sinc, with_zero),
    "operation abs at zero": Right(v.abs, with_zero),
    "operation maximum of ties": Right(
        v.maximum, given(np.asarray([0.0, 1.3, -0.7]), np.asarray([0.0, 2.0, -0.7]))
    ),
    "operation max of ties": Right(v.max, given(np.asarray([[1.0, 2.0], [2.0, 0.0]])), {"axis": 0}),
    "operation sort of ties": Right(v.sort, given(np.asarray([1.0, 0.0, 1.0, -1.0]))),
    "operation prod with one zero": Right(v.prod, given(np.asarray([0.0, 2.0, 3.0]))),
    "operation prod with two zeros": Right(v.prod, given(np.asarray([0.0, 2.0, 0.0]))),
    "operation cumulative_prod with a zero": Right(
        v.cumulative_prod, given(np.asarray([2.0, 0.0, 3.0])), {"axis": -1}
    ),
    "operation vector_norm of zeros": Right(v.vector_norm, given(np.zeros(3))),
    "operation std of equal numbers": Right(v.std, given(np.ones(4))),
    "operation sqrt at zero": Right(v.sqrt, given(np.asarray([0.0, 1.0]))),
    "operation pow of a zero": Right(
        v.pow, given(np.asarray([0.0, 1.0, 2.0]), np.asarray([2.0, 0.0, 0.5]))
    ),
    "operation xlogy at zero": Right(
        v.xlogy, given(np.asarray([0.0, 1.0]), np.asarray([0.5, 2.0]))
    ),
    "operation logsumexp of minus infinity": Right(
        v.logsumexp, given(np.asarray([-INF, 0.5, 1.0]))
    ),
    "operation nan_to_num": Right(
        v.nan_to_num, given(np.asarray([np.nan, 1.0, INF]), 0.0, 1e3, -1e3)
    ),
    "operation heaviside": Right(v.heaviside, normal(SHAPE, SHAPE)),
    "operation remainder": Right(
        v.remainder, lambda rng: (4.0 * rng.standard_normal(SHAPE), rng.uniform(1, 2, SHAPE))
    ),
    "operation det of zeros": Right(v.det, given(np.zeros((3, 3)))),
    "NumPy: maximum by assignment": Right(back(np.max, put), normal((5,))),
    "NumPy: sorted rows": Right(back(lambda x: np.sort(x, axis=-1), unsorted), normal(SHAPE)),
    # -------------------------------------------------------------------------------- nothing
    "sine of nothing": Right(sine(lambda _y, x: v.cos(x)), nothing(0)),
    "squared norm of nothing": Right(SQUARED_NORM, nothing(3, 0)),
    "mean of nothing": Right(
        mean_rule(lambda t, x: v.broadcast_to(t / (x.size or 1), shape=x.shape)), nothing(0)
    ),
    "operation sum of nothing": Right(v.sum, nothing(0, 3), {"axis": 0}),
    "operation prod of nothing": Right(v.prod, nothing(0)),
    "operation matmul over nothing": Right(v.matmul, given(np.zeros((2, 0)), np.zeros((0, 3)))),
    "operation concat with nothing": Right(
        v.concat, lambda rng: (rng.standard_normal((2, 3)), np.zeros((0, 3)))
    ),
    "operation sort of nothing": Right(v.sort, nothing(2, 0)),
    "operation cumulative_sum of nothing": Right(v.cumulative_sum, nothing(0), {"axis": 0}),
    # -------------------------------------------------------------------------- small shapes
    "no axes": Right(sine(lambda _y, x: v.cos(x)), normal(())),
    "one element": Right(SQUARED_NORM, normal((1, 1, 1))),
    "variance of one element": Right(v.var, normal((1,))),
    "deviation of two": Right(v.std, normal((2,))),
}

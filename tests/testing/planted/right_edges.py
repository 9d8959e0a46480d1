"""Right rules at kinks, steps, zeros and ties, at the edge of domains, and of nothing at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import Array, LinearMap, linear_rule, primitive, rule
from chainrules_py import vocabulary as v
from tests.testing.planted.build import Right, halves, mean_rule, numpy_rule, sine, slope
from tests.testing.planted.draws import SHAPE, given, normal


def with_zero(rng: Any) -> Any:
    return (np.concatenate([[0.0], rng.standard_normal(4)]),)


def positive_part() -> Any:
    """As most people write it: the machinery gives the partial its dtype."""
    return slope(lambda x: v.maximum(x, 0.0), lambda _y, x: v.where(x > 0, 1.0, 0.0))


def leaky_part() -> Any:
    return slope(lambda x: v.where(x > 0, x, 0.1 * x), lambda _y, x: v.where(x > 0, 1.0, 0.1))


def step(word: Any) -> Any:
    """A function that is constant between its jumps."""
    return slope(word, lambda _y, x: 0.0 * x)


def branches() -> Any:
    """Two smooth functions, with a jump where they meet."""
    return slope(
        lambda x: v.where(x > 0, v.exp(x), -x * x),
        lambda _y, x: v.where(x > 0, v.exp(x), -2.0 * x),
    )


def safe_root() -> Any:
    """The square root of the positive part, with nothing infinite in its pull."""

    def gradient(x):
        inside = x > 0
        return v.where(inside, 0.5 / v.sqrt(v.where(inside, x, 1.0)), 0.0)

    return slope(lambda x: v.sqrt(v.maximum(x, 0.0)), lambda _y, x: gradient(x))


def safe_length() -> Any:
    def unit(x):
        y = v.sqrt(v.sum(x * x))
        return x / v.where(y > 0, y, 1.0)

    return halves(
        lambda x: v.sqrt(v.sum(x * x)), lambda t, x: v.sum(unit(x) * t), lambda t, x: t * unit(x)
    )


def shared_maximum() -> Any:
    """The maximum, whose derivative is shared by all that are equal to it."""

    def share(x):
        is_largest = v.where(x == v.max(x), 1.0, 0.0)
        return is_largest / v.sum(is_largest)

    return halves(v.max, lambda t, x: v.sum(t * share(x)), lambda t, x: t * share(x))


def clipped() -> Any:
    return slope(
        lambda x: v.minimum(v.maximum(x, -1.0), 1.0),
        lambda _y, x: v.where(v.abs(x) <= 1.0, 1.0, 0.0),
    )


def put(t, x):
    """Written into an array of zeros, as one writes it with NumPy."""
    x_bar = np.zeros(x.shape)
    x_bar.reshape(-1)[np.argmax(x)] = t
    return x_bar


def sorted_rows() -> Any:
    def pull(t, x):
        x_bar = np.empty(t.shape)
        np.put_along_axis(x_bar, np.argsort(x, axis=-1), t, axis=-1)
        return x_bar

    return numpy_rule(lambda x: np.sort(x, axis=-1), pull)


def nothing(*shape: int) -> Any:
    return given(np.zeros(shape))


def linear(value: Any, transpose: Any) -> Any:
    @primitive
    def f(x, /):
        return value(x)

    linear_rule(f, transpose)
    return f


def doubled() -> Any:
    return linear(lambda x: 2.0 * x, lambda y_bar, x: 2.0 * y_bar)


def squared_norm() -> Any:
    @primitive
    def f(x, /):
        return v.sum(x * x)

    @rule(f)
    def f_rule(x: Array):
        push, pull = lambda t, x: v.sum(2.0 * x * t), lambda t, x: 2.0 * x * t
        return f(x), (LinearMap(push, pull, x),)

    return f


INF = float("inf")

RIGHT: dict[str, Right] = {
    # ---------------------------------------------------------------------- kinks and steps
    "positive part, away from zero": Right(positive_part(), normal(SHAPE)),
    "positive part at zero": Right(positive_part(), with_zero),
    "positive part near zero": Right(positive_part(), given(np.asarray([1e-9, 1.3, -1e-7]))),
    "positive part in single precision": Right(
        positive_part(), lambda rng: (rng.standard_normal(SHAPE).astype(np.float32),)
    ),
    "positive part of a whole number": Right(positive_part(), given(3)),
    "leaky part": Right(leaky_part(), normal(SHAPE)),
    "leaky part at zero": Right(leaky_part(), with_zero),
    "floor": Right(step(v.floor), normal(SHAPE)),
    "floor at whole numbers": Right(step(v.floor), given(np.asarray([0.0, 1.0, -2.0]))),
    "sign": Right(step(v.sign), normal(SHAPE)),
    "sign at zero": Right(step(v.sign), with_zero),
    "round at halves": Right(step(v.round), given(np.asarray([0.5, 1.5, 2.0]))),
    "step": Right(step(lambda x: v.where(x > 0, 1.0, 0.0) + 0.0 * x), normal(SHAPE)),
    "branches with a jump": Right(branches(), normal(SHAPE)),
    "branches at the jump": Right(branches(), with_zero),
    "clipped": Right(clipped(), normal(SHAPE)),
    "clipped at its bounds": Right(clipped(), given(np.asarray([1.0, -1.0, 0.3]))),
    "root of the positive part": Right(safe_root(), normal(SHAPE)),
    "root of the positive part at zero": Right(safe_root(), with_zero),
    "length at zero": Right(safe_length(), given(np.zeros(3))),
    "length": Right(safe_length(), normal(SHAPE)),
    "shared maximum": Right(shared_maximum(), normal(SHAPE)),
    "shared maximum of ties": Right(shared_maximum(), given(np.asarray([1.0, 2.0, 2.0]))),
    "word sinc at zero": Right(v.sinc, with_zero),
    "word abs at zero": Right(v.abs, with_zero),
    "word maximum of ties": Right(
        v.maximum, given(np.asarray([0.0, 1.3, -0.7]), np.asarray([0.0, 2.0, -0.7]))
    ),
    "word max of ties": Right(v.max, given(np.asarray([[1.0, 2.0], [2.0, 0.0]])), {"axis": 0}),
    "word sort of ties": Right(v.sort, given(np.asarray([1.0, 0.0, 1.0, -1.0]))),
    "word prod with one zero": Right(v.prod, given(np.asarray([0.0, 2.0, 3.0]))),
    "word prod with two zeros": Right(v.prod, given(np.asarray([0.0, 2.0, 0.0]))),
    "word cumulative_prod with a zero": Right(
        v.cumulative_prod, given(np.asarray([2.0, 0.0, 3.0])), {"axis": -1}
    ),
    "word vector_norm of zeros": Right(v.vector_norm, given(np.zeros(3))),
    "word std of equal numbers": Right(v.std, given(np.ones(4))),
    "word sqrt at zero": Right(v.sqrt, given(np.asarray([0.0, 1.0]))),
    "word pow of a zero": Right(
        v.pow, given(np.asarray([0.0, 1.0, 2.0]), np.asarray([2.0, 0.0, 0.5]))
    ),
    "word xlogy at zero": Right(v.xlogy, given(np.asarray([0.0, 1.0]), np.asarray([0.5, 2.0]))),
    "word logsumexp of minus infinity": Right(v.logsumexp, given(np.asarray([-INF, 0.5, 1.0]))),
    "word nan_to_num": Right(v.nan_to_num, given(np.asarray([np.nan, 1.0, INF]), 0.0, 1e3, -1e3)),
    "word heaviside": Right(v.heaviside, normal(SHAPE, SHAPE)),
    "word remainder": Right(
        v.remainder, lambda rng: (4.0 * rng.standard_normal(SHAPE), rng.uniform(1, 2, SHAPE))
    ),
    "word det of zeros": Right(v.det, given(np.zeros((3, 3)))),
    "NumPy: maximum by assignment": Right(numpy_rule(np.max, put), normal((5,))),
    "NumPy: sorted rows": Right(sorted_rows(), normal(SHAPE)),
    # -------------------------------------------------------------------------------- nothing
    "sine of nothing": Right(sine(lambda _y, x: v.cos(x)), nothing(0)),
    "twice nothing": Right(doubled(), nothing(0, 3)),
    "squared norm of nothing": Right(squared_norm(), nothing(3, 0)),
    "mean of nothing": Right(
        mean_rule(lambda t, x: v.broadcast_to(t / (x.size or 1), shape=x.shape)), nothing(0)
    ),
    "word sum of nothing": Right(v.sum, nothing(0, 3), {"axis": 0}),
    "word prod of nothing": Right(v.prod, nothing(0)),
    "word matmul over nothing": Right(v.matmul, given(np.zeros((2, 0)), np.zeros((0, 3)))),
    "word concat with nothing": Right(
        v.concat, lambda rng: (rng.standard_normal((2, 3)), np.zeros((0, 3)))
    ),
    "word sort of nothing": Right(v.sort, nothing(2, 0)),
    "word cumulative_sum of nothing": Right(v.cumulative_sum, nothing(0), {"axis": 0}),
    # -------------------------------------------------------------------------- small shapes
    "no axes": Right(sine(lambda _y, x: v.cos(x)), normal(())),
    "one element": Right(squared_norm(), normal((1, 1, 1))),
    "variance of one element": Right(v.var, normal((1,))),
    "deviation of two": Right(v.std, normal((2,))),
}

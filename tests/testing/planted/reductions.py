"""Plants that sum, multiply, order or accumulate: zeros, ties, axes, counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import ops as v
from tests.testing.planted.build import (
    FIVE,
    POSITIVE,
    VECTOR,
    Plant,
    X,
    Z,
    back,
    both,
    frozen,
    halves,
    of_gradients,
    right_sum,
    spread,
    summed,
)

ROOM = np.concatenate([X, Z, X + Z, X - Z]).reshape(2, 2, 6)[..., :3] + 0.0


def backwards(t):
    return v.flip(v.cumulative_sum(v.flip(t, axis=-1), axis=-1), axis=-1)


def centred(x):
    return x - v.mean(x)


def of_gradient(value: Any, gradient: Any) -> Any:
    """A function with one number for its result, with this for its gradient."""
    return both(value, *of_gradients(gradient))


def others_but_for_two_zeros(x):
    """One zero is seen to; with two of them no derivative is left."""
    zero = x == 0
    rest = v.prod(v.where(zero, 1.0, x))
    count = v.sum(v.where(zero, 1.0, 0.0))
    return v.where(count > 0, v.where(zero, rest, 0.0), rest / v.where(zero, 1.0, x))


def sums(x, /, *, axis=-1):
    return v.cumulative_sum(x, axis=axis)


def sums_of(t, x, axis):
    return sums(t, axis=axis)


def by_the_last_one(t, x, axis):
    """The sums from the end, as the last sum less those from the beginning."""
    y = sums(t, axis=axis)
    return v.take(y, np.asarray([x.shape[axis] - 1]), axis=axis) - y + t


def variance(x, /, *, correction=0):
    return v.var(x, correction=correction)


def variance_push(t, x, correction):
    return v.sum(2.0 * centred(x) * t) / (x.size - correction)


def uncorrected(t, x, correction):
    return t * 2.0 * centred(x) / x.size


def in_the_order_given(y_bar, x, *, axis, keepdims):
    if keepdims:
        return v.broadcast_to(y_bar, shape=x.shape)
    for a in (axis,) if isinstance(axis, int) else axis or ():
        y_bar = v.expand_dims(y_bar, axis=a)
    return v.broadcast_to(y_bar, shape=x.shape)


def never_kept(y_bar, x, *, axis, keepdims):
    if isinstance(axis, tuple):
        return right_sum(y_bar, x, axis=axis, keepdims=keepdims)
    return spread(y_bar, x, axis, False)


def where_largest(x):
    return v.where(v.abs(x) == v.max(v.abs(x)), 1.0, 0.0)


def where_maximal(x):
    return v.where(x == v.max(x), 1.0, 0.0)


def weights_by_sums(x):
    return v.exp(x) / v.sum(v.exp(x))


def lower_middle(t, x):
    """Right for an odd count: an even one has two elements in the middle."""
    x_bar = np.zeros(x.shape)
    x_bar[np.argsort(x, axis=None)[(x.size - 1) // 2]] = t
    return x_bar


def normalised_half(t, x):
    """Symmetric, and with the statistics taken out of the tracing."""
    plain = frozen(x)
    d = plain - np.mean(plain)
    s = 1.0 / np.sqrt(np.mean(d * d) + 0.25)
    return s * (centred(t) - d * v.mean(d * t) * s * s)


def normalised(x):
    return centred(x) / v.sqrt(v.mean(centred(x) * centred(x)) + 0.25)


WRONG: dict[str, Plant] = {
    "product with two zeros": Plant(
        of_gradient(v.prod, others_but_for_two_zeros),
        (VECTOR,),
        "two zeros",
        "tinygrad/tinygrad#17404",
    ),
    "cumulative product by division": Plant(
        halves(
            lambda x: v.cumulative_prod(x, axis=-1),
            lambda t, x: v.cumulative_prod(x, axis=-1) * v.cumulative_sum(t / x, axis=-1),
            lambda t, x: backwards(t * v.cumulative_prod(x, axis=-1)) / x,
        ),
        (VECTOR,),
        "NaN",
        "pymc-devs/pytensor#1956",
    ),
    "cumulative sum of nothing": Plant(
        both(sums, (sums_of, by_the_last_one)),
        (X,),
        "wrong only for an empty array",
        "pytorch/pytorch#31515",
    ),
    "cumulative sum along the last axis": Plant(
        both(sums, (sums_of, lambda t, x, axis: backwards(t))),
        (X,),
        "wrong only for axis=0",
        "FluxML/Zygote.jl#282",
    ),
    "axes restored in the order given": Plant(
        summed(in_the_order_given), (ROOM,), "axes", "harvard-edge/cs249r_book#1867", {"axis": 1}
    ),
    "axis restored although it was kept": Plant(
        summed(never_kept), (X,), "keepdims=True", "pytorch/pytorch#158241", {"axis": 0}
    ),
    "deviation of equal numbers": Plant(
        of_gradient(v.std, lambda x: centred(x) / (x.size * v.std(x))),
        (X,),
        "NaN",
        "pytorch/pytorch#4320",
    ),
    "deviation with something added": Plant(
        of_gradient(v.std, lambda x: centred(x) / (x.size * v.std(x) + 1e-8)),
        (X,),
        "wrong only for",
        "Lightning-AI/lightning-thunder#1848",
    ),
    "correction forgotten": Plant(
        both(variance, (variance_push, uncorrected)), (X,), "correction=1", "pytorch/pytorch#50903"
    ),
    "largest magnitude without its sign": Plant(
        of_gradient(lambda x: v.max(v.abs(x)), where_largest),
        (FIVE,),
        "wrong only for",
        "pytorch/pytorch#78105",
    ),
    "maximum given to all that are equal": Plant(
        of_gradient(v.max, where_maximal), (FIVE,), "tie", "pytorch/pytorch#158241"
    ),
    "logarithm of sums of large numbers": Plant(
        of_gradient(v.logsumexp, weights_by_sums), (X,), "NaN", "pytorch/pytorch#31829"
    ),
    "median of an even count": Plant(
        back(np.median, lower_middle),
        (FIVE,),
        "wrong only for another shape",
        "pytorch/pytorch#1702",
    ),
    "normalised with frozen statistics": Plant(
        halves(normalised, *[normalised_half] * 2),
        (POSITIVE,),
        "second order wrong",
        "pytorch/pytorch#196700",
    ),
}

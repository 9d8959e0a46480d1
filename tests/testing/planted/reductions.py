"""Plants that sum, multiply, order or accumulate: zeros, ties, axes, counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules_py import Array, LinearMap, linear_rule, primitive, rule
from chainrules_py import vocabulary as v
from tests.testing.planted.build import (
    POSITIVE,
    VECTOR,
    Plant,
    X,
    Z,
    along,
    frozen,
    halves,
    numpy_rule,
    right_sum,
    spread,
    summed,
)

FIVE = np.asarray([0.3, -1.2, 2.5, 0.9, -0.4])
ROOM = np.concatenate([X, Z, X + Z, X - Z]).reshape(2, 2, 6)[..., :3] + 0.0


# ---------------------------------------------------------------------------------- products


def product(gradient: Any) -> Any:
    """The product of all elements, with this for its gradient."""
    return halves(
        v.prod,
        lambda t, x: v.sum(t * gradient(x)),
        lambda t, x: t * gradient(x),
    )


def others_by_division(x):
    return v.prod(x) / x


def others_but_for_two_zeros(x):
    """One zero is seen to; with two of them no derivative is left."""
    zero = x == 0
    rest = v.prod(v.where(zero, 1.0, x))
    count = v.sum(v.where(zero, 1.0, 0.0))
    return v.where(count > 0, v.where(zero, rest, 0.0), rest / v.where(zero, 1.0, x))


def backwards(t):
    return v.flip(v.cumulative_sum(v.flip(t, axis=-1), axis=-1), axis=-1)


def cumulative_product() -> Any:
    """Of the last axis, with a division in both halves."""
    return halves(
        lambda x: v.cumulative_prod(x, axis=-1),
        lambda t, x: v.cumulative_prod(x, axis=-1) * v.cumulative_sum(t / x, axis=-1),
        lambda t, x: backwards(t * v.cumulative_prod(x, axis=-1)) / x,
    )


# -------------------------------------------------------------------------- cumulative sums


def cumulative(pull: Any) -> Any:
    """The cumulative sum along the last axis, with a pull of ``(t, x)``."""
    add = lambda t, x: v.cumulative_sum(t, axis=-1)
    return halves(lambda x: v.cumulative_sum(x, axis=-1), add, pull)


def by_the_last_one(t, x):
    """The sums from the end, as the last sum less those from the beginning."""
    if not x.shape:
        return t
    sums = v.cumulative_sum(t, axis=-1)
    return sums[..., x.shape[-1] - 1][..., None] - sums + t


def always_along_the_last() -> Any:
    """A cumulative sum along any axis, pulled back along the last."""
    add = lambda x, axis: v.cumulative_sum(x, axis=axis)
    return along(add, lambda t, x, axis: add(t, axis), lambda t, x, axis: backwards(t))


# ----------------------------------------------------------------------------- means, norms


def mean_along(count: Any) -> Any:
    """A mean along an axis, pulled back with this count."""
    average = lambda x, axis: v.mean(x, axis=axis)
    pull = lambda t, x, axis: spread(t, x, axis, False) / count(x, axis)
    return along(average, lambda t, x, axis: average(t, axis), pull)


def mean_of_axes() -> Any:
    """A mean over several axes, pulled back with the length of the first of them."""

    @primitive
    def f(x, /, *, axis=None, keepdims=False):
        return v.mean(x, axis=axis, keepdims=keepdims)

    def transpose(y_bar, x, *, axis, keepdims):
        first = axis[0] if isinstance(axis, tuple) else axis
        n = math.prod(x.shape) if axis is None else x.shape[first]
        return right_sum(y_bar, x, axis=axis, keepdims=keepdims) / (n or 1)

    linear_rule(f, transpose)
    return f


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


def centred(x):
    return x - v.mean(x)


def variance(pull: Any) -> Any:
    return halves(v.var, lambda t, x: v.sum(2.0 * centred(x) * t) / x.size, pull)


def deviation(divide: Any) -> Any:
    return halves(
        v.std,
        lambda t, x: divide(v.sum(centred(x) * t), x.size * v.std(x)),
        lambda t, x: divide(t * centred(x), x.size * v.std(x)),
    )


def corrected() -> Any:
    """A variance whose correction the pull has never heard of."""

    @primitive
    def f(x, /, *, correction=0):
        return v.var(x, correction=correction)

    @rule(f)
    def f_rule(x: Array, *, correction):
        push = lambda t, x: v.sum(2.0 * centred(x) * t) / (x.size - correction)
        pull = lambda t, x: t * 2.0 * centred(x) / x.size
        return f(x, correction=correction), (LinearMap(push, pull, x),)

    return f


def length(x):
    return v.sqrt(v.sum(x * x))


def largest(pull: Any) -> Any:
    push = lambda t, x: v.sum(pull(t, x))
    return halves(lambda x: v.max(v.abs(x)), push, pull)


def where_largest(t, x):
    return v.where(v.abs(x) == v.max(v.abs(x)), t, 0.0)


def where_maximal(t, x):
    return v.where(x == v.max(x), t, 0.0)


def weights_by_sums(x):
    return v.exp(x) / v.sum(v.exp(x))


def lower_middle(t, x):
    """Right for an odd count: an even one has two elements in the middle."""
    x_bar = np.zeros(x.shape)
    x_bar[np.argsort(x, axis=None)[(x.size - 1) // 2]] = t
    return x_bar


def normalised(x):
    return centred(x) / v.sqrt(v.mean(centred(x) * centred(x)) + 0.25)


def normalised_half(t, x):
    """Symmetric, and with the statistics taken out of the tracing."""
    plain = frozen(x)
    d = plain - np.mean(plain)
    s = 1.0 / np.sqrt(np.mean(d * d) + 0.25)
    return s * (centred(t) - d * v.mean(d * t) * s * s)


WRONG: dict[str, Plant] = {
    "product by division": Plant(
        product(others_by_division), (VECTOR,), "NaN", cites="HIPS/autograd#93"
    ),
    "product with two zeros": Plant(
        product(others_but_for_two_zeros), (VECTOR,), "two zeros", cites="tinygrad/tinygrad#17404"
    ),
    "cumulative product by division": Plant(
        cumulative_product(), (VECTOR,), "NaN", cites="pymc-devs/pytensor#1956"
    ),
    "cumulative sum of nothing": Plant(
        cumulative(by_the_last_one),
        (X,),
        "wrong only for an empty array",
        cites="pytorch/pytorch#31515",
    ),
    "cumulative sum, not reversed": Plant(
        cumulative(lambda t, x: v.cumulative_sum(t, axis=-1)),
        (VECTOR,),
        "transpose forgotten | transposed | reversed",
        cites="FluxML/Zygote.jl#284",
    ),
    "cumulative sum, without its own element": Plant(
        cumulative(lambda t, x: backwards(t) - t),
        (VECTOR,),
        "zero in 3 of 6",
        cites="pytorch/pytorch#53711",
    ),
    "cumulative sum along the last axis": Plant(
        always_along_the_last(), (X,), "wrong only for axis=0", cites="FluxML/Zygote.jl#282"
    ),
    "mean pulled back as a sum": Plant(
        mean_along(lambda x, axis: 1.0),
        (X,),
        "sum instead of mean | factor 3",
        cites="JuliaDiff/ChainRules.jl#653",
    ),
    "mean pulled back with the count of all": Plant(
        mean_along(lambda x, axis: x.size),
        (X,),
        "factor 1/2",
        cites="JuliaDiff/ChainRules.jl#652",
    ),
    "mean over several axes": Plant(
        mean_of_axes(), (X,), "axes", {"axis": 0}, cites="harvard-edge/cs249r_book#1867"
    ),
    "axes restored in the order given": Plant(
        summed(in_the_order_given),
        (ROOM,),
        "axes",
        {"axis": 1},
        cites="harvard-edge/cs249r_book#1867",
    ),
    "axis restored although it was kept": Plant(
        summed(never_kept), (X,), "keepdims=True", {"axis": 0}, cites="pytorch/pytorch#158241"
    ),
    "variance without its factor": Plant(
        variance(lambda t, x: t * centred(x) / x.size),
        (X,),
        "factor 1/2",
        cites="pytorch/pytorch#9238",
    ),
    "deviation of equal numbers": Plant(
        deviation(lambda a, b: a / b), (X,), "NaN", cites="pytorch/pytorch#4320"
    ),
    "deviation with something added": Plant(
        deviation(lambda a, b: a / (b + 1e-8)),
        (X,),
        "wrong only for",
        cites="Lightning-AI/lightning-thunder#1848",
    ),
    "correction forgotten": Plant(corrected(), (X,), "correction=1", cites="pytorch/pytorch#50903"),
    "length of zero": Plant(
        halves(
            length,
            lambda t, x: v.sum(x * t) / length(x),
            lambda t, x: t * x / length(x),
        ),
        (VECTOR,),
        "NaN",
        cites="jax-ml/jax#3058",
    ),
    "largest magnitude without its sign": Plant(
        largest(where_largest),
        (FIVE,),
        "wrong only for",
        cites="pytorch/pytorch#78105",
    ),
    "maximum given to all that are equal": Plant(
        halves(v.max, lambda t, x: v.sum(where_maximal(t, x)), where_maximal),
        (FIVE,),
        "tie",
        cites="pytorch/pytorch#158241",
    ),
    "logarithm of sums of large numbers": Plant(
        halves(
            v.logsumexp,
            lambda t, x: v.sum(weights_by_sums(x) * t),
            lambda t, x: t * weights_by_sums(x),
        ),
        (X,),
        "NaN",
        cites="pytorch/pytorch#31829",
    ),
    "median of an even count": Plant(
        numpy_rule(np.median, lower_middle),
        (FIVE,),
        "wrong only for another shape",
        cites="pytorch/pytorch#1702",
    ),
    "normalised with frozen statistics": Plant(
        halves(normalised, normalised_half, normalised_half),
        (POSITIVE,),
        "second order wrong",
        cites="pytorch/pytorch#196700",
    ),
}

"""Rules of statistics.

An order statistic is one of the elements, and stays the same one while none passes another; among
equal ones it is the mean of their derivatives that is taken, as for extremes. The adjoint of a
convolution is a correlation: Oppenheim and Schafer (2010), Discrete-Time Signal Processing, 2.9.
"""

import math

from chainrules_py.linear import LinearMap
from chainrules_py.rule import bilinear_rule, linear_rule, rule, scalar_rule
from chainrules_py.rules.leading import along_axis
from chainrules_py.tangents import NoTangent, ZeroTangent
from chainrules_py.vocabulary import (
    arange_like,
    argsort,
    astype,
    bincount,
    broadcast_to,
    concat,
    conj,
    convolve,
    cumulative_max,
    diff,
    divide,
    equal,
    expand_dims,
    flip,
    full_like,
    greater,
    index,
    lerp,
    matmul,
    ones_like,
    order_statistics,
    put_along_axis_add,
    reshape,
    sum,
    take,
    take_along_axis,
    weighted_quantile,
    where,
)

scalar_rule(
    lerp,
    lambda _y, _a, _b, t: 1 - t,
    lambda _y, _a, _b, t: t,
    lambda _y, a, b, _t: b - a,
    complex="holomorphic",
)


# ----------------------------------------------------------------------------- order statistics


@rule(order_statistics, batched=True)
def order_statistics_rule(x, ranks, *, skip_nan):
    """Of the elements equal to an order statistic each has an equal share, in push as in pull."""
    y = order_statistics(x, ranks, skip_nan=skip_nan)
    if y.shape[-1] > _FEW and x.shape[:-1] == y.shape[:-1]:
        return y, (LinearMap(_runs_push, _runs_pull, x, ranks, y), NoTangent())
    return y, (LinearMap(_selection_push, _selection_pull, x, y), NoTangent())


@rule(weighted_quantile, batched=True)
def weighted_quantile_rule(x, q, weights, *, skip_nan):
    """As an order statistic; what has no weight has no share. Constant in q and the weights."""
    y = weighted_quantile(x, q, weights, skip_nan=skip_nan)
    weighty = where(greater(weights, 0), x, float("nan"))
    push_and_pull = LinearMap(_selection_push, _selection_pull, weighty, y)
    return y, (push_and_pull, ZeroTangent(), ZeroTangent())


def _selection_push(x_dot, x, y):
    """ẏ_k = Σ_i s_ki ẋ_i, where s_ki is the share of x_i in y_k."""
    columns = expand_dims(x_dot, axis=-1)
    parts = [index(matmul(s, columns), (..., 0)) for s, _ in _shares(x, y, x_dot)]
    return parts[0] if len(parts) == 1 else concat(*parts, axis=-1)


def _selection_pull(y_bar, x, y):
    """x̄_i = Σ_k s_ki ȳ_k."""
    rows = expand_dims(y_bar, axis=-2)
    x_bar = None
    for s, some in _shares(x, y, y_bar):
        term = index(matmul(index(rows, (..., some)), s), (..., 0, slice(None)))
        x_bar = term if x_bar is None else x_bar + term
    return x_bar


_ROOM = 2**22


def _shares(x, y, like):
    """For some y at a time, so that there is room for it, what share each x has in each y."""
    many = max(1, _ROOM // max(1, math.prod(x.shape)))
    for start in range(0, max(1, y.shape[-1]), many):
        some = slice(start, start + many)
        chosen = expand_dims(index(y, (..., some)), axis=-1)
        hits = astype(equal(expand_dims(x, axis=-2), chosen), dtype=like.dtype)
        # Of NaN nothing is equal to it: 0 / 0.
        yield divide(hits, sum(hits, axis=-1, keepdims=True)), some


_FEW = 8
"""Of more order statistics, sorting takes less than to compare each with all elements."""


def _runs(x, ranks, y):
    """The order of x; where in it the run of equal elements starts of each, and of each y."""
    order = argsort(x, axis=-1)
    inner = take_along_axis(x, order, axis=-1)
    left, right = index(inner, (..., slice(-1))), index(inner, (..., slice(1, None)))
    later = where(equal(left, right), 0, arange_like(x, start=1, stop=x.shape[-1]))
    first = full_like(later, shape=(*later.shape[:-1], 1), fill=0)
    start = cumulative_max(concat(first, later, axis=-1), axis=-1)
    return order, start, take_along_axis(start, broadcast_to(ranks, shape=y.shape), axis=-1)


def _lengths(start, own, like):
    """How long the runs are that start in some places."""
    zeros = full_like(like, shape=start.shape, fill=0)
    counts = put_along_axis_add(zeros, ones_like(zeros), start, axis=-1)
    return take_along_axis(counts, own, axis=-1)


def _runs_push(x_dot, x, ranks, y):
    """ẏ_k = Σ_i ẋ_i / n_k over the run of n_k elements equal to y_k; of NaN it is NaN."""
    order, start, own = _runs(x, ranks, y)
    inner = take_along_axis(x_dot, _for_each(order, x_dot), axis=-1)
    zeros = full_like(x_dot, shape=x_dot.shape, fill=0)
    sums = put_along_axis_add(zeros, inner, _for_each(start, x_dot), axis=-1)
    y_dot = take_along_axis(sums, _for_each(own, x_dot), axis=-1)
    return y_dot / _lengths(start, own, x_dot) + where(equal(y, y), 0, y)


def _runs_pull(y_bar, x, ranks, y):
    """x̄_i = Σ_k ȳ_k / n_k over the y_k that x_i is equal to."""
    order, start, own = _runs(x, ranks, y)
    zeros = full_like(y_bar, shape=(*y_bar.shape[:-1], x.shape[-1]), fill=0)
    sums = put_along_axis_add(zeros, y_bar, _for_each(own, y_bar), axis=-1)
    inner = take_along_axis(sums, _for_each(start, y_bar), axis=-1) / _lengths(start, start, y_bar)
    x_bar = put_along_axis_add(zeros, inner, _for_each(order, y_bar), axis=-1)
    return x_bar + sum(where(equal(y, y), 0, y), axis=-1, keepdims=True)


def _for_each(places, t):
    """The same places in all directions."""
    return broadcast_to(places, shape=(*t.shape[:-1], places.shape[-1]))


# --------------------------------------------------------------------------- sums of weights

# Each weight is read where it was added.
linear_rule(bincount, None, lambda y_bar, x, weights, *, minlength: take(y_bar, x))


# ------------------------------------------------------------------------------- differences


def diff_transpose(y_bar, x, *, axis, n):
    """x̄_k = ȳ_{k-1} - ȳ_k, with zeros beyond the ends; n times over."""
    if not n:
        return y_bar
    axis %= x.ndim
    if not y_bar.shape[axis]:
        return full_like(y_bar, shape=x.shape, fill=0)
    shape = (*y_bar.shape[:axis], n, *y_bar.shape[axis + 1 :])
    nothing = full_like(y_bar, shape=shape, fill=0)
    x_bar = diff(concat(nothing, y_bar, nothing, axis=axis), axis=axis, n=n)
    return -x_bar if n % 2 else x_bar


linear_rule(diff, diff_transpose, batched=along_axis)


# ------------------------------------------------------------------------------- convolution


def convolve_pull(y_bar, a, b, mode):
    """ā_i = Σ_k ȳ_k conj(b_{k-i}): the cotangent, convolved with b read backwards.

    Over all k that there are: those a mode leaves out have no cotangent.
    """
    if mode == "same":
        shorter = min(math.prod(a.shape), math.prod(b.shape))
        lengths = (shorter - 1) // 2, shorter // 2
        before, after = [full_like(y_bar, shape=(n,), fill=0) for n in lengths]
        y_bar = concat(before, y_bar, after)
    lengthening = mode == "valid" and math.prod(a.shape) >= math.prod(b.shape)
    a_bar = convolve(y_bar, conj(flip(b)), mode="full" if lengthening else "valid")
    return a_bar if a.ndim else reshape(a_bar, shape=())  # a number is a vector of one


bilinear_rule(
    convolve,
    lambda y_bar, a, b, *, mode: convolve_pull(y_bar, a, b, mode),
    lambda y_bar, a, b, *, mode: convolve_pull(y_bar, b, a, mode),
)

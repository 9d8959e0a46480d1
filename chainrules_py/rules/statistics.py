"""Rules of statistics.

An order statistic is one of the elements, the same one while their order is unchanged. Among equal
elements, the mean of their derivatives is used, as for extremes. The adjoint of a convolution is a
correlation: Oppenheim and Schafer (2010), Discrete-Time Signal Processing, 2.9.
"""

import math

from chainrules_py.ops import (
    arange_like,
    argsort,
    astype,
    bincount,
    concat,
    conj,
    convolve,
    copy,
    cumulative_max,
    diff,
    equal,
    expand_dims,
    flip,
    full_like,
    greater,
    index,
    lerp,
    matmul,
    order_statistics,
    pad,
    put_along_axis_add,
    reshape,
    sliding_window_view,
    strong_multiply,
    sum,
    take,
    take_along_axis,
    weighted_quantile,
    where,
)
from chainrules_py.registry.bind.batched_tangents import one_by_one
from chainrules_py.registry.constructors import bilinear_rule, linear_rule, rule, scalar_rule
from chainrules_py.rules.support.batching_rules import along_axis
from chainrules_py.rules.support.reads_along_axis import for_each
from chainrules_py.rules.support.tie_shares import equal_shares
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.zeros import NoTangent, ZeroTangent

scalar_rule(
    lerp,
    lambda _y, _a, _b, t: 1 - t,
    lambda _y, _a, _b, t: t,
    lambda _y, a, b, _t: b - a,
    complex="holomorphic",
)


# ----------------------------------------------------------------------------- order statistics


@rule(order_statistics, batched=True, whole=True)
def order_statistics_rule(x, ranks, *, skip_nan):
    """Share each order statistic equally among the elements equal to it, in push and pull."""
    y = order_statistics(x, ranks, skip_nan=skip_nan)
    if y.shape[-1] > _FEW and x.shape[:-1] == y.shape[:-1]:
        return y, (LinearMap(_together_push, _together_pull, x, y), NoTangent())
    return y, (LinearMap(_selection_push, _selection_pull, x, y), NoTangent())


@rule(weighted_quantile, batched=True)
def weighted_quantile_rule(x, q, weights, *, skip_nan):
    """Differentiate as an order statistic of the elements with weight; constant in q, weights."""
    y = weighted_quantile(x, q, weights, skip_nan=skip_nan)
    weighty = where(greater(weights, 0), x, float("nan"))
    many = y.shape[-1] > 4 * _FEW and weighty.shape == x.shape
    halves = (_together_push, _together_pull) if many else (_selection_push, _selection_pull)
    return y, (LinearMap(*halves, weighty, y), ZeroTangent(), ZeroTangent())


def _selection_push(x_dot, x, y):
    """ẏ_k = Σ_i s_ki ẋ_i, where s_ki is the share of x_i in y_k."""
    rows = expand_dims(x_dot, axis=-2)  # strong: an element without a share may have no derivative
    parts = [sum(strong_multiply(s, rows), axis=-1) for s, _ in _shares(x, y, x_dot)]
    return parts[0] if len(parts) == 1 else concat(*parts, axis=-1)


def _selection_pull(y_bar, x, y):
    """x̄_i = Σ_k s_ki ȳ_k."""
    columns, x_bar = expand_dims(y_bar, axis=-1), None
    for s, some in _shares(x, y, y_bar):
        term = sum(strong_multiply(s, index(columns, (..., some, slice(None)))), axis=-2)
        x_bar = term if x_bar is None else x_bar + term
    return x_bar


_ROOM = 2**22


def _shares(x, y, like):
    """Yield the share of each x in each y, for as many y at a time as fit in memory."""
    many = max(1, _ROOM // max(1, math.prod(x.shape)))
    for start in range(0, max(1, y.shape[-1]), many):
        some = slice(start, start + many)
        chosen = expand_dims(index(y, (..., some)), axis=-1)
        yield equal_shares(equal(expand_dims(x, axis=-2), chosen), -1, like.dtype), some


_FEW = 8
"""For more order statistics, sorting is faster than comparing each with all elements."""


def _starts(x):
    """Return the order of x, and where in it the run of equal elements of each starts."""
    order = argsort(x, axis=-1)
    inner = take_along_axis(x, order, axis=-1)
    left, right = index(inner, (..., slice(-1))), index(inner, (..., slice(1, None)))
    later = where(equal(left, right), 0, arange_like(x, start=1, stop=x.shape[-1]))
    first = full_like(later, shape=(*later.shape[:-1], 1), fill=0)
    return order, cumulative_max(concat(first, later, axis=-1), axis=-1)


def _together_push(x_dot, x, y):
    """ẏ_k = Σ_i ẋ_i / n_k over the n_k elements equal to y_k; x and y are sorted together.

    The derivative of NaN is NaN.
    """
    of_x, of_y = _run_of_each(x, y)
    sums = _added(x_dot, of_x, x.shape[-1] + y.shape[-1])
    y_dot = take_along_axis(sums, for_each(of_y, x_dot), axis=-1)
    return y_dot / _members(of_x, of_y, y, x_dot) + where(equal(y, y), 0, y)


def _together_pull(y_bar, x, y):
    """x̄_i = Σ_k ȳ_k / n_k over the y_k that equal x_i."""
    of_x, of_y = _run_of_each(x, y)
    sums = _added(y_bar / _members(of_x, of_y, y, y_bar), of_y, x.shape[-1] + y.shape[-1])
    x_bar = take_along_axis(sums, for_each(of_x, y_bar), axis=-1)
    return x_bar + sum(where(equal(y, y), 0, y), axis=-1, keepdims=True)


def _run_of_each(x, y):
    """Return the run of equal elements of each x and each y, in the sorted order of all."""
    order, start = _starts(concat(x, astype(y, dtype=x.dtype), axis=-1))
    runs, n = _added(start, order, start.shape[-1]), x.shape[-1]
    return index(runs, (..., slice(n))), index(runs, (..., slice(n, None)))


def _added(t, places, n):
    """Sum the elements along the last axis that go to each of n places."""
    zeros = full_like(t, shape=(*t.shape[:-1], n), fill=0)
    return put_along_axis_add(zeros, t, for_each(places, t), axis=-1)


def _members(of_x, of_y, y, like):
    """Count the x in the run of each y; return 1 for NaN, which has none, to divide by."""
    n = of_x.shape[-1] + of_y.shape[-1]
    count = _added(full_like(like, shape=of_x.shape, fill=1), of_x, n)
    return where(equal(y, y), take_along_axis(count, of_y, axis=-1), 1)


# --------------------------------------------------------------------------- sums of weights


@rule(bincount, batched=True)
def bincount_rule(x, weights, *, minlength):
    """Differentiate linearly in the weights: the pull reads each where it was added."""
    y = bincount(x, weights, minlength=minlength)
    return y, (NoTangent(), LinearMap(_bincount_push, _bincount_pull, x, y.shape[0]))


def _bincount_push(weights_dot, x, n):
    if weights_dot.ndim == 1:
        return bincount(x, weights_dot, minlength=n)
    return _added(weights_dot, x, n)


def _bincount_pull(y_bar, x, n):
    return take(y_bar, x, axis=-1)


# ------------------------------------------------------------------------------- differences


def diff_transpose(y_bar, x, *, axis, n):
    """x̄_k = ȳ_{k-1} - ȳ_k, with zeros beyond the ends; n times in succession."""
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
    """ā_i = Σ_k ȳ_k conj(b_{k-i}): the cotangent, convolved with b in reverse.

    The sum is over all k; those that a mode leaves out have no cotangent.
    """
    if mode == "same":
        shorter = min(math.prod(a.shape), math.prod(b.shape))
        ahead = y_bar.shape[:-1]
        lengths = (shorter - 1) // 2, shorter // 2
        before, after = [full_like(y_bar, shape=(*ahead, n), fill=0) for n in lengths]
        y_bar = concat(before, y_bar, after, axis=-1)
    lengthening = mode == "valid" and math.prod(a.shape) >= math.prod(b.shape)
    a_bar = convolve_each(y_bar, conj(flip(b)), "full" if lengthening else "valid")
    # A number is a vector of one element.
    return a_bar if a.ndim else reshape(a_bar, shape=y_bar.shape[:-1])


def convolve_each(vectors, b, mode):
    """Convolve one or several vectors with b, by a matrix of the elements of b.

    If the matrix had far more elements than there are products, each is convolved separately.
    """
    if vectors.ndim == 1:
        return convolve(vectors, b, mode=mode)
    n, m = vectors.shape[1], math.prod(b.shape)
    if n > _WIDE and n > 4 * m:
        return one_by_one(lambda a: convolve(a, b, mode=mode))(vectors)
    shorter, whole = min(n, m), n + m - 1
    start = {"full": 0, "same": (shorter - 1) // 2, "valid": shorter - 1}[mode]
    length = {"full": whole, "same": max(n, m), "valid": whole - 2 * start}[mode]
    widths = ((n - 1 - start, length + start - m),)
    shifted = pad(reshape(b, shape=(m,)), 0, widths=widths)
    matrix = copy(sliding_window_view(shifted, window_shape=(length,), axis=(0,)))
    return matmul(flip(vectors, axis=-1), matrix)


_WIDE = 128


def convolve_push(t, b, mode):
    return convolve_each(reshape(t, shape=(t.shape[0], -1)), b, mode)


bilinear_rule(
    convolve,
    lambda y_bar, a, b, *, mode: convolve_pull(y_bar, a, b, mode),
    lambda y_bar, a, b, *, mode: convolve_pull(y_bar, b, a, mode),
    batched=(
        lambda t, a, b, *, mode: convolve_push(t, b, mode),
        lambda t, a, b, *, mode: convolve_push(t, a, mode),
    ),
)

"""Rules of reductions along axes.

The cotangent of a reduction gets the reduced axes back with length one, so that it broadcasts
against the operand.
"""

import math
from typing import Any

from chainrules_py.ops import (
    all,
    any,
    argmax,
    argmin,
    broadcast_to,
    concat,
    conj,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    equal,
    expand_dims,
    flip,
    full_like,
    index,
    max,
    mean,
    min,
    multiply,
    nanmax,
    nanmin,
    ones_like,
    permute_dims,
    prod,
    real,
    reshape,
    std,
    strong_multiply,
    sum,
    var,
    where,
    zeros_like,
)
from chainrules_py.registry.constructors import linear_rule, non_differentiable, rule
from chainrules_py.rules.elementwise import over_root
from chainrules_py.rules.support.batching_rules import along_axes, along_axis, from_end
from chainrules_py.rules.support.tie_shares import equal_shares, shared
from chainrules_py.tangents.linear_map import LinearMap

for _operation in (all, any, argmax, argmin, count_nonzero):
    non_differentiable(_operation)


def kept(y, axis, keepdims):
    """Return a result with the reduced axes, of length one; a number broadcasts without them."""
    return y if keepdims or axis is None or not getattr(y, "ndim", 0) else expand_dims(y, axis=axis)


def _axes(axis, ndim):
    """Return the reduced axes in order; none for a 0-d array, for which NumPy accepts one."""
    if axis is None or not ndim:
        return tuple(range(ndim))
    return tuple(sorted(a % ndim for a in (axis if isinstance(axis, tuple) else (axis,))))


def _count(x, axis):
    """Count the elements of each reduction."""
    return math.prod([x.shape[a] for a in _axes(axis, x.ndim)])


def sum_transpose(y_bar, x, *, axis, keepdims):
    """Give every summed element the cotangent of its sum."""
    return broadcast_to(kept(y_bar, axis, keepdims) if x.ndim else y_bar, shape=x.shape)


def mean_transpose(y_bar, x, *, axis, keepdims):
    """Spread the cotangent as for the sum, divided among the elements."""
    return sum_transpose(shared(y_bar, _count(x, axis)), x, axis=axis, keepdims=keepdims)


linear_rule(sum, sum_transpose, batched=along_axes)
linear_rule(mean, mean_transpose, batched=along_axes)


# ------------------------------------------------------------------------------------ products


@rule(prod, batched=True)
def prod_rule(x, *, axis, keepdims):
    """∂(Π x)/∂x_i = Π_{j≠i} x_j, computed without division: exact if elements are zero."""
    y = prod(x, axis=axis, keepdims=keepdims)
    return y, (weighted_sum(products_of_others, from_end(axis, x.ndim), keepdims, x),)


def weighted_sum(weights, axis, keepdims, *saved):
    """Make the map Σ w dx with the weights ``weights(*saved, axis)``."""
    return LinearMap(weighted_push, weighted_pull, weights, axis, keepdims, *saved)


def weighted_push(x_dot, weights, axis, keepdims, *saved):
    return sum(weights(*saved, axis) * x_dot, axis=axis, keepdims=keepdims)


def weighted_pull(y_bar, weights, axis, keepdims, *saved):
    return conj(weights(*saved, axis)) * kept(y_bar, axis, keepdims)


def products_of_others(x, axis):
    """Compute for each element the product of all others along the axes."""
    reduced = _axes(axis, x.ndim)
    free = tuple(a for a in range(x.ndim) if a not in reduced)
    order = (*free, *reduced)
    moved = permute_dims(x, axes=order)
    # The last length is computed: -1 is ambiguous if another length is 0.
    flat = reshape(moved, shape=(*(x.shape[a] for a in free), _count(x, axis)))
    others = reshape(_others(flat), shape=moved.shape)
    return permute_dims(others, axes=tuple(order.index(a) for a in range(x.ndim)))


def _others(x):
    """Compute the products of all others along the last axis, by pairs, recursively.

    The product for an element is that for its pair, times its partner: 3 n multiplications.
    """
    n = x.shape[-1]
    if n < 2:
        return ones_like(x)
    if n == 2:
        return flip(x, axis=-1)
    half = n // 2
    left, right = index(x, (..., slice(half))), index(x, (..., slice(half, 2 * half)))
    outer = _others(concat(left * right, index(x, (..., slice(2 * half, n))), axis=-1))
    of_pairs, of_rest = index(outer, (..., slice(half))), index(outer, (..., slice(half, None)))
    return concat(of_pairs * right, of_pairs * left, of_rest, axis=-1)


# ------------------------------------------------------------------------------------ extremes


def _extreme_rule(extreme, pull):
    """Make the rule of an extreme: elements that attain it get equal shares, all others none."""

    def extreme_rule(x, *, axis, keepdims):
        y = extreme(x, axis=axis, keepdims=keepdims)
        return y, (LinearMap(_extreme_push, pull, x, y, from_end(axis, x.ndim), keepdims),)

    return extreme_rule


def _shares(x, y, axis, keepdims, like):
    return equal_shares(equal(x, kept(y, axis, keepdims)), axis, like.dtype)


def _extreme_push(x_dot, x, y, axis, keepdims):
    parts = strong_multiply(_shares(x, y, axis, keepdims, x_dot), x_dot)
    return sum(parts, axis=axis, keepdims=keepdims)


def _extreme_pull(y_bar, x, y, axis, keepdims):
    return _shares(x, y, axis, keepdims, y_bar) * kept(y_bar, axis, keepdims)


def _pull_but_of_nan(y_bar, x, y, axis, keepdims):
    """Pull with `strong_multiply`: in its derivative, entries that are left out may be NaN."""
    return strong_multiply(_shares(x, y, axis, keepdims, y_bar), kept(y_bar, axis, keepdims))


for _operation, _pull in (
    (max, _extreme_pull),
    (min, _extreme_pull),
    (nanmax, _pull_but_of_nan),
    (nanmin, _pull_but_of_nan),
):
    rule(_operation, batched=True, whole=True)(_extreme_rule(_operation, _pull))


# ----------------------------------------------------------------------------------- variances


@rule(var, batched=True)
def var_rule(x, *, axis, correction, keepdims):
    """dv = 2 Re Σ conj(x - m) dx / (n - c): v is minimal at the mean, so dm does not enter."""
    y = var(x, axis=axis, correction=correction, keepdims=keepdims)
    axis = from_end(axis, x.ndim)
    return y, (LinearMap(_bent_push, _bent_pull, _slope, axis, keepdims, x, axis, correction),)


def _slope(x, axis, correction):
    n = _count(x, axis) - correction
    return (x - mean(x, axis=axis, keepdims=True)) * (2 / n if n else math.nan)


def _bent_push(x_dot, slope, axis, keepdims, *saved):
    return real(sum(conj(slope(*saved)) * x_dot, axis=axis, keepdims=keepdims))


def _bent_pull(y_bar, slope, axis, keepdims, *saved):
    return slope(*saved) * kept(y_bar, axis, keepdims)


@rule(std, batched=True)
def std_rule(x, *, axis, correction, keepdims):
    """ds = dv / 2s; for constant x it is 0, where the zero slope of v wins over the infinity."""
    y = std(x, axis=axis, correction=correction, keepdims=keepdims)
    axis = from_end(axis, x.ndim)
    saved = x, y, axis, correction, keepdims
    return y, (LinearMap(_bent_push, _bent_pull, _std_slope, axis, keepdims, *saved),)


def _std_slope(x, y, axis, correction, keepdims):
    slope = strong_multiply(_slope(x, axis, correction), over_root(0.5, kept(y, axis, keepdims)))
    if _count(x, axis) <= correction:
        return slope  # no degrees of freedom
    # If all numbers are equal, their rounded mean may differ from them.
    reduced = _axes(axis, x.ndim)
    first = index(x, tuple([slice(1) if i in reduced else slice(None) for i in range(x.ndim)]))
    return where(all(x == first, axis=reduced, keepdims=True), 0.0, slope)


# --------------------------------------------------------------------------------- accumulation


def _along(x, axis) -> Any:
    """Return the axis, counted from the end; for None, the axis of all elements in C order."""
    return -1 if axis is None or not x.ndim else axis if axis < 0 else axis - x.ndim


def _like(t, n, shape):
    """Reshape a tangent's last n axes, behind those of directions."""
    return reshape(t, shape=(*t.shape[: t.ndim - n], *shape))


def _cut(x, axis, part):
    return index(x, (..., part, *(slice(None),) * (-axis - 1)))


def cumulative_sum_transpose(y_bar, x, *, axis, include_initial):
    """x̄_j = Σ_{k≥j} ȳ_k: cumulative sums from the other end."""
    along = _along(x, axis)
    if include_initial:
        y_bar = _cut(y_bar, along, slice(1, None))
    x_bar = flip(cumulative_sum(flip(y_bar, axis=along), axis=along), axis=along)
    return x_bar if x_bar.shape == x.shape else reshape(x_bar, shape=x.shape)


linear_rule(cumulative_sum, cumulative_sum_transpose, batched=along_axis)


@rule(cumulative_prod, batched=True)
def cumulative_prod_rule(x, *, axis, include_initial):
    """y_k = y_{k-1} x_k, so ẏ_k = x_k ẏ_{k-1} + y_{k-1} ẋ_k: a recurrence, without division."""
    y = cumulative_prod(x, axis=axis, include_initial=include_initial)
    flat = x if x.ndim and axis is not None else reshape(x, shape=(-1,))
    saved = flat, _along(x, axis), x.shape, y.ndim, include_initial
    return y, (LinearMap(_cumulative_prod_push, _cumulative_prod_pull, *saved),)


def _before(x, axis):
    """Compute for each element the product of those before it."""
    return _cut(cumulative_prod(x, axis=axis, include_initial=True), axis, slice(x.shape[axis]))


def _cumulative_prod_push(x_dot, x, axis, shape, ndim, include_initial):
    y_dot = recurrence(x, _before(x, axis) * _like(x_dot, len(shape), x.shape), axis)
    if not include_initial:
        return y_dot if ndim else index(y_dot, (..., 0))  # PyTorch's of one number is a number
    shape = [*y_dot.shape]
    shape[axis] = 1  # even if there is no element
    return concat(full_like(y_dot, shape=tuple(shape), fill=0), y_dot, axis=axis)


def _cumulative_prod_pull(y_bar, x, axis, shape, ndim, include_initial):
    """x̄_j = conj(y_{j-1}) s_j with s_j = ȳ_j + conj(x_{j+1}) s_{j+1}."""
    if include_initial:
        y_bar = _cut(y_bar, axis, slice(1, None))
    after = _cut(flip(x, axis=axis), axis, slice(x.shape[axis] - 1))
    # There is no x_n; its factor is 0.
    factors = conj(concat(zeros_like(_cut(x, axis, slice(1))), after, axis=axis))
    s = flip(recurrence(factors, flip(y_bar, axis=axis), axis), axis=axis)
    return _like(conj(_before(x, axis)) * s, x.ndim, shape)


def recurrence(a, b, axis):
    """Compute the s with s_k = a_k s_{k-1} + b_k, s_{-1} = 0, in log n steps.

    Hillis and Steele (1986), Data parallel algorithms: two affine maps compose to one.
    """
    n, shift = a.shape[axis], 1
    while shift < n:
        earlier, later = slice(n - shift), slice(shift, None)
        head_b = _cut(b, axis, slice(shift))
        tail_b = _cut(b, axis, later) + _cut(a, axis, later) * _cut(b, axis, earlier)
        head_a = _cut(a, axis, slice(shift))
        a = concat(head_a, multiply(_cut(a, axis, later), _cut(a, axis, earlier)), axis=axis)
        b = concat(head_b, tail_b, axis=axis)
        shift *= 2
    return b

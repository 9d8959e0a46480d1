"""Rules of operations that rearrange elements: they are linear, so only a transpose is stated."""

import math

from chainrules_py.ops import (
    arange_like,
    astype,
    broadcast_to,
    concat,
    copy,
    expand_dims,
    flip,
    full_like,
    index,
    matrix_transpose,
    pad,
    permute_dims,
    repeat,
    reshape,
    roll,
    sliding_window_view,
    squeeze,
    sum,
    tile,
    to_device,
)
from chainrules_py.registry.constructors import linear_rule, rule
from chainrules_py.rules.indexing import take_transpose
from chainrules_py.rules.support.batching_rules import (
    along_axes,
    along_axis,
    broadcasted,
    matrices,
    padded,
    permuted,
    shaped,
    squeezed,
    tiled,
)
from chainrules_py.tangents.linear_map import LinearMap, identity
from chainrules_py.tangents.space import kind_of, known_space
from chainrules_py.tangents.zeros import ZeroTangent


def reshape_transpose(y_bar, x, **_):
    """Reshape the cotangents to the shape of x, for operations that keep the elements' C order."""
    return reshape(y_bar, shape=x.shape)


def permute_dims_transpose(y_bar, x, *, axes):
    """Apply the inverse permutation of the axes."""
    if axes is None:
        return permute_dims(y_bar)
    places = [axis % x.ndim for axis in axes]
    return permute_dims(y_bar, axes=tuple(places.index(axis) for axis in range(x.ndim)))


def roll_transpose(y_bar, x, *, shift, axis):
    """Shift the cotangents back."""
    back = tuple(-s for s in shift) if isinstance(shift, tuple) else -shift
    return roll(y_bar, shift=back, axis=axis)


def tile_transpose(y_bar, x, *, repetitions):
    """Sum over all tiles."""
    n = max(len(repetitions), x.ndim)
    times = (1,) * (n - len(repetitions)) + tuple(repetitions)
    lengths = (1,) * (n - x.ndim) + x.shape
    split = tuple(k for pair in zip(times, lengths, strict=True) for k in pair)
    tiles = reshape(y_bar, shape=split)
    return reshape(sum(tiles, axis=tuple(range(0, 2 * n, 2))), shape=x.shape)


def repeat_transpose(y_bar, x, repeats, *, axis):
    """Add the cotangents of each slice, which repeating reads several times."""
    length = math.prod(x.shape) if axis is None or not x.ndim else x.shape[axis]
    places = repeat(arange_like(y_bar, stop=length), repeats, axis=0)
    return take_transpose(y_bar, x, places, axis=axis)


def unpadded(y, widths):
    """Return the part between the margins."""
    parts = [slice(a, n - b) for n, (a, b) in zip(y.shape, widths, strict=True)]
    return index(y, tuple(parts)) if parts else y


def pad_value(y_bar, x, value, *, widths):
    """Sum over the margins."""
    margins = y_bar - pad(unpadded(y_bar, widths), 0, widths=widths)
    return sum(margins, axis=tuple(range(-x.ndim + getattr(value, "ndim", 0), 0)))


def sliding_window_view_transpose(y_bar, x, *, window_shape, axis):
    """Add the cotangents of overlapping windows, window axis by window axis."""
    for along in axis[::-1] if type(axis) is tuple else (axis,):
        y_bar = overlapped(y_bar, along % x.ndim)
    return y_bar


def overlapped(y, axis):
    """Sum y_ik at i + k, where i is the index along the axis and k along the last one.

    Rows of length c are padded to r + c and reshaped to rows of length r + c - 1, so that each
    starts one position to the right of the row above it.
    """
    others = [a for a in range(y.ndim - 1) if a != axis]
    m, w = y.shape[axis], y.shape[-1]
    r, c = sorted((m, w))
    rows = permute_dims(y, axes=(*others, *((axis, -1) if m == r else (-1, axis))))
    before = rows.shape[:-2]
    zeros = full_like(rows, shape=(*before, r, r), fill=0)
    long = reshape(concat(rows, zeros, axis=-1), shape=(*before, r * (r + c)))
    skewed = reshape(index(long, (..., slice(r * (r + c - 1)))), shape=(*before, r, r + c - 1))
    order = [*range(y.ndim - 2)]
    order.insert(axis, -1)
    return permute_dims(sum(skewed, axis=-2), axes=tuple(order))


for _operation, _transposes, _batched in (
    (reshape, (reshape_transpose,), shaped),
    (expand_dims, (reshape_transpose,), along_axes),
    (squeeze, (reshape_transpose,), squeezed),
    (permute_dims, (permute_dims_transpose,), permuted),
    (matrix_transpose, (lambda y_bar, x: matrix_transpose(y_bar),), matrices),
    (flip, (lambda y_bar, x, *, axis: flip(y_bar, axis=axis),), along_axes),
    (roll, (roll_transpose,), along_axis),
    (tile, (tile_transpose,), tiled),
    (repeat, (repeat_transpose, None), along_axis),
    (pad, (lambda y_bar, x, value, *, widths: unpadded(y_bar, widths), pad_value), padded),
    (sliding_window_view, (sliding_window_view_transpose,), along_axes),
    (copy, (lambda y_bar, x: y_bar,), True),
    # The projection sums over broadcast axes, and moves to the operand's device.
    (broadcast_to, (lambda y_bar, x, *, shape: y_bar,), broadcasted),
    (to_device, (lambda y_bar, x, *, device: y_bar,), True),
):
    linear_rule(_operation, *_transposes, batched=_batched)


@rule(astype, batched=True, whole=True)
def astype_rule(x, *, dtype):
    """Convert linearly; conversion of real numbers to integers is constant except for jumps."""
    y = astype(x, dtype=dtype)
    if kind_of(y) not in ("real", "complex"):
        known_space(y)  # raises for strings and objects
        # Integers to integers keep their values.
        return y, (identity if kind_of(x) == kind_of(y) else ZeroTangent(),)
    push = lambda x_dot, dtype: astype(x_dot, dtype=dtype)
    return y, (LinearMap(push, lambda y_bar, _: y_bar, dtype),)

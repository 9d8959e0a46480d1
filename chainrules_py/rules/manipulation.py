"""Rules for words that rearrange elements: linear, so only a transpose has to be said."""

from chainrules_py.linear import LinearMap
from chainrules_py.project import kind_of
from chainrules_py.rule import linear_rule, rule
from chainrules_py.rules.indexing import take_transpose
from chainrules_py.tangents import ZeroTangent
from chainrules_py.vocabulary import (
    arange_like,
    astype,
    broadcast_to,
    copy,
    expand_dims,
    flip,
    matrix_transpose,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    sum,
    tile,
    to_device,
)


def reshape_transpose(y_bar, x, **_):
    """The cotangents in the shape of x: of whatever moves no element in C order."""
    return reshape(y_bar, shape=x.shape)


def permute_dims_transpose(y_bar, x, *, axes):
    """The inverse permutation."""
    if axes is None:
        return permute_dims(y_bar)
    places = [axis % x.ndim for axis in axes]
    return permute_dims(y_bar, axes=tuple(places.index(axis) for axis in range(x.ndim)))


def roll_transpose(y_bar, x, *, shift, axis):
    """The shift back."""
    back = tuple(-s for s in shift) if isinstance(shift, tuple) else -shift
    return roll(y_bar, shift=back, axis=axis)


def tile_transpose(y_bar, x, *, repetitions):
    """The sum over all tiles."""
    n = max(len(repetitions), x.ndim)
    times = (1,) * (n - len(repetitions)) + tuple(repetitions)
    lengths = (1,) * (n - x.ndim) + x.shape
    split = tuple(k for pair in zip(times, lengths, strict=True) for k in pair)
    tiles = reshape(y_bar, shape=split)
    return reshape(sum(tiles, axis=tuple(range(0, 2 * n, 2))), shape=x.shape)


def repeat_transpose(y_bar, x, repeats, *, axis):
    """Repeating reads a slice several times, so its cotangents are added."""
    length = x.size if axis is None else x.shape[axis]
    places = repeat(arange_like(y_bar, stop=length), repeats, axis=0)
    return take_transpose(y_bar, x, places, axis=axis)


linear_rule(reshape, reshape_transpose)
linear_rule(expand_dims, reshape_transpose)
linear_rule(squeeze, reshape_transpose)
linear_rule(permute_dims, permute_dims_transpose)
linear_rule(matrix_transpose, lambda y_bar, x: matrix_transpose(y_bar))
linear_rule(flip, lambda y_bar, x, *, axis: flip(y_bar, axis=axis))
linear_rule(roll, roll_transpose)
linear_rule(tile, tile_transpose)
linear_rule(repeat, repeat_transpose, None)
linear_rule(copy, lambda y_bar, x: y_bar)
# The projection sums what was broadcast, and moves to the operand's device.
linear_rule(broadcast_to, lambda y_bar, x, *, shape: y_bar)
linear_rule(to_device, lambda y_bar, x, *, device: y_bar)


@rule(astype)
def astype_rule(x, *, dtype):
    """A conversion is linear; one to integers is constant wherever it is continuous."""
    y = astype(x, dtype=dtype)
    if kind_of(y) not in ("real", "complex"):
        return y, (ZeroTangent(),)
    push = lambda x_dot, dtype: astype(x_dot, dtype=dtype)
    return y, (LinearMap(push, lambda y_bar, _: y_bar, dtype),)

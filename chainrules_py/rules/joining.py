"""Rules of joining arrays: linear in all of them, and each gets its part of the cotangent."""

import math

from chainrules_py.ops import concat, index, reshape, stack
from chainrules_py.registry.constructors import linear_rule
from chainrules_py.rules.support.batching_rules import along_axes, joined


def concat_transpose(y_bar, *arrays, axis, argnum):
    """Return the slice of the cotangent that belongs to the array."""
    lengths = [math.prod(x.shape) if axis is None else x.shape[axis] for x in arrays]
    start = sum(lengths[:argnum])
    part = slice(start, start + lengths[argnum])
    if axis is None:
        return reshape(index(y_bar, part), shape=arrays[argnum].shape)
    return index(y_bar, (slice(None),) * (axis % len(arrays[argnum].shape)) + (part,))


def stack_transpose(y_bar, *arrays, axis, argnum):
    """Return the slice of the cotangent that belongs to the array."""
    return index(y_bar, (slice(None),) * (axis % y_bar.ndim) + (argnum,))


linear_rule(concat, concat_transpose, batched=joined)
linear_rule(stack, stack_transpose, batched=along_axes)

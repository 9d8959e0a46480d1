"""Rules of operations that create arrays: constants, and spaced numbers between two ends."""

from chainrules_py.ops import (
    arange_like,
    conj,
    divide,
    expand_dims,
    eye_like,
    full_like,
    geomspace,
    linspace,
    ones_like,
    reshape,
    sum,
    zeros_like,
)
from chainrules_py.registry.bind.batched_tangents import aligned
from chainrules_py.registry.constructors import linear_rule, non_differentiable, rule
from chainrules_py.rules.support.batching_rules import moved
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.zeros import ZeroTangent

for _operation in (full_like, zeros_like, ones_like, arange_like, eye_like):
    non_differentiable(_operation)


def weights(like, num, endpoint, axis):
    """Compute the weight of stop in each number: from 0 to 1, along the axis."""
    zero, one = full_like(like, shape=(), fill=0), full_like(like, shape=(), fill=1)
    w = linspace(zero, one, num=num, endpoint=endpoint)
    return reshape(w, shape=(num, *(1,) * (like.ndim - 1 - axis % like.ndim)))


def linspace_start(y_bar, start, stop, *, num, endpoint, axis):
    """y = (1 - w) start + w stop."""
    return sum(y_bar * (1 - weights(y_bar, num, endpoint, axis)), axis=axis)


def linspace_stop(y_bar, start, stop, *, num, endpoint, axis):
    """Sum the cotangents times the weight w of stop in y = (1 - w) start + w stop."""
    return sum(y_bar * weights(y_bar, num, endpoint, axis), axis=axis)


def between(operands, options):
    """Add a leading axis for directions to the call: see `leading`."""
    ndim = max([getattr(x, "ndim", 1) for x in operands]) - 1
    ends = [aligned(x, ndim) if hasattr(x, "ndim") else x for x in operands]  # or a number's zero
    return ends, {**options, "axis": moved(options["axis"])}


linear_rule(linspace, linspace_start, linspace_stop, batched=between)


@rule(geomspace)
def geomspace_rule(start, stop, *, num, endpoint, dtype, axis):
    """y = start^(1 - w) stop^w, so ẏ / y = (1 - w) ṡ / s + w ė / e."""
    y = geomspace(start, stop, num=num, endpoint=endpoint, dtype=dtype, axis=axis)
    if kind_of(y) not in ("real", "complex"):
        return y, (ZeroTangent(), ZeroTangent())
    w = weights(y, num, endpoint, axis)
    return y, (
        LinearMap(_geomspace_push, _geomspace_pull, y * (1 - w), start, axis),
        LinearMap(_geomspace_push, _geomspace_pull, y * w, stop, axis),
    )


def _geomspace_push(t, share, end, axis):
    # The axis is counted from the end, as in broadcasting.
    ratio, ahead = divide(t, end), axis % share.ndim - share.ndim
    inside = -ahead <= getattr(ratio, "ndim", 0)
    return share * (expand_dims(ratio, axis=ahead) if inside else ratio)


def _geomspace_pull(y_bar, share, end, axis):
    return divide(sum(conj(share) * y_bar, axis=axis), conj(end))

"""Reading elements at indices along an axis, and its transpose, for rules of rearrangements."""

from chainrules_py.ops import broadcast_to, full_like, put_along_axis_add, take_along_axis
from chainrules_py.rules.support.batching_rules import from_end
from chainrules_py.tangents.linear_map import LinearMap


def reading(places, axis):
    """Make the map of reading elements at indices along an axis."""
    return LinearMap(read, put_back, places, from_end(axis, places.ndim))


def read(x_dot, places, axis):
    return take_along_axis(x_dot, for_each(places, x_dot), axis=axis)


def put_back(y_bar, places, axis):
    zeros = full_like(y_bar, shape=y_bar.shape, fill=0)
    return put_along_axis_add(zeros, y_bar, for_each(places, y_bar), axis=axis)


def for_each(places, t):
    """Repeat the indices, which are the same in all directions."""
    if t.ndim == places.ndim:
        return places
    return broadcast_to(places, shape=(*t.shape[: t.ndim - places.ndim], *places.shape))

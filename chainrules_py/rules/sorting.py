"""Rules for putting elements in order: wherever no two are equal, the order is constant."""

from chainrules_py.registry.pens import non_differentiable, rule
from chainrules_py.rules.support.leading import from_end
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.vocabulary import (
    argsort,
    broadcast_to,
    partition,
    put_along_axis_add,
    sort,
    take_along_axis,
    zeros_like,
)

non_differentiable(argsort)


@rule(sort, batched=True, whole=True)
def sort_rule(x, *, axis, descending, stable):
    """Read the elements of x at the places that sorting takes them from."""
    order = argsort(x, axis=axis, descending=descending, stable=True)
    y = sort(x, axis=axis, descending=descending, stable=stable)
    return y, (LinearMap(_sort_push, _sort_pull, order, from_end(axis, x.ndim)),)


def _sort_push(x_dot, order, axis):
    return take_along_axis(x_dot, broadcast_to(order, shape=x_dot.shape), axis=axis)


def _sort_pull(y_bar, order, axis):
    order = broadcast_to(order, shape=y_bar.shape)
    return put_along_axis_add(zeros_like(y_bar), y_bar, order, axis=axis)


@rule(partition, batched=True, whole=True)
def partition_rule(x, *, kth, axis):
    """Move the elements of x to the places at which their order finds them in the result."""
    y = partition(x, kth=kth, axis=axis)
    whence, whither = argsort(x, axis=axis), argsort(y, axis=axis)
    order = put_along_axis_add(zeros_like(whence), whence, whither, axis=axis)
    return y, (LinearMap(_sort_push, _sort_pull, order, from_end(axis, x.ndim)),)

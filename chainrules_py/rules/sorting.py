"""Rules of sorting: wherever no two elements are equal, the order is constant."""

from chainrules_py.ops import argsort, partition, put_along_axis_add, sort, zeros_like
from chainrules_py.registry.constructors import non_differentiable, rule
from chainrules_py.rules.support.reads_along_axis import reading

non_differentiable(argsort)


@rule(sort, batched=True, whole=True)
def sort_rule(x, *, axis, descending, stable):
    """Read the elements of x at the indices of the sorted order."""
    order = argsort(x, axis=axis, descending=descending, stable=True)
    return sort(x, axis=axis, descending=descending, stable=stable), (reading(order, axis),)


@rule(partition, batched=True, whole=True)
def partition_rule(x, *, kth, axis):
    """Read the elements of x at the indices that the result takes them from."""
    y = partition(x, kth=kth, axis=axis)
    whence, whither = argsort(x, axis=axis), argsort(y, axis=axis)
    order = put_along_axis_add(zeros_like(whence), whence, whither, axis=axis)
    return y, (reading(order, axis),)

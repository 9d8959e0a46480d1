"""Rules of reading and adding elements at indices: each is the transpose of the other."""

import math

from chainrules_py.ops import (
    Index,
    add_along_axis,
    add_at,
    arange_like,
    copy,
    equal,
    full_like,
    getitem,
    put_along_axis_add,
    put_at,
    reshape,
    scatter_add,
    take,
    take_along_axis,
    where,
)
from chainrules_py.registry.bind.linear import unchanged
from chainrules_py.registry.constructors import linear_rule
from chainrules_py.rules.support.batching_rules import along_axis, along_places, indexed, scattered
from chainrules_py.tangents.space import kind_of


def getitem_transpose(y_bar, x, *arrays, index):
    """Add the cotangents to zeros at the index where the elements were read."""
    return scatter_add(full_like(y_bar, shape=x.shape, fill=0), y_bar, *arrays, index=index)


# Added to a buffer, so that reading n elements one by one does not build n arrays.
linear_rule(getitem, getitem_transpose, None, pull_into=add_at, batched=indexed)
linear_rule(
    scatter_add,
    unchanged,
    lambda z_bar, x, y, *arrays, index: getitem(z_bar, *arrays, index=index),
    None,
    batched=scattered,
)


def put_at_transpose(z_bar, x, y, *arrays, index):
    """Return the cotangents, with zeros where x was overwritten."""
    return put_at(z_bar, full_like(z_bar, shape=(), fill=0), *arrays, index=index)


def put_at_transpose_value(z_bar, x, y, *arrays, index):
    """Return a copy of the cotangents of the written elements that were not overwritten.

    A copy, since an engine may write the zeros into z_bar in place; the memory layout of a
    cotangent, and with it the last digits of products, must not depend on that.

    Only integer arrays index an element twice. Writing positions instead of values shows which of
    its values stayed, so that the library decides which one was the last.
    """
    y_bar = getitem(z_bar, *arrays, index=index)
    if any(kind_of(a) == "int" and math.prod(getattr(a, "shape", ())) > 1 for a in arrays):
        places = reshape(arange_like(z_bar, stop=math.prod(y_bar.shape)), shape=y_bar.shape)
        owners = put_at(full_like(places, shape=x.shape, fill=0), places, *arrays, index=index)
        y_bar = where(equal(getitem(owners, *arrays, index=index), places), y_bar, 0)
    elif y_bar.ndim:
        y_bar = copy(y_bar)
    # NumPy accepts values with extra axes, if these have length one.
    extra = y.ndim - y_bar.ndim
    return y_bar if extra <= 0 else reshape(y_bar, shape=(1,) * extra + y_bar.shape)


linear_rule(put_at, put_at_transpose, put_at_transpose_value, None, batched=scattered)


def take_transpose(y_bar, x, indices, *, axis):
    """Add the cotangents to zeros, as for indexing with the indices along one axis."""
    flat = axis is None or not x.ndim
    shape = (math.prod(x.shape),) if flat else x.shape
    zeros = full_like(y_bar, shape=shape, fill=0)
    x_bar = scatter_add(zeros, y_bar, indices, index=_along(axis, len(shape)))
    return reshape(x_bar, shape=x.shape) if flat else x_bar


def _along(axis, ndim):
    """Build the pattern of ``x[:, ..., array]``."""
    return Index((*Index.split((slice(None),) * ((axis or 0) % ndim))[0], Index.HOLE))


def take_pull_into(buffer, y_bar, indices, *, axis):
    """Add the cotangents to a buffer; it need not be in C order, so it cannot be flattened."""
    if (axis is None and buffer.ndim != 1) or not buffer.ndim:
        y_bar = take_transpose(y_bar, buffer, indices, axis=None)
        add_at(buffer, y_bar, index=Index((Ellipsis,)))
    else:
        add_at(buffer, y_bar, indices, index=_along(axis, buffer.ndim))


linear_rule(take, take_transpose, None, pull_into=take_pull_into, batched=along_axis)


def take_along_axis_transpose(y_bar, x, indices, *, axis):
    """Add the cotangents to zeros where the elements were read."""
    return put_along_axis_add(full_like(y_bar, shape=x.shape, fill=0), y_bar, indices, axis=axis)


linear_rule(
    take_along_axis, take_along_axis_transpose, None, pull_into=add_along_axis, batched=along_places
)
linear_rule(
    put_along_axis_add,
    unchanged,
    lambda z_bar, x, y, indices, *, axis: take_along_axis(z_bar, indices, axis=axis),
    None,
    batched=along_places,
)

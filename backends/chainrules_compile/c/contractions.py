"""Contractions along any axes, as products of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.c.items import Product
from chainrules_compile.c.lowering import Lowering, form, is_array
from chainrules_compile.c.memory import Shape, UnwritableError, View, contiguous
from chainrules_compile.c.products import is_small, product, transposed
from chainrules_compile.c.rearranged import argument_of, only
from chainrules_compile.c.sums import reduce
from chainrules_py import vocabulary as v
from chainrules_py.program import Call, Value


def _value(shape: Shape, dtype: np.dtype[Any], strides: Shape | None = None) -> Value:
    """Return a value that a program has no name for."""
    steps = contiguous(shape, dtype.itemsize) if strides is None else strides
    layout = tuple([s for n, s in zip(shape, steps, strict=True) if n != 1])
    return Value("", np.ndarray if shape else dtype.type, shape, dtype, layout=layout)


def _floats(s: Lowering, *xs: Any) -> list[View]:
    if not all([is_array(x) and form(x)[1].char in "fd" and 0 not in form(x)[0] for x in xs]):
        raise UnwritableError
    if len({form(x)[1] for x in xs}) > 1:
        raise UnwritableError
    return [s.view(x) for x in xs]


def _permuted(view: View, axes: list[int]) -> View:
    return view._replace(
        shape=tuple([view.shape[d] for d in axes]), strides=tuple([view.strides[d] for d in axes])
    )


def _as_shape(s: Lowering, view: View, shape: Shape) -> View:
    """Reshape, by a view where NumPy has one."""
    array, memory = view.shadow()
    found = array.reshape(shape)
    if np.shares_memory(found, memory):
        return view.part(found, memory)
    return s.copy(view)._replace(shape=shape, strides=contiguous(shape, view.dtype.itemsize))


def _tensordot(s: Lowering, call: Call) -> View:
    """Lower as ``np.tensordot`` does: axes to the end and the front, and one product."""
    only(call, "axes")
    (a, b, *_), (y,) = call.operands, call.results
    first, second = _floats(s, a, b)
    axes = argument_of(call, 2, "axes", 2)
    if type(axes) is int:
        n = len(first.shape)
        axes = tuple(range(n - axes, n)), tuple(range(axes))
    left, right = [[axis] if type(axis) is int else list(axis) for axis in axes]
    left = [d % len(first.shape) for d in left]
    right = [d % len(second.shape) for d in right]
    return _contracted(s, first, second, left, right, y)


def _contracted(s: Lowering, a: View, b: View, left: list[int], right: list[int], y: Value) -> View:
    rows = [d for d in range(len(a.shape)) if d not in left]
    columns = [d for d in range(len(b.shape)) if d not in right]
    m, n = math.prod([a.shape[d] for d in rows]), math.prod([b.shape[d] for d in columns])
    k = math.prod([a.shape[d] for d in left])
    one = _as_shape(s, _permuted(a, rows + left), (m, k))
    two = _as_shape(s, _permuted(b, right + columns), (k, n))
    found = product(s, _value((m, n), a.dtype), one, two)
    shape, _ = form(y)
    out = found._replace(shape=shape, strides=contiguous(shape, a.dtype.itemsize))
    if shape and out.strides != s.result(y).strides:
        raise UnwritableError
    return out


def _inner(s: Lowering, call: Call) -> View:
    only(call)
    (a, b), (y,) = call.operands, call.results
    first, second = _floats(s, a, b)
    if max(len(first.shape), len(second.shape)) > 2:
        raise UnwritableError
    return product(s, y, first, transposed(second) if len(second.shape) == 2 else second)


# ------------------------------------------------------------------------------------- einsum


def _einsum(s: Lowering, call: Call) -> View:
    """Lower sums of products by subscripts, of one array or of two.

    What one array alone sums over goes first, and the rest is one product of matrices for each of
    the subscripts that all have.
    """
    operands, (y,) = list(call.operands), call.results
    subscripts = call.options.get("subscripts")
    if subscripts is None:
        subscripts, *operands = operands
    if type(subscripts) is not str or "." in subscripts or len(operands) not in (1, 2):
        raise UnwritableError
    given, _, wanted = subscripts.replace(" ", "").partition("->")
    if "->" not in subscripts:
        raise UnwritableError
    if given == wanted == "" and len(operands) == 1:
        return s.computed(y, (operands[0],), "{0}", [form(operands[0])[1]])
    numbers = [x for x in operands if type(x) is Value and not form(x)[0]]
    _floats(s, *[x for x in operands if x not in numbers])
    views, names = [s.view(x) for x in operands], given.split(",")
    if {view.dtype for view in views} != {form(y)[1]}:  # or with dtype=
        raise UnwritableError
    if any([len(set(name)) < len(name) for name in (*names, wanted)]):
        raise UnwritableError  # diagonals
    summed = set("".join(names)) - set(wanted)
    if len(views) == 2 and not summed:
        return _spread_product(s, y, views, names, wanted)
    if not views[0].size:
        raise UnwritableError
    if len(views) == 1:
        view = _permuted(views[0], [names[0].index(c) for c in _sorted(names[0], wanted)])
        return reduce(s, np.add, view, y, tuple(range(len(wanted), len(names[0]))))
    return _matrices(s, y, views, names, wanted)


def _sorted(name: str, wanted: str) -> str:
    return wanted + "".join([c for c in name if c not in wanted])


def _spread_product(
    s: Lowering, y: Value, views: list[View], names: list[str], wanted: str
) -> View:
    """Lower a product of each with each."""
    sizes = {
        c: n
        for view, name in zip(views, names, strict=True)
        for c, n in zip(name, view.shape, strict=True)
    }
    shape, given = tuple([sizes[c] for c in wanted]), []
    for view, name in zip(views, names, strict=True):
        strides = [view.strides[name.index(c)] if c in name else 0 for c in wanted]
        given.append(s.held(view._replace(shape=shape, strides=tuple(strides))))
    if form(y)[0] != shape or not shape:
        raise UnwritableError
    return s.computed(y, tuple(given), "{0} * {1}", [views[0].dtype] * 2)


def _matrices(s: Lowering, y: Value, views: list[View], names: list[str], wanted: str) -> View:
    """Lower a sum of products as a stack of products of matrices."""
    for i, other in ((0, names[1]), (1, names[0])):
        alone = [c for c in names[i] if c not in other and c not in wanted]
        if alone:
            name = "".join([c for c in names[i] if c not in alone])
            axes = tuple([names[i].index(c) for c in alone])
            shape = tuple([views[i].shape[names[i].index(c)] for c in name])
            if not shape:
                raise UnwritableError
            views[i] = reduce(s, np.add, views[i], _value(shape, views[i].dtype), axes)
            names[i] = name
    (a, b), (left, right) = views, names
    stack = [c for c in wanted if c in left and c in right]
    rows = [c for c in wanted if c in left and c not in right]
    columns = [c for c in wanted if c in right and c not in left]
    inside = [c for c in left if c in right and c not in wanted]
    sizes = dict(zip(left, a.shape, strict=True)) | dict(zip(right, b.shape, strict=True))
    many = [math.prod([sizes[c] for c in part]) for part in (stack, rows, inside, columns)]
    one = _permuted(a, [left.index(c) for c in stack + rows + inside])
    two = _permuted(b, [right.index(c) for c in stack + inside + columns])
    one = _as_shape(s, one, (many[0], many[1], many[2]))
    two = _as_shape(s, two, (many[0], many[2], many[3]))
    char, step = a.dtype.char, a.dtype.itemsize
    loop = s.loop(np.matmul, f"{char}{char}->{char}")
    made = s.new((many[0], many[1], many[3]), a.dtype)
    s.add(Product(made, one, two, loop, is_small(one, two)))
    order = stack + rows + columns
    shape = tuple([sizes[c] for c in order])
    whole = made._replace(shape=shape, strides=contiguous(shape, step))
    return s.laid_out(_permuted(whole, [order.index(c) for c in wanted]), y)


CONTRACTIONS: dict[Any, Callable[[Lowering, Call], View]] = {
    **dict.fromkeys((v.tensordot, np.tensordot), _tensordot),
    **dict.fromkeys((v.inner, np.inner), _inner),
    **dict.fromkeys((v.einsum, np.einsum), _einsum),
}

"""Sums, added in the order in which NumPy adds them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.passes.values import axes_of
from chainrules_native.items import Copy, Operation, Product, Reduction
from chainrules_native.lowering import BLOCK, Lowering, argument, form, is_array, strides_like
from chainrules_native.memory import Shape, UnwritableError, View, axes_in_order, collapsed
from chainrules_native.text import c_type, literal
from chainrules_py.program import Call, Value

_LONG = 4096
"""Up to so many numbers are summed as a product with ones: `chainrules_numpy.broadcasting`."""

_MANY, _RUN, _LETTERS = 1 << 14, 8, 26
"""From how many products on NumPy keeps none, and how many lie side by side, of how many axes."""

_BUFFER = 8192
"""How many elements NumPy's iterators copy at once."""

_STARTS: dict[Any, int] = {np.add: 0, np.multiply: 1}


def reduced(ufunc: np.ufunc) -> Callable[[Lowering, Call], View]:
    """Return how a reduction by a ufunc is lowered."""

    def lower(s: Lowering, call: Call) -> View:
        (x,), (y,) = call.operands, call.results
        axis = call.options.get("axis")
        if set(call.options) - {"axis", "keepdims"} or type(x) is not Value:
            raise UnwritableError
        if not form(x)[0]:
            return _of_one(s, ufunc, x, y)
        return reduce(s, ufunc, s.view(x), y, axes_of(axis, len(form(x)[0])))

    return lower


def _of_one(s: Lowering, ufunc: np.ufunc, x: Value, y: Value) -> View:
    """Lower the reduction of a number: a sum begins with a zero, which takes the sign of one."""
    dtype = form(x)[1]
    if form(y) != ((), dtype) or dtype.char not in "fdlq":
        raise UnwritableError
    return s.computed(y, (x,), "0 + {0}" if ufunc is np.add else "{0}", [dtype])


def counted(s: Lowering, call: Call) -> View:
    """Lower how many elements are not zero."""
    (x,), (y,) = call.operands, call.results
    if set(call.options) - {"axis", "keepdims"} or not is_array(x) or form(y)[1] != np.int64:
        raise UnwritableError
    ones = _truths(s, s.view(x), np.dtype(np.int64))
    return reduce(s, np.add, ones, y, axes_of(call.options.get("axis"), len(form(x)[0])))


def _truths(s: Lowering, view: View, dtype: np.dtype[Any]) -> View:
    """Lower whether each element is not zero."""
    out = s.new(view.shape, dtype)
    axes = axes_in_order(out.shape, out.strides)
    text, kind = "{0} != 0", c_type(view.dtype)
    s.operate(Operation(out, [argument(view, axes)], text, types=(kind,)), out.size)
    return out


def truth(ufunc: np.ufunc) -> Callable[[Lowering, Call], View]:
    """Return how the question is lowered whether any elements are true, or all."""

    def lower(s: Lowering, call: Call) -> View:
        (x, *rest), (y,) = call.operands, call.results
        if rest or set(call.options) - {"axis", "keepdims"} or not is_array(x):
            raise UnwritableError
        view, axis = s.view(x), call.options.get("axis")
        if form(y)[1] != np.bool_ or not view.size:
            raise UnwritableError
        if view.dtype != np.bool_:
            view = _truths(s, view, np.dtype(np.bool_))
        loop = s.loop(ufunc, "??->?")
        start = "1" if ufunc is np.logical_and else "0"
        out = s.result(y)
        s.add(Reduction(out, view, axes_of(axis, len(view.shape)), loop, start))
        return out

    return lower


def reduce(s: Lowering, ufunc: np.ufunc, view: View, y: Value, axes: tuple[int, ...]) -> View:
    """Lower a reduction along axes."""
    _, dtype = form(y)
    if dtype != view.dtype or dtype.char not in ("fdlqFD" if ufunc is np.add else "fdlq"):
        raise UnwritableError
    start = (
        None
        if ufunc not in _STARTS
        else "0"
        if dtype.kind == "c"
        else literal(_STARTS[ufunc], dtype)
    )
    if start is None and view.size == 0:
        raise UnwritableError
    loop = s.loop(ufunc, f"{dtype.char}{dtype.char}->{dtype.char}")
    out = s.result(y)
    everything = len(set(axes)) == len(view.shape)
    if ufunc is np.add and dtype.kind == "f" and everything and view.size > BLOCK:
        order = axes_in_order(view.shape, view.strides)
        given = argument(view, order)
        if given.is_flat:
            total = Operation(out, [given], is_total=True)
            s.operate(total, view.size)
            return out
    if ufunc is np.add and dtype.kind in "fc":
        if everything:
            view = _buffered(s, view)
        elif _has_parts(view, axes):
            raise UnwritableError
    s.add(Reduction(out, view, axes, loop, start))
    return out


def _has_parts(view: View, axes: tuple[int, ...]) -> bool:
    """Tell whether what is added first is several rows, which NumPy copies to add them in pairs."""
    added: list[int] = []
    for d in reversed(axes_in_order(view.shape, view.strides)):
        if d not in axes:
            break
        added.insert(0, d)
    dims, steps = (tuple([x[d] for d in added]) for x in (view.shape, view.strides))
    return len(collapsed(dims, steps)[0]) > 1


def _buffered(s: Lowering, view: View) -> View:
    """Copy what is not one row, as NumPy does, to add it in pairs; it does so part by part."""
    axes = axes_in_order(view.shape, view.strides)
    given = argument(view, axes)
    if len(given.dims) == 1:
        return view
    if view.size > _BUFFER:
        raise UnwritableError
    made = s.new(view.shape, view.dtype, strides_like(view, view.dtype.itemsize))
    s.add(Copy(made, view))
    return made


def spread_sum(of_product: bool) -> Callable[[Lowering, Call], View]:
    """Return how a sum over broadcast axes is lowered, of an array or of a product of two."""

    def lower(s: Lowering, call: Call) -> View:
        (y,), (t, *rest) = call.results, call.operands
        result, shape = call.options["result"], call.options["shape"]
        dtype = form(y)[1]
        if not all([is_array(x) and form(x)[1] == dtype for x in (t, *rest)]):
            raise UnwritableError
        if form(t)[0] != result or dtype.char not in "fd":
            raise UnwritableError
        loop = s.loop(np.matmul, f"{dtype.char}{dtype.char}->{dtype.char}")
        if not of_product:
            return reduce(s, np.add, s.view(t), y, _summed(result, shape))
        view, other = s.view(t), s.view(rest[0])
        if other.shape != result:
            return _of_spread(s, y, view, other, shape, loop)
        return reduce(s, np.add, times(s, view, other), y, _summed(result, shape))

    return lower


def _summed(result: Shape, shape: Shape) -> Shape:
    """Return the axes along which an array is summed to a shape that was broadcast to its own."""
    extra = len(result) - len(shape)
    return tuple([i for i, n in enumerate(result) if i < extra or n != shape[i - extra]])


def _of_spread(s: Lowering, y: Value, t: View, p: View, shape: Shape, loop: int) -> View:
    """Sum what is multiplied by a factor that was spread, by a product of a matrix and a vector."""
    kept = (*(1,) * (len(t.shape) - len(shape)), *shape)
    first = [n == k for n, k in zip(t.shape, kept, strict=True)].index(False)
    before = math.prod(t.shape[:first])
    columns = math.prod(shape) // before
    if not t.in_c_order or before == columns == 1:
        raise UnwritableError
    dims, steps = collapsed(p.shape, p.strides)
    alone = before == 1 or columns == 1
    if len(dims) > 1 or (min(steps) <= 0 if alone else steps != (p.dtype.itemsize,)):
        p = s.copy(p)  # as `dot` does, and before products of several
    (over,), rows, step = collapsed(p.shape, p.strides)[1], p.size, t.dtype.itemsize
    out = s.result(y)
    if columns == 1:
        matrix = t._replace(shape=(before, rows), strides=(rows * step, step))
        column = p._replace(shape=(rows, 1), strides=(over, step))
        target = out._replace(shape=(before, 1), strides=(step, step))
        s.add(Product(target, matrix, column, loop))
        return out
    steps = (rows * columns * step, columns * step, step)[before == 1 :]
    stack = t._replace(shape=(before, rows, columns)[before == 1 :], strides=steps)
    row = p._replace(shape=(1, rows), strides=(0, over))
    steps = (columns * step, 0, step)[before == 1 :]
    target = out._replace(shape=(before, 1, columns)[before == 1 :], strides=steps)
    s.add(Product(target, row, stack, loop))
    return out


def times(s: Lowering, a: View, b: View, strides: Shape | None = None) -> View:
    """Lower a product of each element, in C order or another."""
    out = s.new(a.shape, a.dtype, strides)
    axes = axes_in_order(out.shape, out.strides)
    s.operate(
        Operation(
            out, [argument(a, axes), argument(b, axes)], "{0} * {1}", types=(c_type(a.dtype),) * 2
        ),
        out.size,
    )
    return out

"""Sums and other reductions, along any axes; long sums are added in pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.c.items import Operation, Reduction
from chainrules_compile.c.lowering import BLOCK, Lowering, argument, form, is_array
from chainrules_compile.c.memory import Shape, UnwritableError, View, axes_in_order
from chainrules_compile.c.text import c_type, literal
from chainrules_compile.passes.values import axes_of, contiguous
from chainrules_py.program import Call, Value

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
    s.add(Reduction(out, view, axes, loop, start))
    return out


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
        view = s.view(t)
        if of_product:
            view = times(s, view, s.view(rest[0]).broadcast(result))
        return reduce(s, np.add, view, y, _summed(result, shape))

    return lower


def _summed(result: Shape, shape: Shape) -> Shape:
    """Return the axes along which an array is summed to a shape that was broadcast to its own."""
    extra = len(result) - len(shape)
    return tuple([i for i, n in enumerate(result) if i < extra or n != shape[i - extra]])


def times(s: Lowering, a: View, b: View) -> View:
    """Lower a product of each element, in C order."""
    layout = contiguous(a.shape, a.dtype.itemsize)
    y = Value("", np.ndarray, a.shape, a.dtype, layout=layout)
    return s.computed(y, (s.held(a), s.held(b)), "{0} * {1}", [a.dtype] * 2)

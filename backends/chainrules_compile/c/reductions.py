"""Lowering of sums and other reductions along any axes; long sums are pairwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.c.buffers import (
    Shape,
    UnwritableError,
    View,
    axes_in_order,
    contiguous,
    together,
)
from chainrules_compile.c.expression_text import c_type, literal
from chainrules_compile.c.item_builder import BLOCK, Lowering, argument, form, is_array, only
from chainrules_compile.c.kernels import at, head, nest
from chainrules_compile.c.program_items import Operation
from chainrules_compile.internal_functions import dot_to, sum_to
from chainrules_compile.passes.analysis import axes_of
from chainrules_py import ops as v
from chainrules_py.program import Call, Value

_INF = np.inf
_STARTS: dict[Any, float] = {np.add: 0, np.multiply: 1, np.maximum: -_INF, np.minimum: _INF}
_STARTS |= {np.logical_or: 0, np.logical_and: 1}


def reduced(ufunc: np.ufunc) -> Callable[[Lowering, Call], View]:
    """Return the lowering of a reduction by a ufunc."""

    def lower(s: Lowering, call: Call) -> View:
        only(call, "axis", "keepdims")
        (x,), (y,) = call.operands, call.results
        if type(x) is not Value or form(x)[1] != form(y)[1] or form(x)[1].kind not in "fi":
            raise UnwritableError
        if not form(x)[0]:  # a sum starts at zero, so it turns -0 into 0
            return s.computed(y, (x,), "0 + {0}" if ufunc is np.add else "{0}", [form(x)[1]])
        return reduce(s, ufunc, s.view(x), y, axes_of(call.options.get("axis"), len(form(x)[0])))

    return lower


def counted(ufunc: np.ufunc) -> Callable[[Lowering, Call], View]:
    """Return the lowering of a count of nonzero elements, or of `any` or `all`."""

    def lower(s: Lowering, call: Call) -> View:
        only(call, "axis", "keepdims")
        (x,), (y,) = call.operands, call.results
        dtype = np.dtype(np.int64 if ufunc is np.add else np.bool_)
        if not is_array(x) or form(y)[1] != dtype:
            raise UnwritableError
        view = s.view(x)
        if not view.dtype == dtype == np.bool_:
            out, text = s.new(view.shape, dtype), "{0} != 0"
            given = argument(view, axes_in_order(out.shape, out.strides))
            s.operate(Operation(out, [given], text, types=(c_type(view.dtype),)), out.size)
            view = out
        return reduce(s, ufunc, view, y, axes_of(call.options.get("axis"), len(view.shape)))

    return lower


def reduce(s: Lowering, ufunc: np.ufunc, view: View, y: Value, axes: tuple[int, ...]) -> View:
    """Lower a reduction along axes."""
    _, dtype = form(y)
    start = _STARTS[ufunc]
    if dtype != view.dtype or (abs(start) == _INF and not view.size):
        raise UnwritableError
    if abs(start) == _INF and dtype.kind != "f":
        start = np.iinfo(dtype).min if start < 0 else np.iinfo(dtype).max
    out, order = s.result(y), axes_in_order(view.shape, view.strides)
    is_sum, everything = ufunc is np.add and dtype.kind == "f", len({*axes}) == len(view.shape)
    if is_sum and everything and view.size > BLOCK and argument(view, order).is_flat:
        blocks = s.new((-(-view.size // BLOCK),), dtype)
        s.operate(Operation(blocks, [argument(view, order)], is_total=True), view.size)
        view, axes, order = blocks, (0,), (0,)
    keeps = len(out.shape) == len(view.shape)
    kept = iter([t for d, t in enumerate(out.strides) if not (keeps and d in axes)])
    into = [0 if d in axes else next(kept) for d in range(len(view.shape))]
    dims = tuple([view.shape[d] for d in order])
    steps = [tuple([view.strides[d] for d in order]), tuple([into[d] for d in order])]
    kind, size = c_type(dtype), dtype.itemsize
    dims, (given, to) = together(dims, steps) if view.size != 1 else ((1,), [(0,), (0,)])
    text = f"  for (I i = 0; i < {out.size}; i++) (({kind}*)a0)[i] = {literal(start, dtype)};\n"
    if view.size and is_sum:
        text += _added(dims, given, to, kind, size)
    elif view.size:
        loop, n = s.loop(ufunc, f"{dtype.char * 2}->{dtype.char}"), dims[-1]
        x, z = at("a1", given[:-1]), at("a0", to[:-1])
        call = f"call2(L, {loop}, {z}, {to[-1]}, {x}, {given[-1]}, {z}, {to[-1]}, {n}L);"
        text += f"  {nest(dims[:-1])}{call}\n"
    s.kernel(text, [out], [view])
    return out


_REGISTERS = 16


def _added(dims: Shape, steps: Shape, into: Shape, kind: str, size: int) -> str:
    """Write a sum: pairwise along rows, in registers for a few columns."""
    *outer, n = dims
    k, step, to, given = len(outer), steps[-1], at("a0", into[:-1]), at("a1", steps[:-1])
    if not into[-1]:
        text = f"AT({kind}, {to}) += pairwise{size}({given}, {n}L, {step});"
        if n < 8:
            each = f"for (I k = 0; k < {n}; k++) r += AT({kind}, {given} + k * {step});"
            text = f"{{ {kind} r = ({kind})-0.0; {each} AT({kind}, {to}) += r; }}"
        return f"  {nest(tuple(outer))}{text}\n"
    if n > _REGISTERS or not outer or into[-2]:
        return f"  {nest(dims)}AT({kind}, {at('a0', into)}) += AT({kind}, {at('a1', steps)});\n"
    last = max([d for d in range(k) if into[d]], default=-1) + 1
    to = at("a0", into[:last]) + f" + i{k} * {into[k]}"
    rows, columns = nest(dims[last:k], last), f"UNROLLED {head(k, n)}"
    begin = f"{kind} r[{n}]; {columns}r[i{k}] = AT({kind}, {to});"
    add = f"{rows}{columns}r[i{k}] += AT({kind}, {at('a1', steps)});"
    end = f"{columns}AT({kind}, {to}) = r[i{k}];"
    return f"  {nest(dims[:last])}{{ {begin}\n  {add}\n  {end} }}\n"


def spread_sum(of_product: bool) -> Callable[[Lowering, Call], View]:
    """Return the lowering of a sum over broadcast axes, of an array or of a product of two."""

    def lower(s: Lowering, call: Call) -> View:
        (y,), (t, *rest) = call.results, call.operands
        result, shape = call.options["result"], call.options["shape"]
        if not all(map(is_array, call.operands)) or form(t)[0] != result:
            raise UnwritableError
        view = s.view(t)
        if of_product:
            view = times(s, view, s.view(rest[0]).broadcast(result))
        extra = len(result) - len(shape)
        axes = [i for i, n in enumerate(result) if i < extra or n != shape[i - extra]]
        return reduce(s, np.add, view, y, tuple(axes))

    return lower


def times(s: Lowering, a: View, b: View) -> View:
    """Lower an elementwise product, in C order."""
    if a.dtype != b.dtype:
        raise UnwritableError
    return elementwise(s, "{0} * {1}", a, b)


def elementwise(s: Lowering, text: str, a: View, *others: View) -> View:
    """Lower an expression of arrays of one form, in C order."""
    layout = tuple(
        [t for n, t in zip(a.shape, contiguous(a.shape, a.dtype.itemsize), strict=True) if n > 1]
    )
    y = Value("", np.ndarray, a.shape, a.dtype, layout=layout)
    xs = (a, *others)
    return s.computed(y, tuple(map(s.held, xs)), text, [a.dtype] * len(xs))


SUMS: dict[Any, Callable[[Lowering, Call], View]] = {
    **dict.fromkeys((v.sum, np.sum), reduced(np.add)),
    **dict.fromkeys((v.max, np.max), reduced(np.maximum)),
    **dict.fromkeys((v.min, np.min), reduced(np.minimum)),
    **dict.fromkeys((v.prod, np.prod), reduced(np.multiply)),
    **dict.fromkeys((v.any, np.any), counted(np.logical_or)),
    **dict.fromkeys((v.all, np.all), counted(np.logical_and)),
    **dict.fromkeys((v.count_nonzero, np.count_nonzero), counted(np.add)),
    sum_to: spread_sum(False),
    dot_to: spread_sum(True),
}

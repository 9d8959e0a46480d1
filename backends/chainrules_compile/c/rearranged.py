"""Rearranged arrays and running sums: what is rolled, accumulated, put on a diagonal, a power."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.c.items import Copy, Literal, Scan
from chainrules_compile.c.lowering import Lowering, form, is_array
from chainrules_compile.c.memory import UnwritableError, View
from chainrules_compile.c.text import c_type, literal, raw_type
from chainrules_py import vocabulary as v
from chainrules_py.program import Call, Value

_POWERS: dict[float, np.ufunc] = {
    2.0: np.square,
    0.5: np.sqrt,
    1.0: np.positive,
    -1.0: np.reciprocal,
}
"""What the operator ``**`` calls of arrays, for numbers of Python's as exponents."""


def argument_of(call: Call, place: int, name: str, default: Any = None) -> Any:
    """Return an argument that is an option or an operand."""
    if len(call.operands) > place:
        return call.operands[place]
    return call.options.get(name, default)


def only(call: Call, *names: str) -> None:
    """Raise for a call with other options."""
    if set(call.options) - {*names}:
        raise UnwritableError


def rolled(s: Lowering, call: Call) -> View:
    """Lower a roll along one axis: two copies."""
    only(call, "shift", "axis")
    x, (y,) = call.operands[0], call.results
    shift, axis = argument_of(call, 1, "shift"), argument_of(call, 2, "axis")
    if not is_array(x) or form(x) != form(y):
        raise UnwritableError
    shape, dtype = form(x)
    axis = 0 if axis is None and len(shape) == 1 else axis
    if type(axis) is not int or type(shift) is not int or 0 in shape:
        raise UnwritableError
    raw_type(dtype)
    axis %= len(shape)
    n, view = shape[axis], s.view(x)
    out = s.result(y)
    first = n - shift % n
    for source, target, length in ((first % n, 0, n - first), (0, n - first, first)):
        if length:
            part = (*shape[:axis], length, *shape[axis + 1 :])
            s.add(
                Copy(
                    _from(out, axis, target)._replace(shape=part),
                    _from(view, axis, source)._replace(shape=part),
                )
            )
    return out


def _from(view: View, axis: int, start: int) -> View:
    return view._replace(offset=view.offset + start * view.strides[axis])


_RUNNING: dict[Any, str] = {
    v.cumulative_sum: "{0} + {1}",
    np.cumsum: "{0} + {1}",
    v.cumulative_prod: "{0} * {1}",
    np.cumprod: "{0} * {1}",
}


def accumulated(s: Lowering, call: Call) -> View:
    """Lower a running sum or product, which NumPy adds one after the other."""
    only(call, "axis", "include_initial")
    x, (y,) = call.operands[0], call.results
    axis = argument_of(call, 1, "axis")
    if call.options.get("include_initial") or not is_array(x) or form(x) != form(y):
        raise UnwritableError
    shape, dtype = form(x)
    c_type(dtype)
    axis = 0 if axis is None and len(shape) == 1 else axis
    if type(axis) is not int or dtype.kind not in "fi":
        raise UnwritableError
    view, out = s.view(x), s.result(y)
    s.add(Scan(out, view, axis % len(shape), _RUNNING[call.function]))
    return out


def on_diagonal(s: Lowering, call: Call) -> View:
    """Lower a matrix of zeros but for a diagonal."""
    (x,), (y,) = call.operands, call.results
    _, columns, offset = (call.options[name] for name in ("rows", "columns", "offset"))
    shape, dtype = form(y)
    if not is_array(x) or form(x)[1] != dtype or len(shape) != 2:
        raise UnwritableError
    out, step = s.result(y), dtype.itemsize
    if out.strides != (columns * step, step):
        raise UnwritableError
    s.add(Copy(out, Literal(literal(0, dtype), dtype)))
    source = s.view(x)
    if not source.size:
        return out
    made = s.written(out)
    first = offset if offset >= 0 else -offset * columns
    part = made._replace(offset=first * step, shape=source.shape, strides=((columns + 1) * step,))
    s.add(Copy(part, source))
    return made


def to_a_power(s: Lowering, call: Call) -> View:
    """Lower the operator ``**`` of an array and a number, as NumPy takes it."""
    (x, p), (y,) = call.operands, call.results
    if not is_array(x) or form(x)[1].kind != "f" or type(p) not in (int, float) or p == 0:
        raise UnwritableError
    ufunc = _POWERS.get(float(p))
    if ufunc is not None:
        return s.elementwise(y, ufunc, (x,))
    return s.elementwise(y, np.power, (x, float(p)))


def triangle(lower: bool) -> Callable[[Lowering, Call], View]:
    """Return how a triangle is lowered: zeros, and a part of each row."""

    def lowered(s: Lowering, call: Call) -> View:
        only(call, "k")
        x, (y,) = call.operands[0], call.results
        k = argument_of(call, 1, "k", 0)
        if not is_array(x) or form(x) != form(y) or len(form(x)[0]) < 2 or type(k) is not int:
            raise UnwritableError
        (*_, rows, columns), dtype = form(x)
        if rows > _ROWS or not math.prod(form(x)[0]):
            raise UnwritableError
        source, out = s.view(x), s.result(y)
        s.add(Copy(out, Literal(literal(0, dtype), dtype)))
        made = s.written(out)
        for i in range(rows):
            cut = min(max(i + k + (1 if lower else 0), 0), columns)
            first, last = (0, cut) if lower else (cut, columns)
            if first == last:
                continue
            part, given = [
                view._replace(
                    offset=view.offset + i * view.strides[-2] + first * view.strides[-1],
                    shape=(*view.shape[:-2], last - first),
                    strides=(*view.strides[:-2], view.strides[-1]),
                )
                for view in (made, source)
            ]
            s.add(Copy(part, given))
        return made

    return lowered


_ROWS = 128
"""Of so many rows a triangle is taken in C."""


def converted(s: Lowering, call: Call) -> View:
    """Lower a conversion; what may not fit is left to NumPy."""
    x, (y,) = call.operands[0], call.results
    if type(x) is not Value or set(call.options) - {"dtype", "copy"} or len(call.operands) > 2:
        raise UnwritableError
    given, wanted = form(x)[1], form(y)[1]
    if given.kind == "f" and wanted.kind in "iu":
        raise UnwritableError
    if wanted.kind == "c" and given.kind == "f":
        view = s.widened(x, wanted)
        if view.strides != s.result(y).strides:
            raise UnwritableError
        return view
    text = "{0} != 0" if wanted.kind == "b" else "{0}"
    return s.computed(y, (x,), text, [given])


REARRANGED: dict[Any, Any] = {
    **dict.fromkeys((v.tril, np.tril), triangle(True)),
    **dict.fromkeys((v.triu, np.triu), triangle(False)),
    v.roll: rolled,
    np.roll: rolled,
    v.from_diagonal: on_diagonal,
    v.astype: converted,
    np.ndarray.astype: converted,
    **dict.fromkeys(_RUNNING, accumulated),
}

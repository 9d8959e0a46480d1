"""Words of several steps: outer products, what is taken or clipped, and shares of means."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.c._private import UMATH, loop_named
from chainrules_compile.c.items import Gather
from chainrules_compile.c.lowering import Lowering, form, is_array
from chainrules_compile.c.memory import UnwritableError, View
from chainrules_compile.c.rearranged import argument_of, only
from chainrules_compile.c.text import raw_type
from chainrules_py import vocabulary as v
from chainrules_py.program import Call, Value


def _floats(x: Any) -> np.dtype[Any]:
    """Return the dtype of an array with elements, of floating numbers."""
    if not is_array(x) or 0 in form(x)[0] or form(x)[1].char not in "fd":
        raise UnwritableError
    return form(x)[1]


def shared(s: Lowering, call: Call) -> Call:
    """Lower the shares of a mean's cotangent; return the call that spreads them as a sum's."""
    (y_bar, x), (y,) = call.operands, call.results
    if type(y_bar) is not Value or form(y_bar)[1].char not in "fd" or 0 in form(y)[0]:
        raise UnwritableError
    (shape, dtype), whole = form(y_bar), form(y)[0]
    n = math.prod(whole) // math.prod(shape)
    share = dataclasses.replace(y_bar, name="")
    if n < 2**16:
        s.views[share] = s.computed(share, (y_bar,), f"{{0}} / {n}", [dtype])
    else:
        s.views[share] = s.computed(share, (y_bar, 1 / n), "{0} * {1}", [dtype] * 2)
    return Call(call.function, (share, x), call.options, (y,))


def _in_a_row(s: Lowering, x: Value) -> View:
    """Return all elements of an array, or a number, along one axis."""
    view = s.view(x)
    if len(view.shape) == 1:
        return view
    step = view.dtype.itemsize
    if not view.in_c_order:
        view = s.copy(view)
    return view._replace(shape=(view.size,), strides=(step,))


def _outer(s: Lowering, call: Call) -> View:
    only(call)
    (a, b), (y,) = call.operands, call.results
    if not (type(a) is type(b) is Value) or 0 in form(y)[0]:
        raise UnwritableError
    views = [_in_a_row(s, x) for x in (a, b)]
    (m,), (n,) = views[0].shape, views[1].shape
    column = views[0]._replace(shape=(m, 1), strides=(views[0].strides[0], 0))
    row = views[1]._replace(shape=(1, n), strides=(0, views[1].strides[0]))
    return s.elementwise(y, np.multiply, (s.held(column), s.held(row)))


def _take(s: Lowering, call: Call) -> View:
    only(call, "axis")
    (x, places, *_), (y,) = call.operands, call.results
    axis = argument_of(call, 2, "axis")
    if (
        len(call.operands) > 3
        or not is_array(x)
        or not is_array(places)
        or form(places)[1] != np.int64
    ):
        raise UnwritableError
    view, index = s.view(x), s.view(places)
    axis = 0 if axis is None and len(view.shape) == 1 else axis
    if type(axis) is not int or not view.size or not index.size:
        raise UnwritableError
    raw_type(view.dtype)
    axis %= len(view.shape)
    out = s.result(y)
    if out.shape != (*view.shape[:axis], *index.shape, *view.shape[axis + 1 :]):
        raise UnwritableError
    s.add(Gather(out, view, [index], axis, None))
    return out


def _clipped(s: Lowering, call: Call) -> View:
    only(call)
    (y,), dtype = call.results, _floats(call.operands[0])
    if len(call.operands) != 3 or form(y)[1] != dtype:
        raise UnwritableError
    for x in call.operands[1:]:
        fits = form(x)[1] == dtype if type(x) is Value else type(x) in (int, float)
        if not fits:
            raise UnwritableError
    char = dtype.char
    return s.computed(
        y,
        call.operands,
        None,
        [dtype] * 3,
        s.loop(loop_named(UMATH, "clip"), f"{char}{char}{char}->{char}"),
    )


COMPOSED: dict[Any, Callable[[Lowering, Call], View]] = {
    **dict.fromkeys((v.outer, np.outer), _outer),
    **dict.fromkeys((v.take, np.take), _take),
    **dict.fromkeys((v.clip, np.clip), _clipped),
}

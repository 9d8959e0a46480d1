"""The first of the largest, and what is taken along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_native.items import Copy
from chainrules_native.kernels import at, nest
from chainrules_native.lowering import Lowering, form, is_array
from chainrules_native.memory import Shape, UnwritableError, View
from chainrules_native.rearranged import argument_of, only
from chainrules_native.text import c_type, raw_type
from chainrules_py import vocabulary as v
from chainrules_py.program import Call

_PLACES = np.dtype(np.intp)


def _rows(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :])


def first_of(sign: str) -> Callable[[Lowering, Call], View]:
    """Return how the place of the largest, or smallest, is lowered: the first of several."""

    def lower(s: Lowering, call: Call) -> View:
        only(call, "axis", "keepdims")
        x, (y,) = call.operands[0], call.results
        axis = argument_of(call, 1, "axis")
        if not is_array(x) or len(call.operands) > 2 or form(y)[1] != _PLACES:
            raise UnwritableError
        view = s.view(x)
        kind = c_type(view.dtype)
        if not view.size or view.dtype.kind not in "fiu":
            raise UnwritableError
        if axis is None:
            view = view if view.in_c_order else s.copy(view)
            view = view._replace(shape=(view.size,), strides=(view.dtype.itemsize,))
            axis = 0
        if type(axis) is not int:
            raise UnwritableError
        axis %= len(view.shape)
        out = s.result(y)
        rows, steps = _rows(view.shape, axis), _rows(view.strides, axis)
        kept = out.strides
        if len(kept) > len(rows):
            kept = _rows(kept, axis) if len(kept) == len(view.shape) else (0,) * len(rows)
        given = f"AT({kind}, {at('a1', steps)} + k * {view.strides[axis]})"
        better = f"x {sign} b || (x != x && b == b)" if view.dtype.kind == "f" else f"x {sign} b"
        text = (
            f"  {nest(rows)}{{ I p = 0, k = 0; {kind} b = {given};\n"
            f"    for (k = 1; k < {view.shape[axis]}; k++) {{ {kind} x = {given};\n"
            f"      if ({better}) {{ b = x; p = k; }} }}\n"
            f"    AT(I, {at('a0', kept)}) = p; }}\n"
        )
        s.kernel(text, [out], [view])
        return out

    return lower


def _along(s: Lowering, call: Call) -> View:
    """Lower what is taken at places along an axis."""
    only(call, "axis")
    (x, places), (y,) = call.operands, call.results
    view, index, axis = _aligned(s, x, places, call.options.get("axis", -1))
    if form(y) != (index.shape, view.dtype):
        raise UnwritableError
    out, kind = s.result(y), raw_type(view.dtype)
    there = _there(view, axis, "a1")
    text = f"AT({kind}, {at('a0', out.strides)}) = AT({kind}, {there}); }}\n"
    s.kernel(_checked(view, index, axis, "a2") + text, [out], [view, index], True)
    return out


def _add_along(s: Lowering, call: Call) -> View:
    """Lower what is added at places along an axis to a copy."""
    only(call, "axis")
    (x, given, places), (y,) = call.operands, call.results
    view, index, axis = _aligned(s, x, places, call.options.get("axis", -1))
    if form(y) != form(x) or not is_array(given) or form(given) != (index.shape, view.dtype):
        raise UnwritableError
    if view.dtype.kind != "f":
        raise UnwritableError
    added, kind = s.view(given), c_type(view.dtype)
    out = s.result(y)
    s.add(Copy(out, view))
    out = s.written(out)
    there = _there(out, axis, "a0")
    text = f"AT({kind}, {there}) += AT({kind}, {at('a1', added.strides)}); }}\n"
    s.kernel(_checked(out, index, axis, "a2") + text, [out], [added, index], True)
    return out


def _aligned(s: Lowering, x: Any, places: Any, axis: Any) -> tuple[View, View, int]:
    """Return an array and places along an axis of it, of the same shape along the others."""
    if not is_array(x) or not is_array(places) or type(axis) is not int:
        raise UnwritableError
    view, index = s.view(x), s.view(places)
    if index.dtype != _PLACES or len(view.shape) != len(index.shape) or not index.size:
        raise UnwritableError
    axis %= len(view.shape)
    if _rows(view.shape, axis) != _rows(index.shape, axis):
        raise UnwritableError
    return view, index, axis


def _checked(view: View, index: View, axis: int, where: str) -> str:
    n = view.shape[axis]
    return (
        f"  *s = 0;\n  {nest(index.shape)}{{ I j = AT(I, {at(where, index.strides)});\n"
        f"    j += j < 0 ? {n} : 0; if (j < 0 || j >= {n}) {{ *s = 1; return; }}\n    "
    )


def _there(view: View, axis: int, array: str) -> str:
    steps = tuple([0 if d == axis else step for d, step in enumerate(view.strides)])
    return f"{at(array, steps)} + j * {view.strides[axis]}"


SORTING: dict[Any, Any] = {
    **dict.fromkeys((v.argmax, np.argmax), first_of(">")),
    **dict.fromkeys((v.argmin, np.argmin), first_of("<")),
    v.take_along_axis: _along,
    v.put_along_axis_add: _add_along,
}

"""Lowering of rolls, running sums, triangles, diagonals, conversions and clips."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.c.buffers import UnwritableError, View
from chainrules_compile.c.expression_text import c_type
from chainrules_compile.c.item_builder import Lowering, argument_of, form, is_array, only
from chainrules_compile.c.kernels import at, nest
from chainrules_py import ops as v
from chainrules_py.program import Call, Value


def _moved(s: Lowering, call: Call, text: Callable[[View, View], str]) -> View:
    """Lower a result whose elements are an expression of the indices ``i0``, ``i1``, ..."""
    x, (y,) = call.operands[0], call.results
    if not is_array(x) or form(x)[1] != form(y)[1]:
        raise UnwritableError
    kind, source, out = c_type(form(y)[1]), s.view(x), s.result(y)
    to = f"AT({kind}, {at('a0', out.strides)})"
    given = text(source, out).replace("AT(", f"AT(const {kind}, ")
    s.kernel(f"  {nest(out.shape)}{to} = {given};\n", [out], [source])
    return out


def _diagonal(s: Lowering, call: Call) -> View:
    """Lower a matrix that is zero except on a diagonal."""
    offset = call.options["offset"]
    if len(call.results[0].shape or ()) != 2:
        raise UnwritableError
    place = "i0" if offset >= 0 else "i1"
    return _moved(
        s, call, lambda x, _: f"i1 - i0 == {offset} ? AT(a1 + {place} * {x.strides[0]}) : 0"
    )


def _triangle(sign: str) -> Callable[[Lowering, Call], View]:
    """Return the lowering of a triangle: the elements on one side of a diagonal, and zeros."""

    def lower(s: Lowering, call: Call) -> View:
        only(call, "k")
        k, d = argument_of(call, 1, "k", 0), len(call.results[0].shape or ())
        if type(k) is not int or d < 2 or form(call.operands[0])[0] != call.results[0].shape:
            raise UnwritableError
        test = f"i{d - 1} - i{d - 2} {sign} {k}"
        return _moved(s, call, lambda x, _: f"{test} ? AT({at('a1', x.strides)}) : 0")

    return lower


def _axis_of(call: Call, place: int) -> int:
    """Return the axis of a call whose result has the form of its array."""
    (x, *_), (y,) = call.operands, call.results
    axis = argument_of(call, place, "axis")
    if not is_array(x) or form(x) != form(y) or 0 in form(x)[0]:
        raise UnwritableError
    axis = 0 if axis is None and len(form(x)[0]) == 1 else axis
    if type(axis) is not int:
        raise UnwritableError
    return axis % len(form(x)[0])


def _rolled(s: Lowering, call: Call) -> View:
    """Lower a roll along one axis as two copies."""
    only(call, "shift", "axis")
    shift, axis = argument_of(call, 1, "shift"), _axis_of(call, 2)
    if type(shift) is not int:
        raise UnwritableError
    source, out = s.view(call.operands[0]), s.result(call.results[0])
    n = out.shape[axis]
    shift %= n
    for first, to, length in ((n - shift, 0, shift), (0, shift, n - shift)):
        if length:
            s.write(part(out, axis, to, length), part(source, axis, first, length))
    return out


def part(view: View, axis: int, start: int, length: int) -> View:
    """Return a range of indices along an axis of a view."""
    shape = (*view.shape[:axis], length, *view.shape[axis + 1 :])
    return view._replace(offset=view.offset + start * view.strides[axis], shape=shape)


def _accumulated(sign: str) -> Callable[[Lowering, Call], View]:
    """Return the lowering of running sums or products, one element after the other."""

    def lower(s: Lowering, call: Call) -> View:
        only(call, "axis", "include_initial")
        axis, kind = _axis_of(call, 1), c_type(form(call.results[0])[1])
        if call.options.get("include_initial") or form(call.results[0])[1].kind not in "fi":
            raise UnwritableError
        source, out = s.view(call.operands[0]), s.result(call.results[0])
        outer = [0 if d == axis else n for d, n in enumerate(out.shape)]
        to, given = [at(f"a{k}", x.strides) for k, x in enumerate((out, source))]
        heads = "".join([nest((n,), d) for d, n in enumerate(outer) if n])
        turn = (
            f"AT({kind}, {to}) = r = i{axis} ? r {sign} AT({kind}, {given}) : AT({kind}, {given})"
        )
        text = f"  {heads}{{ {kind} r = 0; {nest((out.shape[axis],), axis)}{turn}; }}\n"
        s.kernel(text, [out], [source])
        return out

    return lower


def _converted(s: Lowering, call: Call) -> View:
    """Lower a conversion; a conversion of floats to integers is left to NumPy."""
    only(call, "dtype", "copy")
    x, (y,) = call.operands[0], call.results
    if type(x) is not Value or len(call.operands) > 2:
        raise UnwritableError
    given, wanted = form(x)[1], form(y)[1]
    if given.kind == "f" and wanted.kind in "iu":
        raise UnwritableError
    return s.computed(y, (x,), "{0} != 0" if wanted.kind == "b" else "{0}", [given])


def _clipped(s: Lowering, call: Call) -> View:
    only(call)
    (y,), dtype = call.results, form(call.operands[0])[1]
    kinds = [form(x)[1] if type(x) is Value else type(x) for x in call.operands]
    if (
        len(kinds) != 3
        or dtype.kind != "f"
        or form(y)[1] != dtype
        or not {*kinds} <= {dtype, int, float}
    ):
        raise UnwritableError
    # Zeros of either sign are equal: beside two numbers NumPy keeps x, else the bound.
    same = "" if any([type(x) is Value and {*form(x)[0]} - {1} for x in call.operands[1:]]) else "="
    least = f"({{0}} >{same} {{1}} || {{0}} != {{0}} ? {{0}} : {{1}})"
    text = f"{least} <{same} {{2}} || {least} != {least} ? {least} : {{2}}"
    return s.computed(y, call.operands, text, [dtype] * 3)


REARRANGED: dict[Any, Callable[[Lowering, Call], View]] = {
    **dict.fromkeys((v.tril, np.tril), _triangle("<=")),
    **dict.fromkeys((v.triu, np.triu), _triangle(">=")),
    **dict.fromkeys((v.roll, np.roll), _rolled),
    **dict.fromkeys((v.cumulative_sum, np.cumsum), _accumulated("+")),
    **dict.fromkeys((v.cumulative_prod, np.cumprod), _accumulated("*")),
    **dict.fromkeys((v.astype, np.ndarray.astype), _converted),
    **dict.fromkeys((v.clip, np.clip), _clipped),
    v.from_diagonal: _diagonal,
}

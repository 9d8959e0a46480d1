"""Lowering of reads and writes by index, also by index arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.c.buffers import UnwritableError, View
from chainrules_compile.c.expression_text import c_type, literal, raw_type
from chainrules_compile.c.item_builder import Lowering, argument_of, form, is_array, only
from chainrules_compile.c.kernels import at, nest
from chainrules_compile.c.program_items import Literal
from chainrules_compile.internal_functions import subtract_at
from chainrules_compile.passes.buffer_reuse import Into
from chainrules_py import ops as v
from chainrules_py.ops.engine_operations import Index, read, store
from chainrules_py.program import Call, Value


def gathered(s: Lowering, call: Call) -> View:
    """Lower the reading of an array by index arrays."""
    x, *arrays = call.operands
    (y,) = call.results
    pattern, indices = _indices(s, x, call.options["index"], arrays, form(y)[0])
    source, axis = _around(s.view(x), pattern)
    raw_type(source.dtype)
    out = s.result(y)
    if out.shape != _gathered_shape(source, indices, axis):
        raise UnwritableError
    _gather(s, out, source, indices, axis)
    return out


def _take(s: Lowering, call: Call) -> View:
    only(call, "axis")
    (x, places, *_), axis = call.operands, argument_of(call, 2, "axis")
    if len(call.operands) > 3 or not (is_array(x) and is_array(places)):
        raise UnwritableError
    axis = 0 if axis is None and len(form(x)[0]) == 1 else axis
    if type(axis) is not int:
        raise UnwritableError
    index = Index((*[(slice, None, None, None)] * (axis % len(form(x)[0])), Index.HOLE))
    return gathered(s, Call(read, (x, places), {"index": index}, call.results))


def _gather(
    s: Lowering, out: View, source: View, indices: list[View], axis: int, write: str | None = None
) -> None:
    """Read slices of an array by index arrays along some axes, or write to them.

    `write` is an expression of the old element, ``{0}``, and the new, ``{1}``. An index out of
    bounds is a miss.
    """
    if not out.size:
        return
    many, k, dims = len(indices), len(indices[0].shape), out.shape
    kind = raw_type(out.dtype) if write in (None, "{1}") else c_type(out.dtype)
    rest = [*range(axis), *range(axis + k, len(dims))]
    steps = [*source.strides[:axis], *source.strides[axis + many :]]
    place = "".join([f" + i{d} * {t}" for d, t in zip(rest, steps, strict=True) if t])
    checks = ""
    for q, index in enumerate(indices):
        n, where = source.shape[axis + q], f"a{2 + q}"
        place += f" + j{q} * {source.strides[axis + q]}"
        where += "".join([f" + i{axis + d} * {t}" for d, t in enumerate(index.strides) if t])
        checks += f"I j{q} = AT(int64_t, {where}); j{q} += j{q} < 0 ? {n} : 0; "
        checks += f"if (j{q} < 0 || j{q} >= {n}) {{ *s = 1; return; }} "
    own, other = ("a0", "a1") if write is None else ("a1", "a0")
    there, here = f"AT({kind}, {other}{place})", f"AT({kind}, {at(own, out.strides)})"
    text = f"{here} = {there};" if write is None else f"{there} = {write.format(there, here)};"
    heads, inner = nest(dims[axis : axis + k], axis), "".join([nest((dims[d],), d) for d in rest])
    outs, given = ([out], [source]) if write is None else ([source], [out])
    s.kernel(f"  *s = 0;\n  {heads}{{ {checks}{inner}{text} }}\n", outs, given + indices, True)


def _around(view: View, pattern: Any) -> tuple[View, int]:
    """Return the view after the slices of an index, and the axis of the first index array.

    Index arrays that are not adjacent become the first axes of the result.
    """
    kinds = [entry[0] if type(entry) is tuple else entry for entry in pattern]
    if any([type(kind) is int or kind is bool for kind in kinds]) or not view.size:
        raise UnwritableError
    holes = [i for i, entry in enumerate(pattern) if entry is Index.HOLE or entry == Index.HOLE]
    entries = [_basic(entry) for entry in pattern]
    array, memory = view.shadow()
    found = array[tuple(entries)]
    if not found.size:
        raise UnwritableError
    rest = len(view.shape) - sum([kind not in (None, ...) for kind in kinds])
    axes = [i if ... not in kinds[:i] else i + rest - 1 for i in holes]
    if holes == [*range(holes[0], holes[-1] + 1)]:
        return view.part(found, memory), axes[0]
    return view.part(np.moveaxis(found, axes, range(len(axes))), memory), 0


def _basic(entry: Any) -> Any:
    if entry == Index.HOLE:
        return slice(None)
    return slice(*entry[1:]) if type(entry) is tuple else entry


def _indices(
    s: Lowering, x: Value, pattern: Any, arrays: list[Any], like: tuple[int, ...]
) -> tuple[list[Any], list[View]]:
    """Return an index, and its index arrays broadcast to one shape.

    Parameters
    ----------
    s : Lowering
    x : Value
        The array that is read, or written to.
    pattern : Index
        The index; a mask becomes as many index arrays as it has axes.
    arrays : list
        The arrays in its holes.
    like : tuple of int
        The shape of the elements, from which the count of a mask follows.
    """
    if any([type(a) is not Value for a in arrays]):
        raise UnwritableError
    entries = list(pattern)
    if len(arrays) == 1 and form(arrays[0])[1] == np.bool_:
        mask = s.view(arrays[0])
        k, ndim = len(mask.shape), len(form(x)[0])
        hole = entries.index(Index.HOLE)
        if not k or None in entries or len(like) != ndim - k + 1:
            raise UnwritableError
        entries[hole : hole + 1] = [Index.HOLE] * k
        before = hole if ... not in entries[:hole] else hole + ndim - len(entries)
        n = like[before]
        if n < 2:
            raise UnwritableError  # one value may be broadcast to all
        return entries, _places_of(s, mask, n)
    if any([form(a)[1] != np.int64 for a in arrays]):
        raise UnwritableError
    shape = np.broadcast_shapes(*[form(a)[0] for a in arrays])
    if not shape:
        raise UnwritableError
    return entries, [s.view(a).broadcast(shape) for a in arrays]


def _places_of(s: Lowering, mask: View, n: int) -> list[View]:
    """Lower the indices of the true elements of a mask; a count other than n is a miss."""
    key = mask.version, mask.offset, mask.shape, mask.strides, n
    known = s.known(key)
    if known is not None:
        return known
    k, kind, dtype = len(mask.shape), raw_type(mask.dtype), np.dtype(np.int64)
    # NumPy's index arrays are interleaved.
    places = [s.new((n, k), dtype)._replace(shape=(n,), strides=(8 * k,)) for _ in range(k)]
    writes = " ".join([f"((int64_t*)a{d})[{k} * n] = i{d};" for d in range(k)])
    text = (
        f"  I n = 0;\n  {nest(mask.shape)}if (AT({kind}, {at(f'a{k}', mask.strides)})) {{\n"
        f"    if (n < {n}) {{ {writes} }} n++; }}\n  *s = n != {n};\n"
    )
    s.kernel(text, places, [mask], may_miss=True)
    s.know(key, places)
    return places


def _gathered_shape(view: View, indices: list[View], axis: int) -> tuple[int, ...]:
    return (*view.shape[:axis], *indices[0].shape, *view.shape[axis + len(indices) :])


def _target(s: Lowering, call: Call) -> View:
    """Return writable memory that contains the first operand."""
    x, (y,) = call.operands[0], call.results
    view = s.view(x)
    if form(y) != form(x):
        raise UnwritableError
    own = not view.version.buffer.place and view.is_whole
    if type(call.function) is Into and own:
        return view
    out = s.result(y)
    s.write(out, view)
    return out


def _part(s: Lowering, view: View, pattern: Any) -> View:
    array, memory = view.shadow()
    if not pattern.is_basic or view.size == 0:
        raise UnwritableError
    entries = pattern.join(())
    entries = entries if type(entries) is tuple else (entries,)
    found = array[(*entries, ...)] if ... not in entries else array[entries]
    if found.size == 0:
        raise UnwritableError
    return view.part(found, memory)


def _writes(expression: str) -> Callable[[Lowering, Call], View]:
    def lower(s: Lowering, call: Call) -> View:
        x, y, *arrays = call.operands
        pattern = call.options["index"]
        _, dtype = form(x)
        c_type(dtype)
        source: View | Literal
        if type(y) is not Value:
            source = Literal(literal(y, dtype), dtype)
        else:
            source = s.view(y)
            if form(y)[1] != dtype:
                raise UnwritableError
        if arrays:
            if isinstance(source, Literal):
                raise UnwritableError
            pattern, indices = _indices(s, x, pattern, arrays, source.shape)
            part, axis = _around(s.view(x), pattern)  # before anything is copied
            source = source.broadcast(_gathered_shape(part, indices, axis))
            target = _target(s, call)
            made = s.written(target)
            _gather(s, source, _around(made, pattern)[0], indices, axis, expression)
            return made
        _part(s, s.view(x), pattern)  # before anything is copied
        target = _target(s, call)
        made = s.written(target)
        part = _part(s, made, pattern)
        if isinstance(source, View):
            source = _without_ones(source, part)
        s.write(part, source, expression)
        return made

    return lower


def _without_ones(source: View, part: View) -> View:
    """Broadcast what is written to a part; NumPy drops leading axes of length one."""
    while len(source.shape) > len(part.shape) and source.shape[0] == 1:
        source = source._replace(shape=source.shape[1:], strides=source.strides[1:])
    return source.broadcast(part.shape)


PLACES: dict[Any, Callable[[Lowering, Call], View]] = {
    **dict.fromkeys((v.take, np.take), _take),
    store: _writes("{1}"),
    v.add_at: _writes("{0} + {1}"),
    v.scatter_add: _writes("{0} + {1}"),
    subtract_at: _writes("{0} - {1}"),
}

"""Places: parts of arrays that are read and written by indices, of which some may be arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.calls import minus_at, plus_at, subtract_at
from chainrules_compile.passes.lifetimes import Into
from chainrules_native.items import Copy, Gather, Literal
from chainrules_native.lowering import Lowering, form, is_array
from chainrules_native.memory import UnwritableError, View
from chainrules_native.text import c_type, literal, raw_type
from chainrules_py import vocabulary as v
from chainrules_py.program import Call, Value
from chainrules_py.vocabulary.views import Index, store


def gathered(s: Lowering, call: Call) -> View:
    """Lower the reading of an array at places that arrays say."""
    x, *arrays = call.operands
    (y,), pattern = call.results, call.options["index"]
    if not is_array(x):
        raise UnwritableError
    source, axis = _around(s.view(x), pattern)
    indices = _indices(s, arrays)
    raw_type(source.dtype)
    out = s.result(y)
    if out.shape != _gathered_shape(source, indices, axis):
        raise UnwritableError
    s.add(Gather(out, source, indices, axis, None))
    return out


def _around(view: View, pattern: Any) -> tuple[View, int]:
    """Return what the slices of an index leave of an array, and the axis of the first array in it.

    Raises
    ------
    UnwritableError
        If the arrays do not stand side by side.
    """
    kinds = [entry[0] if type(entry) is tuple else entry for entry in pattern]
    if any([type(kind) is int or kind is bool for kind in kinds]) or not view.size:
        raise UnwritableError
    holes = [i for i, entry in enumerate(pattern) if entry is Index.HOLE or entry == Index.HOLE]
    if holes != [*range(holes[0], holes[-1] + 1)] or kinds.count(...) > 1:
        raise UnwritableError
    entries = [_basic(entry) for entry in pattern]
    axis = holes[0]
    if ... in kinds[:axis]:
        axis += len(view.shape) - sum([kind not in (None, ...) for kind in kinds]) - 1
    array, memory = view.shadow()
    found = array[tuple(entries)]
    if not found.size:
        raise UnwritableError
    return view.part(found, memory), axis


def _basic(entry: Any) -> Any:
    if entry == Index.HOLE:
        return slice(None)
    return slice(*entry[1:]) if type(entry) is tuple else entry


def _indices(s: Lowering, arrays: list[Any]) -> list[View]:
    """Return the arrays of places, spread over one shape."""
    if any([type(x) is not Value or form(x)[1] != np.int64 for x in arrays]):
        raise UnwritableError
    shape = np.broadcast_shapes(*[form(x)[0] for x in arrays])
    if not shape:
        raise UnwritableError
    return [s.view(x).broadcast(shape) for x in arrays]


def _gathered_shape(view: View, indices: list[View], axis: int) -> tuple[int, ...]:
    return (*view.shape[:axis], *indices[0].shape, *view.shape[axis + len(indices) :])


def _target(s: Lowering, call: Call) -> View:
    """Return memory that may be written to, in which the first operand stands."""
    x, (y,) = call.operands[0], call.results
    view = s.view(x)
    if form(y) != form(x):
        raise UnwritableError
    own = view.version.buffer.place is None and view.is_whole
    if type(call.function) is Into and own:
        return view
    out = s.result(y)
    s.add(Copy(out, view))
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
            part, axis = _around(s.view(x), pattern)  # before anything is copied
            indices = _indices(s, arrays)
            if isinstance(source, Literal):
                raise UnwritableError
            source = source.broadcast(_gathered_shape(part, indices, axis))
            target = _target(s, call)
            made = s.written(target)
            s.add(Gather(source, _around(made, pattern)[0], indices, axis, expression))
            return made
        _part(s, s.view(x), pattern)  # before anything is copied
        target = _target(s, call)
        made = s.written(target)
        part = _part(s, made, pattern)
        if isinstance(source, View):
            source = _without_ones(source, part)
        s.add(Copy(part, source, expression))
        return made

    return lower


def _without_ones(source: View, part: View) -> View:
    """Spread what is written over a part; NumPy drops leading axes of one."""
    while len(source.shape) > len(part.shape) and source.shape[0] == 1:
        source = source._replace(shape=source.shape[1:], strides=source.strides[1:])
    return source.broadcast(part.shape)


PLACES: dict[Any, Callable[[Lowering, Call], View]] = {
    store: _writes("{1}"),
    v.add_at: _writes("{0} + {1}"),
    v.scatter_add: _writes("{0} + {1}"),
    subtract_at: _writes("{0} - {1}"),
    plus_at: _writes("0 + {1}"),
    minus_at: _writes("0 - {1}"),
}

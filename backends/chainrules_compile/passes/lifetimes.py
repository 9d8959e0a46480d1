"""Lifetimes: results are written into operands of which nothing is needed any more."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from chainrules_compile.calls import Through, Written, minus_at, plus_at, subtract_at
from chainrules_compile.passes.values import alike, changed, ends, is_array, is_contiguous, roots
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import add_along_axis, add_at, copy, scatter_add
from chainrules_py.vocabulary.views import duplicate, store

WRITES = frozenset((store, scatter_add, add_at, add_along_axis, subtract_at, plus_at, minus_at))
"""Words whose result is their first operand, and something else in some places."""


def writes(function: Any) -> bool:
    """Tell whether the result of a function is its first operand, written to."""
    return function in WRITES or type(function) in (Through, Written)


@final
class Into:
    """Function whose result is written into one of its operands."""

    __slots__ = ("function", "place")

    def __init__(self, function: Any, place: int) -> None:
        self.function = function
        self.place = place

    @property
    def __name__(self) -> str:
        """The name of the function."""
        return f"{self.function.__name__}_into_{self.place}"


def with_buffers(program: Program) -> Program:
    """Return the program with calls that write into what dies at them."""
    if any([call.function in (duplicate, copy) for call in program]):
        program = without_copies(program)
    of, calls = roots(program), list(program.calls)
    last = ends(program, of)
    foreign = {of[x] for x in (*program.inputs, *program.constants)}
    for i, call in enumerate(calls):
        if len(call.results) != 1 or not is_array(call.results[0]):
            continue
        place = _place(call, i, last, foreign, of)
        if place is not None:
            calls[i] = Call(Into(call.function, place), call.operands, call.options, call.results)
    return changed(program, calls=tuple(calls))


def without_copies(program: Program) -> Program:
    """Return the program without copies of arrays that nobody else has and that die with that."""
    of = roots(program)
    last = ends(program, of)
    foreign = {of[x] for x in (*program.inputs, *program.constants)}
    instead: dict[Value, Any] = {}
    kept = []
    for i, call in enumerate(program.calls):
        call = call.replaced(instead)
        if call.function in (duplicate, copy):
            (x,), (y,) = call.operands, call.results
            alone = is_array(x) and x.memory is None and of[x] not in foreign
            if alone and alike(x, y) and x.layout == y.layout and last[of[x]] == i:
                instead[y] = x
                last[of[x]] = last[of[y]]
                continue
        kept.append(call)
    outputs = Call(None, program.outputs, {}, ()).replaced(instead).operands
    return changed(program, calls=tuple(kept), outputs=outputs)


def _place(
    call: Call, i: int, last: dict[Value, int], foreign: set[Value], of: dict[Value, Value]
) -> int | None:
    result = call.results[0]
    if writes(call.function):
        places: Any = (0,)
    elif isinstance(call.function, np.ufunc) and is_contiguous(result) and not call.options:
        if call.function.nout != 1 or call.function.signature is not None:
            return None
        places = range(len(call.operands))
    else:
        return None
    for place in places:
        x = call.operands[place]
        if not is_array(x) or of[x] in foreign or x.memory is not None or last[of[x]] != i:
            continue
        if not alike(x, result) or (places != (0,) and not is_contiguous(x)):
            continue
        if not writes(call.function) and x.dtype.kind not in "fiub":
            continue  # NumPy multiplies one complex number otherwise where it writes it over
        others = [y for y in call.values if y is not x and of[y] is of[x]]
        twice = writes(call.function) and sum([y is x for y in call.values]) > 1
        if not others and not twice:
            return int(place)
    return None

"""Lifetimes: results are written into operands that are not used again."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from chainrules_compile.internal_functions import Through, Written, subtract_at
from chainrules_compile.passes.analysis import (
    alike,
    called,
    changed,
    ends,
    is_array,
    is_contiguous,
    roots,
)
from chainrules_py.ops import add_along_axis, add_at, scatter_add
from chainrules_py.ops.engine_operations import store
from chainrules_py.program import Call, Program, Value

WRITES = frozenset((store, scatter_add, add_at, add_along_axis, subtract_at))
"""Operations whose result is their first operand, changed in a part."""


def writes(function: Any) -> bool:
    """Return whether the result of a function is its first operand, written to."""
    return function in WRITES or type(function) in (Through, Written)


@final
class Into:
    """Function whose result is written into one of its operands."""

    __slots__ = ("function", "place")

    def __init__(self, function: Any, place: int) -> None:
        self.function = function
        self.place = place


def with_buffers(program: Program) -> Program:
    """Return the program with results written into operands that die at the call."""
    known = {f: into for f in program.functions if (into := _into(f)) is not None}
    calls = list(program.calls)
    at = [i for i, call in enumerate(calls) if call.function in known]
    at = [i for i in at if len(calls[i].results) == 1 and is_array(calls[i].results[0])]
    if not at:
        return program
    of = roots(program)
    last = ends(program, of)
    foreign = {of[x] for x in (*program.inputs, *program.constants)}
    for i in at:
        call = calls[i]
        into = known[call.function]
        place = _place(call, i, last, foreign, of)
        if place is not None:
            if place not in into:
                into[place] = Into(call.function, place)
            calls[i] = called(call, into[place])
    return changed(program, calls=tuple(calls))


def _into(f: Any) -> dict[int, Into] | None:
    """Return an empty table of `Into` for a function that can write into operands, or None."""
    if isinstance(f, np.ufunc):
        return {} if f.nout == 1 and f.signature is None else None
    return {} if writes(f) else None


def _place(
    call: Call, i: int, last: dict[Value, int], foreign: set[Value], of: dict[Value, Value]
) -> int | None:
    (result,), operands = call.results, call.operands
    elementwise = type(call.function) is np.ufunc
    if not elementwise:
        operands = operands[:1]
    elif call.options:
        return None
    for place, x in enumerate(operands):
        if type(x) is not Value or x.type is not np.ndarray or x.memory is not None:
            continue
        root = of[x]
        if last[root] != i or root in foreign:
            continue
        if elementwise and not is_contiguous(result):
            return None
        # NumPy rounds the product of a single complex number differently in place.
        other = elementwise and (x.layout != result.layout or x.dtype.kind not in "fiub")
        if other or not alike(x, result) or (not elementwise and call.values.count(x) > 1):
            continue
        if not any([y is not x and of.get(y) is root for y in call.values]):
            return place
    return None

"""Shares of extremes: where each of them is attained once, nobody counts along axes.

An extreme that is finite is one of the numbers that it is taken of. So if all of them are attained
as often together as there are of them, each is so once, and has all of its cotangent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from chainrules_compile.calls import even_shares
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_compile.passes.values import axes_of, changed, is_array
from chainrules_py import vocabulary as v
from chainrules_py.program import Call, Program, Value

_EXTREMES = frozenset((v.max, v.min, v.nanmax, v.nanmin))


def with_shares(program: Program) -> Program:
    """Return the program in which shares of extremes are one call."""
    functions = program.functions
    if v.count_nonzero not in functions or functions.isdisjoint(_EXTREMES):
        return program
    made = program.definitions()
    calls = tuple([_shares(call, made) or call for call in program.calls])
    return without_dead_code(changed(program, calls=calls))


def _shares(call: Call, made: Mapping[Value, Call]) -> Call | None:
    """Return the call that gives shares, where this one divides what is true by its count."""
    if call.function not in (v.divide, np.divide) or not is_array(call.results[0]):
        return None
    above, below = [made.get(x) if type(x) is Value else None for x in call.operands]
    if above is None or below is None or {above.function, below.function} != {v.astype}:
        return None
    (hits,), (count,), (share,) = above.operands, below.operands, call.results
    (ones,) = above.results
    if ones.dtype != np.float64 or ones.layout != share.layout or ones.shape != share.shape:
        return None
    asked, counted = made.get(hits), made.get(count)
    if asked is None or counted is None or counted.function is not v.count_nonzero:
        return None
    if counted.operands != (hits,) or not counted.options["keepdims"] or not is_array(count):
        return None
    if asked.function is not np.equal or asked.options or share.dtype != np.float64:
        return None
    x, top = asked.operands
    n, axis = len(hits.shape), counted.options["axis"]
    if not is_array(x) or x.shape != hits.shape or not _is_extreme(x, top, axis, made):
        return None
    return Call(even_shares, (hits, top), {"axis": axes_of(axis, n)}, call.results)


def _is_extreme(x: Value, top: Any, axis: Any, made: Mapping[Value, Call]) -> bool:
    """Tell whether a value is the extreme of an array along axes, which have length 1 in it."""
    n = len(x.shape or ())
    call = made.get(top) if is_array(top) else None
    if call is not None and call.function is v.expand_dims:
        if {*axes_of(call.options["axis"], n)} != {*axes_of(axis, n)}:
            return False
        taken = made.get(call.operands[0])
        kept = taken is not None and not taken.options.get("keepdims", True)
    else:
        taken = call
        kept = taken is not None and taken.options.get("keepdims", False)
    if taken is None or not kept or taken.function not in _EXTREMES or top.dtype != x.dtype:
        return False
    return taken.operands == (x,) and {*axes_of(taken.options["axis"], n)} == {*axes_of(axis, n)}

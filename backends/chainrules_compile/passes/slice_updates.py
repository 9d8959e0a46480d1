"""Parts: reading a part, adding to it and storing it becomes one addition in place."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from chainrules_compile.internal_functions import subtract_at
from chainrules_compile.passes.analysis import changed, counts
from chainrules_py.ops import add_at
from chainrules_py.ops.engine_operations import read, store
from chainrules_py.program import Call, Program, Value

_AT: dict[Any, Any] = {np.add: add_at, np.subtract: subtract_at}
_AT |= {operator.add: add_at, operator.sub: subtract_at}


def with_parts(program: Program) -> Program:
    """Return the program with ``x[i] += y`` for ``x[i] = x[i] + y``, also for differences."""
    if store not in program.functions:
        return program
    made, uses = program.definitions(), counts(program)
    calls: list[Call | None] = list(program.calls)
    where = {id(call): i for i, call in enumerate(program.calls)}
    for i, call in enumerate(program.calls):
        if not fits(call):
            continue
        x, total = call.operands
        sum_ = made.get(total)
        operation = None if sum_ is None else _AT.get(sum_.function)
        if operation is None or sum_ is None or uses[total] != 1:
            continue
        part, y = sum_.operands
        reading = made.get(part) if type(part) is Value else None
        if reading is None or reading.function is not read or uses[part] != 1:
            continue
        same = reading.operands == (x,) and reading.options == call.options
        if not same or not _fits(part, y):
            continue
        calls[i] = Call(operation, (x, y), call.options, call.results)
        calls[where[id(reading)]] = calls[where[id(sum_)]] = None
    return changed(program, calls=tuple([c for c in calls if c is not None]))


def fits(call: Call) -> bool:
    """Return whether a call stores a value in a part of an array."""
    return call.function is store and len(call.operands) == 2 and type(call.operands[1]) is Value


def _fits(part: Value, y: Any) -> bool:
    if type(y) is not Value:
        return type(y) in (int, float)
    return bool(y.dtype == part.dtype and len(y.shape or ()) <= len(part.shape or ()))

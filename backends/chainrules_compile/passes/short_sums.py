"""Short sums: sums of short rows become sums of columns.

NumPy starts a reduction for each row, which takes as long as twenty additions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_compile.passes.analysis import (
    FLOATS,
    axes_of,
    changed,
    is_array,
    is_contiguous,
    size,
    value_of,
)
from chainrules_py.ops import sum as sum_
from chainrules_py.ops.engine_operations import Index, read
from chainrules_py.program import Call, Program, Value

_MOST = 7
"""Maximum row length: NumPy adds these one by one from zero, so columns give the same bits."""
_ROWS = 48
"""Minimum number of rows, per number but one, for which columns are faster."""
_SUMS = frozenset((sum_, np.sum))


def with_short_sums(program: Program) -> Program:
    """Return the program with sums of columns in place of sums of short rows."""
    if program.functions.isdisjoint(_SUMS) or not any(map(_is_short, program.calls)):
        return program
    calls = tuple([new for call in program.calls for new in _instead(call)])
    return changed(program, calls=calls)


def _is_short(call: Call) -> bool:
    """Return whether a call sums many short rows of an array in C order."""
    if call.function not in _SUMS or not call.options.keys() <= {"axis", "keepdims"}:
        return False
    (x, *axes), (y,) = call.operands, call.results
    if len(axes) > 1 or not (is_array(x) and is_array(y) and len(x.shape) > 1):
        return False
    axis = axes[0] if axes else call.options.get("axis")
    n = x.shape[-1]
    last = axis is not None and axes_of(axis, len(x.shape)) == (len(x.shape) - 1,)
    plain = x.dtype in FLOATS and x.dtype == y.dtype and is_contiguous(x) and is_contiguous(y)
    return last and plain and 1 < n <= _MOST and size(y) >= _ROWS * (n - 1)


def _instead(call: Call) -> list[Call]:
    """Return the calls that replace a call."""
    if not _is_short(call):
        return [call]
    x, (y,) = call.operands[0], call.results
    calls: list[Call] = []
    total, *columns = [_column(x, y, k, calls) for k in range(x.shape[-1])]
    for column in columns:
        before, total = total, _new(y, len(calls), None, y.layout)
        calls.append(Call(np.add, (before, column), {}, (total,)))
    return [*calls, Call(np.add, (total, 0.0), {}, (y,))]  # a row of -0 sums to 0


def _column(x: Value, y: Value, k: int, calls: list[Call]) -> Value:
    shape: Any = y.shape
    entry: Any = slice(k, k + 1) if len(shape) == len(x.shape or ()) else k
    column = _new(y, len(calls), x.memory or x, x.layout[:-1])
    calls.append(Call(read, (x,), {"index": Index.split((..., entry))[0]}, (column,)))
    return column


def _new(y: Value, n: int, memory: Value | None, layout: Any) -> Value:
    return value_of(f"{y.name}_short{n}", np.ndarray, y.shape, y.dtype, memory, layout)

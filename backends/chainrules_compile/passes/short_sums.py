"""Short sums: those of a few numbers that lie side by side are sums of columns.

NumPy begins anew for each row, which takes it as long as twenty additions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_compile.passes.values import (
    axes_of,
    changed,
    is_array,
    is_contiguous,
    size,
    value_of,
)
from chainrules_py.ops import sum as sum_
from chainrules_py.ops.views import Index, read
from chainrules_py.program import Call, Program, Value

_MOST = 7
"""How many numbers NumPy adds one after the other, from zero on: sums of columns have its bits."""
_ROWS = 48
"""From how many rows on, for each number but one, columns take less time."""
_SUMS = frozenset((sum_, np.sum))
_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))


def with_short_sums(program: Program) -> Program:
    """Return the program with other calls for sums of short rows."""
    if program.functions.isdisjoint(_SUMS) or not any(map(_is_short, program.calls)):
        return program
    calls = tuple([new for call in program.calls for new in _instead(call)])
    return changed(program, calls=calls)


def _is_short(call: Call) -> bool:
    """Tell whether a call sums short rows of an array in C order, of which there are many."""
    if call.function not in _SUMS or not call.options.keys() <= {"axis", "keepdims"}:
        return False
    (x, *axes), (y,) = call.operands, call.results
    if len(axes) > 1 or not (is_array(x) and is_array(y) and len(x.shape) > 1):
        return False
    axis = axes[0] if axes else call.options.get("axis")
    n = x.shape[-1]
    last = axis is not None and axes_of(axis, len(x.shape)) == (len(x.shape) - 1,)
    plain = x.dtype in _DTYPES and x.dtype == y.dtype and is_contiguous(x) and is_contiguous(y)
    return last and plain and 1 < n <= _MOST and size(y) >= _ROWS * (n - 1)


def _instead(call: Call) -> list[Call]:
    """Return what stands in the place of a call."""
    if not _is_short(call):
        return [call]
    x, (y,) = call.operands[0], call.results
    calls: list[Call] = []
    total, *columns = [_column(x, y, k, calls) for k in range(x.shape[-1])]
    for column in columns:
        before, total = total, _new(y, len(calls), None, y.layout)
        calls.append(Call(np.add, (before, column), {}, (total,)))
    return [*calls, Call(np.add, (total, 0.0), {}, (y,))]  # rows of -0 alone are 0


def _column(x: Value, y: Value, k: int, calls: list[Call]) -> Value:
    shape: Any = y.shape
    entry: Any = slice(k, k + 1) if len(shape) == len(x.shape or ()) else k
    column = _new(y, len(calls), x.memory or x, x.layout[:-1])
    calls.append(Call(read, (x,), {"index": Index.split((..., entry))[0]}, (column,)))
    return column


def _new(y: Value, n: int, memory: Value | None, layout: Any) -> Value:
    return value_of(f"{y.name}_short{n}", np.ndarray, y.shape, y.dtype, memory, layout)

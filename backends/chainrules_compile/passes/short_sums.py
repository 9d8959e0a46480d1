"""Short sums: those of a few numbers that lie side by side are sums of columns.

NumPy begins anew for each row, which takes it as long as twenty additions. Up to seven numbers it
adds one after the other, from zero on; so sums of columns have its bits.
"""

from __future__ import annotations

import functools
from typing import Any, final

import numpy as np

from chainrules_compile.passes.values import changed, is_array, is_contiguous, size, value_of
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import sum as sum_
from chainrules_py.vocabulary.views import Index, read

_MOST = 7
"""How many numbers NumPy adds one after the other; of more it makes eight sums."""
_ROWS = 48
"""From how many rows on, for each number but one, columns take less time."""
_SUMS = frozenset((sum_, np.sum))
_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))
_NEVER_MINUS_ZERO = frozenset((np.square, np.exp, np.absolute, np.greater, np.cosh))


def with_short_sums(program: Program) -> Program:
    """Return the program with sums of columns for sums of short rows."""
    if program.functions.isdisjoint(_SUMS):
        return program
    short = [call for call in program.calls if call.function in _SUMS and is_short(call)]
    if not short or not adds_in_order():
        return program
    walk = _Walk(program)
    calls = tuple([new for call in program.calls for new in walk.instead(call)])
    return changed(program, calls=calls)


def is_short(call: Call) -> bool:
    """Tell whether a call sums short rows of an array, of which there are many."""
    if call.function not in _SUMS or not call.options.keys() <= {"axis", "keepdims"}:
        return False
    (x, *axes), (y,) = call.operands, call.results
    if (
        len(axes) > 1
        or not (is_array(x) and is_array(y))
        or not is_contiguous(x)
        or not is_contiguous(y)
    ):
        return False
    shape: Any = x.shape
    if len(shape) < 2 or x.dtype not in _DTYPES or x.dtype != y.dtype:
        return False
    axis = axes[0] if axes else call.options.get("axis")
    axis = axis[0] if type(axis) is tuple and len(axis) == 1 else axis
    if type(axis) is not int or axis % len(shape) != len(shape) - 1:
        return False
    n: int = shape[-1]
    return 1 < n <= _MOST and size(y) >= _ROWS * (n - 1)


@functools.cache
def adds_in_order() -> bool:
    """Tell whether NumPy sums short rows as we say, to the bit and the sign of zeros."""
    rng = np.random.default_rng(0)
    for dtype in _DTYPES:
        for n in range(2, _MOST + 1):
            x = rng.normal(size=(96, n)) * 10.0 ** rng.integers(-9, 9, (96, n))
            x[rng.random((96, n)) < 0.3] = -0.0
            x = x.astype(dtype)
            total = x[:, 0] + 0.0
            for k in range(1, n):
                total = total + x[:, k]
            if total.tobytes() != np.add.reduce(x, 1).tobytes():
                return False
    return True


@final
class _Walk:
    def __init__(self, program: Program) -> None:
        self._made = program.definitions()
        self._count = 0

    def instead(self, call: Call) -> list[Call]:
        """Return what stands in the place of a call."""
        if not is_short(call):
            return [call]
        x, (y,) = call.operands[0], call.results
        n = x.shape[-1]
        calls: list[Call] = []
        columns = [self._column(x, y, k, calls) for k in range(n)]
        total = columns[0]
        for k in range(1, n):
            last = k == n - 1 and self._has_no_minus_zero(x)
            total = self._sum(total, columns[k], y if last else None, y, calls)
        if total is not y:
            self._sum(total, 0.0, y, y, calls)  # rows of -0 alone are 0
        return calls

    def _column(self, x: Value, y: Value, k: int, calls: list[Call]) -> Value:
        shape: Any = y.shape
        entry: Any = slice(k, k + 1) if len(shape) == len(x.shape or ()) else k
        column = self._new(y, x.memory or x, x.layout[:-1])
        calls.append(Call(read, (x,), {"index": Index.split((..., entry))[0]}, (column,)))
        return column

    def _sum(self, a: Value, b: Any, result: Value | None, y: Value, calls: list[Call]) -> Value:
        result = result or self._new(y, None, y.layout)
        calls.append(Call(np.add, (a, b), {}, (result,)))
        return result

    def _has_no_minus_zero(self, x: Value) -> bool:
        made = self._made.get(x)
        if made is None:
            return False
        square = made.function is np.multiply and made.operands[0] is made.operands[1]
        return square or made.function in _NEVER_MINUS_ZERO

    def _new(self, y: Value, memory: Value | None, layout: Any) -> Value:
        self._count += 1
        name = f"{y.name}_short{self._count}"
        return value_of(name, np.ndarray, y.shape, y.dtype, memory, layout)

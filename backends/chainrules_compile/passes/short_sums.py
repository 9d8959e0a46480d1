"""Short sums: those of a few numbers that lie side by side are sums of columns.

NumPy begins anew for each row, which takes it as long as twenty additions. Up to seven numbers it
adds one after the other, from zero on, up to fifteen in pairs; so sums of columns have its bits.
Along other axes it adds run after run to the sums so far, and begins anew for each run: there
`np.einsum` takes a quarter.
"""

from __future__ import annotations

import functools
import math
from typing import Any, final

import numpy as np

from chainrules_compile.calls import summed_rows, summed_runs
from chainrules_compile.passes.values import (
    axes_of,
    changed,
    is_array,
    is_contiguous,
    size,
    value_of,
)
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import sum as sum_
from chainrules_py.vocabulary.views import Index, read

_MOST, _MOST_IN_PAIRS = 7, 15
"""How many numbers NumPy adds one after the other, and in pairs; of more it makes eight sums."""
_ROWS = 48
"""From how many rows on, for each number but one, columns take less time."""
_RUNS = 160
"""From how many runs on `np.einsum` takes less time."""
_LONGEST = 256
"""How many elements a run has at most, from which on NumPy is as fast."""
_SUMS = frozenset((sum_, np.sum))
_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))
_NEVER_MINUS_ZERO = frozenset((np.square, np.exp, np.absolute, np.greater, np.cosh))


def with_short_sums(program: Program) -> Program:
    """Return the program with other calls for sums of short rows, and of short runs."""
    if program.functions.isdisjoint(_SUMS):
        return program
    sums = [call for call in program.calls if call.function in _SUMS]
    if not any([is_short(call) or _of_runs(call) for call in sums]):
        return program
    walk = _Walk(program)
    calls = tuple([new for call in program.calls for new in walk.instead(call)])
    return changed(program, calls=calls)


def _axes(call: Call) -> tuple[int, ...]:
    """Return along which axes a call sums an array in C order; none for other calls."""
    if call.function not in _SUMS or not call.options.keys() <= {"axis", "keepdims"}:
        return ()
    (x, *axes), (y,) = call.operands, call.results
    if len(axes) > 1 or not (is_array(x) and is_array(y)):
        return ()
    shape: Any = x.shape
    if len(shape) < 2 or x.dtype not in _DTYPES or x.dtype != y.dtype:
        return ()
    axis = axes[0] if axes else call.options.get("axis")
    each = axis if type(axis) is tuple else (axis,)
    if not each or any([type(a) is not int for a in each]):
        return ()
    return axes_of(axis, len(shape)) if is_contiguous(x) and is_contiguous(y) else ()


def is_short(call: Call) -> bool:
    """Tell whether a call sums short rows of an array, of which there are many."""
    axes = _axes(call)
    shape: Any = call.operands[0].shape if axes else ()
    if axes != (len(shape) - 1,):
        return False
    n: int = shape[-1]
    many = 1 < n <= _MOST_IN_PAIRS and size(call.results[0]) >= _ROWS * (n - 1)
    return many and (adds_in_order() if n <= _MOST else adds_in_pairs())


def _of_runs(call: Call) -> tuple[int, int, int] | None:
    """Return how often, how many and how long the runs are that a call sums, if that pays."""
    axes = _axes(call)
    if not axes or sorted(axes) != [*range(min(axes), max(axes) + 1)]:
        return None
    shape: Any = call.operands[0].shape
    before, behind = math.prod(shape[: min(axes)]), math.prod(shape[max(axes) + 1 :])
    n = math.prod([shape[a] for a in axes])
    pays = n > 1 < behind <= _LONGEST and before * n >= _RUNS
    return (before, n, behind) if pays and adds_runs_in_order() else None


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


@functools.cache
def adds_in_pairs() -> bool:
    """Tell whether NumPy sums rows of 8 to 15 numbers as `summed_rows`, to the bit."""
    rng = np.random.default_rng(0)
    for dtype in _DTYPES:
        for n in range(_MOST + 1, _MOST_IN_PAIRS + 1):
            x = rng.normal(size=(96, n)) * 10.0 ** rng.integers(-9, 9, (96, n))
            x[rng.random((96, n)) < 0.3] = -0.0
            x[0] = -0.0
            x = x.astype(dtype)
            if summed_rows(x, shape=(96,)).tobytes() != np.add.reduce(x, 1).tobytes():
                return False
    return True


@functools.cache
def adds_runs_in_order() -> bool:
    """Tell whether NumPy adds runs in the order of `summed_runs`, to the bit."""
    rng = np.random.default_rng(0)
    for dtype in _DTYPES:
        for runs in ((3, 7, 2), (1, 40, 5), (2, 9, 33)):
            x = rng.normal(size=runs) * 10.0 ** rng.integers(-9, 9, runs)
            x[rng.random(runs) < 0.1] = 0.0
            x = x.astype(dtype)
            found = summed_runs(x, runs=runs, axis=1, shape=(runs[0], runs[2]))
            if found.tobytes() != np.add.reduce(x, 1).tobytes():
                return False
    return True


@final
class _Walk:
    def __init__(self, program: Program) -> None:
        self._made = program.definitions()
        self._count = 0

    def instead(self, call: Call) -> list[Call]:
        """Return what stands in the place of a call."""
        if call.function not in _SUMS:
            return [call]
        runs = _of_runs(call)
        if runs is not None:
            (y,) = call.results
            options = {"runs": runs, "axis": _axes(call), "shape": y.shape}
            return [Call(summed_runs, call.operands[:1], options, call.results)]
        if not is_short(call):
            return [call]
        x, (y,) = call.operands[0], call.results
        n = x.shape[-1]
        if n > _MOST:
            return [Call(summed_rows, (x,), {"shape": y.shape}, (y,))]
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

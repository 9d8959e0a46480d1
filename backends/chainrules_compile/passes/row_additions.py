"""Scattered rows: consecutive additions to rows of an array become one call.

The call adds to one column at a time, in the order of the rows. `np.add.at` has a fast path for
vectors, which does not read and write an array of indices for each element.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from chainrules_compile.internal_functions import added_rows
from chainrules_compile.passes.analysis import (
    changed,
    contiguous,
    counts,
    is_array,
    is_contiguous,
    size,
    value_of,
)
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_py.ops import add_at, copy, full_like, scatter_add, zeros_like
from chainrules_py.ops.engine_operations import Index, duplicate
from chainrules_py.program import Call, Program, Value

_ADDS = (add_at, scatter_add)
_FEWEST = 200
"""Minimum number of indices."""
_WIDEST, _WIDEST_SPREAD = 32, 16
"""Maximum length of a row, and of a row that is added at several indices."""
_AT_ROWS = Index((Index.HOLE,))


def with_added_rows(program: Program) -> Program:
    """Return the program with one call for consecutive additions to rows of an array."""
    if program.functions.isdisjoint(_ADDS):
        return program
    walk = _Walk(program)
    calls = [each for call in reversed(program.calls) for each in walk.at_once(call)]
    return without_dead_code(changed(program, calls=tuple(calls[::-1])))


@final
class _Walk:
    def __init__(self, program: Program) -> None:
        self._made = program.definitions()
        self._constants = program.constants
        self._uses = counts(program)
        self._taken = set[int]()

    def at_once(self, call: Call) -> list[Call]:
        """Return one call for the additions to rows of which this is the last, and the sum.

        The calls are in reverse order.
        """
        if id(call) in self._taken or not adds_to_rows(call):
            return [call]
        ys: list[Value] = []
        places: list[Value] = []
        each: Call | None = call
        buffer = z = call.results[0]
        while each is not None and adds_to_rows(each) and self._fits(z, *each.operands[1:]):
            buffer, y, place = each.operands
            self._taken.add(id(each))
            ys.append(y)
            places.append(place)
            each = self._before(buffer)
        if not ys:
            return [call]
        ys, places = ys[::-1], places[::-1]
        rows, times = self._spread(ys, places)
        shape: tuple[int, ...] = z.shape or ()
        width = shape[1] if len(shape) > 1 else 1
        several = len(ys) > 1 or width > 1 or times > 1
        widest = _WIDEST if times == 1 else _WIDEST_SPREAD
        n, zeros = sum(map(size, places)), self._starts(buffer)
        if width > widest or n < _FEWEST or not several or not (zeros or 4 * n * width > size(z)):
            return [call]
        options = {"shape": z.shape, "times": times}
        if zeros:
            return [Call(added_rows, (tuple(rows), tuple(places)), options, (z,))]
        layout = contiguous(z.shape or (), z.dtype.itemsize)
        more = value_of(f"{z.name}_rows", np.ndarray, z.shape, z.dtype, None, layout)
        of_rows = Call(added_rows, (tuple(rows), tuple(places)), options, (more,))
        return [Call(np.add, (buffer, more), {}, (z,)), of_rows]

    def _before(self, buffer: Value) -> Call | None:
        """Return the addition that gave a buffer, also through copies, if only this one uses it."""
        made = self._made.get(buffer)
        while made is not None and self._uses[buffer] == 1 and made.function in (copy, duplicate):
            buffer = made.operands[0]
            made = self._made.get(buffer)
        return made if made is not None and adds(made) and self._uses[buffer] == 1 else None

    def _starts(self, buffer: Value) -> bool:
        """Return whether a buffer is zeros that only the additions use."""
        made, array = self._made.get(buffer), self._constants.get(buffer)
        if made is not None:
            return is_zeros(made) and self._uses[buffer] == 1
        return type(array) is np.ndarray and not any(array.tobytes())

    def _fits(self, z: Value, y: Any, place: Any) -> bool:
        if not (is_array(y) and is_array(place)) or y.dtype != z.dtype or place.dtype.kind != "i":
            return False
        return bool(place.shape) and y.shape == (*place.shape, *(z.shape or ())[1:])

    def _spread(self, ys: list[Value], places: list[Value]) -> tuple[list[Value], int]:
        """Return rows before they were repeated at several indices, if all were repeated alike."""
        times, rows = set(), []
        for y, place in zip(ys, places, strict=True):
            made, shape = self._made.get(y), (place.shape or ())
            if made is None or getattr(made.function, "__name__", None) != "sum_transpose_numpy":
                return ys, 1
            row, axis = made.operands[0], made.options["axis"]
            last = len(shape) - 1
            if axis not in (last, (last,)) or made.options["keepdims"] or not is_array(row):
                return ys, 1
            if row.shape != (*shape[:last], *(y.shape or ())[last + 1 :]) or row.dtype != y.dtype:
                return ys, 1
            times.add(shape[last])
            rows.append(row)
        return (rows, times.pop()) if len(times) == 1 else (ys, 1)


def adds(call: Call) -> bool:
    """Return whether a call adds to a part of an array of double precision."""
    if call.function not in _ADDS or len(call.operands) != 3 or len(call.results) != 1:
        return False
    (z,) = call.results
    return is_array(z) and z.dtype == np.float64


def adds_to_rows(call: Call) -> bool:
    """Return whether a call adds to rows of a matrix, or elements of a vector."""
    if not adds(call) or call.options["index"] != _AT_ROWS:
        return False
    shape: Any = call.results[0].shape
    return len(shape) == 1 or (len(shape) == 2 and shape[1] > 0)


def is_zeros(call: Call) -> bool:
    """Return whether a call gives an array of real zeros."""
    if call.function is zeros_like:
        fill: Any = 0
    elif call.function is full_like:
        fill = call.options["fill"]
    else:
        return False
    if type(fill) not in (int, float) or fill != 0 or str(fill)[0] == "-":
        return False
    (y,) = call.results
    return y.type is np.ndarray and y.dtype.kind == "f" and size(y) > 0 and is_contiguous(y)

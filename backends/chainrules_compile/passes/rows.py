"""Rows that come back: what is added to rows of zeros, one array after the other, is counted.

`np.bincount` adds weights in their order, from zero on, as `np.add.at` does; so bits are kept. It
takes one column at a time, and does not read and write an array of indices for each element.
"""

from __future__ import annotations

from typing import Any, NamedTuple, final

import numpy as np

from chainrules_compile.calls import added_rows
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_compile.passes.filled import is_zeros
from chainrules_compile.passes.values import changed, counts, is_array, size
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import add_at, copy, scatter_add
from chainrules_py.vocabulary.views import Index, duplicate

_ADDS = (add_at, scatter_add)
_FEWEST = 200
"""How many places are counted at least."""
_WIDEST, _WIDEST_SPREAD = 6, 16
"""How many elements a row has at most; one that is spread over places."""
_LARGEST = 1 << 14
"""How many elements of several arrays are kept at most, until all are added."""
_AT_ROWS = Index((Index.HOLE,))


def with_added_rows(program: Program) -> Program:
    """Return the program with one call for all that is added to rows of zeros."""
    if program.functions.isdisjoint(_ADDS):
        return program
    walk = _Walk(program)
    instead = {id(call): new for call in program if (new := walk.found(call)) is not None}
    if not instead:
        return program
    calls = tuple([instead.get(id(call), call) for call in program.calls])
    return without_dead_code(changed(program, calls=calls))


class Added(NamedTuple):
    """Arrays that are added to rows, and where.

    Attributes
    ----------
    ys, places : list of Value
    times : int
        To how many places after each other each row is added.
    """

    ys: list[Value]
    places: list[Value]
    times: int


@final
class _Walk:
    def __init__(self, program: Program) -> None:
        self._made = program.definitions()
        self._constants = program.constants
        self._uses = counts(program)

    def found(self, call: Call) -> Call | None:
        """Return what stands in the place of the last of some additions to rows of zeros."""
        if not adds_to_rows(call):
            return None
        (z,) = call.results
        pairs: list[tuple[Value, Value]] = []
        each: Call | None = call
        buffer = z
        while each is not None and adds_to_rows(each):
            buffer, y, place = each.operands
            if not self._fits(z, y, place):
                return None
            pairs.append((y, place))
            each = self._before(buffer)
        if each is not None or not self._starts(buffer):
            return None
        added = self._spread(*self._apart(pairs[::-1]))
        shape: Any = z.shape
        n = sum([size(x) for x in added.places])
        width = shape[1] if len(shape) > 1 else 1
        if width > (_WIDEST if added.times == 1 else _WIDEST_SPREAD):
            return None
        if (
            n < _FEWEST
            or (width == len(pairs) == added.times == 1)
            or (len(pairs) > 1 and sum([size(y) for y in added.ys]) > _LARGEST)
        ):
            return None
        options = {"shape": shape, "times": added.times}
        return Call(added_rows, (tuple(added.ys), tuple(added.places)), options, call.results)

    def _before(self, buffer: Value) -> Call | None:
        """Return the addition that gave a buffer, or what it is a copy of, to this one alone."""
        made = self._made.get(buffer)
        while made is not None and self._uses[buffer] == 1 and made.function in (copy, duplicate):
            buffer = made.operands[0]
            made = self._made.get(buffer)
        return made if made is not None and adds(made) and self._uses[buffer] == 1 else None

    def _starts(self, buffer: Value) -> bool:
        """Tell whether a buffer is zeros, which only what is added to it needs."""
        made, array = self._made.get(buffer), self._constants.get(buffer)
        if made is not None:
            return is_zeros(made) and self._uses[buffer] == 1
        return type(array) is np.ndarray and not any(array.tobytes())

    def _fits(self, z: Value, y: Any, place: Any) -> bool:
        if not (is_array(y) and is_array(place)) or y.dtype != z.dtype or place.dtype.kind != "i":
            return False
        return bool(place.shape) and y.shape == (*place.shape, *(z.shape or ())[1:])

    def _apart(self, pairs: list[tuple[Value, Value]]) -> tuple[list[Value], list[Value]]:
        """Take apart what was joined to be added at once."""
        ys: list[Value] = []
        places: list[Value] = []
        for y, place in pairs:
            of_y, of_place = self._joined(y), self._joined(place)
            if len(of_y) == len(of_place) and all(
                [a.shape[: len(b.shape)] == b.shape for a, b in zip(of_y, of_place, strict=True)]
            ):
                ys += of_y
                places += of_place
            else:
                ys.append(y)
                places.append(place)
        return ys, places

    def _joined(self, x: Value) -> list[Any]:
        made = self._made.get(x)
        if made is None or made.function is not np.concatenate or self._uses[x] != 1:
            return [x]
        parts, *axis = made.operands
        fits = not made.options and axis in ([], [0]) and all([is_array(y) for y in parts])
        return [*parts] if fits else [x]

    def _spread(self, ys: list[Value], places: list[Value]) -> Added:
        """Leave rows as they were before they were spread over places, if all were alike."""
        times, rows = set(), []
        for y, place in zip(ys, places, strict=True):
            made, shape = self._made.get(y), (place.shape or ())
            if made is None or getattr(made.function, "__name__", None) != "sum_transpose_numpy":
                return Added(ys, places, 1)
            row, axis = made.operands[0], made.options["axis"]
            last = len(shape) - 1
            if axis not in (last, (last,)) or made.options["keepdims"] or not is_array(row):
                return Added(ys, places, 1)
            if row.shape != (*shape[:last], *(y.shape or ())[last + 1 :]) or row.dtype != y.dtype:
                return Added(ys, places, 1)
            times.add(shape[last])
            rows.append(row)
        return Added(rows, places, times.pop()) if len(times) == 1 else Added(ys, places, 1)


def adds(call: Call) -> bool:
    """Tell whether a call adds to some places of an array of double precision."""
    if call.function not in _ADDS or len(call.operands) != 3 or len(call.results) != 1:
        return False
    (z,) = call.results
    return is_array(z) and z.dtype == np.float64


def adds_to_rows(call: Call) -> bool:
    """Tell whether a call adds to rows of a matrix, or elements of a vector."""
    if not adds(call) or call.options["index"] != _AT_ROWS:
        return False
    shape: Any = call.results[0].shape
    return len(shape) == 1 or (len(shape) == 2 and shape[1] > 0)

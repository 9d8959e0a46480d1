"""Rows that come back: what is added to rows of an array, one after the other, is joined.

Columns are added to one at a time, in the order of the rows; so bits are kept. `np.add.at` has a
short way for vectors, which does not read and write an array of indices for each element. Of many
arrays as many are joined at a time as have enough rows, so that each can go when it was added.
"""

from __future__ import annotations

from typing import Any, NamedTuple, final

import numpy as np

from chainrules_compile.calls import NARROW, PIECE, Written, add_rows, added_rows
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_compile.passes.values import changed, counts, is_array, is_contiguous, size
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import add_at, copy, full_like, getitem, scatter_add, zeros_like
from chainrules_py.vocabulary.views import Index, duplicate, read

_ADDS = (add_at, scatter_add)
_FEWEST = 200
"""How many places are counted at least."""
_WIDEST, _WIDEST_SPREAD = 32, 16
"""How many elements a row has at most; one that is spread over places."""
_LARGEST = 1 << 14
"""How many elements of several arrays of wide rows are kept at most, until all are added."""
_AT_ROWS = Index((Index.HOLE,))
_AND_MORE = Written(add_rows)


def with_added_rows(program: Program) -> Program:
    """Return the program with one call for all that is added to rows of an array."""
    if program.functions.isdisjoint(_ADDS):
        return program
    walk = _Walk(program)
    instead = {id(call): new for each in program for call, new in walk.found(each)}
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

    def found(self, call: Call) -> list[tuple[Call, Call]]:
        """Return some additions to rows, of which this is the last, as fewer calls."""
        if not adds_to_rows(call):
            return []
        (z,) = call.results
        calls: list[Call] = []
        each: Call | None = call
        buffer = z
        while each is not None and adds_to_rows(each):
            buffer, y, place = each.operands
            if not self._fits(z, y, place):
                return []
            calls.append(each)
            each = self._before(buffer)
        base = None if each is None and self._starts(buffer) else buffer
        apart = [self._apart(each.operands[1], each.operands[2]) for each in reversed(calls)]
        pairs = [pair for pairs in apart for pair in pairs]
        added = self._spread([y for y, _ in pairs], [place for _, place in pairs])
        shape: Any = z.shape
        n = sum([size(x) for x in added.places])
        width = shape[1] if len(shape) > 1 else 1
        if width > (_WIDEST if added.times == 1 else _WIDEST_SPREAD):
            return []
        if (
            n < _FEWEST
            or (base is not None and width > NARROW)
            or (width == len(pairs) == added.times == 1)
            or (
                width > NARROW
                and added.times > 1
                and len(pairs) > 1
                and sum(map(size, added.ys)) > _LARGEST
            )
        ):
            return []
        pieces = _in_pieces(calls[::-1], [len(pairs) for pairs in apart], added, shape, base)
        return [(each, self._by_rows(new)) for each, new in pieces]

    def _by_rows(self, call: Call) -> Call:
        """Have places be rows of one array, where they were read one by one: of each is a view."""
        k = 1 if call.function is added_rows else 2
        places = call.operands[k]
        made = [self._made.get(place) for place in places]
        xs = {m.operands[0] if m is not None and _reads_row(m) else None for m in made}
        (x,) = xs if len(xs) == 1 else (None,)
        if x is None or len(made) < 2:
            return call
        at = [m.options["index"][0] % x.shape[0] for m in made if m is not None]
        step = at[1] - at[0]
        if abs(step) != 1 or at != [at[0] + step * i for i in range(len(at))]:
            return call
        rows = (at[0], at[-1] + step if at[-1] + step >= 0 else None, step)
        operands = (*call.operands[:k], x, *call.operands[k + 1 :])
        if k == 1:
            return Call(call.function, operands, {**call.options, "rows": rows}, call.results)
        return Call(call.function, (*operands, rows), call.options, call.results)

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

    def _apart(self, y: Value, place: Value) -> list[tuple[Value, Value]]:
        """Take apart what was joined to be added at once."""
        of_y, of_place = self._joined(y), self._joined(place)
        if len(of_y) == len(of_place) and all(
            [a.shape[: len(b.shape)] == b.shape for a, b in zip(of_y, of_place, strict=True)]
        ):
            return list(zip(of_y, of_place, strict=True))
        return [(y, place)]

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


def _in_pieces(
    calls: list[Call], counts: list[int], added: Added, shape: Any, base: Value | None
) -> list[tuple[Call, Call]]:
    """Return additions and what stands in their place, of so many arrays of each, in pieces.

    They are additions to an array, or to zeros where it is None.
    """
    found: list[tuple[Call, Call]] = []
    first = last = places = 0
    sizes = [max(size(x), size(y) // 4) for x, y in zip(added.places, added.ys, strict=True)]
    total = sum(sizes)
    wide = len(shape) > 1 and shape[1] > NARROW and added.times > 1
    enough = total if wide else total / -(-total // PIECE)
    for call, count in zip(calls, counts, strict=True):
        places += sum(sizes[last : last + count])
        last += count
        if places < enough and call is not calls[-1]:
            continue
        given = (tuple(added.ys[first:last]), tuple(added.places[first:last]))
        if base is not None:
            new = Call(_AND_MORE, (base, *given, added.times), {}, call.results)
        else:
            options = {"shape": shape, "times": added.times}
            new = Call(added_rows, given, options, call.results)
        found.append((call, new))
        base = call.results[0]
        first, places = last, 0
    return found


def _reads_row(call: Call) -> bool:
    """Tell whether a call reads a row of a matrix, at a place that no number says."""
    if call.function not in (read, getitem) or len(call.operands) != 1:
        return False
    x, entries = call.operands[0], call.options["index"]
    return is_array(x) and len(x.shape) == 2 and [type(k) for k in entries] == [int]


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


def is_zeros(call: Call) -> bool:
    """Tell whether a call gives an array of real zeros."""
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

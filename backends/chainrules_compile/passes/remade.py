"""Remade: what is cheap is computed again after the peak of memory, and not kept for it.

A gradient's program needs most memory where its backward half begins. What is alive there, and came
of one sum, product or quotient of what is alive as well (or given), is made again where it is
needed next: by the same function of the same operands, so with the same bits. A view is an object
of its own, which is taken anew in the same way.
"""

from __future__ import annotations

import operator
from collections import Counter, defaultdict
from itertools import accumulate
from typing import Any, NamedTuple, final

import numpy as np

from chainrules_compile.calls import over, over_silently
from chainrules_compile.passes.values import (
    call_of,
    changed,
    is_array,
    replaced,
    roots,
    size,
    value_of,
)
from chainrules_py import vocabulary as v
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary.views import read

_QUOTIENTS = frozenset((np.divide, v.divide, over, over_silently))
_MADE = frozenset(
    (
        *(np.add, np.subtract, np.multiply, np.negative, np.square),
        *(np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal),
        *(operator.add, operator.sub, operator.mul, operator.neg),
        *_QUOTIENTS,
    )
)
"""What is made again; each rounds one element at a time, and alike wherever that lies."""
_VIEWS = frozenset((read, v.reshape, v.matrix_transpose, v.permute_dims))
_LEAST = 2048
"""From how many bytes on, at the peak, anything is made again."""
_FEW = 50
"""What part of the peak values of one kind have at least."""
_SHARE = 0.02
"""How much longer a program may take."""
_NUMBER, _OF_ONE, _QUOTIENT, _VIEW, _ARRAY = 5.0, 2.0, 20.0, 80.0, 350.0
"""Nanoseconds: to compute what was kept before; a sum of numbers of which one is a constant."""
_SUMMED, _DIVIDED, _FRESH = 0.3, 0.7, 0.2
"""Nanoseconds of an element, and of a byte that is got from the system and given back."""
_MUCH = 3 << 19
"""From how many bytes on memory is given back to the system after each call."""
_ONE, _CALL, _ELEMENT = 12.0, 500.0, 0.5
"""Nanoseconds of a program: a number, any other call, an element of its results."""
_SHORT = 64
"""Programs of fewer calls are asked first whether they take so long that anything pays."""
_MANY = 8
"""How many values are of an operand, for these to be a kind of their own."""
_OBJECT, _AXIS, _PLAIN = 112, 16, 24
"""Bytes of an array beside its elements, of each axis, and of a number."""


def with_remade(program: Program) -> Program:
    """Return the program with calls that are made again where their results would be kept."""
    if program.functions.isdisjoint(_MADE) or (len(program) < _SHORT and is_dear(program)):
        return program
    return _Peak(program).program()


def is_dear(program: Program) -> bool:
    """Tell whether to make anything again takes a larger share of a short program than it may."""
    results = [y for call in program.calls for y in call.results]
    arrays = [y for y in results if y.type is np.ndarray]
    numbers, sizes = len(results) - len(arrays), [*map(held, arrays)]
    top = max(sizes, default=0)
    if numbers * _PLAIN * _FEW >= max(top, _LEAST) or sum(sizes) >= _MUCH:
        return False
    views = any([y.memory is not None for y in arrays])
    time = numbers * _ONE + sum([_CALL + _ELEMENT * size(y) for y in arrays])
    return _SHARE * time < (_VIEW if views else _ARRAY)


class Kept(NamedTuple):
    """Value that is kept over the peak, and could be made again.

    Attributes
    ----------
    call : Call
        What gives it.
    bytes : int
    before, after : int
        The last call before the peak, and the first after it, that has to do with it.
    """

    call: Call
    bytes: int
    before: int
    after: int


@final
class _Peak:
    """Peak of memory of a program, and what is made again after it."""

    def __init__(self, program: Program) -> None:
        self._whole = program
        self._chosen: dict[Value, Kept] = {}
        self._foreign = {*program.inputs, *program.constants}
        self._last: dict[Value, int] = {}
        self._until: dict[Value, int] = {}
        self._made: dict[Value, Call] = {}
        self._of = roots(program)
        self._change, self._time = self._changes()
        live = list(accumulate(self._change))
        self._top = max(live)
        self._place = live.index(self._top)
        if self._top >= _LEAST:
            self._choose(self._groups())

    def _changes(self) -> tuple[list[int], float]:
        """Return how many more bytes are alive after each call than before, and the time of all.

        What dies at a call is none any more after it. Last uses are noted, from the end on.
        """
        calls, of, last, until = self._whole.calls, self._of, self._last, self._until
        end = len(calls)
        change, time = [0] * (end + 1), 0.0
        sizes: dict[Any, tuple[int, float]] = {}
        outputs = Call(None, self._whole.outputs, {}, ())
        for i, call in zip(range(end, -1, -1), (outputs, *reversed(calls)), strict=True):
            for x in call.values:
                if x not in last:
                    last[x] = i
                    if x.type is not np.ndarray:
                        change[i] -= _PLAIN
                    elif (root := of[x]) not in until:
                        until[root] = i
            for y in call.results:
                if y.type is not np.ndarray:
                    time += _ONE
                    if y in last:
                        change[i] += _PLAIN
                    continue
                key = y.shape, y.dtype, y.memory is None
                found = sizes.get(key)
                if found is None:
                    found = sizes[key] = held(y), _CALL + _ELEMENT * size(y)
                n, taken = found
                time += taken
                change[i] += n
                dies = until.get(y, i) if key[2] else last.get(y, i)
                change[max(i, dies)] -= n
        return change, time

    # --------------------------------------------------------------------------- what may be made

    def _groups(self) -> list[list[Kept]]:
        """Return what is kept and may be made again, by kinds that are alike from turn to turn."""
        last, place, end, calls = self._last, self._place, len(self._whole.calls), self._whole.calls
        alive = {x for x in self._foreign if x in last}
        found: list[tuple[Call, int]] = []
        for i in range(place + 1):
            call = calls[i]
            for y in call.results:
                if last.get(y, -1) > place:
                    alive.add(y)
                    if last[y] < end and self._fits(call, y, alive):
                        found.append((call, i))
                elif y.type is float:
                    self._made[y] = call
        after: dict[Value, int] = {call.results[0]: i for call, i in found}
        before = after.copy()
        for i in range(place + 1):
            for x in calls[i].values:
                if x in before:
                    before[x] = i
        for i in range(end - 1, place, -1):
            for x in calls[i].values:
                if x in after:
                    after[x] = i
        often = Counter([x for call, _ in found for x in call.values])
        groups: defaultdict[Any, list[Kept]] = defaultdict(list)
        for call, _ in found:
            (y,) = call.results
            key = (
                call.function,
                y.type,
                y.shape,
                y.dtype,
                *[_kind(x, often) for x in call.operands],
            )
            groups[key].append(Kept(call, held(y), before[y], after[y]))
        return [g for g in groups.values() if len(g) * g[0].bytes * _FEW >= self._top]

    def _fits(self, call: Call, y: Value, alive: set[Value]) -> bool:
        """Tell whether a call can be made again at the end of the life of its result."""
        f = call.function
        if f in _VIEWS:
            if y.memory is None or len(call.values) != 1 or self._of[y] is y:
                return False
            (x,) = call.values
            return is_array(x) and (x.memory is None or x in alive)
        if f not in _MADE or call.options or self._until.get(y, -1) > self._last[y]:
            return False
        if not _is_real(y):
            return False
        for x in call.operands:
            if type(x) is Value:
                if not _is_real(x) or (x not in alive and not self._is_short(x, alive)):
                    return False
            elif type(x) not in _CONSTANTS:
                return False
        return True

    def _is_short(self, x: Value, alive: set[Value]) -> bool:
        """Tell whether what is not kept is a number that is computed of what is."""
        call = self._made.get(x)
        return call is not None and call.function in _MADE and alive.issuperset(call.values)

    # ------------------------------------------------------------------------------ what is chosen

    def _choose(self, groups: list[list[Kept]]) -> None:
        """Choose kinds, those that cost least for what they spare first."""
        much, left = self._top >= _MUCH, _SHARE * self._time
        priced = [(sum([_price(each, much) for each in g]), g) for g in groups]
        priced.sort(key=lambda pair: pair[0] / (len(pair[1]) * pair[1][0].bytes))
        for price, group in priced:
            if price > left:
                continue
            change = self._without(group)
            top = max(accumulate(change))
            if 4 * (self._top - top) >= len(group) * group[0].bytes:
                self._change, self._top = change, top
                self._chosen.update([(each.call.results[0], each) for each in group])
                left -= max(price, 0.0)

    def _without(self, group: list[Kept]) -> list[int]:
        """Return how memory grows and shrinks if some values are made again."""
        change, last, until = list(self._change), self._last, self._until
        for call, n, before, after in group:
            change[before] -= n
            change[after] += n
            for x in call.values:
                ends = max(last[x], until.get(x, -1))
                if self._place < ends < after and x not in self._foreign:
                    change[ends] += held(x)
                    change[after] -= held(x)
        return change

    def program(self) -> Program:
        """Return the program in which the chosen values are made again."""
        chosen, calls = self._chosen, list(self._whole.calls)
        if not chosen:
            return self._whole
        order = [y for call in calls[: self._place + 1] for y in call.results if y in chosen]
        places = {y: each.after for y, each in chosen.items()}
        for y in reversed(order):  # what another is made of has to be there by then
            for x in chosen[y].call.values:
                if x in places:
                    places[x] = min(places[x], places[y])
        at: defaultdict[int, list[Value]] = defaultdict(list)
        for y in order:
            at[places[y]].append(y)
        instead: dict[Value, Any] = {}
        lacks = instead.keys().isdisjoint
        made = calls[: self._place + 1]
        for i in range(self._place + 1, len(calls)):
            for y in at.get(i, ()):
                call = chosen[y].call
                for x in call.values:
                    if x in self._made and x not in instead:
                        made.append(again(self._made[x], instead))
                made.append(again(call, instead))
            call = calls[i]
            made.append(call if lacks(call.values) else replaced(call, instead))
        return changed(self._whole, calls=tuple(made))


_CONSTANTS = (int, float, np.float64)


def again(call: Call, instead: dict[Value, Any]) -> Call:
    """Return a call that gives its result once more, which stands for that from now on."""
    (y,) = call.results
    fields: Any = (f"{y.name}.again", y.type, y.shape, y.dtype, y.memory, y.layout)
    z = value_of(*fields)
    call = replaced(call, instead)
    instead[y] = z
    return call_of(call.function, call.operands, call.options, (z,), call.values)


def held(x: Value) -> int:
    """Return how many bytes an object has, of an array that is no view with its elements."""
    if x.type is not np.ndarray:
        return _PLAIN
    own = 0 if x.memory is not None else size(x) * x.dtype.itemsize
    return _OBJECT + _AXIS * len(x.shape or ()) + own


def _is_real(x: Value) -> bool:
    """Tell whether a value is a real number, or an array of such or of truths."""
    if x.type is np.ndarray:
        return x.dtype.kind in "fbiu"
    return x.type in (float, np.float64)


def _kind(x: Any, often: Counter[Value]) -> Any:
    """Return what operands of turns have in common."""
    if type(x) is not Value:
        return type(x)
    return x if often[x] >= _MANY else (x.type, x.shape)


def _price(each: Kept, much: bool) -> float:
    """Estimate how much longer it takes to make a value again than to keep it."""
    (y,), f = each.call.results, each.call.function
    if y.type is not np.ndarray:
        one = len(each.call.values) < len(each.call.operands)
        return _QUOTIENT if f in _QUOTIENTS else _OF_ONE if one else _NUMBER
    if y.memory is not None:
        return _VIEW
    price = _ARRAY + size(y) * (_DIVIDED if f in _QUOTIENTS else _SUMMED)
    return price - _FRESH * each.bytes if much else price

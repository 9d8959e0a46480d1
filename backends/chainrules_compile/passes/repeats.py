"""Repeats: where calls of a straight line come again, turn by turn, with operands that follow."""

from __future__ import annotations

import dataclasses
from itertools import chain
from typing import Any, final

import numpy as np

from chainrules_compile.calls import minus_at, plus_at, subtract_at
from chainrules_compile.passes.lifetimes import Into
from chainrules_compile.passes.simplify import static_key
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import add_at
from chainrules_py.vocabulary.views import Index, read, store

PLACED = frozenset((read, store, add_at, subtract_at, plus_at, minus_at))
"""Words whose index may be another in each turn."""
_FURTHEST = 4
"""From how many turns ago a value is carried."""
_TRIED = 8
"""How many periods are looked at in one stretch, the most promising first."""
_FLOAT = 0
"""The form of a number of Python's, of which there are most."""
_PACKED, _FORMS = 3, 2000
"""How many operands are digits of one number, and how many forms there are then."""


@final
@dataclasses.dataclass(frozen=True, slots=True)
class Repeat:
    """Turns of equal calls: from where on, how many calls each, and how many turns."""

    start: int
    period: int
    turns: int

    @property
    def end(self) -> int:
        """The place of the first call after all turns."""
        return self.start + self.period * self.turns

    @property
    def saved(self) -> int:
        """How many calls need not be written."""
        return self.period * (self.turns - 1)


@final
class Line:
    """Calls of a program as numbers.

    Attributes
    ----------
    kinds : array
        For each call a number; equal for calls that differ in which values they take, and in
        numbers and places alone.
    refs, ref_at : array
        The values that calls take, by number, and where those of each call begin.
    statics, static_at : array
        Their numbers and places, as codes, and where those of each call begin.
    firsts : array
        The number of the first value that each call gives.
    """

    def __init__(self, program: Program) -> None:
        given, calls = (*program.inputs, *program.constants), program.calls
        made, taken = [call.results for call in calls], [call.values for call in calls]
        self.values: list[Value] = [*given, *chain.from_iterable(made)]
        self.numbers = dict(zip(self.values, range(len(self.values)), strict=True))
        refs = map(self.numbers.__getitem__, chain.from_iterable(taken))
        self.refs, self._takes = np.fromiter(refs, int), np.fromiter(map(len, taken), int)
        self.ref_at = np.concatenate(([0], self._takes.cumsum()))
        gives = np.fromiter(map(len, made), int)
        self.firsts = np.concatenate(([0], gives.cumsum())) + len(given)
        self._forms: dict[Any, int] = {float: _FLOAT}
        self._form = [_FLOAT if x.type is float else self._form_of(x) for x in self.values]
        self._codes: dict[Any, int] = {}
        self._statics: list[int] = []
        self._others: dict[Any, int] = {}
        self._many: list[int] = []  # numbers and places in a call of each of these
        packed = (gives == 1) & (self._takes <= _PACKED) & (len(self._forms) < _FORMS)
        plain = [call.operands is call.values and not call.options for call in calls]
        hows = np.zeros(len(calls), int)
        rest = np.flatnonzero(~(packed & np.array(plain, bool)))
        found = [
            self._how(calls[i], p)
            for i, p in zip(rest.tolist(), packed[rest].tolist(), strict=True)
        ]
        hows[rest] = np.array(found, int)
        self.kinds = self._kinds(calls, hows)
        self.statics = np.array(self._statics, int)
        counts = np.array([0, 1, 1, *self._many[::-1]])[hows]
        self.static_at = np.concatenate(([0], counts.cumsum()))

    def _how(self, call: Call, packed: bool) -> int:
        """Return where a number stands beside the value, or zero; below it what else a call is."""
        xs, ys = call.operands, call.values
        if packed and not call.options:
            if len(ys) == 1 and len(xs) == 2:
                x, y = xs
                if type(x) is float and type(y) is Value:
                    self._statics.append(self._code(x))
                    return 1
                if type(y) is float and type(x) is Value:
                    self._statics.append(self._code(y))
                    return 2
            elif len(ys) == len(xs) and all([type(x) is Value for x in xs]):
                return 0
        before = len(self._statics)
        k = self._others.setdefault(self._kind(call), len(self._others))
        if k == len(self._many):
            self._many.append(len(self._statics) - before)
        return -1 - k

    def _code(self, x: Any) -> int:
        """Return a number for one: of zeros and NaN there are several, equal ones or not."""
        return self._codes.setdefault(x if x and x == x else repr(x), len(self._codes))

    def _kinds(self, calls: tuple[Call, ...], hows: Any) -> Any:
        """Return a number for each call: of its function, and the forms of what it takes and gives.

        These are digits of one number; what is said in other words is a number below zero.
        """
        functions: dict[int, int] = {}
        found = [functions.setdefault(id(call.function), len(functions)) for call in calls]
        base, forms = len(self._forms) + 1, np.array([*self._form, -1], int) + 1
        key = np.array(found, np.int64) * 3 + hows
        key = key * base + forms[self.firsts[:-1] * (hows >= 0)]
        at, taken = self.ref_at[:-1], self._takes
        refs = np.concatenate((self.refs, np.full(_PACKED, -1)))
        for k in range(_PACKED):
            key = key * base + np.where(k < taken, forms[refs[at + k]], 0)
        _, first, kinds = np.unique(
            np.where(hows < 0, hows, key), return_index=True, return_inverse=True
        )
        return np.argsort(np.argsort(first))[kinds]

    def _form_of(self, x: Value) -> int:
        """Return a number for the class of a value, and how it lies."""
        form = (x.type, x.shape, x.dtype, x.layout, x.memory is None)
        return self._forms.setdefault(form, len(self._forms))

    def _kind(self, call: Call) -> Any:
        form, numbers = self._form, self.numbers
        key: list[Any] = [id(call.function)]
        for x in call.operands:
            if type(x) is Value:
                key.append(form[numbers[x]])
            else:
                self._operand(x, key)
        key.append(-1)
        key += [form[numbers[y]] for y in call.results]
        for name, x in call.options.items():
            key.append(name)
            if name == "index" and is_placed(call):
                key.append(tuple(map(type, x)))
                self._statics.append(self._codes.setdefault(x, len(self._codes)))
            else:
                key.append(static_key(x))
        return tuple(key)

    def _operand(self, x: Any, key: list[Any]) -> None:
        cls = type(x)
        if cls is Value:
            key.append(self._form[self.numbers[x]])
        elif cls is float or cls is np.float64:
            key.append(cls)
            self._statics.append(self._code(x))
        elif cls in (tuple, list):
            key.append((cls, len(x)))
            for y in x:
                self._operand(y, key)
        elif cls is dict:
            key.append(tuple(x))
            for y in x.values():
                self._operand(y, key)
        else:
            key.append(static_key(x))

    def references(self, repeat: Repeat) -> Any:
        """Return the numbers of the values that each turn takes, a row each."""
        at = self.ref_at[repeat.start], self.ref_at[repeat.end]
        return self.refs[at[0] : at[1]].reshape(repeat.turns, -1)

    def varying(self, repeat: Repeat) -> Any:
        """Return the codes of numbers and places, a row for each turn."""
        at = self.static_at[repeat.start], self.static_at[repeat.end]
        return self.statics[at[0] : at[1]].reshape(repeat.turns, -1)

    def given(self, repeat: Repeat) -> tuple[int, int]:
        """Return the number of the first value that a repeat gives, and how many a turn gives."""
        first = int(self.firsts[repeat.start])
        return first, int(self.firsts[repeat.start + repeat.period]) - first


def is_placed(call: Call) -> bool:
    """Tell whether a call reads or writes a part of an array, which may be another each turn."""
    function, index = call.function, call.options.get("index")
    word: Any = function.function if type(function) is Into else function
    return word in PLACED and type(index) is Index and Index.HOLE not in index


def may_repeat(program: Program, least: int) -> bool:
    """Tell whether half of the calls may be left unwritten: so many functions come again at once.

    A repeat that saves so many calls is a stretch of these that there is twice. Stretches are
    compared by their hashes: powers of a number, as products of which all carries are dropped.
    """
    calls = program.calls
    if len(calls) < least + 2:
        return False
    ids = np.array([id(call.function) for call in calls], np.uint64)
    powers = np.full(len(calls), _BASE, np.uint64).cumprod()
    sums = np.concatenate((np.zeros(1, np.uint64), (ids * powers).cumsum()))
    hashes = (sums[least:] - sums[:-least]) * powers[::-1][: len(sums) - least]
    _, inverse, times = np.unique(hashes, return_inverse=True, return_counts=True)
    edges = np.zeros(len(sums), int)
    again = np.flatnonzero(times[inverse] > 1)
    edges[again] += 1
    edges[again + least] -= 1
    return 2 * int((edges.cumsum() > 0).sum()) >= len(calls)


_BASE = 0x9E3779B97F4A7C15


def repeats(line: Line, least: int) -> list[Repeat]:
    """Return where calls come again, in order; each saves so many calls at least."""
    found: list[Repeat] = []
    waiting = [(0, len(line.kinds))]
    while waiting:
        low, high = waiting.pop()
        best = _best(line, low, high, least)
        if best is not None:
            found.append(best)
            waiting += [(low, best.start), (best.end, high)]
    return sorted(found, key=lambda r: r.start)


def _best(line: Line, low: int, high: int, least: int) -> Repeat | None:
    """Return the repeat in a stretch of calls that saves most."""
    kinds = line.kinds[low:high]
    if len(kinds) < least:
        return None
    stretches = []
    for period in _periods(kinds):
        equal = np.concatenate(([False], kinds[:-period] == kinds[period:], [False]))
        edges = np.flatnonzero(equal[1:] != equal[:-1])
        starts, lengths = edges[::2], edges[1::2] - edges[::2]
        longest = [i for i in np.argsort(-lengths)[:2] if lengths[i] >= max(least, 2 * period)]
        stretches += [(int(lengths[i]), period, low + int(starts[i])) for i in longest]
    # The most calls first; of several periods of the same, the shortest.
    stretches.sort(key=lambda s: (-(s[0] // s[1]) * s[1], s[1]))
    best: Repeat | None = None
    for length, period, start in stretches[:_TRIED]:
        if best is not None and best.saved >= length:
            break
        turns, slack = divmod(length + period, period)
        shift = _shift(line, Repeat(start, period, turns), slack)
        whole = Repeat(start + shift, period, turns)
        found = _following(line, whole)
        if found is None and shift:
            found = _following(line, Repeat(start, period, turns))
        if found is not None and found.saved >= max(least, best.saved + 1 if best else 0):
            best = found
    return best


def _periods(kinds: Any) -> list[int]:
    """Return periods that calls may have: distances at which kinds come again."""
    n = len(kinds)
    order = np.argsort(kinds, kind="stable")
    ordered = kinds[order]
    again = ordered[1:] == ordered[:-1]
    gaps = (order[1:] - order[:-1])[again]
    if not len(gaps):
        return []
    counts = np.bincount(kinds)
    weight = np.bincount(gaps, 1.0 / counts[ordered[1:][again]])
    common = np.argsort(-weight)[:6]
    found: dict[int, None] = {}
    for gap in common[weight[common] > 0]:
        found.update(dict.fromkeys([int(gap) * m for m in (1, 2, 3, 4)]))
    rare = sorted(np.flatnonzero(counts >= 3), key=counts.__getitem__)[:6]
    for kind in rare:
        at = np.flatnonzero(kinds == kind)
        for m in (1, 2):
            if len(at) > m:
                found[int(np.bincount(at[m:] - at[:-m]).argmax())] = None
    return [p for p in found if 0 < p <= n // 3]


def _shift(line: Line, repeat: Repeat, slack: int) -> int:
    """Return where turns begin best: where they take least of the turn before."""
    first, count = line.given(repeat)
    if not slack or not count:
        return 0
    period, middle = repeat.period, repeat.turns // 2
    start = repeat.start + middle * period
    low, high = line.ref_at[start], line.ref_at[start + period]
    users = np.searchsorted(line.ref_at, np.arange(low, high), "right") - 1
    refs = line.refs[low:high]
    owner = np.searchsorted(line.firsts, refs, "right") - 1
    near = (refs >= first) & (users - owner < period)
    lives: dict[int, int] = {}
    for x, made, user in zip(refs[near], owner[near], users[near], strict=True):
        lives[int(x)] = max(lives.get(int(x), 0), int(user - made))
    crossing = np.zeros(3 * period + 1, int)
    for x, length in lives.items():
        made = int(np.searchsorted(line.firsts, x, "right")) - 1 - start + period
        crossing[made + 1] += 1
        crossing[made + length + 1] -= 1
    level = np.cumsum(crossing)[: 3 * period].reshape(3, period).sum(0)
    return int(np.argmin(level[: min(slack, period - 1) + 1]))


def _following(line: Line, repeat: Repeat) -> Repeat | None:
    """Return the turns, all or most, whose operands follow from turn to turn; or None."""
    for _ in range(4):
        if repeat.turns < 3:
            return None
        refs, (first, count) = line.references(repeat), line.given(repeat)
        rows = np.arange(repeat.turns)[:, None] * count
        middle = repeat.turns // 2
        follow = (refs - rows) == (refs - rows)[middle]
        constant = refs == refs[middle]
        good = (follow | constant | (refs < first)).all(1)
        if good.all() and _exact(refs, first, count).all():
            return repeat
        if good.all():
            good[0] = False
        edges = np.flatnonzero(np.diff(np.concatenate(([0], good.view(np.int8), [0]))))
        if not len(edges):
            return None
        k = int(np.argmax(edges[1::2] - edges[::2]))
        begin, turns = int(edges[2 * k]), int(edges[2 * k + 1] - edges[2 * k])
        repeat = Repeat(repeat.start + begin * repeat.period, repeat.period, turns)
    return None


def _exact(refs: Any, first: int, count: int) -> Any:
    """Tell for each operand whether it can be said for all turns."""
    turns = len(refs)
    before = refs < first
    rows = np.arange(turns)[:, None] * count
    away = ((refs - rows)[turns // 2] - first) if count else np.zeros(refs.shape[1], int)
    back = -(away // count) if count else np.zeros_like(away)  # how many turns ago it was made
    follow = (refs - rows) == away + first
    early = before & (np.arange(turns)[:, None] < back)
    carried = (follow | early).all(0) & (back >= 0) & (back <= min(_FURTHEST, turns - 1))
    constant = (refs == refs[0]).all(0) & before[0]
    return constant | before.all(0) | carried

"""Rolled form: calls that come again, turn by turn, become one call of a `Loop`.

What a turn takes is the same in each turn, made in it, made in a turn before, or one of a sequence:
of values from outside, or of those that an earlier loop made, in this or the other order.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from typing import Any, NamedTuple, final

import numpy as np

from chainrules_compile.loops import Loop, Varying, joined, picked
from chainrules_compile.passes.repeats import Line, Repeat, is_placed, may_repeat, repeats
from chainrules_compile.passes.values import changed, is_array
from chainrules_py.program import Call, Program, Value

LEAST, LEAST_OF_COMPILERS = 112, 256
"""How many calls a loop saves at least: in Python to write and compile each takes 10 us."""
_SHARE = 12
"""Turns take so many times as long, at least, as it takes to come to the next one."""
_TURN, _SEQUENCE, _NUMBER, _ARRAY = 25, 20, 30, 350
"""Nanoseconds of a turn, of each list that it takes from or adds to, and of calls."""
_PARTS = 6
"""Of how many parts a sequence is joined at most."""


def rolled(program: Program, least: int = LEAST) -> Program:
    """Return the program with loops for calls that come again."""
    if len(program.calls) < least or (least >= LEAST and not may_repeat(program, least)):
        return program
    line = Line(program)
    found = repeats(line, least)
    if not found or (least >= LEAST and _too_few(found, program)):
        return program
    rolling = _Rolling(program, line, found)
    if least >= LEAST:
        worth = [wide for i in range(len(found)) if (wide := rolling.worth(i)) is not None]
        if _too_few(worth, program):
            return program
        if worth != found:
            rolling = _aligned(program, line, worth, found)
    return rolling.program(least)


def _aligned(program: Program, line: Line, worth: list[Repeat], found: list[Repeat]) -> _Rolling:
    """Return the rolling of what is worth it, with as many values in lists as there may be.

    Where several turns are one, a loop of one for each cannot take their lists in turn.
    """
    wide, starts = _Rolling(program, line, worth), {r.start for r in worth}
    narrow = [r for r in found if r.start in starts]
    if narrow == worth:
        return wide
    other = _Rolling(program, line, narrow)
    return other if other.apart() < wide.apart() else wide


def _too_few(found: list[Repeat], program: Program) -> bool:
    """Tell whether most calls would still be written one by one."""
    return 2 * sum([r.saved for r in found]) < len(program.calls)


_EMPTY = Program("turn", (), (), ())


class _Cut(NamedTuple):
    """Part of the list of what the turns of a loop gave: from a turn on, so many, up or down."""

    loop: int
    slot: int
    first: int
    step: int
    length: int


class _Carried(NamedTuple):
    """What a turn before made, so many turns ago; and what there is before there is one."""

    slot: int
    back: int
    firsts: tuple[int, ...]


class _Each(NamedTuple):
    """One of a sequence for each turn: values from outside by number, and parts of lists."""

    parts: tuple[int | _Cut, ...]


class _Numbers(NamedTuple):
    """A number for each turn, and how they are written: 0.0 is not -0.0."""

    texts: tuple[str, ...]
    objects: tuple[Any, ...]


@final
class _Rolling:
    """Rolling of one program.

    A value is known by its number, or within a loop by turn and slot: which of those that a turn
    makes it is.
    """

    def __init__(self, program: Program, line: Line, found: list[Repeat]) -> None:
        self.whole = program
        self.line = line
        self.repeats = found
        self.given = [line.given(r) for r in found]
        self._starts = [first for first, _ in self.given]
        self.kept: list[dict[int, Value]] = [{} for _ in found]
        self.single: list[dict[int, set[int]]] = [defaultdict(set) for _ in found]
        self._count = 0
        self._taken = {x.name for x in line.values}
        self.plans = [self._plan(i) for i in range(len(found))]
        self._need_outside()

    # ------------------------------------------------------------------ what hangs on what

    def owner(self, x: int) -> tuple[int, int, int] | None:
        """Return the loop that makes a value, the turn, and the slot; None for others."""
        i = bisect.bisect_right(self._starts, x) - 1
        if i < 0:
            return None
        first, count = self.given[i]
        turn, slot = divmod(x - first, count) if count else (self.repeats[i].turns, 0)
        return (i, turn, slot) if turn < self.repeats[i].turns else None

    def _plan(self, i: int) -> list[Any]:
        """Return, for each operand of a turn, how it follows from turn to turn."""
        refs, (first, count) = self.line.references(self.repeats[i]), self.given[i]
        same = (refs == refs[0]).all(0).tolist()
        before = (refs < first).all(0).tolist()
        middle = len(refs) // 2
        begun, amid = refs[0].tolist(), (refs[middle] - middle * count - first).tolist()
        plan: list[Any] = []
        shared: dict[tuple[int, ...], _Each] = {}
        for t, away in enumerate(amid):
            if same[t]:
                plan.append(begun[t])
                self._need(begun[t])
            elif before[t]:
                key = tuple(refs[:, t].tolist())
                if key not in shared:
                    shared[key] = self._each(key)
                plan.append(shared[key])
            else:
                back = -(away // count)
                firsts = tuple(refs[:back, t].tolist()) if back > 0 else ()
                for x in firsts:
                    self._need(x)
                plan.append(_Carried(away % count, back, firsts))
        return plan

    def _each(self, xs: tuple[int, ...]) -> _Each:
        """Return a sequence of values as parts."""
        parts: list[int | _Cut] = []
        for x in xs:
            owner, last = self.owner(x), parts[-1] if parts else None
            if owner is None:
                parts.append(x)
                continue
            loop, turn, slot = owner
            if type(last) is _Cut and last[:2] == (loop, slot):
                step = turn - last.first if last.length == 1 else last.step
                if abs(step) == 1 and turn == last.first + step * last.length:
                    parts[-1] = last._replace(step=step, length=last.length + 1)
                    continue
            parts.append(_Cut(loop, slot, turn, 1, 1))
        cuts = sum([type(part) is _Cut for part in parts])
        if cuts and len(parts) > _PARTS:
            parts = list(xs)
        for part in parts:
            if type(part) is _Cut:
                self._keep(part.loop, part.slot)
            else:
                self._need(part)
        return _Each(tuple(parts))

    def _need(self, x: Any) -> None:
        """Have a value be there after the loop that makes it."""
        owner = self.owner(x)
        if owner is not None:
            loop, turn, slot = owner
            self.single[loop][slot].add(turn)

    def _keep(self, loop: int, slot: int) -> Value:
        if slot not in self.kept[loop]:
            self.kept[loop][slot] = Value(self._name("kept"), list)
        return self.kept[loop][slot]

    def _need_outside(self) -> None:
        place = 0
        for r in (*self.repeats, Repeat(len(self.whole.calls), 0, 0)):
            for x in self.line.refs[self.line.ref_at[place] : self.line.ref_at[r.start]].tolist():
                self._need(x)
            place = r.end
        for x in Call(None, self.whole.outputs, {}, ()).values:
            self._need(self.line.numbers[x])
        for single, kept, r in zip(self.single, self.kept, self.repeats, strict=True):
            for slot, turns in single.items():
                if turns - {r.turns - 1} and slot not in kept:
                    kept[slot] = Value(self._name("kept"), list)

    def worth(self, i: int) -> Repeat | None:
        """Return a repeat, of several turns in one where these are short; None if it costs more."""
        r = self.repeats[i]
        calls = self.whole.calls[r.start : r.start + r.period]
        arrays = sum([any(map(is_array, (*call.results, *call.values))) for call in calls])
        cost = _ARRAY * arrays + _NUMBER * (len(calls) - arrays)
        rows = self.line.varying(r)
        taken = len({x for x in self.plans[i] if type(x) is _Each})
        taken += int((rows != rows[0]).any(0).sum())
        cost -= _SHARE * _SEQUENCE * (taken + len(self.kept[i]))
        if cost <= 0:
            return None
        several = -(-_SHARE * _TURN // cost)
        if several == 1:
            return r
        wide = Repeat(r.start, r.period * several, r.turns // several)
        return wide if wide.turns >= 3 else None

    def apart(self) -> int:
        """Count the values that are taken from lists one by one."""
        return sum([len(turns) for single in self.single for turns in single.values()])

    # ----------------------------------------------------------------------- the rolled program

    def _name(self, hint: str) -> str:
        """Return a name that no value of the program has."""
        while True:
            self._count += 1
            name = f"{hint}{self._count}"
            if name not in self._taken:
                return name

    def program(self, least: int) -> Program:
        """Return the program with its loops."""
        calls: list[Call] = []
        place = 0
        for i, r in enumerate(self.repeats):
            calls += self.whole.calls[place : r.start]
            calls += self._loop(i, least)
            place = r.end
        calls += self.whole.calls[place:]
        return changed(self.whole, calls=tuple(calls))

    def _loop(self, i: int, least: int) -> list[Call]:
        """Return the call of a loop, what it needs before it, and what is picked after it."""
        (first, count), turns = self.given[i], self.repeats[i].turns
        values, kept, single = self.line.values, self.kept[i], self.single[i]
        calls: list[Call] = []
        body = _Body(self, i)
        sequences = [self.sequence(each, calls) for each in body.each]
        carried, made = body.next_values, body.made
        lasts = [slot for slot, places in single.items() if turns - 1 in places]
        inputs = (*body.same.values(), *body.carried.values(), *body.each.values())
        outputs = (*carried, *[made[slot] for slot in (*lasts, *kept)])
        turn = changed(_EMPTY, name=f"turn_{i + 1}", inputs=inputs, outputs=outputs)
        turn = rolled(changed(turn, calls=tuple(body.calls)), least)
        backwards = tuple([back for _, back in sequences])
        loop = Loop(turn, turns, len(body.same), len(carried), len(lasts), backwards)
        operands = [values[x] for x in body.same]
        operands += [values[c.firsts[0]] for c in body.carried]
        ends = [self._fresh(x) for x in body.carried.values()]
        ends += [values[first + (turns - 1) * count + slot] for slot in lasts]
        operands += [x for x, _ in sequences]
        calls.append(Call(loop, tuple(operands), {}, (*ends, *kept.values())))
        for slot, places in single.items():
            picks = tuple(sorted(places - {turns - 1}))
            if picks:
                found = tuple([values[first + k * count + slot] for k in picks])
                calls.append(Call(picked, (kept[slot],), {"turns": picks}, found))
        return calls

    def _fresh(self, x: Value) -> Value:
        """Return a value with another name."""
        return Value(self._name(f"{x.name}_"), x.type, x.shape, x.dtype, x.memory, x.layout)

    def sequence(self, each: _Each | _Numbers, before: list[Call]) -> tuple[Any, bool]:
        """Return what a sequence is as an operand, and whether its last object comes first."""
        if isinstance(each, _Numbers):
            return each.objects, False
        values, parts = self.line.values, each.parts
        if not any([type(part) is _Cut for part in parts]):
            return tuple([values[x] for x in parts]), False  # type: ignore[index]
        if len(parts) == 1 and type(parts[0]) is _Cut:
            cut = parts[0]
            if cut.length == self.repeats[cut.loop].turns:
                return self.kept[cut.loop][cut.slot], cut.step < 0
        operands: list[Any] = []
        cuts: list[slice | None] = []
        for part in parts:
            if type(part) is _Cut:
                stop: int | None = part.first + part.step * part.length
                operands.append(self.kept[part.loop][part.slot])
                cuts.append(slice(part.first, None if stop == -1 else stop, part.step))
            else:
                operands.append(values[part])  # type: ignore[index]
                cuts.append(None)
        found = Value(self._name("joined"), list)
        before.append(Call(joined, tuple(operands), {"cuts": tuple(cuts)}, (found,)))
        return found, False


@final
class _Body:
    """One turn of a loop: the calls of the first, with inputs for what differs."""

    def __init__(self, rolling: _Rolling, i: int) -> None:
        line, r = rolling.line, rolling.repeats[i]
        self.calls: list[Call] = []
        self.made: list[Value] = []
        self.same: dict[int, Value] = {}
        self.carried: dict[_Carried, Value] = {}
        self.each: dict[_Each | _Numbers, Value] = {}
        self._line = line
        self._first = rolling.given[i][0]
        self._names: set[str] = set()
        self._plan = iter(rolling.plans[i])
        rows = line.varying(r)
        self._varies = iter((rows != rows[0]).any(0).tolist())
        for j in range(r.start, r.start + r.period):
            self._take(rolling.whole.calls[j : r.end : r.period])

    @property
    def next_values(self) -> list[Value]:
        """What is carried to the next turn."""
        found = []
        for slot, back, firsts in self.carried:
            before = _Carried(slot, back - 1, firsts[1:])
            found.append(self.made[slot] if back == 1 else self.carried[before])
        return found

    def _take(self, turns: tuple[Call, ...]) -> None:
        """Take a call, as it is in each turn."""
        call, options = turns[0], turns[0].options
        operands = tuple(
            [self._operand([c.operands[q] for c in turns]) for q in range(len(call.operands))]
        )
        if is_placed(call) and next(self._varies):
            options = {**options, "index": Varying(tuple([c.options["index"] for c in turns]))}
        results = tuple([self._value(x, x.name) for x in call.results])
        self.made += results
        self.calls.append(Call(call.function, operands, options, results))

    def _operand(self, turns: list[Any]) -> Any:
        """Return what stands for an operand, which is given as it is in each turn."""
        x, cls = turns[0], type(turns[0])
        if cls is Value:
            return self._input(x, next(self._plan))
        if cls in (tuple, list):
            return cls([self._operand([y[i] for y in turns]) for i in range(len(x))])
        if cls is dict:
            return {key: self._operand([y[key] for y in turns]) for key in x}
        if cls in (float, np.float64) and next(self._varies):
            numbers = _Numbers(tuple(map(repr, turns)), tuple(turns))
            return self._entered(self.each, numbers, Value("number", cls, *_facts(x)))
        return x

    def _input(self, x: Value, plan: Any) -> Value:
        """Return what an operand is in a turn: an input, or what the turn has made."""
        if type(plan) is int:
            return self._entered(self.same, plan, x)
        if type(plan) is _Each:
            return self._entered(self.each, plan, x)
        carried: _Carried = plan
        slot, back, firsts = carried
        if not back:
            return self.made[slot]
        for n in range(1, back):
            before = _Carried(slot, n, firsts[back - n :])
            self._entered(self.carried, before, self._line.values[before.firsts[0]])
        return self._entered(self.carried, carried, x)

    def _entered(self, inputs: dict[Any, Value], key: Any, x: Value) -> Value:
        """Return the input for a key; make it like a value."""
        if key not in inputs:
            inputs[key] = self._value(x, f"{x.name}_in")
        found: Value = inputs[key]
        return found

    def _value(self, x: Value, name: str) -> Value:
        """Return a value of the turn, under a name that it has alone."""
        n, base = 1, name
        while name in self._names:
            n += 1
            name = f"{base}_{n}"
        self._names.add(name)
        return Value(name, x.type, x.shape, x.dtype, x.memory, x.layout)


def _facts(x: Any) -> tuple[Any, Any]:
    """Return shape and dtype of a number."""
    return getattr(x, "shape", None), getattr(x, "dtype", None)

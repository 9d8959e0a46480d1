"""Sums from zero: parts of zeros that are added to once are written, and zero is added to all.

An addition to a part reads it, adds and writes it back. Where no two parts meet, each is what is
added to zero; that makes 0 of -0, which one addition of zero to the whole array does as well.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from chainrules_compile.calls import subtract_at
from chainrules_compile.passes.filled import FILLING, Box, box_of, is_zeros, meet
from chainrules_compile.passes.values import changed, is_array, size, uses_of, value_of
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import add_at
from chainrules_py.vocabulary.views import store

_PART, _WHOLE, _ELEMENT = 150.0, 300.0, 0.3
"""Nanoseconds: an addition to a part less what writes it, one to a whole array, of an element."""
_ADDING = frozenset((add_at, subtract_at))
_NUMBERS = (int, float, np.float64)
_FEW = 32
"""Up to how many parts each is compared with each."""


def with_sums_from_zero(program: Program) -> Program:
    """Return the program with parts of zeros that are written where they were added to."""
    functions = program.functions
    if functions.isdisjoint(_ADDING) or functions.isdisjoint(FILLING):
        return program
    starts = [c.results[0] for c in program.calls if c.function in FILLING and is_zeros(c)]
    if not starts:
        return program
    calls = program.calls
    versions = [c.results[0] for c in calls if c.function in _ADDING and c.results]
    uses = uses_of(program, [*starts, *versions])
    instead: dict[int, tuple[Call, ...]] = {}
    for z in starts:
        places = _chain(z, calls, uses)
        n, last = len(places), calls[places[-1]].results[0] if places else z
        if n < 2 or n * _PART < _WHOLE + _ELEMENT * size(z) or not _apart(places, calls):
            continue
        for i in places:
            instead[i] = _writing(calls[i])
        *others, call = instead[places[-1]]
        new = _like(last, f"{last.name}_written")
        written = Call(store, call.operands, call.options, (new,))
        instead[places[-1]] = *others, written, Call(np.add, (new, 0.0), {}, (last,))
    if not instead:
        return program
    found = [x for i, call in enumerate(calls) for x in instead.get(i, (call,))]
    return changed(program, calls=tuple(found))


def _writing(call: Call) -> tuple[Call, ...]:
    """Return what writes what a call adds, or the negative of what it subtracts."""
    z, y = call.operands
    if call.function is add_at:
        return (Call(store, call.operands, call.options, call.results),)
    less = _like(y, f"{y.name}_less_{call.results[0].name}")
    negation = Call(np.negative, (y,), {}, (less,))
    return negation, Call(store, (z, less), call.options, call.results)


def _like(x: Value, name: str) -> Value:
    cls: Any = x.type
    return value_of(name, cls, x.shape, x.dtype, None, x.layout)


def _chain(z: Value, calls: tuple[Call, ...], uses: Any) -> list[int]:
    """Return the places of the calls that add to zeros, one after the other and to nothing else."""
    found: list[int] = []
    while len(uses.get(z, ())) == 1 and uses[z][0] < len(calls):
        (i,) = uses[z]
        call = calls[i]
        if call.function not in _ADDING or len(call.operands) != 2 or call.operands[0] is not z:
            break
        y = call.operands[1]
        number = call.function is add_at and (y.type if type(y) is Value else type(y)) in _NUMBERS
        if not (number or (is_array(y) and y.dtype == z.dtype)) or y is z or _box(call) is None:
            break
        found.append(i)
        z = call.results[0]
    return found


def _box(call: Call) -> Box | None:
    shape: Any = call.operands[0].shape
    return box_of(call.options["index"], shape)


def _apart(places: list[int], calls: tuple[Call, ...]) -> bool:
    """Tell whether no two of the parts meet: along the first axis, if they are many."""
    boxes: list[Any] = sorted([_box(calls[i]) for i in places])
    if not any([b[0][0] < a[0][1] for a, b in itertools.pairwise(boxes)]):
        return True
    few = len(boxes) <= _FEW
    return few and not any([meet(a, b) for a, b in itertools.combinations(boxes, 2)])

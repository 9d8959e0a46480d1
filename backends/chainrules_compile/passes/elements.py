"""Elements: what was written to one of an array is not read again, and not written if it is lost.

Cotangents of arrays that are read one by one are zeros to which each use adds a number.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from chainrules_compile.passes.filled import FILLING, is_zeros
from chainrules_compile.passes.values import alike, changed, replaced, uses_of
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary.views import read, store

Place = tuple[int, ...]
_TAKEN = frozenset((store, read, *FILLING))


def with_elements(program: Program) -> Program:
    """Return the program with the numbers themselves where they were written to an array."""
    if store not in program.functions:
        return program
    stores = [call for call in program.calls if call.function is store]
    if not any([place_of(call, 2) is not None for call in stores]):
        return program
    walk = _Walk()
    lacks = walk.instead.keys().isdisjoint
    for call in program.calls:
        if walk.instead and not lacks(call.values):
            call = replaced(call, walk.instead)
        if call.function in _TAKEN:
            walk.take(call)
        else:
            walk.calls.append(call)
    outputs = Call(None, program.outputs, {}, ()).replaced(walk.instead).operands
    return without_lost(changed(program, calls=tuple(walk.calls), outputs=outputs))


@final
class _Walk:
    """Walk along a program, with what is known of the elements of arrays.

    What is known of an array goes on to the array that it becomes, so it is known of the last.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.instead: dict[Value, Any] = {}
        # Each with whether all elements that are not known are zero.
        self._known: dict[Value, tuple[dict[Place, Any], bool]] = {}

    def take(self, call: Call) -> None:
        """Take the next call, or leave it out."""
        if call.function is store:
            self._store(call)
        elif call.function is read:
            found = self._element(call)
            if found is not None:
                self.instead[call.results[0]] = found
                return
        elif call.function in FILLING and is_zeros(call):
            self._known[call.results[0]] = {}, True
        self.calls.append(call)

    def _store(self, call: Call) -> None:
        place = place_of(call, 2)
        if place is None:
            return
        z, y = call.operands
        (result,) = call.results
        known, zero = self._known.pop(z, ({}, False))
        known[place] = y if type(y) is Value and is_element(y, result) else None
        self._known[result] = known, zero

    def _element(self, call: Call) -> Any:
        """Return the number that a call reads, or None."""
        place = place_of(call, 1)
        x = call.operands[0]
        if place is None or x not in self._known:
            return None
        (result,), (known, zero) = call.results, self._known[x]
        if place in known:
            y = known[place]
            return y if y is not None and alike(y, result) else None
        number: Any = result.type
        return number(0) if zero and is_element(result, x) else None


def without_lost(program: Program) -> Program:
    """Return the program without what is written to an element, and written over unread.

    It is unread where each array up to then is used by the next writing alone.
    """
    calls = program.calls
    stores = [i for i, call in enumerate(calls) if call.function is store]
    uses = uses_of(program, [calls[i].results[0] for i in stores])
    over: dict[int, set[Place]] = {}  # by a writing what it and those that follow write to
    instead: dict[Value, Any] = {}
    for i in reversed(stores):
        call = calls[i]
        place = place_of(call, 2)
        if place is None:
            continue
        places = uses[call.results[0]]
        follows = len(places) == 1 and places[0] in over
        alone = follows and calls[places[0]].operands[0] is call.results[0]
        over[i] = over[places[0]] if alone else set()
        if place in over[i]:
            instead[call.results[0]] = call.operands[0]
        over[i].add(place)
    if not instead:
        return program
    kept = []
    lacks = instead.keys().isdisjoint
    for call in calls:
        call = call if lacks(call.values) else replaced(call, instead)
        if call.function is store and call.results[0] in instead:
            instead[call.results[0]] = call.operands[0]
        else:
            kept.append(call)
    return changed(program, calls=tuple(kept))


def place_of(call: Call, operands: int) -> Place | None:
    """Return the place of the one element that a call of so many operands reads or writes."""
    pattern, x = call.options["index"], call.operands[0]
    if len(call.operands) != operands or type(x) is not Value or x.type is not np.ndarray:
        return None
    shape: Any = x.shape
    if len(pattern) != len(shape) or any([type(entry) is not int for entry in pattern]):
        return None
    return tuple([entry % n for entry, n in zip(pattern, shape, strict=True)])


def is_element(y: Value, x: Value) -> bool:
    """Tell whether a number is as an array gives it when it is read."""
    number = isinstance(y.type, type) and issubclass(y.type, np.floating)
    return number and y.shape == () and y.dtype == x.dtype

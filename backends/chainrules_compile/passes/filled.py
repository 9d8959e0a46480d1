"""Filled arrays: zeros that are added to in all their parts are neither made nor read.

A part becomes the sum of zero and what is added to it, which has no negative zeros either.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from chainrules_compile.calls import minus_at, plus_at, subtract_at
from chainrules_compile.passes.values import changed, is_array, is_contiguous, size, uses_of
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import add_at, full_like, zeros_like
from chainrules_py.vocabulary.views import store

_AT: dict[Any, Any] = {add_at: plus_at, subtract_at: minus_at, store: store}
_MOST = 32
"""How many parts zeros may have."""
FILLING = frozenset((zeros_like, full_like))
"""Words that may give zeros."""
Box = tuple[tuple[int, int], ...]
"""Along each axis the first place, and the first after the last."""


def with_filled(program: Program) -> Program:
    """Return the program with `np.empty` for zeros that are covered by what is added to them."""
    if program.functions.isdisjoint(FILLING):
        return program
    zeros = [call for call in program.calls if call.function in FILLING]
    starts = {call.results[0] for call in zeros if is_zeros(call)}
    if not starts:
        return program
    program = beside_given(program)
    calls = program.calls
    writing = [i for i, call in enumerate(calls) if call.function in _AT]
    uses = uses_of(program, [calls[i].results[0] for i in writing])
    instead: dict[int, tuple[Call, ...]] = {}
    for i in writing:
        call = calls[i]
        z, *rest = call.operands
        if type(z) is not Value or z not in starts:
            continue
        for place in covering(program, i, uses):
            at = calls[place]
            instead[place] = (Call(_AT[at.function], at.operands, at.options, at.results),)
        if i in instead:
            new = Value(f"{z.name}_filled{i}", z.type, z.shape, z.dtype, None, z.layout)
            dtype = () if z.dtype == np.float64 else (z.dtype,)
            made = Call(np.empty, (z.shape, *dtype), {}, (new,))
            filling = Call(_AT[call.function], (new, *rest), call.options, call.results)
            instead[i] = made, filling
    if not instead:
        return program
    found: list[Call] = []
    place = 0
    for i in sorted(instead):
        found += (*calls[place:i], *instead[i])
        place = i + 1
    return changed(program, calls=(*found, *calls[place:]))


def beside_given(program: Program) -> Program:
    """Return the program with zeros that need nothing which is computed: of that the class counts.

    A negation that became a difference is kept for the zeros beside it, and nothing else.
    """
    beside = next((x for x in (*program.inputs, *program.constants) if is_array(x)), None)
    if beside is None:
        return program
    calls = [
        Call(full_like, (beside,), _options_of(call), call.results)
        if call.function in FILLING and is_zeros(call)
        else call
        for call in program.calls
    ]
    return changed(program, calls=tuple(calls))


def _options_of(call: Call) -> dict[str, Any]:
    (y,) = call.results
    return {"shape": y.shape, "fill": 0, "dtype": y.dtype}


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


def covering(program: Program, i: int, uses: Mapping[Value, list[int]]) -> list[int]:
    """Return the places of calls that are the first to write to each element of zeros.

    The first is at i; of what a call gives up to the last of them, the next is the only use.
    Without such calls the list is empty.
    """
    boxes: list[Box] = []
    found, n, calls = [], 0, program.calls
    while i < len(calls):
        box = _box_of(calls[i])
        if box is None:
            return []
        (result,) = calls[i].results
        if not any([within(box, other) for other in boxes]):
            if len(boxes) == _MOST or any([meet(box, other) for other in boxes]):
                return []
            boxes.append(box)
            found.append(i)
            n += math.prod([above - low for low, above in box])
        if n == size(result):
            return found
        if len(uses[result]) != 1:
            return []
        (i,) = uses[result]
        if i < len(calls) and (not calls[i].operands or calls[i].operands[0] is not result):
            return []
    return []


def _box_of(call: Call) -> Box | None:
    """Return the elements that a call adds to, or writes; None for other calls."""
    if call.function not in _AT or len(call.operands) != 2 or len(call.results) != 1:
        return None
    z, y = call.operands
    if call.function is not store and getattr(y, "dtype", z.dtype) != z.dtype:
        return None
    return box_of(call.options["index"], z.shape)


@functools.lru_cache(maxsize=1024)
def box_of(pattern: Any, shape: tuple[int, ...]) -> Box | None:
    """Return the elements that an index of integers and slices means, along each axis."""
    if len(pattern) > len(shape):
        return None
    rest = [(slice, None, None, None)] * (len(shape) - len(pattern))
    box = []
    for entry, n in zip((*pattern, *rest), shape, strict=True):
        if type(entry) is int:
            along = range(n)[entry : entry + 1 or None]
        elif type(entry) is tuple and entry[0] is slice:
            along = range(n)[slice(*entry[1:])]
        else:
            return None
        if abs(along.step) != 1:
            return None
        box.append((min(along[0], along[-1]), max(along[0], along[-1]) + 1) if along else (0, 0))
    return tuple(box)


def meet(x: Box, y: Box) -> bool:
    """Tell whether two boxes have elements in common."""
    return all([a < d and c < b for (a, b), (c, d) in zip(x, y, strict=True)])


def within(x: Box, y: Box) -> bool:
    """Tell whether all elements of a box are in another."""
    return all([c <= a and b <= d for (a, b), (c, d) in zip(x, y, strict=True)])

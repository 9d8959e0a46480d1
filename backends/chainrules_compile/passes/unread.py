"""Unread rows: what is written to rows of an array that nobody reads any more is not written.

Who writes ``y[i] = ...`` has the derivative of what stood there taken out, row by row, and set to
zero; each row is read once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from chainrules_compile.calls import subtract_at
from chainrules_compile.passes.filled import box_of
from chainrules_compile.passes.values import changed, is_array, replaced, uses_of
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import add_at
from chainrules_py.vocabulary.views import read, store

_WRITING = frozenset((store, add_at, subtract_at))
_MOST = 4096
"""How many rows are followed at most."""


class Needed(NamedTuple):
    """Rows of an array that are read later on; all of them, where they are None."""

    rows: set[int] | None


def without_unread(program: Program) -> Program:
    """Return the program without what is written to rows that nobody reads after that."""
    if store not in program.functions:
        return program
    calls = program.calls
    writing = [i for i, call in enumerate(calls) if call.function in _WRITING]
    writing = [i for i in writing if is_followed(calls[i])]
    if not any([calls[i].function is store for i in writing]):
        return program
    uses = uses_of(program, [calls[i].results[0] for i in writing])
    before: dict[Value, Needed] = {}
    instead: dict[Value, Any] = {}
    for i in reversed(writing):
        call = calls[i]
        (z,) = call.results
        needed = _needed(z, calls, uses[z], before)
        rows, written = needed.rows, rows_of(call)
        if rows is not None and written is not None:
            if rows.isdisjoint(written):
                instead[z] = call.operands[0]
            elif call.function is store and len(call.options["index"]) == 1:
                rows.difference_update(written)
        before[z] = needed
    if not instead:
        return program
    kept = []
    for call in calls:
        if is_followed(call) and call.results[0] in instead:
            x = call.operands[0]
            instead[call.results[0]] = instead.get(x, x)
        else:
            kept.append(replaced(call, instead))
    outputs = Call(None, program.outputs, {}, ()).replaced(instead).operands
    return changed(program, calls=tuple(kept), outputs=outputs)


def is_followed(call: Call) -> bool:
    """Tell whether a call writes to some part of an array that no number says."""
    if call.function not in _WRITING or len(call.operands) != 2 or len(call.results) != 1:
        return False
    return is_array(call.operands[0]) and is_array(call.results[0])


def rows_of(call: Call) -> range | None:
    """Return the rows that a call reads or writes, if these are known and few."""
    shape: Any = call.operands[0].shape
    box = box_of(call.options["index"], shape)
    if not box or box[0][1] - box[0][0] > _MOST:
        return None
    return range(*box[0])


def _needed(
    z: Value, calls: tuple[Call, ...], uses: list[int], before: dict[Value, Needed]
) -> Needed:
    """Return which rows of an array are read after it was written to; it is written to once."""
    rows: set[int] = set()
    ways, reads = [], []
    for place in uses:
        call = calls[place] if place < len(calls) else None
        if call is None or call.operands[0] is not z or call.values.count(z) > 1:
            return Needed(None)
        if is_followed(call):
            ways.append(before[call.results[0]].rows)
            continue
        found = rows_of(call) if call.function is read and len(call.operands) == 1 else None
        if found is None:
            return Needed(None)
        reads.append(found)
    if len(ways) > 1 or None in ways:
        return Needed(None)
    for way in ways:
        rows = way or rows  # which goes on: nobody else asks for it
    for found in reads:
        rows.update(found)
    return Needed(rows)

"""Scattered rows: consecutive additions to rows of an array become one addition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from chainrules_compile.passes.analysis import (
    ADDS,
    changed,
    contiguous,
    counts,
    is_array,
    size,
    value_of,
)
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_py.ops import add_at, copy
from chainrules_py.ops.engine_operations import Index, duplicate
from chainrules_py.program import Call, Program, Value

_FEWEST = 200
"""Minimum number of indices."""
_WIDEST = 32
"""Maximum length of a row."""
_AT_ROWS = Index((Index.HOLE,))


def with_added_rows(program: Program) -> Program:
    """Return the program with one call for consecutive additions to rows of an array."""
    if program.functions.isdisjoint(ADDS):
        return program
    made, uses = program.definitions(), counts(program)
    taken, calls = set[int](), list[Call]()
    for call in reversed(program.calls):
        run = [] if id(call) in taken else [*_run(call, made, uses)][::-1]
        n = sum([size(each.operands[2]) for each in run])
        if len(run) > 1 and n >= _FEWEST:
            taken.update(map(id, run))
            calls += _at_once(run)[::-1]
        else:
            calls.append(call)
    return without_dead_code(changed(program, calls=tuple(calls[::-1])))


def _run(call: Call, made: Mapping[Value, Call], uses: Mapping[Value, int]) -> Iterator[Call]:
    """Yield an addition to rows, and those before it, also through copies, if only it uses them."""
    last, each = call, made.get(call.results[0]) if call.results else None
    while each is not None and _adds_to_rows(each) and _is_alike(each, last):
        yield each
        buffer = each.operands[0]
        each = made.get(buffer)
        while each is not None and uses[buffer] == 1 and each.function in (copy, duplicate):
            buffer = each.operands[0]
            each = made.get(buffer)
        each = each if uses[buffer] == 1 else None


def _adds_to_rows(call: Call) -> bool:
    """Return whether a call adds to short rows of a matrix, or to elements of a vector."""
    if call.function not in ADDS or len(call.operands) != 3 or call.options["index"] != _AT_ROWS:
        return False
    (z,), (_, y, places) = call.results, call.operands
    if not (is_array(z) and is_array(y) and is_array(places)) or places.dtype.kind != "i":
        return False
    shape: Any = z.shape
    rows = bool(places.shape) and y.shape == (*places.shape, *shape[1:])
    alike = bool(z.dtype == y.dtype == np.float64)
    return rows and alike and (len(shape) == 1 or (len(shape) == 2 and shape[1] <= _WIDEST))


def _is_alike(call: Call, other: Call) -> bool:
    """Return whether the indices of two additions can be joined along their first axis."""
    x, y = call.operands[2], other.operands[2]
    return bool(x.dtype == y.dtype and x.shape[1:] == y.shape[1:])


def _at_once(run: list[Call]) -> list[Call]:
    """Return the calls that join the rows of additions, and their indices, and add them."""
    z = run[-1].results[0]
    joins, both = list[Call](), list[Value]()
    for i, part in ((1, "rows"), (2, "places")):
        xs: Any = [call.operands[i] for call in run]
        shape = (sum([x.shape[0] for x in xs]), *xs[0].shape[1:])
        layout = contiguous(shape, xs[0].dtype.itemsize)
        both.append(value_of(f"{z.name}_{part}", np.ndarray, shape, xs[0].dtype, None, layout))
        joins.append(Call(np.concatenate, (tuple(xs),), {}, (both[-1],)))
    return [*joins, Call(add_at, (run[0].operands[0], *both), {"index": _AT_ROWS}, (z,))]

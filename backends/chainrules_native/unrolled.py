"""Programs without loops: each turn of those that scans gave, one after the other."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from chainrules_compile.loops import Loop, joined, rows_of, stacked_rows
from chainrules_compile.passes.values import changed
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import stack
from chainrules_py.vocabulary.views import Index, read


def unrolled(program: Program) -> Program:
    """Return the program with each turn of the loops that scans gave, one after the other."""
    if not any([type(call.function) is Loop for call in program]):
        return program
    calls: list[Call] = []
    lists: dict[Value, tuple[Any, ...]] = {}
    instead: dict[Value, Any] = {}
    for call in program:
        call = call.replaced(instead)
        f, options = call.function, call.options
        if f is rows_of:
            (x,), (rows,) = call.operands, call.results
            made = [_row_of(x, k, rows.name) for k in range(options["first"], options["last"])]
            calls += made
            lists[rows] = tuple([each.results[0] for each in made])
        elif f is joined:
            parts = zip(call.operands, options["cuts"], strict=True)
            found = [[x] if cut is None else lists[x][cut] for x, cut in parts]
            lists[call.results[0]] = tuple([x for part in found for x in part])
        elif f is stacked_rows:
            xs = lists[call.operands[0]]
            xs = xs[::-1] if options["back"] else xs
            calls.append(Call(stack, xs, {"axis": 0}, call.results))
        elif type(f) is Loop:
            ends, kept = _turned(f, call, lists, calls)
            n = f.carried + f.last
            instead.update(zip(call.results[:n], ends, strict=True))
            lists.update(zip(call.results[n:], kept, strict=True))
        else:
            calls.append(call)
    outputs = Call(None, program.outputs, {}, ()).replaced(instead).operands
    return changed(program, calls=tuple(calls), outputs=outputs)


def _row_of(x: Value, k: int, name: str) -> Call:
    """Return the call that reads a row of an array."""
    shape: Any = x.shape
    cls = np.ndarray if len(shape) > 1 else x.dtype.type
    layout = None if x.layout is None else x.layout[len(x.layout) - _long(shape[1:]) :]
    memory = x if len(shape) > 1 else None
    row = Value(f"{name}_{k}", cls, shape[1:], x.dtype, memory, layout)
    return Call(read, (x,), {"index": Index.split(k)[0]}, (row,))


def _long(shape: tuple[int, ...]) -> int:
    return len([n for n in shape if n != 1])


def _turned(
    loop: Loop, call: Call, lists: dict[Value, tuple[Any, ...]], calls: list[Call]
) -> tuple[Any, Any]:
    """Append the calls of all turns; return the ends, and what was kept, of a loop."""
    body = unrolled(loop.body)
    same, carried, sequences = loop.split(call.operands)
    rows = [lists[x] if type(x) is Value else x for x in sequences]
    ways = zip(rows, loop.backwards, strict=True)
    rows = [xs[::-1] if back else xs for xs, back in ways]
    kept: list[Any] = []
    last: Any = ()
    for k in range(loop.turns):
        given = (*same, *carried, *[xs[k] for xs in rows])
        known: dict[Value, Any] = dict(zip(body.inputs, given, strict=True))
        for each in body:
            results = []
            for y in each.results:
                memory = y.memory and known.get(y.memory, y.memory)
                name = f"{call.results[0].name}_{k}_{y.name}"
                new = dataclasses.replace(y, name=name, memory=memory)
                results.append(new)
            operands = each.replaced(known).operands
            known.update(zip(each.results, results, strict=True))
            calls.append(Call(each.function, operands, each.options, tuple(results)))
        found = Call(None, body.outputs, {}, ()).replaced(known).operands
        carried, last, new_ones = loop.outputs(found)
        kept.append(new_ones)
    return (*carried, *last), zip(*kept, strict=True)

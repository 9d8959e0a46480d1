"""Pass over the loops that `scan` gives: unused parts are dropped, and bodies are optimised."""

from __future__ import annotations

import dataclasses
from typing import Any

from chainrules_compile.loop_node import Loop
from chainrules_compile.passes.analysis import changed
from chainrules_compile.passes.buffer_reuse import with_buffers
from chainrules_compile.passes.checkpoint_marks import without_marks
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_compile.passes.output_copies import with_own_outputs
from chainrules_compile.passes.simplify import simplified
from chainrules_compile.passes.slice_updates import with_parts
from chainrules_py.program import Call, Program, Value


def with_own_turns(program: Program) -> Program:
    """Return the program with pruned loops, whose bodies have gone through the passes."""
    if Loop not in set(map(type, program.functions)):
        return program
    calls: list[Call] = []
    used = set(Call(None, program.outputs, {}, ()).values)
    for call in reversed(program.calls):
        if call.results and used.isdisjoint(call.results):
            continue
        if type(call.function) is Loop:
            call = _pruned(call, used)
        used.update(call.values)
        calls.append(call)
    return changed(program, calls=tuple(calls[::-1]))


def _pruned(call: Call, used: set[Value]) -> Call:
    """Return the call of a loop without what neither the program nor another iteration uses."""
    loop: Any = call.function
    body: Program = loop.body
    _, carried, _ = loop.split(body.inputs)
    ends, lists = loop.outputs(call.results)
    following, kept = loop.outputs(body.outputs)
    places = {x: i for i, x in enumerate(carried)}
    goes_on = [x in used for x in ends]
    keeps = [x in used for x in lists]
    while True:
        outputs = (*_where(following, goes_on), *_where(kept, keeps))
        turn = without_dead_code(changed(body, outputs=outputs))
        wanted = {x for c in turn for x in c.values} | {*Call(None, outputs, {}, ()).values}
        more = [i for x, i in places.items() if x in wanted and not goes_on[i]]
        if not more:
            break
        for i in more:
            goes_on[i] = True
    needed = [x in wanted for x in body.inputs]
    turn = with_passes(changed(turn, inputs=_where(body.inputs, needed)))
    n = loop.same + loop.carried
    backwards = _where(loop.backwards, needed[n:])
    count = sum(needed[: loop.same])
    # A carried value that is used only after the loop still needs an input.
    first = [needed[loop.same + i] for i in range(loop.carried)]
    if first != goes_on:
        turn = changed(turn, inputs=_where(body.inputs, [
            *needed[: loop.same], *goes_on, *needed[n:]
        ]))  # fmt: skip
    made = dataclasses.replace(
        loop, body=turn, same=count, carried=sum(goes_on), backwards=backwards
    )
    operands = _where(call.operands, [*needed[: loop.same], *goes_on, *needed[n:]])
    return Call(made, operands, {}, (*_where(ends, goes_on), *_where(lists, keeps)))


def _where(xs: Any, chosen: Any) -> tuple[Any, ...]:
    return tuple([x for x, is_chosen in zip(xs, chosen, strict=True) if is_chosen])


def with_passes(turn: Program) -> Program:
    """Apply the passes to a loop body; its outputs own their memory."""
    turn = with_own_turns(without_marks(simplified(turn)))
    turn = without_dead_code(turn)
    return with_buffers(with_own_outputs(without_dead_code(with_parts(turn))))

"""Dead code: calls whose results are unused are dropped; guards are kept."""

from __future__ import annotations

from chainrules_compile.passes.analysis import changed
from chainrules_py.program import Call, Program, Value


def without_dead_code(program: Program) -> Program:
    """Return the program without the calls that no output and no guard depends on."""
    live: set[Value] = set(Call(None, program.outputs, {}, ()).values)
    kept: list[Call] = []
    for call in reversed(program.calls):
        results = call.results
        if not results or results[0] in live or not live.isdisjoint(results):
            kept.append(call)
            live.update(call.values)
    if len(kept) == len(program.calls) and live.issuperset(program.constants):
        return program
    constants = {x: array for x, array in program.constants.items() if x in live}
    return changed(program, calls=tuple(kept[::-1]), constants=constants)

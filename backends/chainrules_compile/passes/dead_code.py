"""Dead code: calls whose results nobody uses are left out; guards stay."""

from __future__ import annotations

from chainrules_compile.passes.values import changed
from chainrules_py.program import Call, Program, Value


def without_dead_code(program: Program) -> Program:
    """Return the program without the calls that neither its outputs nor its guards hang on."""
    live: set[Value] = set(Call(None, program.outputs, {}, ()).values)
    kept: list[Call] = []
    for call in reversed(program.calls):
        if not call.results or not live.isdisjoint(call.results):
            kept.append(call)
            live.update(call.values)
    constants = {x: array for x, array in program.constants.items() if x in live}
    return changed(program, calls=tuple(kept[::-1]), constants=constants)

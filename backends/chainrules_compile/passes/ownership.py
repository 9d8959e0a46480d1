"""Ownership: outputs share no memory with inputs, constants, and each other."""

from __future__ import annotations

from chainrules_compile.passes.values import changed, contiguous, roots, size
from chainrules_py.extend import type_info
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary.views import duplicate


def with_own_outputs(program: Program) -> Program:
    """Return the program with copies of those outputs whose memory somebody else has."""
    of = roots(program)
    shared = {of[x] for x in (*program.inputs, *program.constants)}
    calls = list(program.calls)
    outputs: list[object] = []
    for i, x in enumerate(program.outputs):
        if type(x) is not Value or type_info(x.type or object).memory is None:
            outputs.append(x)
            continue
        root = of[x]
        if root in shared or (x.memory is not None and _is_part(x, x.memory)):
            own = Value(
                f"{x.name}_own{i}",
                x.type,
                x.shape,
                x.dtype,
                None,
                contiguous(x.shape or (), x.dtype.itemsize),
            )
            calls.append(Call(duplicate, (x,), {}, (own,)))
            outputs.append(own)
        else:
            outputs.append(x)
        shared.add(root)
    return changed(program, calls=tuple(calls), outputs=tuple(outputs))


def _is_part(x: Value, root: Value) -> bool:
    """Tell whether a view would keep memory that is much larger alive, or cannot be written to."""
    if x is root:
        return False
    part, whole = size(x), size(root)
    return 2 * part <= whole or part > whole

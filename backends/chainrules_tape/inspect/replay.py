"""Records once more, with variables for what they saved: the gradient is on the tape itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py.extend import is_structure_type, type_info
from chainrules_tape.core.tape import BareTape
from chainrules_tape.core.variable import BareVariable, reopen
from chainrules_tape.inspect.kept_calls import KeptCall


def replayed(tape: BareTape) -> Callable[[int], Any]:
    """Make a function that gives a tape's records, with saved values as variables of the tape."""
    calls = (tape.notes and tape.notes.calls) or {}

    def fetch(index: int) -> Any:
        record = tape[index]
        call = calls.get(index)
        if call is None:  # an input, or a field of a structure
            return record
        if record[0].statement.recipe.saves_values:
            values = [*call.opened, (call.value, index)]
            known = {id(value): (value, link) for value, link in values}
            if len(known) == len(values) and not any(is_ambiguous(value) for value, _ in values):
                found = [known.get(id(s), (s, None)) for s in record[2:]]
                return (*record[:2], *[reopen(value, link, tape) for value, link in found])
        return recorded_again(tape, record, call)

    return fetch


def is_ambiguous(payload: Any) -> bool:
    """Tell whether a value's identity says nothing: it is a Python number, or a structure."""
    return type_info(type(payload)).is_python_number or is_structure_type(type(payload))


def recorded_again(tape: BareTape, record: Any, call: KeptCall) -> Any:
    """Record the same call on variables, so that what its rule computes is recorded as well."""
    operands = [reopen(payload, link, tape) for payload, link in call.opened]
    classes = tuple(map(type, operands))
    wanted = tuple([link is not None for _, link in call.opened])
    _, bound = BareVariable.tracing.find(call.primitive, call.primal, classes, wanted)
    assert bound is not None  # as it was when the call was recorded
    return bound.run(record[1], *operands, **call.options)[1]

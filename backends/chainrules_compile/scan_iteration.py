"""Record of one scan iteration."""

from __future__ import annotations

from typing import Any, NamedTuple

from chainrules_compile.recorded_values import Noted
from chainrules_py.program import Call, Program, Value

Leaves = tuple[Any, ...]


class Turn(NamedTuple):
    """One recorded iteration.

    Attributes
    ----------
    held : list
        The placeholder of each leaf of the carry; None for a static leaf.
    carried, rows : list of Noted
        The placeholders.
    new, ys : tuple
        The results of the function.
    outputs : tuple
        The values of the new carry, and of the outputs.
    calls : list of Call
        The recorded calls.
    """

    held: list[Noted | None]
    carried: list[Noted]
    rows: list[Noted]
    new: Leaves
    ys: Leaves
    outputs: tuple[Any, ...]
    calls: list[Call]

    def program(self, recorder: Any) -> tuple[Program, list[Value]]:
        """Return the iteration as a program, and the values that are the same in all iterations."""
        inside = {y for call in self.calls for y in call.results}
        given = [h.current for h in (*self.carried, *self.rows)]
        used = Call(None, (*[call.operands for call in self.calls], self.outputs), {}, ()).values
        same = [x for x in dict.fromkeys(used) if x not in inside and x not in given]
        instead = {x: renamed(x, recorder._name()) for x in same}
        calls = tuple([call.replaced(instead) for call in self.calls])
        outputs = Call(None, self.outputs, {}, ()).replaced(instead).operands
        return Program("turn", (*instead.values(), *given), calls, outputs), same


def renamed(x: Value, name: str) -> Value:
    """Return a value of the same form with its own memory and another name."""
    return Value(name, x.type, x.shape, x.dtype, None, x.layout)

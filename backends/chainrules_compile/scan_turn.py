"""A turn of a scan as it was recorded, and what the turns of a loop gave."""

from __future__ import annotations

from typing import Any, NamedTuple

from chainrules_compile.recorded_values import Noted
from chainrules_py.program import Call, Program, Value

Leaves = tuple[Any, ...]


class Turn(NamedTuple):
    """A turn as it was recorded.

    Attributes
    ----------
    held : list
        What stands for each leaf that is carried; None for what is the same in each turn.
    carried, rows : list of Noted
        Those that stand for something.
    new, ys : tuple
        What the function gave.
    outputs : tuple
        The values of what is carried on, and of other results.
    calls : list of Call
        What was noted.
    """

    held: list[Noted | None]
    carried: list[Noted]
    rows: list[Noted]
    new: Leaves
    ys: Leaves
    outputs: tuple[Any, ...]
    calls: list[Call]

    def program(self, recorder: Any) -> tuple[Program, list[Value]]:
        """Return the turn as a program, and the values that are the same in each."""
        inside = {y for call in self.calls for y in call.results}
        given = [h.current for h in (*self.carried, *self.rows)]
        used = Call(None, (*[call.operands for call in self.calls], self.outputs), {}, ()).values
        same = [x for x in dict.fromkeys(used) if x not in inside and x not in given]
        instead = {x: renamed(x, recorder._name()) for x in same}
        calls = tuple([call.replaced(instead) for call in self.calls])
        outputs = Call(None, self.outputs, {}, ()).replaced(instead).operands
        return Program("turn", (*instead.values(), *given), calls, outputs), same


class Run(NamedTuple):
    """What the turns of a loop gave besides.

    Attributes
    ----------
    turns : int
        How many these are.
    lists : list
        For each result the value of the list with its payload; None for nothing.
    """

    turns: int
    lists: list[tuple[Value, list[Any]] | None]


def renamed(x: Value, name: str) -> Value:
    """Return a value of the same form, in memory of its own, under a name."""
    return Value(name, x.type, x.shape, x.dtype, None, x.layout)

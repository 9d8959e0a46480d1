"""Recall: what a checkpoint computes again is computed again, and not kept from the first time.

The policy of ``checkpoint(f, save=...)`` is the engine's: while a function is recorded, the engine
makes single calls again, or all of f, before the backward pass reads them, and marks stand around
these calls. To find a call among those that came before would undo that.
"""

from __future__ import annotations

from typing import Any, final

from chainrules_compile.calls import made_again
from chainrules_compile.passes.values import changed
from chainrules_py.program import Call, Program


@final
class Known(dict[Any, Call]):
    """The calls that others may be found to be, by what equal ones have in common."""

    __slots__ = ("_outside",)

    def __init__(self) -> None:
        super().__init__()
        self._outside: list[dict[Any, Call]] = []

    def mark(self, begins: bool) -> None:
        """Begin or end a stretch, in which no call is one of before; those after may be of it."""
        if begins:
            self._outside.append({**self})
            self.clear()
        else:
            within = {**self}
            self.clear()
            self.update(self._outside.pop())
            self.update(within)


def without_marks(program: Program) -> Program:
    """Return the program without the marks, which nobody reads from here on."""
    if made_again not in program.functions:
        return program
    calls = tuple([call for call in program.calls if call.function is not made_again])
    return changed(program, calls=calls)

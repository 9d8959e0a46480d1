"""Recomputation: what a checkpoint computes again is computed again, not reused.

While a function is recorded, the engine follows the policy of ``checkpoint(f, save=...)``: it makes
single calls, or all of f, again before the backward pass, with marks around these calls. The
elimination of common subexpressions must not replace them by the first calls.
"""

from __future__ import annotations

from typing import Any, final

from chainrules_compile.internal_functions import made_again
from chainrules_compile.passes.analysis import changed
from chainrules_py.program import Call, Program


@final
class Known(dict[Any, Call]):
    """Calls so far, by key; an equal later call is replaced by the earlier one."""

    __slots__ = ("_outside",)

    def __init__(self) -> None:
        super().__init__()
        self._outside: list[dict[Any, Call]] = []

    def mark(self, begins: bool) -> None:
        """Begin or end a stretch in which no earlier call is reused; its calls are reused later."""
        if begins:
            self._outside.append({**self})
            self.clear()
        else:
            within = {**self}
            self.clear()
            self.update(self._outside.pop())
            self.update(within)


def without_marks(program: Program) -> Program:
    """Return the program without the marks, which later passes do not use."""
    if made_again not in program.functions:
        return program
    return changed(program, calls=tuple([c for c in program.calls if c.function is not made_again]))

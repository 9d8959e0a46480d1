"""Whether two equal numbers stay equal, where what they are made of moves.

Asked when a library's text compares them (`chainrules_py.tracing.shortcuts`), which is seldom. The
answer is the derivative of their difference, to the order that is under way.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from chainrules_py import zero_tangent
from chainrules_py.extend import drifts, is_moving
from chainrules_tape.core.backward import backward
from chainrules_tape.core.links import UNASKED
from chainrules_tape.core.variable import BareVariable
from chainrules_tape.memory.sums import Sums

_asking = ContextVar("_asking", default=False)


class Drifting(BareVariable):
    """Values on a tape that tell whether they drift apart."""

    __slots__ = ()

    def drifts_from(self, other: Any) -> bool:
        """Pull both back along what was recorded so far."""
        if _asking.get():  # of a function that a checkpoint runs again, for the first to ask
            return False
        tape = self.tape
        mine = isinstance(other, BareVariable) and other.tape is tape
        below = other.payload if mine else other
        if not mine or other.place != self.place:
            if tape.notes is not None and tape.notes.hooks:
                return True  # hooks see the gradient that was asked for, and no other
            bars = Sums(len(tape)) if tape.folds is None else tape.cotangents()
            bars[self.place] = zero_tangent(self.payload) + 1
            if mine:
                bars.add(other.place, zero_tangent(below) - 1)
            fetch = None if tape.folds is None else tape.fetching(bars, None)
            token = _asking.set(True)
            try:
                backward(tape, bars, max(self.place, other.place if mine else 0), fetch=fetch)
            finally:
                _asking.reset(token)
            for record, bar in zip(tape, bars, strict=False):
                if record is not UNASKED and is_moving(bar):
                    return True
        return drifts(self.payload, below)

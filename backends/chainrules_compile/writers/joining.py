"""Joining: a call that writes into an array stands where the next one takes that array.

A ufunc gives the array that it was told to write into, so ``add(v, x, v)`` and ``tanh(v, v)`` are
``tanh(add(v, x, v), v)``: CPython's compiler takes a quarter less for it, and a call 2 ns. Names
are read in any order, as they mean one array; a number that is computed before is not moved.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import final

from chainrules_py.program import Call, Value

_CALLS = 4
"""How many calls one line has at most."""


@final
class Joining:
    """What the line that was written last wrote into, of which others may be made a part."""

    __slots__ = ("_calls", "_end", "_lines", "_value")

    def __init__(self) -> None:
        self._value: Value | None = None
        self._lines: list[str] = []
        self._end = self._calls = 0

    def wrote(self, value: Value | None, lines: list[str], calls: int) -> None:
        """Be told into what the last of some lines wrote, by how many calls; None for nothing."""
        self._value, self._lines, self._end, self._calls = value, lines, len(lines), calls

    def joined(
        self, call: Call, given: list[str], lines: list[str], inside: Collection[Value]
    ) -> int:
        """Have the last line stand among operands, if it may; return how many calls that makes.

        It may not stand after what is computed inside of the call, which may read the array.
        """
        x = self._value
        if x is None or lines is not self._lines or len(lines) != self._end:
            return 1
        if self._calls >= _CALLS or x not in call.values:
            return 1
        place = next(i for i, y in enumerate(call.operands) if y is x)
        if inside and any([y in inside for y in call.operands[:place] if type(y) is Value]):
            return 1
        self._value = None
        given[place] = lines.pop()
        return self._calls + 1

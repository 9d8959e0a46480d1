"""Joining: a call that writes into an array stands where the next one takes that array.

A ufunc gives the array that it was told to write into, so ``add(v, x, v)`` and ``tanh(v, v)`` are
``tanh(add(v, x, v), v)``: CPython's compiler takes a quarter less for it, and a call 2 ns. Names
are read in any order, as they mean one array; a number that is computed before is not moved. So
is ``v = add(x, y)`` before ``z[i] = v`` written into that part: ``add(x, y, z[i])``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, final

import numpy as np

from chainrules_compile.passes.values import is_array, is_contiguous
from chainrules_py.program import Call, Value

_CALLS = 4
"""How many calls one line has at most."""


@final
class Joining:
    """What the line that was written last wrote into, of which others may be made a part."""

    __slots__ = ("_calls", "_end", "_line", "_lines", "_made", "_text", "_ufunc", "_value")

    def __init__(self) -> None:
        self._made: Value | None = None
        self._ufunc: Any = None
        self._text = self._line = ""
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

    def made(self, value: Value, ufunc: Any, text: str, line: str) -> None:
        """Be told which line gives an array by a ufunc, of which operands."""
        self._made, self._ufunc, self._text, self._line = value, ufunc, text, line

    def stored(self, call: Call, name: str, lines: list[str]) -> bool:
        """Have the last line write what it gives, which nobody else needs, into a part."""
        x, y = call.operands
        if y is not self._made or not lines or lines[-1] is not self._line:
            return False
        if y is None or not _fits(call.options["index"], x, y, self._ufunc):
            return False
        lines[-1] = f"{self._text}, {name})"
        self.wrote(None, lines, 0)
        return True


_ROUNDING = frozenset((np.add, np.subtract, np.multiply, np.divide, np.negative, np.sqrt))
"""Ufuncs that round alike, however the result lies."""


def _fits(pattern: Any, x: Any, y: Value, ufunc: Any) -> bool:
    """Tell whether a part is as an array that a ufunc gives, whose bits may hang on how it lies."""
    if not (is_array(x) and is_contiguous(y)) or x.dtype != y.dtype or x.dtype.kind != "f":
        return False
    ints = [type(entry) is int for entry in pattern]
    slices = [type(entry) is tuple and entry[0] is slice for entry in pattern]
    if not all([a or b for a, b in zip(ints, slices, strict=True)]) or not y.shape:
        return False
    shape: Any = x.shape
    if len(pattern) > len(shape):
        return False
    whole = is_contiguous(x) and all([*ints[:-1], ints[-1] or pattern[-1][3] in (None, 1)])
    part = [
        len(range(n)[slice(*e[1:])])
        for e, n, one in zip(pattern, shape, ints, strict=False)
        if not one
    ]
    return (ufunc in _ROUNDING or whole) and y.shape == (*part, *shape[len(pattern) :])

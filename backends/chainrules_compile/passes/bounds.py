"""Bounds: what the elements of an array are at least, by the calls that gave it.

Rounding is monotone, so a bound that is computed as the elements are holds for them, to the bit.
Elements that are NaN are bounded by nothing, and are not zero either.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np

from chainrules_compile.passes.values import is_array
from chainrules_py.program import Call, Value
from chainrules_py.vocabulary import broadcast_to, matrix_transpose, permute_dims, reshape
from chainrules_py.vocabulary import sum as sum_
from chainrules_py.vocabulary.views import read

_SMALL = 4096
_LEAST: dict[Any, float] = {np.exp: 0.0, np.square: 0.0, np.absolute: 0.0}
_LEAST |= {np.cosh: 1.0, np.exp2: 0.0, np.hypot: 0.0}
_VIEWS = (read, reshape, matrix_transpose, permute_dims, broadcast_to)
_MONOTONE: dict[Any, Callable[[float, float], float]] = {
    np.add: lambda x, y: x + y,
    np.multiply: lambda x, y: x * y,
    np.divide: lambda _x, _y: 0.0,
    np.maximum: max,
    np.minimum: min,
    operator.add: operator.add,
    operator.mul: operator.mul,
    operator.truediv: lambda _x, _y: 0.0,
}
"""By a ufunc the bound of what it gives, by those of two operands that are not negative."""


@final
class Bounds:
    """Bounds of the values of a program.

    Parameters
    ----------
    constants : mapping
        The arrays that are no results.
    made : mapping
        The calls that give the others, as far as they are known.
    """

    def __init__(self, constants: Mapping[Value, Any], made: Mapping[Value, Call]) -> None:
        self._constants = constants
        self._made = made
        self._known: dict[Value, float] = {}

    def at_least(self, x: Any) -> float:
        """Return a number that no element is below; minus infinity where none is known."""
        pending = [x]  # by hand, as what is computed in a loop is a chain of any length
        while pending:
            y = pending[-1]
            if self._bound(y) is None:
                before = [z for z in self._bounding(y) if self._bound(z) is None]
                if before:
                    pending += before
                    continue
                self._known[y] = self._found(y)
            pending.pop()
        return self._of(x)

    def _bound(self, x: Any) -> float | None:
        """Return the bound of an operand; None where it is not known so far."""
        if type(x) in (int, float, np.float64):
            return -math.inf if math.isnan(x) else float(x)
        if not (is_array(x) and x.dtype.kind == "f") and getattr(x, "type", None) is not np.float64:
            return -math.inf
        return self._known.get(x)

    def _of(self, x: Any) -> float:
        found = self._bound(x)
        assert found is not None, "what bounds a value is bounded before it"
        return found

    def _bounding(self, x: Value) -> tuple[Any, ...]:
        """Return the operands by whose bounds that of a value is found."""
        call = None if x in self._constants else self._made.get(x)
        if call is None or len(call.results) != 1:
            return ()
        f, xs = call.function, call.operands
        if f in _VIEWS or f is sum_ or f is np.sqrt:
            return xs[:1]
        if call.options or f not in _MONOTONE or x.dtype != np.float64:
            return ()
        return () if f is np.multiply and xs[0] is xs[1] else xs

    def _found(self, x: Value) -> float:
        if x in self._constants:
            array = self._constants[x]
            known = 0 < array.size <= _SMALL and not np.isnan(array).any()
            return float(array.min()) if known else -math.inf
        call = self._made.get(x)
        if call is None or len(call.results) != 1:
            return -math.inf
        f, xs = call.function, call.operands
        if f in _VIEWS:
            return self._of(xs[0])
        if f is sum_:
            return 0.0 if self._of(xs[0]) >= 0 else -math.inf
        if f is np.sqrt:
            return math.sqrt(max(self._of(xs[0]), 0.0))
        if call.options:
            return -math.inf
        if f in _LEAST:
            return _LEAST[f]
        bound = _MONOTONE.get(f)
        if bound is None or x.dtype != np.float64:
            return -math.inf
        if f is np.multiply and xs[0] is xs[1]:
            return 0.0
        low, other = map(self._of, xs)
        return bound(low, other) if low >= 0 and other >= 0 else -math.inf

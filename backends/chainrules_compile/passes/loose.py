"""Looser sums and products, for programs that need not have the bits: equal but for rounding.

What is computed in another order is floating numbers alone, of one dtype: integers wrap, and have
no such freedom. A call is rewritten if it has no options but those that its rewriting names.

Strong products stay, and no sum is taken apart. What is lost is a few units in the last place of
the terms that are added up, and what overflows or underflows on the way and comes back. Numbers
that meet are moderate ones, in the width of the array: no result becomes infinite or zero by them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple, final

import numpy as np

from chainrules_compile.passes.values import (
    changed,
    fits,
    is_array,
    is_contiguous,
    size,
)
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import divide, logaddexp, pow, sum

_POWERS = (operator.pow, np.power, pow)
_QUOTIENTS = (operator.truediv, np.divide, divide)
_TIMES: dict[bool, Any] = {True: np.multiply, False: operator.mul}
_OVER: dict[bool, Any] = {True: np.divide, False: operator.truediv}
_PRODUCTS = (np.multiply, operator.mul)
_SUMS = (np.add, operator.add)
_F8 = np.dtype(np.float64)
_MOST = 16
"""Up to which exponent a power is written as products."""
_LONG_ENOUGH = 48
"""From how many elements on six calls take less than one of `np.logaddexp`."""
_MODERATE = {2: 1e3, 4: 1e12, 8: 1e100}
"""By the bytes of a floating number up to where numbers are moderate; wider ones have more digits
than a product of Python's.
"""


def loosened(program: Program) -> Program:
    """Return the program with cheaper calls that round otherwise."""
    loose = _Loose(program)
    for call in program.calls:
        loose.take(call)
    return changed(program, calls=tuple(loose.calls))


@final
class _Loose:
    def __init__(self, program: Program) -> None:
        self.calls: list[Call] = []
        self._made: dict[Value, Call] = {}
        self._count = 0

    def take(self, call: Call) -> None:
        """Take the next call, or what is cheaper."""
        way = _WAYS.get(call.function)
        if way is not None and way.takes(call):
            call = way.cheaper(self, call)
            self._made[call.results[0]] = call
        self.calls.append(call)

    def _quotient(self, call: Call) -> Call:
        call = reciprocal(call)
        return self._merged(call) if call.function in _PRODUCTS else call

    def _double(self, call: Call) -> Call:
        (x, y), times = call.operands, _PRODUCTS[_SUMS.index(call.function)]
        if x is not y or type(x) is not Value or x.type is not call.results[0].type:
            return call
        return self._merged(Call(times, (2.0, x), {}, call.results))

    def _new(self, like: Value) -> Value:
        self._count += 1
        name = f"{like.name}_loose{self._count}"
        return Value(name, like.type, like.shape, like.dtype, None, like.layout)

    def _power(self, call: Call) -> Call:
        """Write a whole power as products: NumPy's takes a logarithm for each element."""
        (x, p), (result,) = call.operands, call.results
        if type(p) not in (int, float) or not 1 < abs(p) <= _MOST or p != int(p):
            return call
        number = type(x) is Value and x.type is result.type and x.type in (float, np.float64)
        if not number and not (is_array(x) and is_array(result)):
            return call
        array = is_array(result)
        times, n, base, found = _TIMES[array], abs(int(p)), x, None
        if p < 0:
            if not array:
                return call  # of 0 Python raises, and NumPy warns in other words
            base = self._new(result)
            self.calls.append(Call(np.divide, (1.0, x), {}, (base,)))
        while n > 1:
            if n % 2:
                found = base if found is None else self._product(times, found, base, result)
            n //= 2
            if n > 1 or found is not None:
                base = self._product(times, base, base, result)
        return Call(times, (base if found is None else found, base), {}, (result,))

    def _product(self, times: Any, x: Value, y: Value, like: Value) -> Value:
        z = self._new(like)
        self.calls.append(Call(times, (x, y), {}, (z,)))
        return z

    def _merged(self, call: Call) -> Call:
        """Multiply the numbers of two products at once."""
        number, x = split(call)
        made = self._made.get(x) if type(x) is Value else None
        if number is None or made is None or made.function is not call.function:
            return call
        if x.type is not call.results[0].type:
            return call  # a number of NumPy's times one of Python's is NumPy's
        other, y = split(made)
        if other is None or y.type is not x.type:
            return call
        if not are_moderate(call, number, other, number * other):
            return call
        return Call(call.function, (number * other, y), {}, call.results)

    def _dot(self, call: Call) -> Call:
        """Write the sum of all products of elements as BLAS computes it."""
        (x,), (result,) = call.operands, call.results
        made = self._made.get(x) if type(x) is Value else None
        if made is None or call.options.get("axis") is not None or result.shape not in ((), None):
            return call
        factors = made.operands
        if made.function is np.square:
            factors = (factors[0], factors[0])
        elif made.function is not np.multiply:
            return call
        for y in factors:
            if not is_array(y) or y.shape != x.shape or not is_contiguous(y) or not size(y):
                return call
        return Call(np.vdot, factors, {}, call.results)

    def _logaddexp(self, call: Call) -> Call:
        """Write the logarithm of a sum by the larger one: NumPy takes 35 ns for each element."""
        (x, y), (result,) = call.operands, call.results
        x, y = (y, x) if type(x) in (int, float) else (x, y)
        fits_in = is_array(x) and is_array(result) and x.shape == result.shape
        if type(y) not in (int, float) or not math.isfinite(y) or not fits_in:
            return call
        if size(x) < _LONG_ENOUGH:
            return call
        apart = x if y == 0 else self._called(np.subtract, (x, y), result)
        below = self._called(np.negative, (self._called(np.absolute, (apart,), result),), result)
        log = self._called(np.log1p, (self._called(np.exp, (below,), result),), result)
        larger = self._called(np.maximum, (x, y), result)
        return Call(np.add, (larger, log), {}, (result,))

    def _called(self, function: Any, operands: tuple[Any, ...], like: Value) -> Value:
        z = self._new(like)
        self.calls.append(Call(function, operands, {}, (z,)))
        return z

    def _as_it_is(self, call: Call) -> Call:
        return call


class Rewriting(NamedTuple):
    """Way to compute a call for less.

    Attributes
    ----------
    cheaper : callable
        Returns what is called instead, or the call.
    operands : int
        How many the call has.
    options : tuple of str
        Those that it may have.
    kinds : str
        Of which dtypes its operands and results may be: all of them are of one.
    """

    cheaper: Callable[[_Loose, Call], Call]
    operands: int
    options: tuple[str, ...] = ()
    kinds: str = "f"

    def takes(self, call: Call) -> bool:
        """Tell whether a call is one of those that are rewritten."""
        return is_of_one_dtype(call, self.operands, self.options, self.kinds)


_WAYS: dict[Any, Rewriting] = {
    **dict.fromkeys(_POWERS, Rewriting(_Loose._power, 2)),
    **dict.fromkeys(_QUOTIENTS, Rewriting(_Loose._quotient, 2)),
    **dict.fromkeys(_PRODUCTS, Rewriting(_Loose._merged, 2, (), "fc")),
    **dict.fromkeys(_SUMS, Rewriting(_Loose._double, 2)),
    **dict.fromkeys((sum, np.sum), Rewriting(_Loose._dot, 1, ("axis", "keepdims"))),
    **dict.fromkeys((np.matmul, operator.matmul), Rewriting(lambda _, call: dotted(call), 2)),
    **dict.fromkeys((np.logaddexp, logaddexp), Rewriting(_Loose._logaddexp, 2)),
    np.square: Rewriting(_Loose._as_it_is, 1),
}
"""The one door to all rewritings, by what is called."""


def is_of_one_dtype(call: Call, operands: int, options: tuple[str, ...], kinds: str) -> bool:
    """Tell whether a call has those operands and options, and is of one dtype, of some kinds."""
    if len(call.results) != 1 or not fits(call, operands, *options):
        return False
    dtype, *others = {dtype_of(x) for x in (*call.values, *call.results)}
    return not others and isinstance(dtype, np.dtype) and dtype.kind in kinds


def split(call: Call) -> tuple[float | None, Any]:
    """Take a product with a number apart."""
    x, y = call.operands
    for number, other in ((x, y), (y, x)):
        if type(number) in (int, float, np.float64) and type(other) is Value:
            return float(number), other
    return None, None


def reciprocal(call: Call) -> Call:
    """Multiply an array by the reciprocal of a number, where that is a number as well."""
    (x, y), (result,) = call.operands, call.results
    if type(y) not in (int, float) or not is_array(result) or not are_moderate(call, y):
        return call
    return Call(np.multiply, (1.0 / y, x), {}, call.results)


def are_moderate(call: Call, *numbers: float) -> bool:
    """Tell whether numbers are far from the largest and the smallest of those of a call's dtype."""
    dtype = dtype_of(call.results[0])
    most = _MODERATE.get(dtype.itemsize // (2 if dtype.kind == "c" else 1), 0.0)
    return most > 0 and all([1 / most <= abs(x) <= most for x in numbers])


def dtype_of(x: Value) -> Any:
    """Return the dtype of an array or number."""
    return _F8 if x.type is float else x.dtype


def dotted(call: Call) -> Call:
    """Multiply a matrix and a vector by the method, which comes to BLAS by a shorter way."""
    a, b = call.operands
    shapes = [len(x.shape or ()) if is_array(x) else 0 for x in (a, b)]
    if shapes not in ([1, 1], [1, 2], [2, 1]):
        return call
    return Call(np.dot, call.operands, {}, call.results)

"""Looser sums and products, for programs that need not have the bits: equal but for rounding.

Strong products stay, and no sum is taken apart. What is lost is a few units in the last place of
the terms that are added up, and what overflows or underflows on the way and comes back. Numbers
that meet are moderate ones, in the width of the array: no result becomes infinite or zero by them.
"""

from __future__ import annotations

import operator
from typing import Any, final

import numpy as np

from chainrules_compile.passes.values import changed, is_array, is_contiguous, size
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import cholesky, divide, pow, solve, solve_triangular, sum

_POWERS = (operator.pow, np.power, pow)
_QUOTIENTS = (operator.truediv, np.divide, divide)
_TIMES: dict[bool, Any] = {True: np.multiply, False: operator.mul}
_OVER: dict[bool, Any] = {True: np.divide, False: operator.truediv}
_PRODUCTS = (np.multiply, operator.mul)
_SUMS = (np.add, operator.add)
_MOST = 16
"""Up to which exponent a power is written as products."""
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
        if len(call.results) == 1:
            call = self._cheaper(call)
            self._made[call.results[0]] = call
        self.calls.append(call)

    def _cheaper(self, call: Call) -> Call:
        f = call.function
        if f in _POWERS and len(call.operands) == 2:
            return self._power(call)
        if f in _QUOTIENTS:
            call = reciprocal(call)
            return self._merged(call) if call.function is np.multiply else call
        if f in (solve, np.linalg.solve):
            return self._triangular(call)
        if f in (sum, np.sum):
            return self._dot(call)
        if f in _PRODUCTS:
            return self._merged(call)
        if f in _SUMS and call.operands[0] is call.operands[1]:
            x, times = call.operands[0], _PRODUCTS[_SUMS.index(f)]
            return self._merged(Call(times, (2.0, x), {}, call.results)) if doubled(x) else call
        if f in (np.matmul, operator.matmul):
            return dotted(call)
        return call

    def _new(self, like: Value) -> Value:
        self._count += 1
        name = f"{like.name}_loose{self._count}"
        return Value(name, like.type, like.shape, like.dtype, None, like.layout)

    def _power(self, call: Call) -> Call:
        """Write a whole power as products: NumPy's takes a logarithm for each element."""
        (x, p), (result,) = call.operands, call.results
        if type(p) not in (int, float) or p != int(p) or not 1 < abs(p) <= _MOST:
            return call
        number = type(x) is Value and x.type is result.type and x.type in (float, np.float64)
        if type(x) is not Value or not (number or is_real_alike(x, result)):
            return call
        if p < 0 and (not is_array(result) or result.dtype.itemsize < 4):
            return call  # of 0 Python raises; in half precision the product overflows
        array = is_array(result)
        times, n, base, found = _TIMES[array], abs(int(p)), x, None
        while n > 1 or found is not None:
            if n % 2:
                if found is None:
                    found = base
                elif n > 1 or p < 0:
                    found = self._product(times, found, base, result)
                else:
                    return Call(times, (found, base), {}, (result,))
            n //= 2
            if n == 1 and found is None and p > 0:
                return Call(times, (base, base), {}, (result,))
            if n:
                base = self._product(times, base, base, result)
            else:
                break
        return Call(_OVER[array], (1.0, base if found is None else found), {}, (result,))

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
        if other is None or type(y) is not Value or not (y.type is x.type and y.dtype == x.dtype):
            return call
        if not all([is_moderate(c, y) for c in (number, other, number * other)]):
            return call
        return Call(call.function, (number * other, y), {}, call.results)

    def _triangular(self, call: Call) -> Call:
        """Solve with a factor of Cholesky's as what it is."""
        a, b = call.operands
        made = self._made.get(a) if type(a) is Value else None
        if made is None or made.function not in (cholesky, np.linalg.cholesky):
            return call
        upper = bool(made.options.get("upper", False))
        return Call(solve_triangular, (a, b), {"upper": upper}, call.results)

    def _dot(self, call: Call) -> Call:
        """Write the sum of all products of elements as BLAS computes it."""
        (x, *rest), (result,) = call.operands, call.results
        whole = not rest and call.options.get("axis") is None
        whole = whole and call.options.keys() <= {"axis", "keepdims"}
        made = self._made.get(x) if whole and type(x) is Value else None
        if made is None or call.options.get("keepdims") or result.shape not in ((), None):
            return call
        factors = made.operands
        if made.function is np.square:
            factors = (factors[0], factors[0])
        elif made.function is not np.multiply:
            return call
        for y in factors:
            if not is_array(y) or y.shape != x.shape or y.dtype != x.dtype:
                return call
            if not is_contiguous(y) or x.dtype.kind != "f" or not size(y):
                return call
        return Call(np.vdot, factors, {}, call.results)


def doubled(x: Any) -> bool:
    """Tell whether the sum of a value with itself is its double, and of the same class."""
    return type(x) is Value and (x.type in (float, np.float64) or is_real_alike(x, x))


def split(call: Call) -> tuple[float | None, Any]:
    """Take a product with a number apart."""
    x, y = call.operands
    for number, other in ((x, y), (y, x)):
        if type(number) in (int, float, np.float64) and type(other) is Value:
            return float(number), other
    return None, None


def is_moderate(number: float, x: Value) -> bool:
    """Tell whether a number is far from the largest and the smallest of floating values like x."""
    if x.type is not float and (x.dtype is None or x.dtype.kind not in "fc"):
        return False
    width = 8 if x.type is float else x.dtype.itemsize // (2 if x.dtype.kind == "c" else 1)
    most = _MODERATE.get(width, 0.0)
    return most > 0 and 1 / most <= abs(number) <= most


def is_real_alike(x: Value, result: Value) -> bool:
    """Tell whether two arrays are of one shape and one real floating dtype."""
    if not (is_array(x) and is_array(result)) or x.shape != result.shape:
        return False
    return bool(x.dtype == result.dtype and x.dtype.kind == "f")


def reciprocal(call: Call) -> Call:
    """Multiply an array by the reciprocal of a number, where that is a number as well."""
    (x, y), (result,) = call.operands, call.results
    if type(y) not in (int, float) or not is_array(result) or result.dtype.kind != "f":
        return call
    if not is_moderate(y, result):
        return call
    return Call(np.multiply, (1.0 / y, x), {}, call.results)


def dotted(call: Call) -> Call:
    """Multiply a matrix and a vector by the method, which comes to BLAS by a shorter way."""
    a, b = call.operands
    if call.options or not (is_array(a) and is_array(b)) or a.dtype != b.dtype:
        return call
    shapes = len(a.shape or ()), len(b.shape or ())
    if a.dtype.kind != "f" or shapes not in ((1, 1), (1, 2), (2, 1)):
        return call
    return Call(np.dot, call.operands, {}, call.results)

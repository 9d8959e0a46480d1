"""Signs: negations move through products, to the sums that take them up as differences.

Each rewriting keeps every bit of every number: rounding is symmetric. ``-x - y`` is no negated
sum, nor is the sum of negated terms: zeros get another sign. A NaN may get another one as well.
"""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from chainrules_compile.calls import subtract_at
from chainrules_compile.passes.values import (
    alike,
    changed,
    counts,
    flat,
    is_array,
    replaced,
    uses_of,
    value_of,
)
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import add_at

_NEGATIVES = frozenset((np.negative, operator.neg))
_TIMES = frozenset((np.multiply, operator.mul))
_PRODUCTS = frozenset((np.multiply, operator.mul, np.divide, operator.truediv))
_DIFFERENCES: dict[Any, Any] = {np.add: np.subtract, operator.add: operator.sub}
_SUMS: dict[Any, Any] = {np.subtract: np.add, operator.sub: operator.add}
_PARTS: dict[Any, Any] = {add_at: subtract_at, subtract_at: add_at}
_FOLDED = frozenset((*_NEGATIVES, *_TIMES))
_TAKING = frozenset((*_NEGATIVES, *_DIFFERENCES))
_TAKING_SECOND = frozenset((*_SUMS, *_PARTS))
"""Those that take up a negation, wherever it stands or as their second operand."""
_HANDLED = frozenset((*_NEGATIVES, *_PRODUCTS, *_DIFFERENCES, *_SUMS, *_PARTS))


def with_signs(program: Program) -> Program:
    """Return the program with differences for sums with what is negated."""
    if program.functions.isdisjoint(_FOLDED):
        return program
    if program.functions.isdisjoint(_NEGATIVES):
        return with_negative_numbers(program)
    signs = _Signs(program)
    negated, others, calls = signs.negated.keys(), signs.instead.keys(), signs.calls
    for call in program.calls:
        if others and not others.isdisjoint(call.values):
            call = replaced(call, signs.instead)
        f = call.function
        if f in _NEGATIVES or (f in _HANDLED and not negated.isdisjoint(call.values)):
            signs.take(call)
        else:
            calls.append(call)
    outputs = Call(None, program.outputs, {}, ()).replaced(signs.instead).operands
    return with_negative_numbers(changed(program, calls=tuple(signs.calls), outputs=outputs))


class _Signs:
    def __init__(self, program: Program) -> None:
        self.calls: list[Call] = []
        self.instead: dict[Value, Any] = {}
        self.negated: dict[Value, Value] = {}
        self._program = program

    @functools.cached_property
    def _uses(self) -> dict[Value, list[int]]:
        calls = self._program.calls
        made = [c.results[0] for c in calls if c.function in _PRODUCTS or c.function in _NEGATIVES]
        return uses_of(self._program, made)

    @functools.cached_property
    def _free(self) -> set[Value]:
        return taken_up(self._program, self._uses)

    def take(self, call: Call) -> None:
        """Take the next call, with others for what is negated among its operands."""
        f, xs = call.function, call.operands
        if f in _PARTS:
            self.calls.append(self._part(call))
        elif len(call.results) != 1 or call.options or not is_real(call.results[0]):
            self.calls.append(call)
        elif f in _NEGATIVES:
            self._negative(call, xs[0], call.results[0])
        elif f in _PRODUCTS:
            self._product(call, call.results[0])
        else:
            y = self._positive(xs[1]) if f in _SUMS else None
            self.calls.append(self._sum(call) if y is None else same(call, _SUMS[f], xs[0], y))

    def _positive(self, x: Any) -> Value | None:
        """Return what a value is the negative of."""
        return self.negated.get(x) if type(x) is Value else None

    def _negative(self, call: Call, x: Any, result: Value) -> None:
        p = self._positive(x)
        if p is not None and p.layout == result.layout:
            self.instead[result] = p
            return
        if type(x) is Value and alike(x, result) and x.layout == result.layout:
            self.negated[result] = x
        self.calls.append(call)

    def _product(self, call: Call, result: Value) -> None:
        x, y = call.operands
        p, q = self._positive(x), self._positive(y)
        if p is not None and q is not None:
            self.calls.append(same(call, call.function, p, q))
            return
        moved = x if p is not None else y if q is not None else None
        if moved is None or not alike(moved, result) or not self._moves(moved, result):
            self.calls.append(call)
            return
        name = f"minus_{result.name}"
        cls: Any = result.type
        product = value_of(name, cls, result.shape, result.dtype, None, result.layout)
        self.negated[result] = product
        negative: Any = np.negative if is_array(result) else operator.neg
        operands = (x if p is None else p, y if q is None else q)
        self.calls.append(flat(call.function, operands, (product,)))
        self.calls.append(flat(negative, (product,), (result,)))

    def _moves(self, moved: Value, result: Value) -> bool:
        """Tell whether no more is negated when it is done later."""
        return len(self._uses[moved]) == 1 or result in self._free

    def _sum(self, call: Call) -> Call:
        difference = _DIFFERENCES.get(call.function)
        if difference is None:
            return call
        x, y = call.operands
        p, q = self._positive(x), self._positive(y)
        if q is not None:
            return same(call, difference, x, q)
        # Of operands that lie otherwise the first decides how the result lies.
        if p is not None and (not is_array(y) or y.layout == p.layout):
            return same(call, difference, y, p)
        return call

    def _part(self, call: Call) -> Call:
        y = self._positive(call.operands[1])
        if y is None or len(call.operands) != 2 or y.dtype != call.results[0].dtype:
            return call
        return Call(_PARTS[call.function], (call.operands[0], y), call.options, call.results)


def taken_up(program: Program, uses: Mapping[Value, list[int]]) -> set[Value]:
    """Return the values of which a negation is taken up wherever they are used."""
    found: set[Value] = set()
    calls, n = program.calls, len(program.calls)
    for call in reversed(calls):
        if call.function not in _PRODUCTS:
            continue
        (x,) = call.results
        for i in uses[x]:
            f = calls[i].function if i < n else None
            if f in _TAKING or (f in _PRODUCTS and calls[i].results[0] in found):
                continue
            xs = calls[i].operands if f in _TAKING_SECOND else ()
            if len(xs) != 2 or xs[1] is not x:
                break
        else:
            found.add(x)
    return found


def with_negative_numbers(program: Program) -> Program:
    """Return the program with one number where negations and products with numbers meet."""
    uses: Counter[Value] | None = None
    products: dict[Value, Call] = {}  # with a number
    calls = []
    for call in program.calls:
        f = call.function
        # Of a product of values alone there is no number.
        times = f in _TIMES and len(call.values) != len(call.operands)
        if (times or f in _NEGATIVES) and not call.options:
            factor, x = (-1.0, *call.operands) if call.function in _NEGATIVES else numbered(call)
            if factor is not None:
                if type(x) is Value and x in products:
                    uses = counts(program) if uses is None else uses
                    call = _folded(call, factor, x, uses, products)
                if call.function in _TIMES:
                    products[call.results[0]] = call
        calls.append(call)
    return changed(program, calls=tuple(calls))


def _folded(
    call: Call,
    factor: float,
    x: Value,
    uses: Counter[Value],
    products: dict[Value, Call],
) -> Call:
    """Return a call, or what it gives by one product with a number."""
    result = call.results[0]
    if not uses[result] or uses[x] != 1 or not is_real(result) or not alike(x, result):
        return call
    number, y = numbered(products[x])
    assert number is not None
    # A power of two from 1 on rounds nothing, and what overflows after it would do so at once.
    exact = abs(factor) == 1.0 or (
        abs(factor) >= 1 and number >= 1 and math.frexp(number)[0] == 0.5
    )
    exact &= math.isfinite(factor * number)
    wide = result.type is float or result.dtype == np.float64
    times: Any = np.multiply if is_array(result) else operator.mul
    return same(call, times, factor * number, y) if exact and wide else call


def numbered(call: Call) -> tuple[float | None, Any]:
    """Return the number that something is multiplied by, and that; None if it is by none."""
    if call.function in _TIMES:
        for c, x in (call.operands, call.operands[::-1]):
            if type(c) is float and math.isfinite(c):
                return c, x
    return None, None


def same(call: Call, function: Any, *operands: Any) -> Call:
    """Return a call of another function that gives what a call gives."""
    return flat(function, operands, call.results)


def is_real(x: Value) -> bool:
    """Tell whether a value is a real floating number, or an array of such."""
    return x.type is float or (x.dtype is not None and x.dtype.kind == "f")

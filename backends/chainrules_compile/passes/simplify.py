"""Simplification: in one walk, what was computed before is taken, and what is cheaper is called.

Each rewriting keeps every bit. ``x + 0`` is none: it makes 0 of -0.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from chainrules_compile.passes.values import alike, is_array, is_contiguous
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import astype, conj, matrix_transpose, real, reshape

UFUNCS = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.divide,
    operator.floordiv: np.floor_divide,
    operator.mod: np.remainder,
    operator.matmul: np.matmul,
    operator.neg: np.negative,
    operator.pos: np.positive,
    operator.abs: np.absolute,
    operator.invert: np.invert,
    operator.and_: np.bitwise_and,
    operator.or_: np.bitwise_or,
    operator.xor: np.bitwise_xor,
    operator.lshift: np.left_shift,
    operator.rshift: np.right_shift,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
}
"""What Python's operators are on arrays. The power is another function for some exponents."""
_POWERS = {2: np.square, 0.5: np.sqrt}


def simplified(program: Program) -> Program:
    """Return the program without what is computed twice, or what changes nothing."""
    walk = _Walk(program)
    for call in program.calls:
        walk.take(call)
    outputs = Call(None, program.outputs, {}, ()).replaced(walk.instead).operands
    return dataclasses.replace(program, calls=tuple(walk.calls), outputs=outputs)


class _Walk:
    def __init__(self, program: Program) -> None:
        self.calls: list[Call] = []
        self.instead: dict[Value, Any] = {}
        self.made: dict[Value, Call] = {}
        self._seen: dict[Any, Call] = {}
        self._ones = {x for x, array in program.constants.items() if _is_one(array)}

    def take(self, call: Call) -> None:
        """Take the next call: leave it out, put another in its place, or keep it."""
        call = canonical(call.replaced(self.instead))
        if len(call.results) == 1:
            same = self._same(call)
            if same is not None:
                self.instead[call.results[0]] = same
                return
            call = self._cheaper(call)
        key = key_of(call)
        found = self._seen.get(key)
        if found is not None:
            self.instead.update(zip(call.results, found.results, strict=True))
            return
        self._seen[key] = call
        self.made.update(dict.fromkeys(call.results, call))
        self.calls.append(call)

    def _source(self, x: Any, function: Any) -> Call | None:
        call = self.made.get(x) if type(x) is Value else None
        return call if call is not None and call.function is function else None

    def _is_one(self, x: Any) -> bool:
        if type(x) is Value:
            return x in self._ones
        return type(x) in (int, float, np.float64, np.float32) and x == 1

    def _same(self, call: Call) -> Any:
        """Return the operand that the result of a call is, or None."""
        f, xs, result = call.function, call.operands, call.results[0]
        if f in (np.multiply, operator.mul):
            for x, y in (xs, xs[::-1]):
                if self._is_one(x) and _stays(y, result):
                    return y
        elif f in (np.divide, operator.truediv):
            if self._is_one(xs[1]) and _stays(xs[0], result):
                return xs[0]
        elif f in (np.negative, operator.neg, matrix_transpose):
            source = self._source(xs[0], f)
            if source is not None and _stays(source.operands[0], result):
                return source.operands[0]
        elif f in (conj, real):
            if result.dtype is not None and result.dtype.kind == "f" and _stays(xs[0], result):
                return xs[0]
        elif f in (reshape, astype) and _stays(xs[0], result):
            return xs[0] if is_array(xs[0]) and is_contiguous(xs[0]) else None
        return None

    def _cheaper(self, call: Call) -> Call:
        """Return a call that gives the same for less."""
        f, xs = call.function, call.operands
        if f in (np.add, operator.add):
            source = self._source(xs[1], np.negative if f is np.add else operator.neg)
            if source is not None:
                minus: Any = np.subtract if f is np.add else operator.sub
                return Call(minus, (xs[0], source.operands[0]), {}, call.results)
        return call


def canonical(call: Call) -> Call:
    """Return a call of an operator on arrays as one of a ufunc."""
    result = call.results[0] if len(call.results) == 1 else None
    if result is None or not is_array(result):
        return call
    ufunc: Any = UFUNCS.get(call.function)
    if ufunc is None and call.function is operator.pow:
        x, p = call.operands
        if is_array(x) and type(p) in (int, float) and x.dtype.kind == "f":
            ufunc = _POWERS.get(p)
            if ufunc is not None:
                return Call(ufunc, (x,), {}, call.results)
    if ufunc is None or any([type(x) in (list, tuple) for x in call.operands]):
        return call
    return Call(ufunc, call.operands, call.options, call.results)


def _stays(x: Any, result: Value) -> bool:
    """Tell whether a value can stand for a result that has its elements."""
    if type(x) is not Value or not alike(x, result):
        return False
    return not is_array(x) or x.layout == result.layout


def _is_one(array: Any) -> bool:
    """Tell whether an array that an engine made holds ones alone."""
    if type(array) is not np.ndarray or array.dtype.kind != "f" or not array.size:
        return False
    if array.size > 4096 and any(array.strides):
        return False
    return array.flat[0] == 1 and bool((array == 1).all())


def key_of(call: Call) -> Any:
    """Return what calls that give the same have in common."""
    options = call.options
    return (
        id(call.function),
        *map(_key, call.operands),
        *[(name, _key(options[name])) for name in sorted(options)],
    )


def _key(x: Any) -> Any:
    cls = type(x)
    if cls is Value:
        return id(x)
    if cls in (tuple, list):
        return (cls, *map(_key, x))
    if cls is dict or isinstance(x, Mapping):
        return (cls, *[(k, _key(y)) for k, y in x.items()])
    if cls in (float, complex) or isinstance(x, np.generic):
        return cls, repr(x)
    if cls in (int, str, bool, type(None)) or isinstance(x, (tuple, type, np.dtype)):
        return cls, x
    return cls, id(x)

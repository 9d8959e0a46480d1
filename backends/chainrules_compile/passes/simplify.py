"""Simplification in one walk: repeated calls are dropped, and cheaper calls replace others.

Each rewriting keeps every bit. ``x + 0`` is not rewritten: it turns -0 into 0.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from chainrules_compile.internal_functions import made_again
from chainrules_compile.passes.analysis import (
    alike,
    bits_of,
    call_of,
    called,
    changed,
    flat,
    is_array,
    is_contiguous,
    is_real,
    replaced,
)
from chainrules_compile.passes.checkpoint_marks import Known
from chainrules_py.ops import (
    astype,
    conj,
    divide,
    matrix_transpose,
    real,
    reshape,
    strong_multiply,
)
from chainrules_py.ops import pow as power
from chainrules_py.ops.engine_operations import read
from chainrules_py.program import Call, Program, Value

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
"""Ufuncs of Python's operators on arrays; that of the power depends on the exponent."""
_POWERS = {2: np.square, 0.5: np.sqrt}
_EITHER_WAY = frozenset((np.multiply, np.add, operator.mul, operator.add))
_REWRITTEN = frozenset((*UFUNCS, operator.pow))
_FACTORS = frozenset((np.multiply, operator.mul, np.divide, operator.truediv))
_LEFT = {np.divide: 1, operator.truediv: 1, np.subtract: 0, operator.sub: 0}
"""The right operand, one or zero, with which a function returns its left operand."""
_REAL_PARTS = (conj, real, float.conjugate, np.generic.conjugate, np.ndarray.conjugate)
"""Functions that return real numbers as they are."""
_MAYBE_SAME = frozenset(
    (
        *_FACTORS,
        *_LEFT,
        np.negative,
        operator.neg,
        matrix_transpose,
        *_REAL_PARTS,
        reshape,
        astype,
        read,
    )
)
_MARK, _PRODUCT, _STRONG, _OPERATOR, _SAME, _FACTOR, _CHEAPER = [1 << k for k in range(7)]
"""Flags of functions, which are computed once for each function."""
_OF_VECTORS = ("matmul_left_numpy", "matmul_right_numpy")
_LARGEST = 1 << 20
"""Maximum number of elements of a constant that is tested for being uniform."""


def simplified(program: Program) -> Program:
    """Return the program without repeated calls and calls without effect."""
    walk = _Walk(program)
    for call in program.calls:
        walk.take(call)
    outputs = Call(None, program.outputs, {}, ()).replaced(walk.instead).operands
    return changed(program, calls=tuple(walk.calls), outputs=outputs)


@functools.lru_cache(maxsize=1024)
def asked_of(function: Any) -> int:
    """Return the flags of a function."""
    name = getattr(function, "__name__", None)
    return (
        _MARK * (function is made_again)
        | _STRONG * (function is strong_multiply)
        | _OPERATOR * (function in _REWRITTEN)
        | _SAME * (function in _MAYBE_SAME)
        | _FACTOR * (function in _FACTORS)
        | _CHEAPER * (function in (divide, power) or name in _OF_VECTORS)
    )


def weakened(call: Call, even: Mapping[Value, float]) -> Call:
    """Return a plain product for a strong one whose factor is known not to be zero.

    `even` contains the arrays whose elements all equal one number that is not zero.
    """
    c, p = call.operands
    (result,) = call.results
    if type(c) is Value:
        doubles = c in even and is_array(p) and c.dtype == p.dtype == result.dtype
        return called(call, np.multiply) if doubles and is_array(result) else call
    if type(c) not in (int, float, np.float64) or c == 0 or not math.isfinite(c):
        return call
    if type(p) is Value and is_array(p) and is_array(result) and p.dtype == np.float64:
        return called(call, np.multiply)
    double = result.type in _DOUBLES and type(p) is Value and p.type in _DOUBLES
    if not double or abs(c) > _EXACTLY:
        return call
    return Call(operator.mul, (float(c) if type(c) is int else c, p), {}, call.results)


_DOUBLES = (float, np.float64)
_EXACTLY = 2.0**53
"""Bound up to which integers are exact in double precision."""


def negated(call: Call) -> Call:
    """Return a product with minus one as a negation."""
    for c, x in (call.operands, call.operands[::-1]):
        if type(c) in (int, float, np.float64) and c == -1 and not call.options:
            real = is_array(x) and x.dtype.kind == "f" and _stays(x, call.results[0])
            return flat(np.negative, (x,), call.results) if real else call
    return call


class _Walk:
    def __init__(self, program: Program) -> None:
        self.calls: list[Call] = []
        self.instead: dict[Value, Any] = {}
        self.made: dict[Value, Call] = {}
        self._replaced = self.instead.keys()
        self._seen = Known()
        self._alike = {x: n for x, a in program.constants.items() if (n := uniform(a)) is not None}

    def take(self, call: Call) -> None:
        """Take the next call: drop it, replace it, or keep it."""
        how = asked_of(call.function)
        if how & _MARK:
            self._seen.mark(*call.operands)
            self.calls.append(call)
            return
        if self.instead and not self._replaced.isdisjoint(call.values):
            call = replaced(call, self.instead)
        if how & _STRONG:
            call = weakened(call, self._alike)
            how = asked_of(call.function)
        results, values = call.results, call.values
        if how & _OPERATOR and (
            (results and results[0].type is np.ndarray)
            or (len(values) != len(call.operands) and int in map(type, call.operands))
        ):
            same_one, call = call, canonical(call)
            how = how if call is same_one else asked_of(call.function)
        if len(results) == 1:
            if how & _SAME and (not how & _FACTOR or self._alike or may_be_one(call)):
                same = self._same(call)
                if same is not None:
                    self.instead[results[0]] = same
                    return
            if how & _CHEAPER:
                call = self._cheaper(call)
        if call.function is np.multiply and len(call.values) == 1:
            call = negated(call)
        found = self._seen.setdefault(key_of(call), call)
        if found is not call:
            self.instead.update(zip(results, found.results, strict=True))
            return
        if len(results) == 1:
            self.made[results[0]] = call
        else:
            self.made.update(dict.fromkeys(results, call))
        self.calls.append(call)

    def _source(self, x: Any, function: Any) -> Call | None:
        call = self.made.get(x) if type(x) is Value else None
        return call if call is not None and call.function is function else None

    def _may_be_one(self, call: Call) -> bool:
        """Return whether a factor may be one; in complex results, zeros and NaN would change."""
        xs = call.values
        if len(xs) == 2 and self._alike.keys().isdisjoint(xs):
            return False
        return is_real(call.results[0])

    def _is_one(self, x: Any) -> bool:
        if type(x) is Value:
            return self._alike.get(x) == 1
        return type(x) in (int, float, np.float64, np.float32) and x == 1

    def _same(self, call: Call) -> Any:
        """Return the operand that equals the result of a call, or None."""
        f, xs, result = call.function, call.operands, call.results[0]
        if f is read:
            return self._part(call)
        with_options = bool(call.options) and f not in (reshape, astype)
        if with_options or (f in _FACTORS and not self._may_be_one(call)):
            return None
        if f in (np.multiply, operator.mul):
            for x, y in (xs, xs[::-1]):
                if self._is_one(x) and _stays(y, result):
                    return y
        elif f in _LEFT:
            if (_is_nothing if _LEFT[f] == 0 else self._is_one)(xs[1]) and _stays(xs[0], result):
                return xs[0]
        elif f in (np.negative, operator.neg, matrix_transpose):
            source = self._source(xs[0], f)
            if source is not None and _stays(source.operands[0], result):
                return source.operands[0]
        elif f in _REAL_PARTS:
            if is_real(result) and _stays(xs[0], result):
                return xs[0]
        elif f is reshape and result.memory is not None and _stays(xs[0], result):
            return xs[0]
        elif f in (reshape, astype) and _stays(xs[0], result):
            return xs[0] if is_array(xs[0]) and is_contiguous(xs[0]) else None
        return None

    def _part(self, call: Call) -> Any:
        """Return the array of a concatenation that a slice of it is, or None."""
        joined = self._source(call.operands[0], np.concatenate)
        index = call.options["index"]
        if joined is None or joined.operands[1:] not in ((), (0,)) or joined.options:
            return None
        if len(index) != 1 or type(index[0]) is not tuple or index[0][0] is not slice:
            return None
        n, end = joined.results[0].shape[0], 0  # type: ignore[index]
        places = range(*slice(*index[0][1:]).indices(n))
        for x in joined.values if joined.operands[0] == joined.values else ():  # no lists
            start, end = end, end + (x.shape or (1,))[0]
            if places == range(start, end) and _stays(x, call.results[0]):
                return x
        return None

    def _cheaper(self, call: Call) -> Call:
        """Return a cheaper call with the same result."""
        if call.function is divide and is_array(call.results[0]):
            return self._divided(call)
        if call.function is power and is_array(call.results[0]):
            return self._power(call)
        name = getattr(call.function, "__name__", None)
        return self._scaled(call) if name in _OF_VECTORS else call

    def _scaled(self, call: Call) -> Call:
        """Return the adjoint of a dot product of vectors as a product of a number and a vector."""
        y_bar, a, b = call.operands
        left, result = call.function.__name__ == _OF_VECTORS[0], call.results[0]
        other = b if left else a  # the operand of this cotangent may be given as its space
        if not (
            (is_array(other) and is_array(result))
            and len(a.shape or ()) == len(b.shape or ()) == 1
            and a.dtype == b.dtype == result.dtype
            and a.dtype.kind == "f"
        ):
            return call
        return Call(np.multiply, (y_bar, b) if left else (a, y_bar), {}, call.results)

    def _divided(self, call: Call) -> Call:
        """Return NumPy's division for a nonzero constant divisor, without a test for zeros."""
        y = call.operands[1]
        known = type(y) in (int, float, np.float64) and y
        return Call(np.divide, call.operands, {}, call.results) if known else call

    def _power(self, call: Call) -> Call:
        """Return a square for the operation `pow`."""
        x, p = call.operands
        plain = is_array(x) and x.dtype.kind == "f" and type(p) is float and p == 2.0
        return canonical(called(call, operator.pow)) if plain and not call.options else call


def may_be_one(call: Call) -> bool:
    """Return whether an operand is neither a value nor a float, or is the number one."""
    return not all([type(x) is Value or (type(x) is float and x != 1.0) for x in call.operands])


def canonical(call: Call) -> Call:
    """Return a call of an operator on arrays as one of a ufunc."""
    result = call.results[0] if len(call.results) == 1 else None
    if result is None or not is_array(result):
        return call if result is None or result.type is not float else _of_floats(call)
    ufunc: Any = UFUNCS.get(call.function)
    if ufunc is None and call.function is operator.pow:
        x, p = call.operands
        if is_array(x) and type(p) in (int, float) and x.dtype.kind == "f" and p in _POWERS:
            return call_of(_POWERS[p], (x,), {}, call.results, (x,))
    if ufunc is None or (call.values != call.operands and not all(map(_is_plain, call.operands))):
        return call
    return called(call, ufunc)


def _is_plain(x: Any) -> bool:
    """Return whether an operand is a value or a number."""
    return type(x) is Value or isinstance(x, (int, float, complex, np.generic))


def _of_floats(call: Call) -> Call:
    """Return a call of an operator on floats with its integers converted to floats.

    Python would convert them in each call.
    """
    xs = [float(x) if type(x) is int and abs(x) < 2**53 else x for x in call.operands]
    return call_of(call.function, tuple(xs), call.options, call.results, call.values)


def _is_nothing(x: Any) -> bool:
    """Return whether an operand is zero, and not -0: subtracting it keeps every number."""
    return type(x) in (int, float, np.float64) and x == 0 and math.copysign(1, x) > 0


def _stays(x: Any, result: Value) -> bool:
    """Return whether a value can replace a result that has its elements."""
    if type(x) is not Value or not alike(x, result):
        return False
    return not is_array(x) or x.layout == result.layout


def uniform(array: Any) -> float | None:
    """Return the finite nonzero number that all elements of an array equal, or None."""
    floats = type(array) is np.ndarray and array.dtype.kind == "f" and array.size
    if not floats or (array.size > _LARGEST and any(array.strides)):
        return None
    first = float(array.flat[0])
    same = first != 0 and bool((array == first).all())
    return first if same and np.isfinite(first) else None


def key_of(call: Call) -> Any:
    """Return a key that is equal for calls with the same result."""
    options, operands = call.options, call.operands
    if not options and call.values == operands:
        if len(operands) == 2 and call.function in _EITHER_WAY:
            x, y = operands
            if id(x) > id(y) and either_way(call):
                operands = (y, x)
        return (id(call.function), *operands)
    keys = [id(x) if type(x) is Value else static_key(x) for x in operands]
    if len(keys) == 2 and type(keys[0]) is tuple and either_way(call):
        keys.reverse()
    if not options:
        return (id(call.function), *keys)
    return (
        id(call.function),
        *keys,
        *[(name, static_key(options[name])) for name in sorted(options)],
    )


def either_way(call: Call) -> bool:
    """Return whether the operands of a call can be exchanged without changing bits.

    In a complex product one part is rounded after a fused sum, which is not symmetric.
    """
    if call.function not in _EITHER_WAY or len(call.results) != 1:
        return False
    if type(call.function) is not np.ufunc:
        return is_real(call.results[0])
    dtype = call.results[0].dtype
    return call.function is np.add or (dtype is not None and dtype.kind != "c")


def static_key(x: Any) -> Any:
    """Return a key that is equal for operands with the same bits."""
    cls = type(x)
    if cls is Value:
        return id(x)
    if cls is float and x and x == x:  # zeros of both signs are equal, and NaN is not
        return cls, x
    if cls is list or isinstance(x, tuple):  # a named one, too
        return (cls, *map(static_key, x))
    if cls is dict or isinstance(x, Mapping):
        return (cls, *[(k, static_key(y)) for k, y in x.items()])
    if cls in (float, complex) or isinstance(x, np.generic):
        return cls, bits_of(x)
    if cls in (int, str, bool, type(None)) or isinstance(x, (type, np.dtype)):
        return cls, x
    return cls, id(x)

"""Facts about values and calls that passes use: layouts, shared memory, last uses."""

from __future__ import annotations

import functools
import operator
import struct
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from itertools import chain
from typing import Any

import numpy as np

from chainrules_py.ops import add_at, scatter_add
from chainrules_py.program import Call, Program, Value

COMPARISONS = frozenset(
    (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
)
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
ADDS = (add_at, scatter_add)
"""Operations that add to a part of an array."""


def is_array(x: Any) -> bool:
    """Return whether an operand is a NumPy array."""
    return type(x) is Value and x.type is np.ndarray


def alike(x: Value, y: Value) -> bool:
    """Return whether two values agree in class, dtype and shape."""
    if x.type is not y.type or x.shape != y.shape:
        return False
    return x.dtype is y.dtype or bool(x.dtype == y.dtype)


def fits(call: Call, operands: int, *options: str) -> bool:
    """Return whether a call has a number of operands, and only the given options."""
    return len(call.operands) == operands and call.options.keys() <= {*options}


@functools.lru_cache(maxsize=4096)
def contiguous(shape: tuple[int, ...], step: int) -> tuple[int, ...]:
    """Return the layout of a contiguous array in C order, by shape and item size."""
    expected = []
    for n in reversed(shape):
        if n > 1:
            expected.append(step)
        step *= n
    return tuple(expected[::-1])


def is_contiguous(x: Value) -> bool:
    """Return whether an array is contiguous in C order."""
    shape: Any = x.shape
    return x.layout is not None and x.layout == contiguous(shape, x.dtype.itemsize)


def changed(program: Program, **fields: Any) -> Program:
    """Return a program with other fields, without the checks of `Program`.

    `Program` inspects all its values, which takes as long as a pass. Tests check the programs of
    passes with `Program`.
    """
    if fields.get("calls") == program.calls and all(
        [x is getattr(program, n) or _alike(x, getattr(program, n)) for n, x in fields.items()]
    ):
        return program
    made = object.__new__(Program)
    for name in ("name", "inputs", "calls", "outputs", "constants"):
        object.__setattr__(made, name, fields[name] if name in fields else getattr(program, name))
    same = made.calls is program.calls
    called = program.functions if same else frozenset([call.function for call in made.calls])
    object.__setattr__(made, "functions", called)
    return made


def _alike(xs: Any, ys: Any) -> bool:
    return type(xs) is tuple and len(xs) == len(ys) and all(map(operator.is_, xs, ys))


class _Call:
    """Call under construction, which becomes a `Call`: writing to a frozen class is slower."""

    __slots__ = ("function", "operands", "options", "results", "values")

    def __init__(
        self, function: Any, operands: Any, options: Any, results: Any, values: Any
    ) -> None:
        self.function = function
        self.operands = operands
        self.options = options
        self.results = results
        self.values = values
        self.__class__ = Call  # type: ignore[assignment]  # noqa: PLE0237


class _Value:
    """Value under construction, which becomes a `Value`."""

    __slots__ = ("dtype", "layout", "memory", "name", "shape", "type")

    def __init__(
        self, name: str, cls: type, shape: Any, dtype: Any, memory: Any, layout: Any
    ) -> None:
        self.name = name
        self.type = cls
        self.shape = shape
        self.dtype = dtype
        self.memory = memory
        self.layout = layout
        self.__class__ = Value  # type: ignore[assignment]  # noqa: PLE0237


call_of: Callable[[Any, Any, Any, Any, Any], Call] = _Call  # type: ignore[assignment]
"""Return a call from its fields, with known values, which `Call` would search for."""
value_of: Callable[[str, type, Any, Any, Any, Any], Value] = _Value  # type: ignore[assignment]
"""Return a value from its fields, in a third of the time of `Value`."""


def called(call: Call, function: Any) -> Call:
    """Return a call of another function with the same operands."""
    return call_of(function, call.operands, call.options, call.results, call.values)


def flat(function: Any, operands: tuple[Any, ...], results: tuple[Value, ...]) -> Call:
    """Return a call without options, whose operands are not containers."""
    values = tuple([x for x in operands if type(x) is Value])
    same = len(values) == len(operands)
    return call_of(function, operands, {}, results, operands if same else values)


def replaced(call: Call, instead: Mapping[Value, Any]) -> Call:
    """Return ``call.replaced(instead)``, faster if no operand is a container."""
    for x in call.values:
        if x in instead:
            break
    else:
        return call
    operands: list[Any] = []
    values: list[Value] = []
    for x in call.operands:
        cls = type(x)
        if cls is Value:
            y = instead.get(x, x)
            if type(y) is Value:
                values.append(y)
            operands.append(y)
        elif cls in _HOLDERS:
            return call.replaced(instead)
        else:
            operands.append(x)
    given, found = tuple(operands), tuple(values)
    same = len(found) == len(given)
    return call_of(call.function, given, call.options, call.results, given if same else found)


_HOLDERS = (tuple, list, dict)


def counts(program: Program, wanted: Collection[Value] | None = None) -> Counter[Value]:
    """Count the uses of each value, or of some; an output counts as a use."""
    last = Call(None, program.outputs, {}, ()).values
    used = chain(chain.from_iterable([call.values for call in program.calls]), last)
    return Counter(used if wanted is None else [x for x in used if x in wanted])


def size(x: Value) -> int:
    """Return the number of elements."""
    n = 1
    for length in x.shape or ():
        n *= length
    return n


def axes_of(axis: Any, n: int) -> tuple[int, ...]:
    """Return the axes of an option for n axes; for n of 0 NumPy accepts the axes 0 and -1."""
    given = range(n) if axis is None else axis if type(axis) is tuple else (axis,)
    return tuple([a % n for a in given]) if n else ()


def roots(program: Program) -> dict[Value, Value]:
    """Return, for each value, a representative of all values that may share its memory.

    Python numbers are left out: they share no memory, and there are many. A view may be one of
    any array operand of its call, as passes replace operands.
    """
    found = {x: x for x in (*program.inputs, *program.constants)}
    moved: list[Value] = []

    def root(x: Value) -> Value:
        while (of := found[x]) is not x:
            x = of
        return x

    for call in program.calls:
        for y in call.results:
            if y.type is float:
                continue
            found[y] = y
            if y.memory is not None:
                for x in call.values:
                    if is_array(x) or x.type is list:
                        first = root(y)
                        found[first] = root(x)
                        moved.append(first)
                moved.append(y)
    for x in moved:
        found[x] = root(x)
    return found


def ends(program: Program, of: Mapping[Value, Value]) -> dict[Value, int]:
    """Return, for each root, the index of the last call that uses it or may share its memory."""
    last = dict.fromkeys(of.values(), -1)
    for i, call in enumerate((*program.calls, Call(None, program.outputs, {}, ()))):
        for x in call.values:
            if x.type is not float:
                last[of[x]] = i
    return last


def is_real(x: Value) -> bool:
    """Return whether a value is a real floating number, or an array of these."""
    return x.type is float or (x.dtype is not None and x.dtype.kind == "f")


def bits_of(x: Any) -> str:
    """Return a text that is equal for plain numbers with the same bits."""
    if isinstance(x, (float, complex)) and x != x:  # NaN has two signs, but one text
        return struct.pack("dd", x.real, x.imag).hex()
    return repr(x)

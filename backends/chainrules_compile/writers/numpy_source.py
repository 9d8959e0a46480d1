"""Writer of NumPy source: a straight line of statements, one for each call."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from chainrules_compile.errors import MISS
from chainrules_compile.internal_functions import (
    MissError,
    Through,
    Written,
    expect,
    expect_form,
    name_of,
    subtract_at,
)
from chainrules_compile.loop_node import Loop
from chainrules_compile.passes.analysis import COMPARISONS, bits_of, is_array, size
from chainrules_compile.passes.buffer_reuse import Into, writes
from chainrules_compile.passes.simplify import static_key
from chainrules_compile.scope import Scope, name_of_dtype
from chainrules_compile.writers.call_source import OPERATORS, SPELLINGS
from chainrules_compile.writers.expression_nesting import last_uses, nested
from chainrules_compile.writers.interface import Body
from chainrules_compile.writers.shortcuts import ASKING, entry_text, takes_whole_numbers
from chainrules_py import Primitive
from chainrules_py.ops import add_along_axis, add_at, scatter_add
from chainrules_py.ops.engine_operations import Index, store
from chainrules_py.program import Call, Program, Value

_LEVELS = {operator.add: 1, operator.sub: 1, operator.mul: 2, operator.truediv: 2, operator.pow: 3}
"""Precedence of operators, all as left-associative."""
_NUMBERS = frozenset((int, float, np.float64))

_BY_NAME = (np.maximum, np.minimum)
"""Ufuncs whose output array is passed as ``out=``."""


LARGE = 200
"""Number of elements above which the name of a dead array is set to None."""


def write(program: Program, names: Mapping[Value, str], scope: Scope) -> Body:
    """Write a program as statements of NumPy; see `chainrules_compile.writers.interface.Writer`."""
    return NumpyWriting(program, names, scope).body()


write.loops = True  # type: ignore[attr-defined]


class NumpyWriting:
    """Writing of one program as source.

    Attributes
    ----------
    lines : list of str
        The statements so far.
    names : dict
        The current or last name of each value.
    """

    def __init__(self, program: Program, names: Mapping[Value, str], scope: Scope) -> None:
        self.program = program
        self.scope = scope
        self.names: dict[Value, str] = dict(names)
        self.lines, self.free = list[str](), list[str]()
        self._inside = dict[Value, Call]()
        self._bound, self._locals = dict[int, str](), dict[str, str]()
        self._numbers = dict[Any, str]()
        self._count = 0
        for x, array in program.constants.items():
            self.names[x] = scope.name(array, x.name)
        self._given = set(self.names)
        scope.locals.update(self.names.values())

    def body(self) -> Body:
        """Write all calls."""
        self.statements(self.program, self._given)
        return Body(self.lines, [self.text(x) for x in self.program.outputs], self.program)

    def statements(self, program: Program, staying: set[Value]) -> None:
        """Write the calls of a program, in which some values keep their names to the end."""
        uses = program.uses()
        inside, where = nested(program, uses)
        last = last_uses(uses, inside, where)
        dying: dict[int, list[Value]] = {}
        for x, place in last.items():
            if x not in staying:
                dying.setdefault(place, []).append(x)
        fixed = {self.names[x] for x in staying}
        nobody: list[Value] = []
        for i, call in enumerate(program.calls):
            results = call.results
            if results and results[0] in inside:
                self._inside[results[0]] = call
            else:
                self._statement(call, uses, dying.get(i, nobody))
            if i in dying or not all(map(uses.__getitem__, results)):
                self._give_back(call, uses, dying.get(i, nobody), fixed)

    def _statement(self, call: Call, uses: Mapping[Value, list[int]], dying: list[Value]) -> None:
        """Write one call, at which some values die."""
        if type(call.function) is Loop:
            _LoopWriting(self, call, dying).write()
        elif not call.results:
            self.lines.append(guard_line(self, call))
        elif len(call.results) > 1:
            targets = [self.new(x) if uses[x] else self.local("_") for x in call.results]
            self.lines.append(f"{', '.join(targets)} = {self.call(call)}")
        else:
            self._one(call)

    def _give_back(
        self,
        call: Call,
        uses: Mapping[Value, list[int]],
        dying: list[Value],
        fixed: set[str],
    ) -> None:
        """Free the names of values that die at a call, except some, and of unused results."""
        names, free = self.names, self.free
        results = [x for x in call.results if x in names]
        taken = [names[x] for x in results]
        small: list[str] = []
        for x in dying:
            name = names[x]
            if name in taken:
                continue
            if x.type is list or (x.type is np.ndarray and size(x) > LARGE):
                self.lines.append(f"{name} = None")
            elif x.type is np.ndarray and name not in fixed:
                small.append(name)
            if name not in fixed:
                free.append(name)
        if len(small) >= 8:  # fewer names are soon reused
            self.lines.append(f"{' = '.join(small)} = None")
        used = {names[x] for x in results if uses[x]}
        for name in dict.fromkeys([names[x] for x in results]):
            if name not in used and name not in fixed:
                free.append(name)

    def unused(self, hint: str) -> str:
        """Return a name that nothing has."""
        name = self.scope.unused(hint)
        self.scope.locals.add(name)
        return name

    def local(self, hint: str) -> str:
        """Return a name for a short-lived value, the same one for each hint."""
        if hint not in self._locals:
            self._locals[hint] = self.unused(hint)
        return self._locals[hint]

    def new(self, x: Value) -> str:
        """Give a value a free name."""
        if self.free:
            name = self.free.pop()
        else:
            self._count += 1
            name = self.unused(f"v{self._count}")
        self.names[x] = name
        return name

    def _one(self, call: Call) -> None:
        (result,), function, place = call.results, call.function, None
        if type(function) is Into:
            place, function = function.place, function.function
        if writes(function):
            self._write(function, call, result, place is not None)
        elif place is None:
            text = self.call(call)
            self.lines.append(f"{self.new(result)} = {text}")
        else:
            name = self.names[result] = self.names[call.operands[place]]
            like = None if takes_whole_numbers(function) else result
            out = f"{'out=' * (function in _BY_NAME)}{name}"
            given = [*self._given_to(call.operands, like), out]
            self.lines.append(f"{self.bound(function)}({', '.join(given)})")

    def _write(self, operation: Any, call: Call, result: Value, into: bool) -> None:
        """Write ``x[i] = y`` or a similar call, to a copy of x if x is still used."""
        x, *given = call.operands
        y, arrays = (given[0], given[1:]) if given else (None, [])
        if into:
            name = self.names[x]
            self.names[result] = name
        else:
            text = self.text(x)
            copy = f"{self.bound(np.array)}({text})"
            if operation is scatter_add and result.dtype != getattr(x, "dtype", None):
                copy = f"{self.bound(np.array)}({text}, {self.constant(result.dtype)})"
            name = self.new(result)
            self.lines.append(f"{name} = {copy}")
        if type(operation) is Through:
            array = Value(name, result.type, result.shape, result.dtype, None, result.layout)
            self.names[array] = name
            view = Value("view")
            operands = operation.operands(array, tuple(arrays))
            text = self.call(Call(operation.function, operands, call.options, (view,)))
            part = "" if operation.index is None else f"[{operation.index}]"
            self.lines.append(f"{text}{part}[...] = {self.text(y)}")
        elif type(operation) is Written:
            rest = [self.text(y) for y in call.operands[1:]]
            n = len(rest) - len(operation.keywords)
            rest[n:] = [f"{k}={t}" for k, t in zip(operation.keywords, rest[n:], strict=True)]
            self.lines.append(f"{self.bound(operation.function)}({', '.join([name, *rest])})")
        elif operation is store:
            place = self.index(call.options["index"], arrays)
            self.lines.append(f"{name}[{place}] = {self.text(y)}")
        elif operation is not add_along_axis and not any(map(is_array, arrays)):
            self._add(operation, name, result, call.options["index"], y, arrays)
        else:
            operation = add_at if operation is scatter_add else operation
            rest = [self.text(y), *map(self.text, arrays)]
            rest += [f"{k}={self.text(o)}" for k, o in call.options.items()]
            function = self.implementation(operation, (result, y, *arrays))
            self.lines.append(f"{self.bound(function)}({', '.join([name, *rest])})")

    def _add(
        self, operation: Any, name: str, x: Value, pattern: Any, y: Any, places: list[Any]
    ) -> None:
        """Write an addition to a part of an array; for several elements, to the view of them."""
        where = self.index(pattern, places)
        shape: Any = x.shape
        minus = operation is subtract_at
        one = [type(entry) is int or entry is Index.HOLE for entry in pattern]
        several = len(pattern) < len(shape) or not all(one)
        if several and (places or pattern.is_basic):
            # ``x[i] += y`` reads a view, adds, and writes the view back to itself: omit the write.
            part, ufunc = self.local("part"), self.bound(np.subtract if minus else np.add)
            self.lines.append(f"{part} = {name}[{where}]")
            self.lines.append(f"{ufunc}({part}, {self.text(y)}, {part})")
        else:
            self.lines.append(f"{name}[{where}] {'-' if minus else '+'}= {self.text(y)}")

    # ------------------------------------------------------------------------------ expressions

    def call(self, call: Call) -> str:
        """Return a call as an expression."""
        function, xs = call.function, call.operands
        sign = OPERATORS.get(function)
        if sign is not None:
            return self._operation(sign, function, xs)
        ufunc = isinstance(function, np.ufunc)
        spelling = SPELLINGS.get(function)
        if spelling is None and not ufunc:
            spelling = SPELLINGS.get(getattr(function, "__qualname__", None))
        if spelling is not None:
            text: str | None = spelling(self, call)
            if text is not None:
                return text
        if ufunc:
            result = call.results[0] if len(call.results) == 1 else None
            if takes_whole_numbers(function):
                result = None
            elif function in ASKING and len(xs) == 2:
                result = next((x for x in xs if is_array(x)), None)
            given = self._given_to(xs, result)
        else:
            given = [self.text(x) for x in xs]
        if call.options:
            given += [f"{k}={self.text(o)}" for k, o in call.options.items()]
        return f"{self.bound(self.implementation(function, xs))}({', '.join(given)})"

    def _operation(self, sign: str, function: Any, xs: tuple[Any, ...]) -> str:
        """Return a call of a Python operator, with as few parentheses as possible."""
        level = _LEVELS.get(function)
        if level is not None:
            x, y = xs
            if function is operator.pow:  # right-associative
                first, last = self._term(x, level + 1), self._term(y, level)
                first = f"({first})" if first[0] == "-" else first
            else:
                first, last = self._term(x, level), self._term(y, level + 1)
        else:
            first = self.text(xs[0])
            if len(xs) == 1:
                return f"{sign}{first}"
            last = self.text(xs[1])
            if function in COMPARISONS:
                return f"{first} {sign} {last}"
        return f"{first} {sign} ({last})" if last[0] == "-" else f"{first} {sign} {last}"

    def asked(self, x: Any) -> str:
        """Return a test as an expression that can follow `not`."""
        call = self._inside.get(x) if type(x) is Value else None
        return self.text(x) if call is None or call.function not in COMPARISONS else self.call(call)

    def _term(self, x: Any, level: int) -> str:
        """Return an operand of an operator of a level; CPython parses parentheses twice."""
        if type(x) is not Value:
            return repr(x) if type(x) is float and math.isfinite(x) else self.text(x)
        call = self._inside.get(x)
        if call is None:
            return self.names[x]
        text = self.call(call)
        return text if _LEVELS.get(call.function, 0) >= level else f"({text})"

    def implementation(self, function: Any, xs: tuple[Any, ...]) -> Any:
        """Return the implementation of an operation for operands."""
        if not isinstance(function, Primitive):
            return function
        types: Any = tuple([x.type if type(x) is Value else type(x) for x in xs])
        return function.implementation(types) or function

    def bound(self, function: Any) -> str:
        """Return the name of a function in the scope."""
        key = id(function)
        found = self._bound.get(key)
        if found is None:
            found = self._bound[key] = self.scope.name(function, name_of(function))
        return found

    def constant(self, x: Any) -> str:
        """Return the name of an object in the scope; equal constants share a name."""
        if isinstance(x, np.dtype):
            return self.scope.name(x, name_of_dtype(x), ("dtype", x))
        if isinstance(x, (np.generic, float, complex)):
            return self.scope.name(x, "number", (type(x), bits_of(x)))
        if isinstance(x, type):
            return self.scope.named(x)
        if isinstance(x, tuple):
            return self.scope.name(x, "where", ("tuple", static_key(x)))
        return self.scope.name(x, type(x).__name__.lower())

    def text(self, x: Any) -> str:
        """Return an operand as an expression."""
        cls = type(x)
        if cls is Value:
            call = self._inside.get(x)
            return self.names[x] if call is None else f"({self.call(call)})"
        if x is None or x is ... or cls in (bool, int, str):
            return repr(x)
        if cls is slice:
            bounds = map(self.text, (x.start, x.stop, x.step))
            return f"{self.scope.name(slice, 'slice')}({', '.join(bounds)})"
        if cls is float and math.isfinite(x):
            return repr(x)
        if cls is tuple:
            return f"({', '.join(map(self.text, x))}{',' * (len(x) == 1)})"
        if cls is list:
            return f"[{', '.join(map(self.text, x))}]"
        if cls is dict:
            return f"{{{', '.join([f'{k!r}: {self.text(y)}' for k, y in x.items()])}}}"
        return self.constant(x)

    def _given_to(self, xs: tuple[Any, ...], result: Value | None) -> list[str]:
        """Return the operands of a ufunc."""
        names, inside = self.names, self._inside
        return [
            names[x] if type(x) is Value and x not in inside else self.operand(x, result)
            for x in xs
        ]

    def operand(self, x: Any, result: Value | None) -> str:
        """Return an operand of a ufunc: a number beside an array as a zero-dimensional array.

        NumPy takes two thirds of the time for it, as it need not determine the dtype of the number.
        """
        cls = type(x)
        if cls not in _NUMBERS or result is None or not is_array(result) or not result.shape:
            return self.text(x)
        dtype = result.dtype
        if dtype.kind != "f" or (cls is np.float64 and dtype != np.float64):
            return self.text(x)
        key = "zero-d", repr(float(x)), dtype
        found = self._numbers.get(key)
        if found is None:
            array = np.array(x, dtype)
            array.flags.writeable = False
            found = self._numbers[key] = self.scope.name(array, "number", key)
        return found

    def index(self, pattern: Any, arrays: list[Any]) -> str:
        """Return an index as source between brackets."""
        if arrays:
            if len(pattern) == len(arrays):
                return ", ".join(map(self.text, arrays))
            holes = iter(map(self.text, arrays))
            parts = [next(holes) if e is type(pattern).HOLE else entry_text(e) for e in pattern]
            return ", ".join(parts) + "," * (len(parts) == 1)
        joined = pattern.join(())
        entries = joined if type(joined) is tuple else (joined,)
        if len(entries) == 1:
            return entry_text(pattern[0])
        if not entries:
            return "()"
        return self.scope.name(joined, "where", ("index", pattern))


# --------------------------------------------------------------------- statements of several parts


def guard_line(s: NumpyWriting, call: Call) -> str:
    """Return the line of a guard, which returns ``MISS`` if the guard fails."""
    miss = s.scope.name(MISS, "MISS")
    if call.function in (expect, expect_form):
        return f"if {test_of(s, call)}: return {miss}"
    error = s.scope.name(MissError, "MissError")
    return f"try: {s.call(call)}\n    except {error}: return {miss}"


def test_of(s: NumpyWriting, call: Call) -> str:
    """Return the condition under which a guard fails."""
    if call.function is expect:
        x, answer = call.operands
        kind = call.options["kind"]
        if kind is bool:
            return f"{'not ' if answer else ''}{s.asked(x)}"
        if kind is type:
            return f"{s.text(x)}.__class__ is not {s.constant(answer)}"
        return f"{s.bound(kind)}({s.text(x)}) != {answer!r}"
    x, (shape, dtype, *lies) = call.operands
    text = s.text(x)
    test = f"{text}.shape != {shape!r} or {text}.dtype != {s.constant(dtype)}"
    if lies:
        test = f"{text}.__class__ is not {s.constant(x.type)} or {test}"
        is_c, strides = lies == [None], f"{text}.strides != {lies[0]!r}"
        test += f" or {f'not {text}.flags.c_contiguous' if is_c else strides}"
    return test


class _LoopWriting:
    """Writing of a call of a loop, at which some operands die."""

    def __init__(self, writing: NumpyWriting, call: Call, dying: list[Value]) -> None:
        self.to = writing
        self.call = call
        self.dying = set(dying)
        loop: Loop = call.function
        self.loop = loop
        self.same, self.carried, self.each = loop.split(loop.body.inputs)
        self.next, self.kept = loop.outputs(loop.body.outputs)
        self.ends, self.lists = loop.outputs(call.results)
        self.variables: list[str] = []
        self.ranges: list[str] = []
        self.start: list[str] = []

    def write(self) -> None:
        """Write the statements before the loop, and the loop; free the names of its body."""
        to, names, loop = self.to, self.to.names, self.loop
        same, firsts, sequences = loop.split(self.call.operands)
        for x, operand in zip(self.same, same, strict=True):
            names[x] = names[operand]
        for x, first in zip(self.carried, firsts, strict=True):
            self._carry(x, first)
        for x in self.lists:
            names[x] = to.unused("kept")
            to.lines.append(f"{names[x]} = []")
        for x, operand, back in zip(self.each, sequences, loop.backwards, strict=True):
            self._sequence(x, operand, back)
        outside, to.lines = to.lines, [*self.start]
        carries = [names[x] for x in self.carried]
        to.statements(loop.body, {*self.same, *self.carried})
        self._end_of_turn(carries)
        if not to.lines:
            to.lines.append("pass")
        inside, to.lines = to.lines, outside
        to.lines.append(f"for {self._header()}:")
        to.lines += ["    " + line.replace("\n", "\n    ") for line in inside]
        for y, name in zip(self.ends, carries, strict=True):
            names[y] = name
        self._give_back()

    def _carry(self, x: Value, first: Value) -> None:
        """Name a carried value: by the name of its initial value if nothing else uses that."""
        to, names = self.to, self.to.names
        alone = self.call.values.count(first) == 1 and first in self.dying
        if alone and first.type is not list:
            names[x] = names[first]
        else:
            to.lines.append(f"{to.new(x)} = {names[first]}")

    def _sequence(self, x: Value, operand: Any, back: bool) -> None:
        """Bind a value to each object of a list.

        Arrays are popped from a list that dies here if the loop makes other lists, or if they are
        large, so that their memory is freed: a pop costs 20 ns.
        """
        to, name = self.to, self.to.new(x)
        alone = operand in self.dying and self.call.values.count(operand) == 1
        if alone and is_array(x) and (self.lists or size(x) > LARGE):
            if not back:
                to.lines.append(f"{to.names[operand]}.reverse()")
            self.start.append(f"{name} = {to.names[operand]}.pop()")
            return
        text = to.names[operand]
        self.variables.append(name)
        self.ranges.append(f"{to.scope.named(reversed)}({text})" if back else text)

    def _end_of_turn(self, carries: list[str]) -> None:
        """Write the outputs of an iteration."""
        to = self.to
        for x, y in zip(self.kept, self.lists, strict=True):
            to.lines.append(f"{to.names[y]}.append({to.text(x)})")
        pairs = [(c, to.text(x)) for c, x in zip(carries, self.next, strict=True)]
        if pairs := [(c, text) for c, text in pairs if c != text]:
            left, right = zip(*pairs, strict=True)
            to.lines.append(f"{', '.join(left)} = {', '.join(right)}")

    def _header(self) -> str:
        if not self.variables:
            return f"{self.to.local('_')} in {self.to.scope.named(range)}({self.loop.turns})"
        if len(self.variables) == 1:
            return f"{self.variables[0]} in {self.ranges[0]}"
        zipped = f"{self.to.scope.named(zip)}({', '.join(self.ranges)})"
        return f"{', '.join(self.variables)} in {zipped}"

    def _give_back(self) -> None:
        """Free the names of the loop body that are not used after the loop."""
        to, names = self.to, self.to.names
        made = {y for call in self.loop.body for y in call.results}
        living = {names[y] for y in self.ends}
        for x in dict.fromkeys([y for y in (*self.next, *self.kept) if y in made]):
            name = names[x]
            if name in living or name in to.free:
                continue
            if is_array(x) and size(x) > LARGE:
                to.lines.append(f"{name} = None")
            to.free.append(name)

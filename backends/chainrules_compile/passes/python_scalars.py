"""Plain numbers: NumPy's numbers become Python's, which take a third of the time.

Sums, products and quotients have the same bits. Calls that take a number from an array, or that
need a NumPy number, stay, and the conversions for them have a cost. So numbers that are computed
from each other form a group, and a group is converted if that pays. Where NumPy would warn of
overflow, a Python number is infinite as well, without a warning.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from chainrules_compile.internal_functions import (
    double,
    expect,
    is_finite,
    over,
    over_silently,
    plain_number,
    root,
    subtract_at,
)
from chainrules_compile.passes.analysis import (
    COMPARISONS,
    call_of,
    changed,
    is_array,
    replaced,
    value_of,
)
from chainrules_compile.scalar_functions import (
    PLAIN,
    power,
    power_range,
    power_silently,
)
from chainrules_py import ops as v
from chainrules_py.ops.engine_operations import read, store
from chainrules_py.program import Call, Program, Value

_PLAIN: dict[Any, Any] = {
    **{f: f for f in (operator.add, operator.sub, operator.mul, operator.neg, operator.pos)},
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.negative: operator.neg,
    np.sqrt: root,
    operator.truediv: over,
    np.divide: over,
    v.divide: over_silently,
}
"""By function of NumPy's numbers, a function of Python's numbers with the same bits."""
_POWERS: dict[Any, Any] = {operator.pow: power, v.pow: power_silently}
_STORES = (store, subtract_at, v.scatter_add, v.add_at)
_QUOTIENTS = frozenset((over, over_silently))
_ENTERING = frozenset((read, v.lift))
_SIGNIFICANT = 2**53
_DOUBLE = np.float64
_GAINS: dict[Any, int] = {root: 90, over: 12, over_silently: 12, power: 45, power_silently: 300}
_GAINS |= dict.fromkeys(PLAIN.values(), 50)
_GAIN, _OF_ARRAY, _BESIDE, _FROM, _READ, _ITEM, _BACK = 20, 600, 30, -37, -5, -54, -92
"""Gains in nanoseconds: arithmetic on numbers, arithmetic on a zero-dimensional array, a number as
operand of a ufunc; conversion, reading as plain, extraction from an array, conversion back."""
_LIFTED = 190
"""Gain of a number that was converted from a Python number."""


def with_plain_numbers(program: Program) -> Program:
    """Return the program with Python's numbers in place of NumPy's, where that pays."""
    functions = program.functions
    if functions.isdisjoint(_PLAIN) and functions.isdisjoint(PLAIN):
        return program
    calls = program.calls
    table = _PLAIN
    for f in functions & PLAIN.keys():
        if any([call.function is f and is_plain(call) for call in calls]):
            table = {**table, f: PLAIN[f]}
    if not functions.isdisjoint(_POWERS):
        table = {**table, **_POWERS}
    places = [i for i, call in enumerate(calls) if call.function in table and is_plain(call)]
    if not places or any([state in ("raise", "call") for state in np.geterr().values()]):
        return program
    at, plain = {*places}, [calls[i] for i in places]
    of = together(plain)
    others = [i for i in range(len(calls)) if i not in at]
    made = {calls[i].results[0]: calls[i] for i in others if calls[i].function in _ENTERING}
    compared = [calls[i].results[0] for i in others if calls[i].function in COMPARISONS]
    uses = used_by(program, others, {*[x for x in of if x.type is np.float64], *compared})
    gain_of = {f: _GAINS.get(plain_one, _GAIN) for f, plain_one in table.items()}
    gains: defaultdict[Value, int] = defaultdict(int)
    for call in plain:
        gains[of[call.results[0]]] += gain_of[call.function]
        if any(map(is_array, call.values)):
            gains[of[call.results[0]]] += _OF_ARRAY
    for x in of.keys() - {call.results[0] for call in plain}:
        gains[of[x]] += entering(x, made.get(x))
    for x, using in uses.items():
        if x not in of:
            continue
        last, group = len(calls), of[x]
        if any([i == last or wants(program, uses, i, x) for i in using]):
            gains[group] += _BACK
        gains[group] += sum([_kind(calls[i]) for i in using if i != last])
    chosen = {x for x, group in of.items() if gains[group] > 0 and x.type is not float}
    return _Lowering(program, chosen, uses, at, table).program() if chosen else program


def used_by(program: Program, places: list[int], wanted: set[Value]) -> dict[Value, list[int]]:
    """Return the uses of some values in some calls and in the outputs, if there are any."""
    found: dict[Value, list[int]] = {}
    calls, last = program.calls, Call(None, program.outputs, {}, ()).values
    for i in (*places, len(calls)):
        for x in calls[i].values if i < len(calls) else last:
            if x in wanted:
                found.setdefault(x, []).append(i)
    return found


def together(calls: Iterable[Call]) -> dict[Value, Value]:
    """Return, for each number in some calls, a representative of its group."""
    found: dict[Value, Value] = {}
    for call in calls:
        of = y = call.results[0]
        for x in call.values:
            first = found.get(x)
            if first is None:
                found[x] = of
                continue
            while (above := found.get(first, first)) is not first:
                found[x] = above  # halves the path
                x, first = first, above
            if of is y:
                of = first
            elif first is not of:
                found[first] = of
        found[y] = of

    for x, of in found.items():
        while (above := found[of]) is not of:
            found[of] = of = found[above]
        found[x] = of
    return found


def is_plain(call: Call) -> bool:
    """Return whether a call gives a NumPy number that Python can compute."""
    results = call.results
    if len(results) != 1 or results[0].type is not _DOUBLE or call.options:
        return False
    for x in call.operands:
        if (type(x) is not Value or x.type is not _DOUBLE) and not _is_number(x):
            return False
    if call.function not in _POWERS:
        return True
    x, n = call.operands
    # Python computes it in a range; powers of arrays have other last bits.
    return type(n) is not Value and power_range(float(n))[1] > 0.0 and not is_array(x)


def _is_number(x: Any) -> bool:
    cls = type(x)
    if cls is not Value:
        return cls in (float, np.float64) or (cls is int and abs(x) < _SIGNIFICANT)
    return x.type in (float, np.float64) or (
        is_array(x) and x.shape == () and x.dtype == np.float64
    )


def is_element(call: Call) -> bool:
    """Return whether a call reads one element of an array of double precision."""
    if call.function is not read or len(call.operands) != 1:
        return False
    x, pattern = call.operands[0], call.options["index"]
    if not is_array(x) or x.dtype != np.float64 or not x.shape or len(pattern) != len(x.shape):
        return False
    return call.results[0].type is np.float64 and all([type(k) is int for k in pattern])


def entering(x: Value, call: Call | None) -> int:
    """Return the gain, usually negative, of converting a number to a plain one."""
    if x.type is float:
        return 0
    if is_array(x):
        return _ITEM
    if call is not None and is_lifted(call):
        return _LIFTED
    return _READ if call is not None and is_element(call) else _FROM


def is_lifted(call: Call) -> bool:
    """Return whether a call converts a Python number to a NumPy number."""
    if call.function is not v.lift or call.results[0].type is not np.float64:
        return False
    x = call.operands[0]
    return type(x) is Value and x.type is float


def wants(program: Program, uses: Any, i: int, x: Value) -> bool:
    """Return whether a call, other than arithmetic on numbers, needs a NumPy number."""
    call = program.calls[i]
    f: Any = call.function
    if f is is_finite or (f is expect and call.options["kind"] is bool):
        return False
    if f in COMPARISONS:
        places = uses.get(call.results[0], ())
        asked = [p < len(program.calls) and program.calls[p].function is expect for p in places]
        return not (all(asked) and all(map(_is_number, call.operands)))
    if isinstance(f, np.ufunc):
        return not _is_doubles(call)
    if f in _STORES and len(call.operands) == 2:
        to, y = call.operands
        return y is not x or to is x or not is_array(to) or to.dtype != np.float64
    return True


def _is_doubles(call: Call) -> bool:
    """Return whether a ufunc computes in double precision for either class of numbers."""
    f: Any = call.function
    if call.options or f.nout != 1 or f.signature is not None:
        return False
    doubles = [x.dtype == np.float64 if is_array(x) else _is_number(x) for x in call.operands]
    (y,) = call.results
    kind = y.dtype if is_array(y) else np.dtype(y.type) if y.type is np.float64 else None
    return all(doubles) and kind in (np.float64, np.bool_)


def _kind(call: Call) -> int:
    return _BESIDE if isinstance(call.function, np.ufunc) and _is_doubles(call) else 0


class _Lowering:
    """Rewriting of a program with some numbers as plain ones."""

    def __init__(
        self, program: Program, chosen: set[Value], uses: Any, places: set[int], table: Any
    ) -> None:
        self.before = program
        self.chosen = chosen
        self.uses = uses
        self.places = places
        self.table = table
        self.calls: list[Call] = []
        self.plain: dict[Value, Any] = {}
        self.back: dict[Value, Value] = {}

    def program(self) -> Program:
        """Return the rewritten program."""
        for x in (*self.before.inputs, *self.before.constants):
            if x in self.chosen:
                self.made_plain(x)
        calls, chosen, places, table = self.calls, self.chosen, self.places, self.table
        found, instead = self.plain, self.plain.get
        for i, call in enumerate(self.before.calls):
            results, values = call.results, call.values
            if i in places and results[0] in chosen:
                f = table[call.function]
                operands: tuple[Any, ...] = tuple(map(instead, values, values))
                given = operands
                if len(values) != len(call.operands):
                    operands = tuple(map(self.operand, call.operands))
                    if f in _QUOTIENTS and type(operands[1]) is float and operands[1] != 0:
                        f = operator.truediv
                    if f is operator.mul and type(operands[0]) is float and operands[0] == 1.0:
                        found[results[0]] = operands[1]
                        continue
                y = found[results[0]] = number(results[0])
                calls.append(call_of(f, operands, {}, (y,), given))
            elif chosen.isdisjoint(values) and chosen.isdisjoint(results):
                calls.append(call)
            else:
                self.take(i, call)
        outputs = Call(None, self.before.outputs, {}, ())
        for x in outputs.values:
            self.numpys(x)
        outputs = outputs.replaced(self.back)
        return changed(self.before, calls=tuple(self.calls), outputs=outputs.operands)

    def take(self, i: int, call: Call) -> None:
        """Rewrite a call that gives or takes numbers, and is not arithmetic on them."""
        plain = i in self.places
        instead: dict[Value, Any] = {}
        for x in call.values:
            if x in self.chosen and not is_array(x):
                needed = not plain and wants(self.before, self.uses, i, x)
                instead[x] = self.numpys(x) if needed else self.plain[x]
        call = replaced(call, instead) if instead else call
        if call.results and call.results[0] in self.chosen and is_lifted(call):
            self.plain[call.results[0]] = call.operands[0]
            return
        if len(call.results) == 1 and call.results[0] in self.chosen and is_element(call):
            y = self.plain[call.results[0]] = number(call.results[0])
            self.calls.append(call_of(read, call.operands, call.options, (y,), call.values))
            return
        self.calls.append(call)
        for y in call.results:
            if y in self.chosen:
                self.made_plain(y)

    def operand(self, x: Any) -> Any:
        """Return an operand of Python arithmetic."""
        return self.plain.get(x, x) if type(x) is Value else float(x)

    def made_plain(self, x: Value) -> None:
        """Convert a NumPy number, or the element of a zero-dimensional array, to a plain one."""
        y = self.plain[x] = number(x)
        self.calls.append(Call(plain_number, (x,), {}, (y,)))
        if not is_array(x):
            self.back[x] = x

    def numpys(self, x: Value) -> Value:
        """Return a number as a NumPy number."""
        if x not in self.plain or is_array(x):
            return x
        if x not in self.back:
            y = value_of(f"{x.name}.double", np.float64, x.shape, x.dtype, None, x.layout)
            self.calls.append(Call(double, (self.plain[x],), {}, (y,)))
            self.back[x] = y
        return self.back[x]


def number(x: Value) -> Value:
    """Return a plain value in place of a NumPy number."""
    return value_of(f"{x.name}.plain", float, None, None, None, None)

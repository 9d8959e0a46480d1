"""One question for many: whether what is computed of quotients is finite, and not each quotient.

A quotient that is not finite makes what is computed of it infinite or NaN, as far as that is sums,
products and views of all of it. So where results are finite, all those quotients were, and a
program need not ask each. Where they are not, the program that asks each has to run: it stands by.
What NumPy says meanwhile, of zeros and of what is not defined, is not to be seen.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from chainrules_compile.calls import (
    dot_to,
    double,
    expect,
    expect_finite,
    is_finite,
    joined_rows,
    laid_out,
    minus_at,
    over,
    over_silently,
    plain_number,
    plus_at,
    silence,
    subtract_at,
    sum_to,
)
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_compile.passes.filled import FILLING, Box, box_of, is_zeros, meet
from chainrules_compile.passes.values import called, changed, is_array, size
from chainrules_py import vocabulary as v
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary.views import duplicate, store

_PASSING = frozenset(
    (
        *(np.add, np.subtract, np.multiply, np.negative, np.positive, np.square),
        *(operator.add, operator.sub, operator.mul, operator.neg, operator.pos),
        *(np.matmul, operator.matmul, v.matmul, v.sum, v.mean, np.sum, np.mean, sum_to, dot_to),
        *(
            np.ndarray.reshape,
            np.reshape,
            np.ravel,
            np.transpose,
            np.stack,
            np.concatenate,
            np.array,
        ),
        *(v.reshape, v.expand_dims, v.squeeze, v.matrix_transpose, v.permute_dims, v.flip),
        *(
            v.broadcast_to,
            v.copy,
            duplicate,
            laid_out,
            v.cumulative_sum,
            v.stack,
            v.concat,
            joined_rows,
        ),
        *(v.add_at, v.scatter_add, subtract_at, v.add_along_axis, plus_at, minus_at),
        *(plain_number, double),
    )
)
"""What gives something that is not finite for any operand that has such an element.

What `plus_at` and `minus_at` write over was never written to: these come of the pass before.
"""
_ADJOINTS = ("matmul_left_numpy", "matmul_right_numpy", "sum_transpose_numpy")
_FIRST = frozenset((np.divide, operator.truediv, v.divide, v.strong_multiply, over, over_silently))
"""What does so for its first operand."""
_ALL = frozenset(("axis", "axes", "keepdims", "shape", "index", "order", "result"))
_ALL |= {"include_initial"}
"""Options with which it does: all elements are there, and none is made a number of other kinds."""
_WRITING = (store, plus_at, minus_at)
_MOST = 64
"""How many parts are followed at most."""
_SILENCE = 0.8
"""How many microseconds `np.errstate` takes."""
_OF_NUMBER = 0.02
"""How many it takes to ask of a number whether it is finite."""


def with_one_question(program: Program) -> Program:
    """Return the program with one question at its end; the same, where that pays nothing."""
    if is_finite not in program.functions:
        return program
    made = {call.results[0]: call for call in program.calls if call.function is is_finite}
    asked: dict[int, Value] = {}
    for i, call in enumerate(program.calls):
        if call.function is expect and call.options["kind"] is bool:
            question = made.get(call.operands[0])
            if question is not None:
                if not call.operands[1] or type(question.operands[0]) is not Value:
                    return program
                asked[i] = question.operands[0]
    if not asked:
        return program
    kept = keeping(program, asked.values())
    left = {i: x for i, x in asked.items() if x in kept}
    last = covering(program, [*left.values()])
    if price(left.values()) <= price(last) + _SILENCE:
        return program
    first, quotient = _first(program.calls, min(left), left[min(left)]), v.divide
    before = [call for i, call in enumerate(program.calls[:first]) if i not in left]
    behind = [
        called(call, np.divide) if call.function is quotient and _divides_arrays(call) else call
        for i, call in enumerate(program.calls[first:], first)
        if i not in left
    ]
    calls = [*before, Call(silence, (), {}, ()), *behind]
    found = without_dead_code(changed(program, calls=tuple(calls)))
    defined = {*found.inputs, *found.constants, *[y for call in found for y in call.results]}
    ending = Call(expect_finite, tuple([x for x in last if x in defined]), {}, ())
    return changed(found, calls=(*found.calls, ending))


def _first(calls: tuple[Call, ...], place: int, asked: Value) -> int:
    """Return where silence begins: before a quotient that is asked as soon as it is made."""
    for i in range(max(place - 2, 0), place):
        if asked in calls[i].results and _divides_arrays(calls[i]):
            return i
    return place


def _divides_arrays(call: Call) -> bool:
    """Tell whether a call is a division of arrays that says nothing, as none does in silence."""
    if call.function is not v.divide or call.options or len(call.results) != 1:
        return False
    return is_array(call.results[0]) and is_real(call.results[0])


def keeping(program: Program, wanted: Iterable[Value]) -> set[Value]:
    """Return those values, of some, of which no result is finite that are not."""
    dropped: set[Value] = {*program.inputs, *program.constants}
    filled = written_once(program)
    for call in reversed(program.calls):
        if call.function is is_finite:
            continue
        values, results = call.values, call.results
        if not results or not dropped.isdisjoint(results):
            dropped.update(values)
            continue
        safe = values if results[0] in filled else passing(call)
        if safe is values:
            continue
        dropped.update([x for x in values if not any([x is y for y in safe])])
        if len(safe) < len(values):  # an operand that stands twice is lost where one is
            dropped.update([x for x in values if count(safe, x) < count(values, x)])
    return {x for x in wanted if x not in dropped and is_real(x)}


def passing(call: Call) -> tuple[Any, ...]:
    """Return the operands whose infinities and NaNs the result of a call has, if it is real."""
    f, results = call.function, call.results
    if len(results) != 1 or not is_real(results[0]) or not call.options.keys() <= _ALL:
        return ()
    if f in _PASSING:
        return call.values
    if f in _FIRST:
        return call.operands[:1]
    if f is store and len(call.operands) == 2:
        return call.operands[1:]
    return call.values if getattr(f, "__name__", None) in _ADJOINTS else ()


def written_once(program: Program) -> set[Value]:
    """Return the arrays that memory, or zeros, become whose parts were written to once."""
    if program.functions.isdisjoint((np.empty, *FILLING)) or store not in program.functions:
        return set()
    boxes: dict[Value, tuple[Box, ...]] = {}
    found = set()
    for call in program.calls:
        if call.function is np.empty or (call.function in FILLING and is_zeros(call)):
            boxes[call.results[0]] = ()
        elif call.function in _WRITING and call.operands[0] in boxes:
            x, (y,) = call.operands[0], call.results
            box = box_of(call.options["index"], y.shape) if len(call.operands) == 2 else None
            if not is_real(y) or box is None or len(boxes[x]) >= _MOST:
                continue
            if not any([meet(box, z) for z in boxes[x]]):
                boxes[y] = (*boxes[x], box)
                found.add(y)
    return found


def count(xs: Iterable[Any], x: Value) -> int:
    """Count how often a value stands among others."""
    return len([y for y in xs if y is x])


def is_real(x: Value) -> bool:
    """Tell whether a value is a real floating number, or an array of such."""
    cls = x.type
    return cls is float or cls is np.float64 or (cls is np.ndarray and x.dtype.kind == "f")


def reached(program: Program, start: set[Value]) -> list[Value]:
    """Return the outputs that hang on some values."""
    found = set(start)
    for call in program.calls:
        if not found.isdisjoint(call.values):
            found.update(call.results)
    outputs = Call(None, program.outputs, {}, ()).values
    return list(dict.fromkeys([x for x in outputs if x in found]))


def covering(program: Program, wanted: list[Value]) -> list[Value]:
    """Return outputs of which each of some values reaches one, as cheap to ask as may be.

    Nothing on the way loses what is not finite, so any that a value reaches will do.
    """
    outputs = reached(program, set(wanted))
    if len(outputs) < 2:
        return outputs
    reach = {x: 1 << k for k, x in enumerate(outputs)}
    unreached = reach.keys().isdisjoint
    for call in reversed(program.calls):
        if unreached(call.results):
            continue
        found = 0
        for y in call.results:
            found |= reach.get(y, 0)
        if found:
            for x in call.values:
                reach[x] = reach.get(x, 0) | found
    left = {reach[x] for x in wanted if x in reach}
    chosen: set[int] = set()
    while left:
        counts = [
            len([each for each in left if each >> k & 1]) / price([x])
            for k, x in enumerate(outputs)
        ]
        best = counts.index(max(counts))
        chosen.add(best)
        left = {each for each in left if not each >> best & 1}
    return [x for k, x in enumerate(outputs) if k in chosen]


def price(xs: Iterable[Value]) -> float:
    """Estimate how many microseconds it takes to ask whether arrays are finite."""
    return sum([0.6 + 2e-4 * size(x) if is_array(x) else _OF_NUMBER for x in xs])

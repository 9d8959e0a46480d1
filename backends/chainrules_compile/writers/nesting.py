"""Nesting: which numbers are written where they are used, and when values are used last."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

import chainrules_compile.writers.number_spelling  # noqa: F401  # pyright: ignore[reportUnusedImport]
from chainrules_compile.calls import expect, is_finite, plain_number
from chainrules_compile.passes.lifetimes import writes
from chainrules_compile.writers.spelling import OPERATORS, SPELLINGS
from chainrules_py import Primitive
from chainrules_py.program import Call, Program, Value

_TERMS = 8
"""How many operators on numbers one expression has at most."""

COMPARISONS = frozenset(
    (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
)
_SIGNS = frozenset(OPERATORS) - COMPARISONS


def last_uses(
    uses: Mapping[Value, list[int]], inside: set[Value], where: list[int]
) -> dict[Value, int]:
    """Return the place where each value is used last, but for those written where they are used."""
    found: dict[Value, int] = {}
    for x, places in uses.items():
        if places and x not in inside:
            last = places[-1]
            if inside:
                last = where[last] if len(places) == 1 else max(map(where.__getitem__, places))
            found[x] = last
    return found


def nested(program: Program, uses: Mapping[Value, list[int]]) -> tuple[set[Value], list[int]]:
    """Return the numbers that are written where they are used, and the place where each call is.

    These are of Python's operators on numbers, which write nowhere, and are used once.
    """
    calls = program.calls
    terms: dict[Value, int] = {}
    at: list[int] = []
    end = len(calls)
    for i, call in enumerate(calls):
        f = call.function
        if f not in _SIGNS:
            x = asked_or_made_plain(i, calls, uses) if f in _BESIDE else None
            if x is not None:
                terms[x] = 1 + sum([terms.get(y, 0) for y in call.values])
                at.append(i if x in call.results else i - 1)
            continue
        result = call.results[0]
        places = uses[result]
        if len(places) != 1 or places[0] == end:
            continue
        # What Python's operators make a float of are Python's numbers.
        if result.type is not float and not (
            result.type in _NUMBERS and all(map(_is_number, call.operands))
        ):
            continue
        n = 1
        for x in call.values:
            if x in terms:
                n += terms[x]
        if n < _TERMS and calls[places[0]].function in OPERATORS:
            terms[result] = n
            at.append(i)
    where = list(range(end + 1))
    for i in reversed(at):
        where[i] = where[uses[calls[i].results[0]][0]]
    return set(terms), where


def asked_or_made_plain(
    i: int, calls: tuple[Call, ...], uses: Mapping[Value, list[int]]
) -> Value | None:
    """Return what is written where it is used, of a question or a number that becomes plain."""
    call = calls[i]
    if call.function is not plain_number:
        return call.results[0] if asked_at_once(call, i, calls, uses) else None
    before = i and calls[i - 1].results == call.operands
    return call.values[0] if before and is_expression(calls[i - 1], uses, i) else None


def is_expression(call: Call, uses: Mapping[Value, list[int]], i: int) -> bool:
    """Tell whether a call gives a number that is used by the next call alone, as an expression."""
    (x,), f = call.results, call.function
    spelled = isinstance(f, (np.ufunc, Primitive)) or (f in SPELLINGS and not writes(f))
    return x.type is np.float64 and uses[x] == [i] and spelled


def asked_at_once(
    call: Call, i: int, calls: tuple[Call, ...], uses: Mapping[Value, list[int]]
) -> bool:
    """Tell whether a question is answered by the next call alone, a guard."""
    if call.function is not is_finite and not all(map(_is_number, call.operands)):
        return False
    if uses[call.results[0]] != [i + 1] or i + 1 == len(calls):
        return False
    return calls[i + 1].function is expect and calls[i + 1].options["kind"] is bool


def _is_number(x: Any) -> bool:
    return (x.type if type(x) is Value else type(x)) in _NUMBERS


_NUMBERS = frozenset((float, int, np.float64))
_BESIDE = frozenset((*COMPARISONS, is_finite, plain_number))
"""What else may be written where it is used, or may have what it takes so."""

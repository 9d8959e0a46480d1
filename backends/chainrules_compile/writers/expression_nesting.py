"""Nesting: which numbers are written as part of other expressions, and where values die."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import chainrules_compile.writers.scalar_operation_source  # noqa: F401  # pyright: ignore[reportUnusedImport]
from chainrules_compile.internal_functions import expect, is_finite, plain_number
from chainrules_compile.passes.analysis import COMPARISONS
from chainrules_compile.passes.buffer_reuse import writes
from chainrules_compile.writers.call_source import OPERATORS, SPELLINGS
from chainrules_py import Primitive
from chainrules_py.program import Call, Program, Value

_TERMS = 8
"""Maximum number of operators on numbers in one expression."""

_SIGNS = frozenset(OPERATORS) - COMPARISONS


def last_uses(
    uses: Mapping[Value, list[int]], inside: set[Value], where: list[int]
) -> dict[Value, int]:
    """Return the index of the last use of each value that is not nested."""
    found: dict[Value, int] = {}
    for x, places in uses.items():
        if places and x not in inside:
            last = places[-1]
            if inside:
                last = where[last] if len(places) == 1 else max(map(where.__getitem__, places))
            found[x] = last
    return found


def nested(program: Program, uses: Mapping[Value, list[int]]) -> tuple[set[Value], list[int]]:
    """Return the numbers that are nested into their use, and the index of each call's statement.

    These are results of Python operators on numbers, or of tests and conversions, used once.
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
        # A float result of a Python operator has Python numbers as operands.
        if result.type is not float and not (
            result.type in _NUMBERS and all(map(_is_number, call.operands))
        ):
            continue
        n = 1 + sum([terms.get(y, 0) for y in call.values])
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
    """Return the value to nest at a test or a conversion to a plain number, or None."""
    call = calls[i]
    if call.function is not plain_number:
        return call.results[0] if asked_at_once(call, i, calls, uses) else None
    before = i and calls[i - 1].results == call.operands
    return call.values[0] if before and is_expression(calls[i - 1], uses, i) else None


def is_expression(call: Call, uses: Mapping[Value, list[int]], i: int) -> bool:
    """Return whether a call gives a number that only the next call uses, and is an expression."""
    (x,), f = call.results, call.function
    spelled = isinstance(f, (np.ufunc, Primitive)) or (f in SPELLINGS and not writes(f))
    return x.type is np.float64 and uses[x] == [i] and spelled


def asked_at_once(
    call: Call, i: int, calls: tuple[Call, ...], uses: Mapping[Value, list[int]]
) -> bool:
    """Return whether only a guard in the next call uses the result of a test."""
    return (
        (call.function is is_finite or all(map(_is_number, call.operands)))
        and uses[call.results[0]] == [i + 1]
        and i + 1 < len(calls)
        and calls[i + 1].function is expect
        and calls[i + 1].options["kind"] is bool
    )


def _is_number(x: Any) -> bool:
    return (x.type if type(x) is Value else type(x)) in _NUMBERS


_NUMBERS = frozenset((float, int, np.float64))
_BESIDE = frozenset((*COMPARISONS, is_finite, plain_number))
"""Other functions whose result, or whose operand, may be nested."""

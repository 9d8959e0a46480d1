"""Turns of loops, found again among the statements of a program, which become loops of C.

A statement is a text with whole numbers in it: places in memory, and which input is read. Where
statements repeat, and each number grows by as much from turn to turn, a loop says the same.
Compilers take a second for ten thousand statements, and none for the loop.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

_NUMBER = re.compile(r"(?<=\+ )\d+|(?<=[IO]\[)\d+")
_FEWEST = 4
"""Turns that are worth a loop."""

_TRIES = 20_000
"""How often a loop is looked for: 50 us each, in vain where nothing repeats."""

_NEXT = 12
"""How many later places of the first statement may be where the second turn begins."""


def rolled(statements: list[str]) -> list[tuple[str, int]]:
    """Return statements, and how many each was made of, with loops for those that repeat."""
    texts = [_NUMBER.split(statement) for statement in statements]
    numbers = [list(map(int, _NUMBER.findall(statement))) for statement in statements]
    ids: dict[tuple[str, ...], int] = {}
    kinds = np.array([ids.setdefault(tuple(text), len(ids)) for text in texts], np.int64)
    first = np.concatenate([[0], np.cumsum([len(n) for n in numbers])])
    flat = np.array([x for n in numbers for x in n], np.int64)
    later = _later(kinds)
    found: list[tuple[str, int]] = []
    i = 0
    tries = _TRIES
    while i < len(statements):
        period, turns = _best(kinds, first, flat, later, i) if tries else (1, 1)
        tries = max(tries - 1, 0)
        if turns < _FEWEST:
            found.append((statements[i], 1))
            i += 1
            continue
        body = []
        for j in range(i, i + period):
            here, there = numbers[j], numbers[j + period]
            body.append(_written(texts[j], here, [y - x for x, y in zip(here, there, strict=True)]))
        lines = "".join([f"\n    {line}" for line in body])
        found.append((f"for (long t = 0; t < {turns}; t++) {{{lines}\n  }}", period))
        i += period * turns
    return found


def _written(text: list[str], numbers: list[int], steps: list[int]) -> str:
    found = text[0]
    for part, x, step in zip(text[1:], numbers, steps, strict=True):
        found += (f"({x} + t * {step}L)" if step else str(x)) + part
    return found


def _later(kinds: Any) -> Any:
    """Return for each statement the place of the next of its kind; the end where there is none."""
    later = np.full(len(kinds), len(kinds))
    order = np.argsort(kinds, kind="stable")
    same = kinds[order[1:]] == kinds[order[:-1]]
    later[order[:-1][same]] = order[1:][same]
    return later


def _best(kinds: Any, first: Any, flat: Any, later: Any, i: int) -> tuple[int, int]:
    """Return the period and the turns of the loop from a statement on that has most statements."""
    best, n, j = (1, 1), len(kinds), i
    for _ in range(_NEXT):
        j = later[j]
        if j >= n:
            break
        period = int(j) - i
        turns = _turns(kinds, first, flat, i, period)
        if turns * period > best[0] * best[1] and turns >= _FEWEST:
            best = period, turns
    return best


def _turns(kinds: Any, first: Any, flat: Any, i: int, period: int) -> int:
    """Count the turns of a period from a statement on."""
    alike = _alike(kinds[i:], kinds[i + period :])
    turns = alike // period + 1
    if turns < _FEWEST:
        return 1
    begin, step = first[i], first[i + period] - first[i]
    numbers = flat[begin : begin + step * turns].reshape(turns, step)
    grow = np.diff(numbers, axis=0)
    wrong = np.flatnonzero((grow != grow[:1]).any(axis=1))
    return int(wrong[0]) + 1 if len(wrong) else turns


def _alike(x: Any, y: Any) -> int:
    """Count the elements in which two arrays begin alike, without looking far where they do not."""
    n, done, width = len(y), 0, 64
    while done < n:
        unlike = np.flatnonzero(x[done : min(done + width, n)] != y[done : done + width])
        if len(unlike):
            return done + int(unlike[0])
        done, width = done + width, width * 4
    return n

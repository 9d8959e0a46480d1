"""Rolling of repeated statements of a program into C loops.

A statement is a text that contains integers: addresses, and indices of inputs. Statements that
repeat, with integers that grow by a constant in each iteration, become a loop. Compilers take a
second for ten thousand statements, and almost no time for the loop.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

_NUMBER = re.compile(r"(?<=\+ |[IO]\[)(\d+)")
HOLE, _END = "\0", "\1"
"""Placeholder of a number in the form of a statement, and separator of statements."""

_FEWEST = 4
"""Minimum number of iterations of a loop."""

_NEXT = 12
"""Maximum number of recurrences of a statement that are tried as the second iteration."""


class Line(NamedTuple):
    """Statement, or loop of statements.

    Attributes
    ----------
    form : str
        The text, with holes for its numbers.
    numbers : list of int
    size : int
        The number of statements in its text.
    """

    form: str
    numbers: list[int]
    size: int = 1

    @property
    def text(self) -> str:
        """The text of the statement or loop."""
        return filled(self.form, map(str, self.numbers))


def filled(form: str, numbers: Any) -> str:
    """Return a text with numbers in place of the holes of its form."""
    parts = form.split(HOLE)
    return parts[0] + "".join([x for pair in zip(numbers, parts[1:], strict=True) for x in pair])


def rolled(statements: list[str]) -> list[Line]:
    """Return the statements, with loops for those that repeat."""
    pieces = _NUMBER.split(_END.join(statements))
    forms = HOLE.join(pieces[::2]).split(_END) if statements else []
    flat = np.array(pieces[1::2], np.int64)
    ids: dict[str, int] = {}
    kinds = np.array([ids.setdefault(form, len(ids)) for form in forms], np.int64)
    counts = np.array([form.count(HOLE) for form in ids], np.int64)
    first = np.concatenate([[0], np.cumsum(counts[kinds])]) if forms else np.zeros(1, np.int64)
    numbers, begins = flat.tolist(), first.tolist()
    tries = _Tries(kinds, first, flat)
    found: list[Line] = []
    i = 0
    while i < len(forms):
        period, turns = tries.best(i)
        if turns < _FEWEST:
            found.append(Line(forms[i], numbers[begins[i] : begins[i + 1]]))
            i += 1
            continue
        body = ""
        for j in range(i, i + period):
            here = numbers[begins[j] : begins[j + 1]]
            there = numbers[begins[j + period] : begins[j + period + 1]]
            steps = [
                f"({x} + t * {y - x}L)" if y != x else str(x)
                for x, y in zip(here, there, strict=True)
            ]
            body += f"\n    {filled(forms[j], steps)}"
        found.append(Line(f"for (long t = 0; t < {turns}; t++) {{{body}\n  }}", [], period))
        i += period * turns
    return found


class _Tries:
    """Search for loops among statements of given kinds."""

    def __init__(self, kinds: Any, first: Any, flat: Any) -> None:
        self._kinds = kinds
        self._first = first
        self._flat = flat
        self._known = kinds.tolist()
        self._later = [_later(each).tolist() for each in (_windows(kinds), kinds)]
        self._uneven: dict[int, int] = {}  # for each period the last statement that breaks it

    def best(self, i: int) -> tuple[int, int]:
        """Return the period and the iterations of the longest loop that starts at a statement."""
        best, kinds = (1, 1), self._known
        for j in chain.from_iterable([self._places(later, i) for later in self._later]):
            period = j - i
            if i + _FEWEST * period > len(kinds) or i <= self._uneven.get(period, -1):
                continue
            # The first two statements of an iteration rule out most candidates.
            first = kinds[i] == kinds[j + period] == kinds[j + 2 * period]
            if not first or kinds[i + 1] != kinds[j + 1]:
                continue
            turns = self._turns(i, period)
            if turns * period > best[0] * best[1] and turns >= _FEWEST:
                best = period, turns
        return best

    def _places(self, later: list[int], i: int) -> Iterator[int]:
        """Yield some later indices of the statements that are of the kind of statement i."""
        for _ in range(_NEXT):
            if (i := later[i]) == len(later):
                return
            yield i

    def _turns(self, i: int, period: int, looked_at: int = _FEWEST) -> int:
        """Count the iterations of a period from a statement on."""
        most = (len(self._known) - i) // period
        turns = self._alike(i, period, min(looked_at, most))
        return turns if turns < looked_at else self._turns(i, period, 8 * looked_at)

    def _alike(self, i: int, period: int, most: int) -> int:
        """Count the equal iterations, up to a maximum; note what breaks the first ones."""
        kinds = self._kinds[i : i + period * most].reshape(most, period)
        uneven = kinds != kinds[0]
        most = _before(uneven.any(axis=1))
        if most < _FEWEST:
            self._uneven[period] = i + int(np.flatnonzero(uneven[:_FEWEST].any(axis=0))[-1])
            return most
        begin, step = self._first[i], self._first[i + period] - self._first[i]
        numbers = self._flat[begin : begin + step * most].reshape(most, step)
        grow = np.diff(numbers, axis=0)
        uneven = grow != grow[:1]
        most = 1 + _before(uneven.any(axis=1))
        if most < _FEWEST:
            last = begin + np.flatnonzero(uneven[: _FEWEST - 1].any(axis=0))[-1]
            self._uneven[period] = int(np.searchsorted(self._first, last, "right")) - 1
        return most


def _before(wrong: Any) -> int:
    """Return the index of the first true entry, or the length."""
    return int(wrong.argmax()) if wrong.any() else len(wrong)


def _windows(kinds: Any) -> Any:
    """Return kinds of windows of eight statements, as iterations of different loops begin alike."""
    found = kinds
    for step in (1, 2, 4):
        after = np.concatenate([found[step:], np.full(min(step, len(found)), -1)])
        found = np.unique(found * (found.max(initial=0) + 2) + after, return_inverse=True)[1]
    return found


def _later(kinds: Any) -> Any:
    """Return for each statement the index of the next of its kind, or the length."""
    later = np.full(len(kinds), len(kinds))
    order = np.argsort(kinds, kind="stable")
    same = kinds[order[1:]] == kinds[order[:-1]]
    later[order[:-1][same]] = order[1:][same]
    return later

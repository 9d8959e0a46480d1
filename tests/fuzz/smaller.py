"""What is shown of a program that fails: the smallest that still does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

P = TypeVar("P")
MOST = 400
"""How often a program is run to find a smaller one."""


def smallest(program: P, smaller: Callable[[P], Iterable[P]], fails: Callable[[P], object]) -> P:
    """Return a program that fails, and of which nothing smaller does.

    Parameters
    ----------
    program
        One that fails.
    smaller : callable
        Lists the programs that are one step smaller.
    fails : callable
        Tells whether a program fails; one that cannot be run does not.
    """
    runs = 0
    while True:
        for candidate in smaller(program):
            runs += 1
            if runs > MOST:
                return program
            try:
                found = fails(candidate)
            except Exception:
                continue
            if found:
                program = candidate
                break
        else:
            return program


def without_one(items: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """List what is left of some items without each of them, the last one first."""
    for i in reversed(range(len(items))):
        yield (*items[:i], *items[i + 1 :])


def simpler(draw: Sequence[Any], tables: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """List draws in which one entry comes earlier in the table that it was drawn from."""
    for i, (entry, table) in enumerate(zip(draw, tables, strict=True)):
        for other in table[: table.index(entry)]:
            yield (*draw[:i], other, *draw[i + 1 :])

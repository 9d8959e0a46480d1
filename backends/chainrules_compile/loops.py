"""Loops: turns of a program as one function, which a call of another program names.

A rolled program is a `Program` as any other, in which a call of a `Loop` stands for all its turns::

    h, kept = loop(w, h0, xs)  # Call(Loop(body, turns, ...), (w, h0, xs), {}, (h, kept))

Lists (values of the class `list`) have one object for each turn. Beside loops, only functions of
this module's take and give them: `rows_of` and `stacked_rows`.
"""

from __future__ import annotations

import dataclasses
from typing import Any, final

import numpy as np

from chainrules_py.program import Program


@final
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """Function that runs a program so many times.

    It takes what is the same in all turns, then the first of each carried value, then lists of as
    many objects as there are turns. It gives the last of each carried value, then lists of what
    each turn gave.

    Attributes
    ----------
    body : Program
        One turn. Its inputs are in the order of the operands. Its outputs are the next carried
        values, and those that are kept.
    turns : int
        How often it runs.
    same, carried : int
        How many inputs are the same, and how many are carried.
    backwards : tuple of bool
        For each list, whether the last object comes first.
    """

    body: Program
    turns: int
    same: int
    carried: int
    backwards: tuple[bool, ...]

    @property
    def __name__(self) -> str:
        """What it is called in a program."""
        return f"loop_of_{self.turns}"

    def split(self, xs: tuple[Any, ...]) -> tuple[Any, Any, Any]:
        """Return what is the same, what is carried, and the lists, of inputs or operands."""
        n = self.same + self.carried
        return xs[: self.same], xs[self.same : n], xs[n:]

    def outputs(self, xs: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return what is carried, and what is kept, of outputs or results."""
        return xs[: self.carried], xs[self.carried :]


def rows_of(x: Any, *, first: int, last: int) -> list[Any]:
    """Return the rows of an array from one on to before another, as they lie."""
    return list(x[first:last])


def block_of_rows(x: Any, *, first: int, last: int) -> Any:
    """Return the rows of an array from one on to before another, as an array without gaps."""
    return np.ascontiguousarray(x)[first:last]


def part_of_rows(x: Any, *, first: int, last: int) -> Any:
    """Return the rows of an array from one on to before another, as they lie."""
    return x[first:last]


def stacked_parts(*parts: Any, back: bool) -> Any:
    """Return an array of some rows and, after them, those of another, as `stacked_rows` does."""
    *first, kept = parts
    whole = np.concatenate([*[np.asarray(x)[None] for x in first], kept])
    return whole[::-1].copy("K") if back else whole


def stacked_rows(*parts: Any, back: bool) -> Any:
    """Return an array of some rows and those of a list; the last first if they lie backwards."""
    *first, kept = parts
    rows = [*first, *kept][:: -1 if back else 1]
    return np.stack(rows) if type(rows[0]) is np.ndarray else np.array(rows)

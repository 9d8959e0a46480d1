"""Loops: the iterations of a program as one function, which another program calls.

A rolled program is a `Program` in which a call of a `Loop` stands for all iterations::

    h, kept = loop(w, h0, xs)  # Call(Loop(body, turns, ...), (w, h0, xs), {}, (h, kept))

Lists (values of the class `list`) have one object for each iteration. Besides loops, only the
functions of this module take and return them: `rows_of` and `stacked_rows`.
"""

from __future__ import annotations

import dataclasses
from typing import Any, final

import numpy as np

from chainrules_py.program import Program


@final
@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """Function that runs a program a given number of times.

    It takes the operands that are the same in all iterations, then the initial carried values, then
    lists with one object per iteration. It returns the final carried values, then lists of the
    outputs of the iterations.

    Attributes
    ----------
    body : Program
        One iteration. Its inputs are in the order of the operands. Its outputs are the next carried
        values, and those that are kept.
    turns : int
        The number of iterations.
    same, carried : int
        The number of inputs that are the same, and of those that are carried.
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
        """The name of the loop in a program."""
        return f"loop_of_{self.turns}"

    def split(self, xs: tuple[Any, ...]) -> tuple[Any, Any, Any]:
        """Split inputs or operands into the same, the carried, and the lists."""
        n = self.same + self.carried
        return xs[: self.same], xs[self.same : n], xs[n:]

    def outputs(self, xs: tuple[Any, ...]) -> tuple[Any, Any]:
        """Split outputs or results into the carried and the kept."""
        return xs[: self.carried], xs[self.carried :]


def rows_of(x: Any, *, first: int, last: int) -> list[Any]:
    """Return rows ``first`` to ``last - 1`` of an array as a list of views."""
    return list(x[first:last])


def block_of_rows(x: Any, *, first: int, last: int) -> Any:
    """Return rows ``first`` to ``last - 1`` of an array as a contiguous array."""
    return np.ascontiguousarray(x)[first:last]


def stacked_parts(*parts: Any, back: bool) -> Any:
    """Return the array that `stacked_rows` gives, of some rows and an array of further rows."""
    *first, kept = parts
    whole = np.concatenate([*[np.asarray(x)[None] for x in first], kept])
    return whole[::-1].copy("K") if back else whole


def stacked_rows(*parts: Any, back: bool) -> Any:
    """Return the array of some rows and those of a list, in reverse order if ``back``."""
    *first, kept = parts
    rows = [*first, *kept][:: -1 if back else 1]
    return np.stack(rows) if type(rows[0]) is np.ndarray else np.array(rows)

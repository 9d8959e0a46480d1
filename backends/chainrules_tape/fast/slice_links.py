"""Links of records that read parts, and rows, of one array: they share its buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py.extend import kind_of
from chainrules_tape.core.cotangents import Cotangents
from chainrules_tape.memory.add_into import (
    AddInto,
    add_pulled,
    adds_traced,
    has_buffer,
    is_dense,
)

__all__ = ["RowsOf", "SliceOf"]


class SliceOf:
    """Link of a record that read a part of an array: ``(pull, link, where, of)``.

    Attributes
    ----------
    index : int
        Where the array is on the tape.
    of : Space
        Its space.
    element : type or None
        What its elements are, if one was read: no tracer, and no array either.
    rows : Rows or None
        The link of the records that read rows of the same array.
    """

    __slots__ = ("element", "index", "of", "rows")

    def __init__(self, index: int, of: Any) -> None:
        self.index = index
        self.of = of
        self.element: type | None = None
        self.rows: RowsOf | None = None

    @property
    def parents(self) -> int:
        """The record that it sends to."""
        return self.index

    def pull(self, bars: Cotangents, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Add to the same part of a buffer."""
        bars[index] = None
        link = self.index
        total, cls = bars[link], type(y_bar)
        if link not in bars.plain or (cls is not type(total) and cls is not self.element):
            if not is_dense(y_bar) or not has_buffer(bars, link, self.of):
                if not adds_traced(bars, link, y_bar, record[2]):
                    add_pulled(bars, link, record[0](y_bar, *record[2:]), self.of)
                return
            total = bars[link]
        where = record[2]
        part = total[where]
        if type(part) is type(total) is cls:
            part += y_bar
        else:  # an element, or of another library, for which += would name its sum
            total[where] = part + y_bar


class RowsOf(AddInto):
    """Link of a record that read rows by an array: ``(pull, link, options, of, array)``.

    What goes to the rows of an input is collected, as long as it is little, and added in one call:
    of 32 rows the call is most of what it costs.

    Attributes
    ----------
    join : callable or None
        Joins a list of arrays along their first axis; None where nothing may wait, since the array
        is no input, and its cotangent is used before all is played.
    """

    __slots__ = ("join",)

    def __init__(self, index: int, pull_into: Callable[..., Any], join: Any) -> None:
        super().__init__(index, pull_into)
        self.join = join

    def pull(self, bars: Cotangents, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Keep what goes to the rows, or add it."""
        link, array = self.index, record[4]
        little = type(y_bar) is type(array) and y_bar.size < WAITING and array.ndim == 1
        if not little or self.join is None:
            super().pull(bars, index, y_bar, record)
            return
        waiting = bars.waiting.get(link)
        if waiting is None:
            if not has_buffer(bars, link, record[3]):
                super().pull(bars, index, y_bar, record)
                return
            waiting = bars.waiting[link] = []
        bars[index] = None
        waiting.append((y_bar, record))
        if len(waiting) * y_bar.size > 8 * WAITING:
            self.add(bars)

    def add(self, bars: Cotangents) -> None:
        """Add what has waited, in the order in which it came."""
        link, pull_into = self.index, self.pull_into
        waiting = bars.waiting.pop(link)
        total = bars[link]
        if link not in bars.plain:
            for y_bar, record in waiting:
                bars.add(link, record[0](y_bar, *record[2:]))
            return
        # Arrays of several dtypes are not joined: integers with and without a sign give floats.
        groups: dict[Any, list[tuple[Any, Any]]] = {}
        for pair in waiting:
            groups.setdefault(pair[1][4].dtype, []).append(pair)
        for pairs in groups.values():
            y_bar, record = pairs[0]
            array = record[4]
            if len(pairs) > 1 and kind_of(array) == "int":
                y_bar = self.join([y_bar for y_bar, _ in pairs])
                array = self.join([record[4] for _, record in pairs])
                pull_into(total, y_bar, record[2], record[3], array)
                continue
            for y_bar, record in pairs:
                pull_into(total, y_bar, *record[2:])


WAITING = 2048
"""From how many elements on it is not the call that adding rows costs."""

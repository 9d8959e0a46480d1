"""Parts and rows of one array: the records that read them share a link, and its buffer.

What goes to the rows of an input waits, and is added in one call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py import space
from chainrules_py.extend import Space, kind_of, type_info
from chainrules_py.vocabulary.views import (
    Index,
    adds_in_place,
    joining,
    read,
    read_rows_by,
    reading_rows,
    subscripts,
)
from chainrules_tape.core.cotangents import Cotangents
from chainrules_tape.core.links import LEAF
from chainrules_tape.memory.links import AddInto, AddsInPlace
from chainrules_tape.memory.view import View, fits, view_of


class AddsRows(AddsInPlace):
    """Variables whose rows, read by an array, send back what can wait."""

    __slots__ = ()

    def _reader(self) -> Callable[[Any, Any], Any]:
        """Return what reads variables of its class by an index."""
        cls = type(self)
        own, read_rows = cls.payload_type, rows_reader(cls)
        plain = type_info(own).dispatch_type

        def read_any(x: Any, where: Any) -> Any:
            mine = type(where) is own or type(where) is plain
            return read_rows(x, where) if mine else x._read(*Index.split(where))

        return read_any


def rows_reader(cls: Any) -> Callable[[Any, Any], Any]:
    """Build the function that reads variables of a class by an array of their own library."""
    own, classes = cls.payload_type, cls.results
    join, rows_of = joining(own), reading_rows(own)
    found: list[tuple[Any, Any]] = []

    def find(payload: Any, where: Any) -> tuple[Any, Any]:
        bound = cls.tracing.find(read, None, (own, own), (True, False))[1]
        pulls: tuple[Any, Any] = None, None
        if bound is not None and subscripts(own) and adds_in_place(bound.statement.recipe):
            pulls = bound.run(None, payload, where, **read_rows_by)[1][0], bound.pull_into
        found.append(pulls)
        return pulls

    def read_rows(x: Any, where: Any) -> Any:
        payload, tape = x.payload, x.tape
        pull, pull_into = found[0] if found else find(payload, where)
        link = link_of(x) if pull is not None else None
        if link is None:
            return x._read(*Index.split(where))
        y = rows_of(payload, where)
        rows = link.rows
        if rows is None:
            waits = tape[x.place][1] is LEAF
            rows = link.rows = RowsOf(x.place, pull_into, join if waits else None)
        index = len(tape)
        record = (pull, rows, read_rows_by, link.of, where)
        tape.append(record)
        if id(where) not in tape.held:
            tape.guard.capture(where, record)
        return classes[type(y)](y, tape, index)

    return read_rows


def linked(x: Any, view: View) -> SliceOf | None:
    """Return what records of an array's parts share; None if its elements are no real numbers."""
    of = space(x.payload)
    if type(of) is not Space or of.kind not in ("real", "complex"):
        return None
    link = view.link = SliceOf(x.place, of)
    view.children = view.children or []
    return link


def link_of(x: Any) -> SliceOf | None:
    """Return what records of an array's parts share, made now if there is none yet."""
    view = view_of(x)
    link: SliceOf = view.link
    return link if link.parents == x.place else linked(x, view)


class SliceOf(AddInto):
    """Link of a record that read a part of an array: ``(pull, link, where, of)``.

    Attributes
    ----------
    parents : int
        Where the array is on the tape.
    of : Space
        Its space.
    element : type or None
        What its elements are, if one was read: no tracer, and no array either.
    rows : Rows or None
        The link of the records that read rows of the same array.
    """

    __slots__ = ("element", "of", "rows")

    def __init__(self, index: int, of: Any) -> None:
        self.parents = index
        self.of = of
        self.element: type | None = None
        self.rows: RowsOf | None = None

    def pull(self, bars: Cotangents, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Add to the same part of a buffer."""
        bars[index] = None
        link, where = self.parents, record[2]
        total, cls = bars[link], type(y_bar)
        if link not in bars.plain or (cls is not type(total) and cls is not self.element):
            if not self.collects(bars, y_bar, record):
                return
            total = bars[link]
        part = total[where]
        if type(part) is type(total) is cls:
            part += y_bar
        elif type(part) is cls or fits(total, y_bar):
            total[where] = part + y_bar  # an element, or of another library: += would name its sum
        else:
            bars.add(link, record[0](y_bar, *record[2:]))


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
        link, array = self.parents, record[4]
        alike = {type_info(type(x)).dispatch_type for x in (y_bar, array)}
        own = type(y_bar) is type(array) or len(alike) == 1
        little = own and y_bar.size < WAITING and array.ndim == 1
        if not little or self.join is None:
            super().pull(bars, index, y_bar, record)
            return
        bars[index] = None
        waiting = bars.waiting.get(link)
        cls = type(bars[link])
        if waiting is None or type(y_bar) is not cls or type(array) is not cls:
            if not self.collects(bars, y_bar, record):
                return
            waiting = bars.waiting.setdefault(link, [])
        waiting.append((y_bar, record))
        if len(waiting) * y_bar.size > 8 * WAITING:
            self.add(bars)

    def add(self, bars: Cotangents) -> None:
        """Add what has waited, in the order in which it came."""
        link, pull_into = self.parents, self.pull_into
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

"""Links of records whose cotangents are added into, or read from, a buffer in place.

Reading or writing n elements one by one builds no n arrays in the backward pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from chainrules_py import space
from chainrules_py.extend import (
    AbstractTangent,
    Bound,
    Space,
    Trace,
    Tracer,
    find_tracers,
    type_info,
    untraced,
)
from chainrules_py.ops.engine_operations import (
    Index,
    added_to,
    adds_in_place,
    duplicate,
    read,
    read_rows_by,
    reading_rows,
    subscripts,
)
from chainrules_tape.array_writes.writes_and_views import View, Writable, fits, view_of
from chainrules_tape.core.cotangent_routing import Cotangents
from chainrules_tape.core.variable import BareVariable, Recording


class AddInto:
    """Link of a record whose pull can add in place to the collected cotangent of its parent."""

    __slots__ = ("parents", "pull_into")

    def __init__(self, index: int, pull_into: Callable[..., Any]) -> None:
        self.parents = index
        self.pull_into = pull_into

    def pull(self, bars: Cotangents, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Add in place what the pull would return."""
        bars[index] = None
        link = self.parents
        cls, beside = type(y_bar), record[4:]
        ready = link in bars.plain and cls is type(bars[link])
        if ready and beside and type(beside[0]) is not cls:
            ready = fits(y_bar, *beside)
        if ready or self.collects(bars, y_bar, record):
            self.pull_into(bars[link], y_bar, *record[2:])

    def collects(self, bars: Cotangents, y_bar: Any, record: tuple[Any, ...]) -> bool:
        """Give the parent a buffer to collect in; otherwise add the cotangent and return False.

        If the first cotangent is traced, it becomes the buffer; later ones are written to a small
        part of it, or added at their index to a copy.
        """
        link, (where, *saved) = self.parents, record[2:]
        of: Any = saved[0] if saved and type(saved[0]) is Space else None
        total = bars[link]
        dense = (
            type(of) is Space
            and not issubclass(type(y_bar), (AbstractTangent, Tracer))
            and not is_lazier(y_bar, of)
            and fits(y_bar if total is None else total, y_bar, *saved[1:])
        )
        if dense and link not in bars.plain and not issubclass(type(total), Tracer):
            if total is None or (
                getattr(total, "dtype", None) is of.dtype is not None and total.shape == of.shape
            ):
                bars.adopt(link, of.zeros(y_bar) if total is None else duplicate(total))
            else:
                bars.add(link, of.zeros(y_bar))
            total = bars[link]
        if dense and link in bars.plain:
            return True
        if type(where) is dict:
            pattern = where.get("index")
            where = pattern.join(()) if pattern is not None and pattern.is_basic else None
        if total is not None and where is not None:
            if is_small_part(bars, link, y_bar):
                total[where] += y_bar
                return False
            if type(total) is type(y_bar) and issubclass(type(total), Tracer):
                bars.adopt(link, added_to(total, y_bar, Index.split(where)[0]))
                return False
        bar = record[0](y_bar, *record[2:])
        if total is None and of is not None and isinstance(bar, Tracer):
            bars.adopt(link, bar)
        else:
            bars.add(link, bar)
        return False


def is_lazier(y_bar: Any, of: Any) -> bool:
    """Return whether a cotangent is another library's array, as Dask's for a NumPy parameter.

    Writing it into memory of the primal's library would compute it.
    """
    info = type_info(type(y_bar))
    alone = info.host is None and info.is_array
    return alone and info.namespace is not type_info(of.like).namespace


def is_small_part(bars: Cotangents, link: int, y_bar: Any) -> bool:
    """Return whether a cotangent is that of a small part of a traced buffer made here.

    A Taylor series and the examples of `vmap` cannot be written to.
    """
    total = bars[link]
    return (
        issubclass(type(total), Writable)
        and not issubclass(type(y_bar), AbstractTangent)
        and SMALL_PART * math.prod(getattr(y_bar, "shape", ())) <= total.size
        and bars.owned.get(link) is True
        and all([t.level <= total.level for t in find_tracers(y_bar)])
    )


SMALL_PART = 8
"""Least ratio of the sizes of buffer and part at which adding to the part is worthwhile."""


class AddingInPlace(Recording):
    """Tracing of reverse mode with pulls that add in place where they can."""

    def linker(self, bound: Bound, flat: bool) -> Callable[[tuple[Any, ...]], Any]:
        """Return the function that makes the links of a record; use in-place pulls if possible."""
        if flat and bound.pull_into is not None and not bound.may_be_zero:
            pull_into = bound.pull_into
            return lambda links: AddInto(links[0], pull_into)
        return super().linker(bound, flat)


class AddsInPlace(BareVariable):
    """Variables whose pulls add in place where they can."""

    __slots__ = ()
    tracing: ClassVar[Trace] = AddingInPlace()


def rows_reader(cls: Any) -> Callable[[Any, Any], Any]:
    """Return a function that reads variables of a class by an array of the same library."""
    own, classes = cls.payload_type, cls.results
    rows_of = reading_rows(own)
    found: list[tuple[Any, Any]] = []

    def find(payload: Any, where: Any) -> tuple[Any, Any]:
        bound = cls.tracing.find(read, None, (own, own), (True, False))[1]
        pulls: tuple[Any, Any] = None, None
        if bound is not None and subscripts(own) and adds_in_place(bound.recipe):
            pulls = (
                bound.run(None, untraced(payload), untraced(where), **read_rows_by)[1][0],
                bound.pull_into,
            )
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
            rows = link.rows = AddInto(x.place, pull_into)
        index = len(tape)
        record = (pull, rows, read_rows_by, link.of, where)
        tape.append(record)
        if id(where) not in tape.held:
            tape.guard.capture(where, record)
        return classes[type(y)](y, tape, index)

    return read_rows


def linked(x: Any, view: View) -> SliceOf | None:
    """Return the link that reads of an array share; None if its elements are no real numbers."""
    of = space(x.payload)
    if type(of) is not Space or of.kind not in ("real", "complex"):
        return None
    link = view.link = SliceOf(x.place, of)
    view.children = [] if view.children is None else view.children
    return link


def link_of(x: Any) -> SliceOf | None:
    """Return the link that reads of an array share; create it if there is none."""
    view = view_of(x)
    link: SliceOf = view.link
    return link if link.parents == x.place else linked(x, view)


class SliceOf(AddInto):
    """Link of a record that read a part of an array: ``(pull, link, where, of)``.

    Attributes
    ----------
    parents : int
        Index of the array on the tape.
    of : Space
        The space of the array.
    element : type or None
        The class of its elements, if one was read: no tracer and no array.
    rows : AddInto or None
        The link of the records that read rows of the same array.
    """

    __slots__ = ("element", "of", "rows")

    def __init__(self, index: int, of: Any) -> None:
        self.parents = index
        self.of = of
        self.element: type | None = None
        self.rows: AddInto | None = None

    def of_many(self, n: int, record: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the record for n cotangents at once: it reads the same part of n arrays."""
        half, _, where, of = record
        of, rest = of.with_shape((n, *of.shape)), where if type(where) is tuple else (where,)
        return half, SliceOf(self.parents, of), (slice(None), *rest), of

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
            total[where] = part + y_bar  # an element, or of another library: += would rebind `part`
        else:
            bars.add(link, record[0](y_bar, *record[2:]))

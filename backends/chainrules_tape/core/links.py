"""Where records send their cotangents, if that is more than one index or a pair of them.

A link sees to what its record's pull gives. The simplest are no objects: an index, a pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chainrules_py import (
    AbstractTangent,
    Space,
    is_zero,
    unthunk,
)
from chainrules_py.extend import (
    find_tracers,
    is_array_type,
    is_tracer_type,
    kind_of,
    part,
)
from chainrules_py.vocabulary.views import duplicate
from chainrules_tape.memory.views import share

if TYPE_CHECKING:
    from chainrules_tape.core.backward import Cotangents

__all__ = [
    "AddInto",
    "Links",
    "OneMaybeZero",
    "Overwrite",
    "SliceOf",
    "RowsOf",
    "Structured",
    "plain_links",
]


class AddInto:
    """The link of a record whose pull can add in place to what its parent has collected."""

    __slots__ = ("index", "pull_into")

    def __init__(self, index: int, pull_into: Callable[..., Any]) -> None:
        self.index = index
        self.pull_into = pull_into

    def pull(self, bars: Cotangents, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Add in place what the pull would return: n elements read one by one build no n arrays."""
        bars[index] = None
        link, saved = self.index, record[2:]
        if link in bars.plain and type(y_bar) is type(bars[link]):
            self.pull_into(bars[link], y_bar, *saved)
            return
        of = next((s for s in saved if type(s) is Space), None)
        if _is_dense(y_bar) and of is not None and has_buffer(bars, link, of):
            self.pull_into(bars[link], y_bar, *saved)
            return
        pattern = saved[0].get("index")
        where = pattern.join(()) if pattern is not None and pattern.is_basic else None
        if where is None or not _adds_traced(bars, link, y_bar, where):
            _add_pulled(bars, link, record[0](y_bar, *saved), of)


class SliceOf:
    """The link of a record that read a part of an array: ``(pull, link, where, of)``.

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

    def pull(self, bars: Cotangents, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Add to the same part of a buffer."""
        bars[index] = None
        link = self.index
        total, cls = bars[link], type(y_bar)
        if link not in bars.plain or (cls is not type(total) and cls is not self.element):
            if not _is_dense(y_bar) or not has_buffer(bars, link, self.of):
                if not _adds_traced(bars, link, y_bar, record[2]):
                    _add_pulled(bars, link, record[0](y_bar, *record[2:]), self.of)
                return
            total = bars[link]
        where = record[2]
        part = total[where]
        if type(part) is type(total) is cls:
            part += y_bar
        else:  # an element, or of another library, for which += would name its sum
            total[where] = part + y_bar


class RowsOf(AddInto):
    """The link of a record that read rows by an array: ``(pull, link, options, of, array)``.

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


def _is_dense(y_bar: Any) -> bool:
    return not isinstance(y_bar, AbstractTangent) and not is_tracer_type(type(y_bar))


def has_buffer(bars: Cotangents, link: int, of: Any) -> bool:
    """Whether a record collects in a buffer of our own; from now on, where that can be."""
    if link not in bars.plain:
        total = bars[link]
        if total is None:
            bars.adopt(link, of.zeros())
        elif is_tracer_type(type(total)):
            pass
        elif getattr(total, "dtype", None) is of.dtype is not None and total.shape == of.shape:
            bars.adopt(link, duplicate(total))
        else:
            bars.add(link, of.zeros())
    return link in bars.plain


def _add_pulled(bars: Cotangents, link: int, bar: Any, of: Any) -> None:
    if bars[link] is None and of is not None and is_tracer_type(type(bar)):
        bars.adopt(link, bar)
    else:
        bars.add(link, bar)


def _adds_traced(bars: Cotangents, link: int, y_bar: Any, where: Any) -> bool:
    """Add to a small part of a traced buffer of our own."""
    total = bars[link]
    if not is_tracer_type(type(total)):
        return False
    small = (
        not isinstance(y_bar, AbstractTangent)
        and SMALL_PART * getattr(y_bar, "size", 1) <= total.size
        and bars.owned.get(link) is True
        and all([t.level <= total.level for t in find_tracers(y_bar)])
    )
    if small:
        total[where] += y_bar
    return small


SMALL_PART = 8
"""By how much a buffer is larger than what reading and writing a part of it is worth the calls."""


class Links:
    """Any number of links, for a pull that gives as many cotangents, none of them zero."""

    __slots__ = ("links",)

    def __init__(self, links: tuple[int, ...]) -> None:
        self.links = links

    def pull(self, bars: Cotangents, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Send each where it belongs."""
        bars[index] = None
        plain = bars.plain
        for link, bar in zip(self.links, record[0](y_bar, *record[2:]), strict=True):
            total = bars[link]
            if total is None:
                bars[link] = bar
            elif link in plain and type(bar) is type(total):
                total += bar
            else:
                bars.add(link, bar)


class OneMaybeZero:
    """The link of a record whose pull may give a zero, or the tangent of a structure."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def pull(self, bars: Cotangents, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Add what the pull gives, if it gives something."""
        bars[index] = None
        bar, link = record[0](y_bar, *record[2:]), self.index
        if isinstance(bar, AbstractTangent):
            _send(bars, link, unthunk(bar))
        elif bars[link] is None:
            bars[link] = bar
        else:
            bars.add(link, bar)


class Structured:
    """Any number of links, of which some may be structures, for a pull that may give zeros."""

    __slots__ = ("links",)

    def __init__(self, links: tuple[Any, ...]) -> None:
        self.links = links

    def pull(self, bars: Cotangents, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Send what the pull gives to each link that gets something."""
        bars[index] = None
        x_bars = record[0](y_bar, *record[2:])
        if len(self.links) == 1:
            x_bars = (x_bars,)
        for link, bar in zip(self.links, x_bars, strict=True):
            if isinstance(bar, AbstractTangent) or type(link) is not int:
                _send(bars, link, unthunk(bar))
            else:
                bars.add(link, bar)


def _send(bars: Cotangents, link: Any, bar: Any) -> None:
    """Add a cotangent where it belongs: at an index, or field by field."""
    if is_zero(bar):
        return
    if type(link) is int:
        bars.add(link, bar)
        return
    for key, inner in link.items():
        _send(bars, inner, unthunk(bar[key]))


class Overwrite:
    """The link of a write into memory of our own: what was written over gets no cotangent.

    The cotangent of the result becomes that of the buffer before the write, with zeros in place of
    what was written; where it is a sum of our own, the zeros are written into it, so that n writes
    cost n on the way back as well.
    """

    __slots__ = ("links",)

    def __init__(self, x: int, y: int | None) -> None:
        self.links = (x, y)

    def pull(self, bars: Cotangents, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Read what goes to the value, and pass the rest on."""
        (x, y), pull, saved = self.links, record[0], record[2:]
        mine = bars.release(index)
        bars[index] = None
        if y is not None:
            bar = part(pull, 1, y_bar, saved)
            bars.add(y, duplicate(bar) if mine and share(bar, y_bar) else bar)
        if mine:
            y_bar[saved[0]["index"].join(saved[3:])] = 0
        else:
            y_bar = part(pull, 0, y_bar, saved)
        if bars[x] is None and is_array_type(type(y_bar)):
            bars.adopt(x, y_bar)
        else:
            bars.add(x, y_bar)


def plain_links(links: Any) -> Any:
    """The links of a record whose pull is called for what it returns, without buffers."""
    if type(links) in (AddInto, SliceOf, RowsOf):
        return links.index
    if type(links) is Overwrite:
        x, y = links.links
        return x if y is None else (x, y)
    return links

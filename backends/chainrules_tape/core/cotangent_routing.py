"""Cotangents collected by a backward pass, and the links that route what pulls return.

The simplest links are no objects: an index, or a pair of indices, which deep programs store as a
number (`pair`). The others process the pull themselves: ``links.pull(cotangents, index, y_bar,
record)``; ``links.parents`` are the records that may get a cotangent. Packages above this one
define further links, for parts of arrays and for writes.
"""

from __future__ import annotations

from typing import Any

from chainrules_py import NoTangent, ZeroTangent, is_zero, unthunk
from chainrules_py.extend import (
    AbstractTangent,
    PullInto,
    Tracer,
    accumulate,
    forgets,
    is_mutable_destination,
    type_info,
)

numbers: set[type] = {float}
"""Classes of numbers, not tracers, that are summed with ``+``."""
_arrays: set[type] = set()
"""Classes of arrays whose sums can be added to in place: two of one class need no check."""
forgets(lambda: (_arrays, numbers))


class Cotangents(list[Any]):
    """Cotangents collected for the records of a tape; None where there is none yet.

    Cotangents are added in reverse order of the records, so that equal inputs give equal bits. The
    only arrays written to are sums made here; ``plain`` holds their indices.
    """

    __slots__ = ("owned", "plain")

    def __init__(self, n: int) -> None:
        super().__init__([None] * n)
        self.plain: set[int] = set()
        self.owned: dict[int, Any] = {}

    def add(self, link: int, bar: Any) -> None:
        """Add to the collected cotangent, in place if it is a sum made here."""
        total, cls = self[link], type(bar)
        if total is None:
            self[link] = bar
            return
        alike = type(total) is cls
        if alike and (cls in numbers or (cls in _arrays and link not in self.owned)):
            self[link] = made = total + bar
            self.owned[link] = True
            if cls in _arrays and type(made) is cls:
                self.plain.add(link)
            return
        made, token = accumulate(total, bar, self.owned.get(link, False))
        self[link], self.owned[link] = made, token
        alike, info = alike and type(made) is cls, type_info(cls)
        if token is True and is_mutable_destination(made):
            self.plain.add(link)
            if alike:
                _arrays.add(cls)
            return
        self.plain.discard(link)  # a traced cotangent was added to a plain one
        if alike and info.is_number and info.host is None and not issubclass(cls, Tracer):
            numbers.add(cls)

    def release(self, link: int) -> bool:
        """Stop writing to a collected cotangent; return whether it is an array made here."""
        self_made = self.owned.pop(link, False) is True
        plain = link in self.plain
        self.plain.discard(link)
        return self_made and (plain or isinstance(self[link], Tracer))

    def adopt(self, link: int, buffer: Any) -> None:
        """Collect into a buffer made here from now on."""
        self[link], self.owned[link] = buffer, True
        if is_mutable_destination(buffer):
            self.plain.add(link)


class Leaf:
    """Link of an input: its collected cotangent stays."""

    __slots__ = ()
    parents = ()


LEAF = Leaf()
ZERO, NONE = ZeroTangent(), NoTangent()
INPUT = (None, LEAF)
"""The record of an input, shared by all inputs."""


class Routing:
    """First base of links that are objects; ``parents`` are the records that may get cotangents."""

    __slots__ = ("parents",)

    def __init__(self, parents: Any) -> None:
        self.parents = parents


class Links(Routing):
    """Links to any number of records, for a pull that returns one cotangent for each."""

    __slots__ = ()

    def pull(self, bars: Cotangents, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Add each cotangent at its link."""
        bars[index] = None
        plain = bars.plain
        for link, bar in zip(self.parents, record[0](y_bar, *record[2:]), strict=True):
            total = bars[link]
            if total is None:
                bars[link] = None if bar is ZERO or bar is NONE else bar
            elif link in plain and type(bar) is type(total):
                total += bar
            else:
                bars.add(link, bar)


class AddWhereSummed(Routing):
    """Link of a record whose pull can add to an existing sum in place (`PullInto`)."""

    __slots__ = ()

    def pull(self, bars: Cotangents, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Add to the sum in place, or add what the pull returns."""
        bars[index] = None
        link = self.parents
        if link not in bars.plain or not PullInto.added(bars[link], y_bar, record[2:]):
            _send(bars, link, record[0](y_bar, *record[2:]))


class Structured(Routing):
    """Links to any number of records and structures of them, for a pull that may return zeros."""

    __slots__ = ()

    def pull(self, bars: Cotangents, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Add what the pull returns at each link that gets a cotangent."""
        bars[index] = None
        given = record[0](y_bar, *record[2:])
        x_bars = (given,) if len(self.parents) == 1 else given
        for link, bar in zip(self.parents, x_bars, strict=True):
            if isinstance(bar, AbstractTangent) or type(link) is not int:
                _send(bars, link, unthunk(bar))
            else:
                bars.add(link, bar)


def _send(bars: Cotangents, link: Any, bar: Any) -> None:
    """Add a cotangent at an index, or field by field."""
    if is_zero(bar):
        return
    if type(link) is int:
        bars.add(link, bar)
        return
    for key, inner in link.items():
        _send(bars, inner, unthunk(bar[key]))


DEEP = 1 << 12
"""First index from which pairs of links are stored as numbers; below, time matters more."""
_BITS = 26
_BASE = 2.0**_BITS


def pair(i: int, j: int) -> Any:
    """Return two links in the 24 bytes of a float, instead of a tuple of 56 and an index of 28.

    A float holds 53 bits, enough for two indices below 2**26.
    """
    return i * _BASE + j if i < _BASE > j else (i, j)


def two(links: tuple[int, int]) -> Any:
    """Return two links unchanged, or as a number in a deep program."""
    i, j = links
    return links if i | j < DEEP else pair(i, j)


_INDICES = frozenset((int,))


def parents(links: Any) -> tuple[int, ...]:
    """Return the indices of the records that links may send cotangents to."""
    if type(links) is float:
        both = int(links)
        return both >> _BITS, both & (1 << _BITS) - 1
    if type(links) is int:
        return (links,)
    if type(links) is dict:
        links = tuple(links.values())
    if type(links) is not tuple:
        return parents(links.parents)
    if _INDICES.issuperset(map(type, links)):  # most often
        return links
    return tuple([index for link in links for index in parents(link)])

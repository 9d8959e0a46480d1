"""Links of records whose pulls add in place: n elements read one by one build no n arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from chainrules_py.extend import AbstractTangent, Bound, Space, Trace, Tracer, find_tracers
from chainrules_py.vocabulary.views import duplicate
from chainrules_tape.core.cotangents import Cotangents
from chainrules_tape.core.variable import BareVariable, Recording

__all__ = [
    "AddInto",
    "AddsInPlace",
    "add_pulled",
    "adds_traced",
    "has_buffer",
    "is_dense",
]


class AddInto:
    """Link of a record whose pull can add in place to what its parent has collected."""

    __slots__ = ("index", "pull_into")

    def __init__(self, index: int, pull_into: Callable[..., Any]) -> None:
        self.index = index
        self.pull_into = pull_into

    @property
    def parents(self) -> int:
        """The record that it sends to."""
        return self.index

    def pull(self, bars: Cotangents, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Add in place what the pull would return: n elements read one by one build no n arrays."""
        bars[index] = None
        link, saved = self.index, record[2:]
        if link in bars.plain and type(y_bar) is type(bars[link]):
            self.pull_into(bars[link], y_bar, *saved)
            return
        of = next((s for s in saved if type(s) is Space), None)
        if is_dense(y_bar) and of is not None and has_buffer(bars, link, of):
            self.pull_into(bars[link], y_bar, *saved)
            return
        pattern = saved[0].get("index")
        where = pattern.join(()) if pattern is not None and pattern.is_basic else None
        if where is None or not adds_traced(bars, link, y_bar, where):
            add_pulled(bars, link, record[0](y_bar, *saved), of)


def is_dense(y_bar: Any) -> bool:
    """Tell whether a cotangent is an array or number, neither traced nor structural."""
    return not isinstance(y_bar, AbstractTangent) and not isinstance(y_bar, Tracer)


def has_buffer(bars: Cotangents, link: int, of: Any) -> bool:
    """Make a record collect in a buffer of our own where that can be; tell whether it does."""
    if link not in bars.plain:
        total = bars[link]
        if total is None:
            bars.adopt(link, of.zeros())
        elif isinstance(total, Tracer):
            pass
        elif getattr(total, "dtype", None) is of.dtype is not None and total.shape == of.shape:
            bars.adopt(link, duplicate(total))
        else:
            bars.add(link, of.zeros())
    return link in bars.plain


def add_pulled(bars: Cotangents, link: int, bar: Any, of: Any) -> None:
    """Add what a pull gave; a first one that is traced is a buffer of our own."""
    if bars[link] is None and of is not None and isinstance(bar, Tracer):
        bars.adopt(link, bar)
    else:
        bars.add(link, bar)


def adds_traced(bars: Cotangents, link: int, y_bar: Any, where: Any) -> bool:
    """Add to a small part of a traced buffer of our own."""
    total = bars[link]
    if not issubclass(type(total), Tracer):
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


class AddingInPlace(Recording):
    """Tracing of reverse mode, with pulls that add in place where they can."""

    def linker(self, bound: Bound, flat: bool) -> Callable[[tuple[Any, ...]], Any]:
        """Return what makes the links of a record: where pulls add in place, they do."""
        if flat and bound.pull_into is not None and not bound.may_be_zero:
            pull_into = bound.pull_into
            return lambda links: AddInto(links[0], pull_into)
        return super().linker(bound, flat)


class AddsInPlace(BareVariable):
    """Variables whose pulls add in place where they can."""

    __slots__ = ()
    tracing: ClassVar[Trace] = AddingInPlace()

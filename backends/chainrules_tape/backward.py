"""Playing a tape backwards: where a record sends its cotangents, and how they are collected."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from chainrules_py.arrays import is_array_type, is_tracer_type
from chainrules_py.bind import part
from chainrules_py.errors import describe
from chainrules_py.project import Space
from chainrules_py.tangents import (
    AbstractTangent,
    accumulate,
    is_mutable_destination,
    is_zero,
    unthunk,
)
from chainrules_py.tracers import find_tracers
from chainrules_py.writing import duplicate
from chainrules_tape.debugging import trap_is_set, trapped
from chainrules_tape.folding import unfolding
from chainrules_tape.views import share

if TYPE_CHECKING:
    from chainrules_tape.tape import Tape

__all__ = ["LEAF", "Bars", "Into", "Leaf", "Overwrite", "Several", "backward", "plain_links"]


class Bars(list[Any]):
    """The cotangents collected for the records of a tape, None where there is none yet.

    Cotangents are added in reverse order of record, so the same inputs give the same bits. The
    only arrays written to are sums that were made here; ``plain`` says where they are.
    """

    __slots__ = ("owned", "plain")

    def __init__(self, tape: Sequence[tuple[Any, ...]]) -> None:
        if getattr(tape, "folds", None) is None:
            super().__init__([None] * len(tape))
        else:
            with tape.folds:  # type: ignore[attr-defined]  # while no records are made again
                super().__init__([None] * len(tape))
        self.plain: set[int] = set()
        self.owned: dict[int, Any] = {}

    def add(self, link: int, bar: Any) -> None:
        """Add to what was collected, in place where it is a sum of our own."""
        total = self[link]
        if total is None:
            self[link] = bar
            return
        self[link], token = accumulate(total, bar, self.owned.get(link, False))
        self.owned[link] = token
        if token is True and is_mutable_destination(self[link]):
            self.plain.add(link)
        else:  # a traced cotangent was added to a plain one
            self.plain.discard(link)

    def replace(self, link: int, bar: Any) -> None:
        """Put another cotangent in place of what was collected; None leaves it."""
        if bar is not None:
            self[link] = None if is_zero(bar) else bar
            self.plain.discard(link)
            self.owned.pop(link, None)

    def disown(self, link: int) -> bool:
        """Whether what was collected is an array of our own, which nobody writes to from now on."""
        self_made = self.owned.pop(link, False) is True
        plain = link in self.plain
        self.plain.discard(link)
        return self_made and (plain or is_tracer_type(type(self[link])))

    def own(self, link: int, buffer: Any) -> None:
        """Collect into a buffer of our own from now on."""
        self[link], self.owned[link] = buffer, True
        if is_mutable_destination(buffer):
            self.plain.add(link)


class Leaf:
    """The link of an input: what was collected for it stays."""

    __slots__ = ()


LEAF = Leaf()


class Into:
    """The link of a record whose pull can add in place to what its parent has collected."""

    __slots__ = ("index", "pull_into")

    def __init__(self, index: int, pull_into: Callable[..., Any]) -> None:
        self.index = index
        self.pull_into = pull_into

    def pull(self, bars: Bars, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Add in place what the pull would return: n elements read one by one build no n arrays."""
        bars[index] = None
        link, saved = self.index, record[2:]
        if link in bars.plain and type(y_bar) is type(bars[link]):
            self.pull_into(bars[link], y_bar, *saved)
            return
        dense = not isinstance(y_bar, AbstractTangent) and not is_tracer_type(type(y_bar))
        of = next((s for s in saved if type(s) is Space), None)
        if dense and of is not None and self._has_buffer(bars, of):
            self.pull_into(bars[link], y_bar, *saved)
        elif not self._adds_traced(bars, y_bar, saved[0]):
            bar, first = record[0](y_bar, *saved), bars[link] is None
            if first and of is not None and is_tracer_type(type(bar)):
                bars.own(link, bar)
            else:
                bars.add(link, bar)

    def _has_buffer(self, bars: Bars, of: Space) -> bool:
        """Whether its parent collects in a buffer of our own; from now on, where that can be."""
        link = self.index
        if link not in bars.plain:
            total = bars[link]
            if total is None:
                bars.own(link, of.zeros())
            elif is_tracer_type(type(total)):
                pass
            elif getattr(total, "dtype", None) is of.dtype is not None and total.shape == of.shape:
                bars.own(link, duplicate(total))
            else:
                bars.add(link, of.zeros())
        return link in bars.plain

    def _adds_traced(self, bars: Bars, y_bar: Any, options: Any) -> bool:
        """Add to a small part of a traced buffer of our own, where that is what the pull does."""
        total, pattern = bars[self.index], options.get("index")
        if pattern is None or not (pattern.is_basic and is_tracer_type(type(total))):
            return False
        small = (
            not isinstance(y_bar, AbstractTangent)
            and SMALL_PART * getattr(y_bar, "size", 1) <= total.size
            and bars.owned.get(self.index) is True
            and all([t.level <= total.level for t in find_tracers(y_bar)])
        )
        if small:
            total[pattern.join(())] += y_bar
        return small


SMALL_PART = 8
"""By how much a buffer is larger than what reading and writing a part of it is worth the calls."""


class Overwrite:
    """The link of a write into memory of our own: what was written over gets no cotangent.

    The cotangent of the result becomes that of the buffer before the write, with zeros in place of
    what was written; where it is a sum of our own, the zeros are written into it, so that n writes
    cost n on the way back as well.
    """

    __slots__ = ("links",)

    def __init__(self, x: int, y: int | None) -> None:
        self.links = (x, y)

    def pull(self, bars: Bars, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Read what goes to the value, and pass the rest on."""
        (x, y), pull, saved = self.links, record[0], record[2:]
        mine = bars.disown(index)
        bars[index] = None
        if y is not None:
            bar = part(pull, 1, y_bar, saved)
            bars.add(y, duplicate(bar) if mine and share(bar, y_bar) else bar)
        if mine:
            y_bar[saved[0]["index"].join(saved[3:])] = 0
        else:
            y_bar = part(pull, 0, y_bar, saved)
        if bars[x] is None and is_array_type(type(y_bar)):
            bars.own(x, y_bar)
        else:
            bars.add(x, y_bar)


def plain_links(links: Any) -> Any:
    """The links of a record whose pull is called for what it returns, without buffers."""
    if type(links) is Into:
        return links.index
    if type(links) is Overwrite:
        x, y = links.links
        return x if y is None else (x, y)
    return links


class Several:
    """Any number of links, of which some may be structures, for a pull that may give zeros."""

    __slots__ = ("links",)

    def __init__(self, links: tuple[Any, ...]) -> None:
        self.links = links

    def pull(self, bars: Bars, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Send what the pull gives to each link that gets something."""
        bars[index] = None
        x_bars = record[0](y_bar, *record[2:])
        if len(self.links) == 1:
            x_bars = (x_bars,)
        for link, bar in zip(self.links, x_bars, strict=True):
            _send(bars, link, unthunk(bar))


def _send(bars: Bars, link: Any, bar: Any) -> None:
    """Add a cotangent where it belongs: at an index, or field by field."""
    if is_zero(bar):
        return
    if type(link) is int:
        bars.add(link, bar)
        return
    for key, inner in link.items():
        _send(bars, inner, unthunk(bar[key]))


def backward(
    tape: Tape,
    bars: Bars,
    start: int,
    *,
    consume: bool = False,
    fetch: Callable[[int], Any] | None = None,
    watch: Collection[int] = (),
) -> dict[int, Any]:
    """Play a tape backwards from the record at ``start``; ``bars`` keeps the leaves' cotangents.

    Parameters
    ----------
    tape : Tape
        The records.
    bars : Bars
        The cotangents so far: the seeds.
    start : int
        The last record that has one.
    consume : bool
        Whether records are dropped as they are played, so that memory goes as the pass goes.
    fetch : callable, optional
        Gives the record at an index, where it is not the one on the tape.
    watch : collection of int
        Records whose cotangents are wanted, beside those of the leaves.

    Returns
    -------
    dict
        From the indices watched to their cotangents, where there is one.
    """
    if consume:
        del tape[start + 1 :]
        fetch = tape.pop
    if tape.folds is not None and (consume or fetch is None):
        fetch = unfolding(tape, bars, fetch)

    def records(top: int, stop: int) -> Iterable[Any]:
        if fetch is not None:
            return map(fetch, range(top, stop, -1))
        return tape[stop + 1 : top + 1][::-1]

    notes = tape.notes
    hooks: dict[int, Any] = {}
    found: dict[int, Any] = {}
    play = _play
    if notes is not None:
        hooks = notes.hooks
        if notes.calls is not None and trap_is_set():
            play = trapped(play, notes.calls)
    top = start
    # A record that somebody watches ends one stretch and begins another: the loop asks nothing.
    for index in sorted({*hooks, *watch}, reverse=True):
        if index > start:
            continue
        play(records(top, index), bars, top, index)
        top = index
        if bars[index] is not None:
            bars.disown(index)  # for others see it
            for hook in hooks.get(index, ()):
                bars.replace(index, hook(bars[index]))
            if index in watch:
                found[index] = bars[index]
    play(records(top, -1), bars, top, -1)
    return found


# One loop: a call of our own for each record would be much of what playing it back costs.
def _play(records: Iterable[Any], bars: Bars, start: int, stop: int) -> None:  # noqa: C901
    """Play records backwards from the one at ``start`` to the one before ``stop``."""
    plain = bars.plain
    record: Any = None
    y_bar: Any = None
    try:
        for index, record in zip(range(start, stop, -1), records, strict=True):
            y_bar = bars[index]
            if y_bar is None:
                continue
            links = record[1]
            n = len(record)
            if type(links) is int:
                bars[index] = None
                if n == 3:
                    bar = record[0](y_bar, record[2])
                elif n == 4:
                    bar = record[0](y_bar, record[2], record[3])
                else:
                    bar = record[0](y_bar, *record[2:])
                total = bars[links]
                if total is None:
                    bars[links] = bar
                elif links in plain and type(bar) is type(total):
                    total += bar  # a sum of our own; projection has made shape and dtype agree
                elif type(bar) is float is type(total):
                    bars[links] = total + bar
                else:
                    bars.add(links, bar)
            elif type(links) is tuple:
                bars[index] = None
                if n == 4:
                    left, right = record[0](y_bar, record[2], record[3])
                elif n == 2:
                    left, right = record[0](y_bar)
                else:
                    left, right = record[0](y_bar, *record[2:])
                link, other = links
                total = bars[link]
                if total is None:
                    bars[link] = left
                elif link in plain and type(left) is type(total):
                    total += left
                elif type(left) is float is type(total):
                    bars[link] = total + left
                else:
                    bars.add(link, left)
                total = bars[other]
                if total is None:
                    bars[other] = right
                elif other in plain and type(right) is type(total):
                    total += right
                elif type(right) is float is type(total):
                    bars[other] = total + right
                else:
                    bars.add(other, right)
            elif links is not LEAF:
                links.pull(bars, index, y_bar, record)
    except Exception as error:
        _note(error, record, y_bar)
        raise


def _note(error: Exception, record: tuple[Any, ...], y_bar: Any) -> None:
    statement = getattr(record[0], "statement", None) if record else None
    if statement is None:
        return
    shown = ", ".join(describe(x) for x in record[2:])
    error.add_note(
        f"while pulling back {describe(y_bar)} through {statement.primal.__name__}, "
        f"which saved ({shown})\n"
        f"  rule: {statement.where}"
    )

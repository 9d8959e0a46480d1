"""Playing a tape backwards: where a record sends its cotangents, and how they are collected."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from chainrules_py import (
    accumulate,
    is_mutable_destination,
    is_zero,
)
from chainrules_py.extend import (
    describe,
    is_tracer_type,
)
from chainrules_tape.folding import unfolding
from chainrules_tape.inspect.nans import trap_is_set, trapped

if TYPE_CHECKING:
    from chainrules_tape.core.tape import Tape

__all__ = ["LEAF", "Cotangents", "Leaf", "backward"]


class Cotangents(list[Any]):
    """The cotangents collected for the records of a tape, None where there is none yet.

    Cotangents are added in reverse order of record, so the same inputs give the same bits. The
    only arrays written to are sums that were made here; ``plain`` says where they are.
    """

    __slots__ = ("owned", "plain", "waiting")

    def __init__(self, tape: Sequence[tuple[Any, ...]]) -> None:
        if getattr(tape, "folds", None) is None:
            super().__init__([None] * len(tape))
        else:
            with tape.folds:  # type: ignore[attr-defined]  # while no records are made again
                super().__init__([None] * len(tape))
        self.plain: set[int] = set()
        self.owned: dict[int, Any] = {}
        self.waiting: dict[int, list[Any]] = {}

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

    def release(self, link: int) -> bool:
        """Whether what was collected is an array of our own, which nobody writes to from now on."""
        self_made = self.owned.pop(link, False) is True
        plain = link in self.plain
        self.plain.discard(link)
        return self_made and (plain or is_tracer_type(type(self[link])))

    def flush(self, *indices: int) -> None:
        """Add what has waited for more of its kind at these."""
        for index in indices:
            if index in self.waiting:
                (_, (_, links, *_)), *_ = self.waiting[index]
                links.add(self)

    def adopt(self, link: int, buffer: Any) -> None:
        """Collect into a buffer of our own from now on."""
        self[link], self.owned[link] = buffer, True
        if is_mutable_destination(buffer):
            self.plain.add(link)


class Leaf:
    """The link of an input: what was collected for it stays."""

    __slots__ = ()


LEAF = Leaf()


def backward(
    tape: Tape,
    bars: Cotangents,
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
    bars : Cotangents
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
    for index in sorted({*hooks, *watch}, reverse=True) if hooks or watch else ():
        if index > start:
            continue
        play(records(top, index), bars, top, index)
        bars.flush(index)  # and no other, so that its sums are those of every pass
        top = index
        if bars[index] is not None:
            bars.release(index)  # for others see it
            for hook in hooks.get(index, ()):
                bars.replace(index, hook(bars[index]))
            if index in watch:
                found[index] = bars[index]
    play(records(top, -1), bars, top, -1)
    if bars.waiting:
        bars.flush(*bars.waiting)
    return found


# One loop: a call of our own for each record would be much of what playing it back costs.
def _play(records: Iterable[Any], bars: Cotangents, start: int, stop: int) -> None:  # noqa: C901
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

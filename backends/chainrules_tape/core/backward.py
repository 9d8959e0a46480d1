"""Backward pass: the records of a tape played back, each pulling its cotangent to its parents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from chainrules_py import is_zero
from chainrules_py.extend import describe, note_rule
from chainrules_tape.core.links import LEAF, NONE, ZERO, Cotangents, numbers, parents
from chainrules_tape.core.tape import BareTape


def backward(
    tape: BareTape,
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
    tape : BareTape
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
    if tape.folds is not None:
        fetch = tape.folds.fetching(tape, bars, fetch, consume)

    notes = tape.notes
    run = (notes and notes.player()) or play
    hooks: dict[int, Any] = {} if notes is None else notes.hooks
    found: dict[int, Any] = {}
    top = start
    # A record that somebody watches ends one stretch and begins another: the loop asks nothing.
    for index in sorted({*hooks, *watch}, reverse=True) if hooks or watch else ():
        if index > start:
            continue
        places = range(top, index, -1)
        run(map(tape.__getitem__ if fetch is None else fetch, places), bars, top, index)
        top = index
        if bars[index] is not None:
            bars.release(index)  # for others see it
            for hook in hooks.get(index, ()):
                changed = hook(bars[index])
                if changed is not None:
                    bars[index] = None if is_zero(changed) else changed
            if index in watch:
                found[index] = bars[index]
    rest = reversed(tape[: top + 1]) if fetch is None else map(fetch, range(top, -1, -1))
    run(rest, bars, top, -1)
    return found


# One loop: a call of our own for each record would be much of what playing it back costs.
def play(records: Iterable[Any], bars: Cotangents, start: int, stop: int) -> None:  # noqa: C901
    """Play records backwards from the one at ``start`` to the one before ``stop``."""
    # What nobody reads any more is let go at once, before the next pull or sum: it may be large.
    plain = bars.plain
    record: Any = None
    y_bar: Any = None
    try:
        for index, record in zip(range(start, stop, -1), records, strict=True):
            y_bar = bars[index]
            if y_bar is None:
                continue
            links = record[1]
            kind = type(links)
            n = len(record)
            if kind is int:
                bars[index] = None
                if n == 3:
                    bar = record[0](y_bar, record[2])
                elif n == 4:
                    bar = record[0](y_bar, record[2], record[3])
                else:
                    bar = record[0](y_bar, *record[2:])
                total = bars[links]
                if total is None:
                    if bar is not ZERO and bar is not NONE:
                        bars[links] = bar
                elif links in plain and type(bar) is type(total):
                    total += bar  # a sum of our own; projection has made shape and dtype agree
                    bar = None
                elif type(bar) is type(total) in numbers:
                    bars[links] = total + bar
                else:
                    y_bar = total = None
                    bars.add(links, bar)
                    bar = None
            elif kind is tuple or kind is float:
                bars[index] = None
                if n == 4:
                    bar, right = record[0](y_bar, record[2], record[3])
                elif n == 2:
                    bar, right = record[0](y_bar)
                else:
                    bar, right = record[0](y_bar, *record[2:])
                link, other = links if kind is tuple else parents(links)
                total = bars[link]
                if total is None:
                    if bar is not ZERO and bar is not NONE:
                        bars[link] = bar
                elif link in plain and type(bar) is type(total):
                    total += bar
                    bar = None
                elif type(bar) is type(total) in numbers:
                    bars[link] = total + bar
                else:
                    y_bar = total = None
                    bars.add(link, bar)
                    bar = None
                total = bars[other]
                if total is None:
                    if right is not ZERO and right is not NONE:
                        bars[other] = right
                elif other in plain and type(right) is type(total):
                    total += right
                elif type(right) is type(total) in numbers:
                    bars[other] = total + right
                else:
                    y_bar = total = None
                    bars.add(other, right)
                right = None
            elif links is not LEAF:
                bar = total = None
                links.pull(bars, index, y_bar, record)
    except Exception as error:
        if record:
            doing = "adding what came" if y_bar is None else f"pulling back {describe(y_bar)}"
            saved = ", ".join(map(describe, record[2:]))
            note_rule(error, record[0], doing, f", which saved ({saved})")
        raise

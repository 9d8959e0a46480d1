"""Backward pass: play the records of a tape in reverse, and pull cotangents to their parents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from chainrules_py import is_zero
from chainrules_py.extend import describe, note_rule
from chainrules_tape.core.bare_tape import BareTape
from chainrules_tape.core.cotangent_routing import LEAF, NONE, ZERO, Cotangents, numbers, parents


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
        The cotangents collected so far: initially the seeds.
    start : int
        Index of the last record that has a cotangent.
    consume : bool
        Whether records are dropped as they are played, which releases memory during the pass.
    fetch : callable, optional
        Returns the record at an index, where it is not the one on the tape.
    watch : collection of int
        Indices of records whose cotangents are returned, besides those of the leaves.

    Returns
    -------
    dict
        From the watched indices to their cotangents, where there is one.
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
    # A watched record ends one stretch and begins another, so that the loop needs no check.
    for index in sorted({*hooks, *watch}, reverse=True) if hooks or watch else ():
        if index > start:
            continue
        places = range(top, index, -1)
        run(map(tape.__getitem__ if fetch is None else fetch, places), bars, top, index)
        top = index
        if bars[index] is not None:
            bars.release(index)  # because hooks and callers see it
            for hook in hooks.get(index, ()):
                changed = hook(bars[index])
                if changed is not None:
                    bars[index] = None if is_zero(changed) else changed
            if index in watch:
                found[index] = bars[index]
    run(
        reversed(tape[: top + 1]) if fetch is None else map(fetch, range(top, -1, -1)),
        bars,
        top,
        -1,
    )
    return found


# One loop: a function call for each record would dominate the cost of playing it.
def play(records: Iterable[Any], bars: Cotangents, start: int, stop: int) -> None:  # noqa: C901
    """Play records backwards from the one at ``start`` to the one before ``stop``."""
    # Release a value before the next pull or sum as soon as it is unused: it may be large.
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
                    total += bar  # a sum made here; projection has made shape and dtype agree
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
            saves = f", which saved ({', '.join(map(describe, record[2:]))})"
            note_rule(error, record[0], doing, saves)
        raise

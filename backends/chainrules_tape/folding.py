"""Records that were dropped, and are made again when the backward pass comes to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chainrules_tape.core.tape import Tape

__all__ = ["folded", "unfolding"]

Fetch = Callable[[int], tuple[Any, ...]]


def folded(*_: Any) -> None:
    """Stands for the pull of a record that was dropped: ``(folded, segment)``."""


def unfolding(tape: Tape, bars: list[Any], fetch: Fetch | None) -> Fetch:
    """What gives the records of a tape backwards, with those that were dropped among them.

    A segment says where it starts, and ``segment.records(tape)`` makes its records again. It is
    asked when the pass comes to it, if one of its values has a cotangent; each record goes as it is
    played.
    """
    if fetch is None:
        with tape.folds:  # while one pass makes records again, no other sees the tape
            fetch = list(tape).__getitem__
    made: dict[Any, list[Any] | None] = {}

    def unfolded(index: int) -> tuple[Any, ...]:
        record = fetch(index)
        while record[0] is folded:
            segment = record[1]
            start = segment.start
            if segment not in made:
                flows = any([bar is not None for bar in bars[start : index + 1]])
                made[segment] = segment.records(tape) if flows else None
            records = made[segment]
            if records is None:
                return record
            record, records[index - start] = records[index - start], None
            if index == start:
                del made[segment]
        return record

    return unfolded

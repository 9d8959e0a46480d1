"""Records that were dropped, and how a pass back gets them again."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, ClassVar, final

from chainrules_py.extend import alone
from chainrules_tape.core.cotangents import Cotangents
from chainrules_tape.core.tape import BareTape, Fetch
from chainrules_tape.memory.sums import Sums


@final
class Folds:
    """Whether records of a tape are being made again: ``aside`` are its others from a place on."""

    __slots__ = ("aside", "lock")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.aside: tuple[int, list[tuple[Any, ...]]] | None = None

    def whole(self, tape: BareTape) -> list[tuple[Any, ...]]:
        """Return all records of the tape, those that were dropped as they stand for the others."""
        if self.aside is None:
            return list(tape)
        start, rest = self.aside
        return tape[:start] + rest


def folded(*_: Any) -> None:
    """Stand for the pull of a record that was dropped: ``(folded, segment)``."""


folded.shown = "checkpointed"  # type: ignore[attr-defined]  # in listings


def unfolding(tape: BareTape, bars: list[Any], fetch: Fetch | None) -> Fetch:
    """Return what gives the records of a tape backwards, those that were dropped among them.

    A segment says where it starts, and ``segment.records(tape)`` makes its records again. It is
    asked when the pass comes to it, if one of its values has a cotangent; each record goes as it is
    played.
    """
    # While one pass makes records again, no other sees the tape.
    given: Fetch = fetch or alone(tape.folds.lock, tape.folds.whole, tape).__getitem__
    again: dict[Any, Any] = {}

    def unfolded(index: int) -> tuple[Any, ...]:
        record = given(index)
        while record[0] is folded:
            segment = record[1]
            start = segment.start
            if not segment.whole:  # under a policy each record is made by itself
                if bars[index] is None:
                    return record
                record = segment.record(index, again.setdefault(segment, {}), fetch is not None)
                continue
            if segment not in again:
                flows = any([bar is not None for bar in bars[start : index + 1]])
                again[segment] = segment.records(tape) if flows else None
            records = again[segment]
            if records is None:
                return record
            record, records[index - start] = records[index - start], None
            if index == start:
                del again[segment]
        return record

    return unfolded


class Foldable(BareTape):
    """Tapes of which records may be dropped, and made again on the way back."""

    kept_classes: ClassVar[Mapping[type, Any]]  # of variables whose calls are kept
    __slots__ = ()

    def cotangents(self) -> Cotangents:
        """Return a place for the cotangents of every record, while none are made again."""
        if self.folds is None:
            return Sums(len(self))
        return Sums(len(alone(self.folds.lock, self.folds.whole, self)))

    def fetching(self, bars: Cotangents, fetch: Fetch | None, consume: bool = False) -> Any:
        """Return what gives the records on the way back, those that were dropped among them."""
        return unfolding(self, bars, fetch) if consume or fetch is None else fetch

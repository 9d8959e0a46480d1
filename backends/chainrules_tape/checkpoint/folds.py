"""Records that were dropped, and how a pass back gets them again."""

from __future__ import annotations

import threading
from typing import Any, final

from chainrules_py.extend import alone
from chainrules_tape.core.cotangents import Cotangents
from chainrules_tape.core.tape import BareTape, Fetch


@final
class Folds:
    """Records of a tape that were dropped: one pass at a time has some of them made again."""

    __slots__ = ("lock",)

    def __init__(self) -> None:
        self.lock = threading.RLock()

    def cotangents(self, tape: BareTape) -> Cotangents:
        """Return a place for the cotangents of every record, while none are made again."""
        return Cotangents(alone(self.lock, len, tape))

    def fetching(
        self, tape: BareTape, bars: list[Any], fetch: Fetch | None, consume: bool = False
    ) -> Fetch:
        """Return what gives the records of a tape backwards, those that were dropped among them.

        A segment says where it starts, and ``segment.records(tape)`` makes its records again. It is
        asked when the pass comes to it, if one of its values has a cotangent; each record goes as
        it is played.
        """
        if fetch is not None and not consume:
            return fetch
        given: Fetch = fetch or alone(self.lock, list, tape).__getitem__
        again: dict[Any, Any] = {}

        def unfolded(index: int) -> tuple[Any, ...]:
            record = given(index)
            while record[0] is folded:
                segment = record[1]
                start = segment.start
                if not segment.whole:  # under a policy each record is made by itself
                    if bars[index] is None:
                        return record
                    record = segment.record(index, again.setdefault(segment, {}), consume)
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


def folded(*_: Any) -> None:
    """Stand for the pull of a record that was dropped: ``(folded, segment)``."""


folded.shown = "checkpointed"  # type: ignore[attr-defined]  # in listings

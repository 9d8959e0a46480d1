"""Segments: the records of a call that are dropped, and made again when the gradient needs them.

The records of a call are the stretch of the tape that was written during it. They are replaced by
a `Segment`, which runs the function again on the same variables, so that the new records stand at
the same places: whatever the function used, as an argument or by a name from outside, gets the
cotangents that it would have got.
"""

from __future__ import annotations

import functools
import threading
from typing import Any, final

from chainrules_kit import check_same, making_again, samples
from chainrules_py.extend import (
    Guard,
    Tracer,
    at_once,
    flatten,
    is_generator,
    name_of,
    states,
    unflatten,
)
from chainrules_tape.config import recorders
from chainrules_tape.core.tape import BareTape, Fetch, Notes, frozen
from chainrules_tape.core.variable import BareVariable


@final
class Folds:
    """Records of a tape that were dropped: one thread at a time has some of them made again.

    While it does, ``whole`` is the tape as it was: a signal handler may begin another pass.
    """

    __slots__ = ("lock", "whole")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.whole: list[tuple[Any, ...]] | None = None

    def records(self, tape: BareTape) -> list[tuple[Any, ...]]:
        """Return the records of a tape, those that were dropped as they stand for the others."""
        with self.lock:
            return self.whole or list(tape)

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
        given: Fetch = fetch or self.records(tape).__getitem__
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


# ------------------------------------------------------------------------------ what is run again


@final
class Stored:
    """A value whose variables of one tape are kept as payloads and places: no cycle holds them."""

    __slots__ = ("leaves", "tree")

    def __init__(self, value: Any, tape: BareTape) -> None:
        leaves, tree = flatten(value)
        self.leaves: list[tuple[Any, int | None]] = []
        for x in leaves:
            x = frozen(x) if isinstance(x, Tracer) else x
            mine = isinstance(x, BareVariable) and x.tape is tape
            self.leaves.append((x.payload, x.place) if mine else (x, None))
        # The shape of a registered structure may hold its values.
        _, self.tree = flatten(unflatten(tree, [x for x, _ in self.leaves]))

    def value(self, tape: BareTape) -> Any:
        """Return the value again, with variables of its own."""
        leaves = [x if i is None else tape.classes[type(x)](x, tape, i) for x, i in self.leaves]
        return unflatten(self.tree, leaves)


@final
class Segment:
    """The records of a call that were dropped, at ``start`` to before ``stop`` on their tape."""

    __slots__ = ("drawn", "generators", "given", "name", "seen", "start", "stop")
    whole = True
    parents = ()  # in listings: nobody knows them until the records are made again

    def __init__(self, f: Any, call: Any, tape: BareTape, generators: list[Any]) -> None:
        self.given = Stored((f, call), tape)
        self.name = name_of(f)
        self.start = self.stop = len(tape)
        # Those that it was given, that it captured, that stand in its module, and everybody's.
        self.generators = [x for x in flatten(call)[0] if is_generator(type(x))]
        self.generators += generators
        self.drawn = states(self.generators, shared=True)
        self.seen: Any = None

    def fold(self, tape: BareTape, y: Any, held: int) -> None:
        """Drop what was recorded since; ``held`` arrays were watched over before."""
        self.stop = len(tape)
        if self.stop == self.start:
            return
        self.seen = samples(y)
        tape[self.start :] = [(folded, self)] * (self.stop - self.start)
        tape.folds = tape.folds or Folds()
        tape.guard.settle(held)

    def records(self, tape: BareTape) -> list[tuple[Any, ...]]:
        """Make the records once more, by running the function on the same variables."""
        with tape.folds.lock:
            return self._records(tape)

    def _records(self, tape: BareTape) -> list[tuple[Any, ...]]:
        put = functools.partial(functools.partial, object.__setattr__, tape)
        state = [put(name, getattr(tape, name)) for name in ("__class__", "guard", "notes", "held")]
        folds, now = tape.folds, list(tape)
        back = functools.partial(tape.__setitem__, slice(None), now)
        # At the end, for where there is no memory for the others they stand there still.
        undone = functools.partial(setattr, folds, "whole", folds.whole)
        restore = at_once([*state, *states(self.generators, shared=True), back, undone])
        try:
            at_once(self.drawn)()
            folds.whole = folds.whole or now
            tape[:] = folds.whole[: self.start]
            # What it uses is watched over already, and hooks are hung where they were.
            tape.guard, tape.notes = Guard("off"), None if tape.notes is None else Notes()
            tape.held = tape.guard.held
            object.__setattr__(tape, "__class__", tape.when_open)
            f, (operands, keywords) = self.given.value(tape)
            recorders.under_way.append(tape)
            try:
                with making_again([self.given.leaves]):
                    y = f(*operands, **keywords)
            finally:
                recorders.under_way.pop()
            records = tape[self.start :]
        finally:
            restore()
        same = len(records) == self.stop - self.start
        check_same(f, y if same else None, self.seen)
        return records

"""Segments: the records of a call that are dropped and recomputed when the gradient needs them.

The records of a call are the stretch of the tape that was written during it. A `Segment` replaces
them. It runs the function again on the same variables, and the new records get the same indices,
so that every variable the function uses, as an argument or captured, gets the same cotangent.
"""

from __future__ import annotations

import functools
from typing import Any, final

from chainrules_kit import check_same, making_again, samples
from chainrules_py import MutationError
from chainrules_py.extend import (
    Closure,
    Guard,
    Lock,
    at_once,
    find_tracers,
    flatten,
    is_generator,
    name_of,
    objects,
    states,
    unflatten,
)
from chainrules_tape.array_writes.writes_and_views import current
from chainrules_tape.core.bare_tape import BareTape, Fetch, Notes, frozen
from chainrules_tape.core.variable import BareVariable
from chainrules_tape.rule_config import recorders


@final
class Folds:
    """Dropped records of a tape, which one thread at a time recomputes.

    Meanwhile ``whole`` holds the tape's records: a signal handler may begin another pass.
    """

    __slots__ = ("lock", "whole")

    def __init__(self) -> None:
        self.lock = Lock()
        self.whole: list[tuple[Any, ...]] | None = None

    def records(self, tape: BareTape) -> list[tuple[Any, ...]]:
        """Return the records of a tape, with the placeholders of those that were dropped."""
        with self.lock:
            return self.whole or list(tape)

    def fetching(
        self, tape: BareTape, bars: list[Any], fetch: Fetch | None, consume: bool = False
    ) -> Fetch:
        """Return a function that returns the record at an index, and recomputes dropped ones.

        A segment has its ``start``, and ``segment.records(tape)`` recomputes its records. This
        happens when the pass reaches the segment, if one of its values has a cotangent; each
        record is released once it is played.
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
                if not segment.whole:  # under a policy each record is recomputed by itself
                    if bars[index] is None:
                        return record
                    record = segment.record(index, again.setdefault(segment, {}), consume)
                    continue
                if segment not in again:
                    flows = any([bar is not None for bar in bars[start : index + 1]])
                    with self.lock:
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
    """Mark a dropped record, ``(folded, segment)``, in place of its pull."""


folded.shown = "checkpointed"  # type: ignore[attr-defined]  # in listings


# ------------------------------------------------------------------------------ recomputation


@final
class Stored:
    """Value whose variables of one tape are kept as payloads and indices, to avoid a cycle."""

    __slots__ = ("leaves", "tree")

    def __init__(self, value: Any, tape: BareTape) -> None:
        leaves, tree = flatten(value)
        self.leaves: list[tuple[Any, int | None]] = []
        for x in map(frozen, leaves):
            mine = isinstance(x, BareVariable) and x.tape is tape
            self.leaves.append((x.payload, x.place) if mine else (x, None))
        # The tree of a registered structure may hold its values.
        _, self.tree = flatten(unflatten(tree, [x for x, _ in self.leaves]))

    def value(self, tape: BareTape) -> Any:
        """Return the value with new variables of the tape."""
        return unflatten(
            self.tree,
            [x if i is None else tape.classes[type(x)](x, tape, i) for x, i in self.leaves],
        )


@final
class Segment:
    """The dropped records of a call, from index ``start`` to before ``stop`` on their tape."""

    __slots__ = ("drawn", "generators", "given", "name", "seen", "start", "stop")
    whole = True
    parents = ()  # in listings: unknown until the records are recomputed

    def __init__(self, f: Any, call: Any, tape: BareTape, generators: list[Any]) -> None:
        self.given, self.name = Stored((f, call), tape), name_of(f)
        self.start = self.stop = len(tape)
        # Generators among the arguments, captured ones, those in its module, and the global ones.
        self.generators = generators + [x for x in flatten(call)[0] if is_generator(type(x))]
        self.drawn = states(self.generators, shared=True)
        # For the records that this makes, with constructors, as it does when it runs again.
        _ = [x.filled() for x in self.given.value(tape)[:1] if type(x) is Closure]

    def fold(self, tape: BareTape, y: Any, held: int) -> None:
        """Drop the records made since ``start``; ``held`` arrays were guarded before."""
        _read_again(y)
        self.stop = len(tape)
        if self.stop == self.start:
            return
        self.seen = samples(y)
        tape[self.start : self.stop] = [(folded, self)] * (self.stop - self.start)
        tape.folds = tape.folds or Folds()
        tape.guard.settle(held)

    def records(self, tape: BareTape) -> list[tuple[Any, ...]]:
        """Recompute the records by running the function on the same variables."""
        put = functools.partial(functools.partial, object.__setattr__, tape)
        noted = [] if tape.level in objects else [functools.partial(objects.pop, tape.level, None)]
        folds, now, guard = tape.folds, list(tape), tape.guard
        restore = at_once(
            [
                *[
                    put(name, getattr(tape, name))
                    for name in ("__class__", "guard", "notes", "held")
                ],
                *noted,
                *states(self.generators, shared=True),
                functools.partial(tape.__setitem__, slice(None), now),
                # If memory runs out in an earlier step, `whole` still has the records.
                functools.partial(setattr, folds, "whole", folds.whole),
            ]
        )
        try:
            at_once(self.drawn)()
            folds.whole = folds.whole or now
            tape[:] = folds.whole[: self.start]
            # The hooks are already registered.
            tape.guard, tape.notes = Guard(guard.mode), None if tape.notes is None else Notes()
            tape.held = tape.guard.held
            object.__setattr__(tape, "__class__", tape.when_open)
            f, (operands, keywords) = self.given.value(tape)
            recorders.under_way.append(tape)
            try:
                with making_again([self.given.leaves]):
                    y = f(*operands, **keywords)
                    _read_again(y)
            except ValueError as error:  # of what the first run has locked
                guard.explain(error)
                raise
            finally:
                recorders.under_way.pop()
            tape.guard.check()
            records = tape[self.start :]
        finally:
            restore()
        check_same(f, y, self.seen)
        if len(records) != self.stop - self.start:
            raise MutationError(
                f"{self.name} gave something else when it was run again for its derivative, "
                f"{len(records)} calls for {self.stop - self.start}; it has to be a function of "
                f"its arguments, and no other thread may record meanwhile: write "
                f"checkpoint({self.name}, save='cheap'), or wait for the threads before it"
            )
        return records


def _read_again(y: Any) -> None:
    """Read the outdated views of a result again, which makes records of the call."""
    for x in find_tracers(y):
        current(x)

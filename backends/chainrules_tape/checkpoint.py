"""Checkpoints: a function whose records are dropped, and made again when the gradient needs them.

The records of a call are the stretch of the tape that was written during it. They are replaced by
a `Segment`, which runs the function again on the same variables, so that the new records stand at
the same places: whatever the function used, as an argument or by a name from outside, gets the
cotangents that it would have got.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import threading
import types
from collections.abc import Callable
from typing import Any, final

from chainrules_bridge import check_same, prints, samples
from chainrules_py import MutationError
from chainrules_py.extend import (
    LEAF,
    Guard,
    Made,
    Reach,
    Tracer,
    alone,
    at_once,
    find_tracers,
    flatten,
    highest_tracer,
    made,
    name_of,
    states,
    under_way,
    unflatten,
)
from chainrules_py.extend import frozen as frozen_function
from chainrules_tape.core.cotangents import Cotangents
from chainrules_tape.core.tape import BareTape, Fetch, Notes, frozen
from chainrules_tape.core.variable import BareVariable


def checkpoint(f: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function to keep only its arguments for the gradient, and compute the rest again.

    Memory for time: what f computes on the way is not kept on the tape; when the backward pass
    comes to it, f is run once more.

    Parameters
    ----------
    f : callable
        A function that gives the same whenever it is run. Random numbers that it draws are drawn
        once more, from generators as they were; they are put back afterwards.

    Returns
    -------
    callable
        Takes what f takes and gives what f gives, with the same derivatives, also in values that f
        uses by name. Outside of reverse mode, and on tapes that are kept to be looked at or
        differentiated themselves, it is f.

    Raises
    ------
    MutationError
        By the backward pass, if f gives something else when it is run again, or what it looks up
        (captured arrays, items, attributes) is another value by then.

    Notes
    -----
    With n calls in a row, each of which records k operations, memory grows as n + k instead of
    n k, so that a single call saves nothing; `checkpoint_chain` balances the two. Where
    differentiations are nested, the innermost reverse one is what forgets.

    A. Griewank, "Achieving logarithmic growth of temporal and spatial complexity in reverse
    automatic differentiation" (1992).

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_tape import grad
    >>> layer = checkpoint(lambda x, w: np.tanh(w * x))
    >>> bool(grad(lambda x: layer(layer(x, 2.0), 3.0))(0.0) == 6.0)
    True
    """

    def checkpointed(*operands: Any, **keywords: Any) -> Any:
        again, outside = frozen_function(f)
        tracer = highest_tracer((operands, keywords, outside))
        tape = tracer.tape if isinstance(tracer, BareVariable) else None
        if tape is None or (tape.notes is not None and tape.notes.calls is not None):
            return f(*operands, **keywords)
        segment = Segment(f, again, (operands, keywords), tape)
        held, hooks = len(tape.held), _hooks(tape)
        y = f(*operands, **keywords)
        if _hooks(tape) == hooks:
            segment.fold(tape, y, held)
        return y

    return made(checkpointed, f, checkpoint)  # type: ignore[no-any-return]


def checkpoint_chain(
    step: Callable[[Any, int], Any], n: int, *, segments: int | None = None
) -> Callable[[Any], Any]:
    """Build a loop ``for k in range(n): x = step(x, k)`` whose memory grows as the root of n.

    Parameters
    ----------
    step : callable
        From a value, and the number of the step, to the next value.
    n : int
        How many steps.
    segments : int, optional
        In how many checkpointed parts; by default the root of n.

    Returns
    -------
    callable
        From the first value to the last.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> grad(checkpoint_chain(lambda x, k: x * (k + 1), 4))(1.0)
    24.0
    """
    segments = max(1, math.isqrt(n)) if segments is None else segments
    if segments < 1:
        msg = f"segments={segments}; a chain has at least one"
        raise ValueError(msg)
    bounds = [n * i // segments for i in range(segments + 1)]

    @checkpoint
    def part(x: Any, start: int, stop: int) -> Any:
        for k in range(start, stop):
            x = step(x, k)
        return x

    def chain(x: Any) -> Any:
        for start, stop in itertools.pairwise(bounds):
            x = part(x, start, stop)
        return x

    whole = Made(chain)
    whole.recipe = checkpoint_chain, (step, n), {"segments": segments}
    return whole


_FEW = 4096
"""Results of so many numbers are kept, to compare what is given when it is run again."""


def _hooks(tape: BareTape) -> int:
    return 0 if tape.notes is None else sum(map(len, tape.notes.hooks.values()))


# ------------------------------------------------------------------------------ what is run again


@final
class Stored:
    """A value whose variables of one tape are kept as payloads and places: no cycle holds them."""

    __slots__ = ("leaves", "tree")

    def __init__(self, value: Any, tape: BareTape) -> None:
        leaves, self.tree = flatten(value)
        self.leaves: list[tuple[Any, int | None]] = []
        for x in leaves:
            x = frozen(x) if isinstance(x, Tracer) else x
            mine = isinstance(x, BareVariable) and x.tape is tape
            self.leaves.append((x.payload, x.index) if mine else (x, None))
        if self.tree is not LEAF:  # the shape of a registered structure may hold its values
            _, self.tree = flatten(unflatten(self.tree, [x for x, _ in self.leaves]))

    def value(self, tape: BareTape) -> Any:
        """Return the value again, with variables of its own."""
        leaves = [x if i is None else tape.classes[type(x)](x, tape, i) for x, i in self.leaves]
        return unflatten(self.tree, leaves)


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


@final
class Segment:
    """The records of a call that were dropped, at ``start`` to before ``stop`` on their tape."""

    __slots__ = (
        "arguments", "cells", "drawn", "function", "guard", "reach", "rules", "seen", "start",
        "stop",
    )  # fmt: skip
    parents = ()  # in listings: nobody knows them until the records are made again

    def __init__(self, f: Any, function: Any, arguments: Any, tape: BareTape) -> None:
        self.function = function
        # Names that f assigns to itself are shared with it; cells compare by what is in them.
        shared = set(map(id, getattr(f, "__closure__", None) or ()))
        self.arguments = Stored(arguments, tape)
        cells: tuple[types.CellType, ...] = getattr(function, "__closure__", None) or ()
        self.cells: dict[int, Stored] = {}
        for k, cell in enumerate(cells):
            if id(cell) not in shared and _holds_tracers(cell):
                self.cells[k] = Stored(cell.cell_contents, tape)
                cell.cell_contents = None  # of a copy, which is not called
        self.start = self.stop = len(tape)
        self.guard = Guard("off" if tape.guard.mode == "off" else "fingerprint")
        self.reach = self._reach()
        self.drawn = self._states()
        self.seen: Any = None
        self.rules: set[Any] = set()

    def _reach(self) -> Reach:
        """Search what looks values up, and the values that are no variables."""
        stored = (self.arguments, *self.cells.values())
        plain = [x for values in stored for x, index in values.leaves if index is None]
        return Reach([self.function, *plain])

    def _states(self) -> list[Callable[[], Any]]:
        return states(self.reach.generators, self.reach.may_draw())

    def fold(self, tape: BareTape, y: Any, held: int) -> None:
        """Drop what was recorded since; ``held`` arrays were watched over before."""
        self.stop = len(tape)
        if self.stop == self.start:
            return
        self.seen = prints(y), samples(y, _FEW)
        self.rules = _rules(tape[self.start :])
        tape[self.start :] = [(folded, self)] * (self.stop - self.start)
        reach = self.reach if self.reach.lasts() else self._reach()
        self.guard.watch(reach, f"which {name_of(self.function)} looks at")
        tape.folds = tape.folds or Folds()
        tape.guard.settle(held)

    def records(self, tape: BareTape) -> list[tuple[Any, ...]]:
        """Make the records once more, by running the function on the same variables."""
        return alone(tape.folds.lock, self._records, tape)  # type: ignore[no-any-return]

    def _records(self, tape: BareTape) -> list[tuple[Any, ...]]:
        folds, aside = tape.folds, tape.folds.aside
        self.guard.check()
        # Within another, of a signal handler or finaliser, what that has made is put aside as well.
        whole = tape if aside is None else folds.whole(tape)
        first, after = (self.start if aside is None else 0), slice(self.start, None)
        put = functools.partial(functools.partial, object.__setattr__, tape)
        state = [put(name, getattr(tape, name)) for name in ("__class__", "guard", "notes", "held")]
        tail = functools.partial(tape.__setitem__, slice(first, None), tape[first:])
        undone = functools.partial(setattr, folds, "aside", aside)
        begun = (
            threading.get_ident(),
            at_once([*state, tail, undone, *self._states()]),
        )
        restore = begun[1]
        try:
            under_way.append(begun)
            at_once(self.drawn)()
            folds.aside = self.start, whole[after]
            tape[first:] = whole[first : self.start]
            # What it uses is watched over already, and hooks are hung where they were.
            tape.guard, tape.notes = Guard("off"), None if tape.notes is None else Notes()
            tape.held = tape.guard.held
            object.__setattr__(tape, "__class__", tape.when_open)
            operands, keywords = self.arguments.value(tape)
            y = self._filled(tape)(*operands, **keywords)
            records = tape[after]
        finally:
            restore()
            with contextlib.suppress(ValueError):  # there was no memory to enter it
                under_way.remove(begun)
        same = len(records) == self.stop - self.start
        if not same or prints(y) != self.seen[0]:
            check_same(self.function, y if same else None, self.seen[1], _FEW)
        if _rules(records) != self.rules:
            msg = (
                f"rules of what {name_of(self.function)} calls were stated since it was called: "
                f"the checkpoint would be played with others; state them before"
            )
            raise MutationError(msg)
        return records

    def _filled(self, tape: BareTape) -> Any:
        """Return the function around the variables that it captured."""
        f = self.function
        if not self.cells:
            return f
        cells = list(f.__closure__)
        for k, kept in self.cells.items():
            cells[k] = types.CellType(kept.value(tape))
        again = types.FunctionType(
            f.__code__, f.__globals__, f.__name__, f.__defaults__, tuple(cells)
        )
        again.__kwdefaults__ = f.__kwdefaults__
        return again


def _rules(records: list[tuple[Any, ...]]) -> set[Any]:
    """Collect the statements that records were made by, those that were dropped among them."""
    found = {getattr(record[0], "statement", None) for record in records}
    return found.union(*[s.rules for s in {r[1] for r in records if r[0] is folded}])


def _holds_tracers(cell: types.CellType) -> bool:
    try:
        return bool(find_tracers(cell.cell_contents))
    except ValueError:  # it is empty
        return False


# ---------------------------------------------------------------- records that were dropped


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
    again: dict[Any, list[Any] | None] = {}

    def unfolded(index: int) -> tuple[Any, ...]:
        record = given(index)
        while record[0] is folded:
            segment = record[1]
            start = segment.start
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

    __slots__ = ()

    def cotangents(self) -> Cotangents:
        """Return a place for the cotangents of every record, while none are made again."""
        if self.folds is None:
            return Cotangents(len(self))
        return Cotangents(len(alone(self.folds.lock, self.folds.whole, self)))

    def fetching(self, bars: Cotangents, fetch: Fetch | None, consume: bool = False) -> Any:
        """Return what gives the records on the way back, those that were dropped among them."""
        return unfolding(self, bars, fetch) if consume or fetch is None else fetch

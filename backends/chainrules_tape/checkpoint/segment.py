"""Segments: the records of a call that are dropped, and made again when the gradient needs them.

The records of a call are the stretch of the tape that was written during it. They are replaced by
a `Segment`, which runs the function again on the same variables, so that the new records stand at
the same places: whatever the function used, as an argument or by a name from outside, gets the
cotangents that it would have got.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, final

from chainrules_kit import check_same, making_again, prints, samples
from chainrules_py.extend import (
    LEAF,
    Guard,
    Tracer,
    alone,
    at_once,
    content,
    flatten,
    is_generator,
    states,
    traced_in,
    unflatten,
)
from chainrules_tape.checkpoint.folds import Folds, folded
from chainrules_tape.config import recorders
from chainrules_tape.core.tape import BareTape, Notes, frozen
from chainrules_tape.core.variable import BareVariable

_FEW = 4096
"""Results of so many numbers are kept, to compare what is given when it is run again."""


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
            self.leaves.append((x.payload, x.place) if mine else (x, None))
        if self.tree is not LEAF:  # the shape of a registered structure may hold its values
            _, self.tree = flatten(unflatten(self.tree, [x for x, _ in self.leaves]))

    def value(self, tape: BareTape) -> Any:
        """Return the value again, with variables of its own."""
        leaves = [x if i is None else tape.classes[type(x)](x, tape, i) for x, i in self.leaves]
        return unflatten(self.tree, leaves)


@final
class Segment:
    """The records of a call that were dropped, at ``start`` to before ``stop`` on their tape."""

    __slots__ = (
        "arguments", "cells", "drawn", "function", "generators", "seen", "start", "stop",
    )  # fmt: skip
    whole = True
    parents = ()  # in listings: nobody knows them until the records are made again

    def __init__(
        self,
        function: Any,
        arguments: Any,
        tape: BareTape,
        captured: list[Any],
        generators: list[Any],
    ) -> None:
        self.function = function
        self.arguments = Stored(arguments, tape)
        cells: tuple[types.CellType, ...] = getattr(function, "__closure__", None) or ()
        self.cells: dict[int, Stored] = {}
        for k, cell in enumerate(cells if captured else ()):
            x = content(cell)
            if not callable(x) and traced_in(x):
                self.cells[k] = Stored(x, tape)
                cell.cell_contents = None  # of a copy, which is not called
        self.start = self.stop = len(tape)
        # Those that it was given, that it captured, that stand in its module, and everybody's.
        self.generators = [x for x in flatten(arguments)[0] if is_generator(type(x))]
        self.generators += generators
        self.drawn = self._states()
        self.seen: Any = None

    def _states(self) -> list[Callable[[], Any]]:
        return states(self.generators, shared=True)

    def fold(self, tape: BareTape, y: Any, held: int) -> None:
        """Drop what was recorded since; ``held`` arrays were watched over before."""
        self.stop = len(tape)
        if self.stop == self.start:
            return
        self.seen = prints(y), samples(y, _FEW)
        tape[self.start :] = [(folded, self)] * (self.stop - self.start)
        tape.folds = tape.folds or Folds()
        tape.guard.settle(held)

    def records(self, tape: BareTape) -> list[tuple[Any, ...]]:
        """Make the records once more, by running the function on the same variables."""
        return alone(tape.folds.lock, self._records, tape)  # type: ignore[no-any-return]

    def _records(self, tape: BareTape) -> list[tuple[Any, ...]]:
        folds, aside = tape.folds, tape.folds.aside
        # Within another, of a signal handler or finaliser, what that has made is put aside as well.
        whole = tape if aside is None else folds.whole(tape)
        first, after = (self.start if aside is None else 0), slice(self.start, None)
        put = functools.partial(functools.partial, object.__setattr__, tape)
        state = [put(name, getattr(tape, name)) for name in ("__class__", "guard", "notes", "held")]
        tail = functools.partial(tape.__setitem__, slice(first, None), tape[first:])
        undone = functools.partial(setattr, folds, "aside", aside)
        restore = at_once([*state, tail, undone, *self._states()])
        try:
            at_once(self.drawn)()
            folds.aside = self.start, whole[after]
            tape[first:] = whole[first : self.start]
            # What it uses is watched over already, and hooks are hung where they were.
            tape.guard, tape.notes = Guard("off"), None if tape.notes is None else Notes()
            tape.held = tape.guard.held
            object.__setattr__(tape, "__class__", tape.when_open)
            operands, keywords = self.arguments.value(tape)
            recorders.under_way.append(tape)
            try:
                with making_again([s.leaves for s in (self.arguments, *self.cells.values())]):
                    y = self._filled(tape)(*operands, **keywords)
            finally:
                recorders.under_way.pop()
            records = tape[after]
        finally:
            restore()
        same = len(records) == self.stop - self.start
        if not same or prints(y) != self.seen[0]:
            check_same(self.function, y if same else None, self.seen[1], _FEW)
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

"""Extremes that a function subtracts and puts back, as in ``m + log(sum(exp(x - m)))``.

What comes out does not hang on m, which is read off the records: they are followed from the extreme
onwards, by how words carry a `Shift`. Where one is met of which that is not known, or an output
that hangs on m, then m is an extreme as any other, and gets its cotangent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from chainrules_py import Primitive
from chainrules_py.extend import Recorder, SettledCalls, Shift, extremes, shifted
from chainrules_tape.core.links import parents
from chainrules_tape.core.tape import BareTape
from chainrules_tape.core.variable import BareVariable


class NotesExtremes(SettledCalls, BareVariable):
    """Variables whose tape notes which records are extremes."""

    __slots__ = ()

    @classmethod
    def recorder(
        cls,
        primitive: Primitive[..., Any],
        primal: Callable[..., Any] | None,
        classes: tuple[type, ...],
    ) -> Recorder:
        """Return what records calls."""
        record = super().recorder(primitive, primal, classes)
        if primitive not in extremes:
            return record

        def noted(operands: tuple[Any, ...], options: dict[str, Any], at: Any = None) -> Any:
            made = record(operands, options, at)
            if isinstance(made, BareVariable):
                tape: Any = made.tape
                tape.extremes.append((made.place, getattr(made.payload, "shape", ())))
            return made

        return noted


Cut = tuple[int, int]
"""A record that gets an extreme and something else, and which of the two is the other."""


def forget_shifts(
    tape: BareTape, noted: Sequence[tuple[int, tuple[int, ...]]], outputs: Iterable[int | None]
) -> None:
    """Let nothing flow back to extremes that the outputs of a tape do not hang on.

    Parameters
    ----------
    tape : BareTape
        The records, of a differentiation that is over.
    noted : sequence of (int, tuple)
        The records of extremes, and the shapes of what they gave.
    outputs : iterable of int
        The records that cotangents may be given to; None of a result without one.
    """
    notes = tape.notes
    if tape.folds is not None or (notes is not None and (notes.hooks or notes.always)):
        return
    shapes = {i: shape for i, shape in noted if tape[i][0].statement.source.is_ours}
    cuts: dict[int, list[Cut]] = {i: [] for i in shapes}
    states: dict[int, dict[int, Shift]] = {}
    pure: dict[int, int] = {}
    for index in range(noted[0][0], len(tape)):
        record = tape[index]
        links = record[1]
        of = (links,) if type(links) is int else parents(links)
        found = (
            {} if states.keys().isdisjoint(of) else _found(record, of, states, pure, cuts, index)
        )
        if index in shapes:
            found[index] = Shift.of(shapes[index])
            pure[index] = index
        if found:
            states[index] = found
    for output in outputs:
        for extreme in states.get(-1 if output is None else output, ()):
            cuts.pop(extreme, None)
    for index, kept in [cut for each in cuts.values() for cut in each]:
        pull, links, *saved = tape[index]
        tape[index] = (pull.parts[kept], parents(links)[kept], *saved)


def _found(
    record: tuple[Any, ...],
    of: tuple[int, ...],
    states: dict[int, dict[int, Shift]],
    pure: dict[int, int],
    cuts: dict[int, list[Cut]],
    index: int,
) -> dict[int, Shift]:
    """Return how a result hangs on each extreme; drop those of which nothing more is known."""
    pull, word = record[0], None
    statement = getattr(pull, "statement", None)
    alone = [pure.get(i) for i in of]  # what hangs on nothing but an extreme
    if statement is not None and (len(of) == 1 or (len(pull.parts) == 2 and None in alone)):
        word = statement.primal
    found: dict[int, Shift] = {}
    for extreme in {e for i in of for e in states.get(i, ()) if e in cuts}:
        state = shifted(word, [states.get(i, _NONE).get(extreme) for i in of], record[2:])
        if state is None:
            del cuts[extreme]
        elif state.d:
            found[extreme] = state
        if state is not None and len(of) == 2 and extreme in alone:
            cuts[extreme].append((index, alone.index(None)))
    if len(of) == 1 and alone[0] is not None:
        pure[index] = alone[0]
    return found


_NONE: dict[int, Shift] = {}

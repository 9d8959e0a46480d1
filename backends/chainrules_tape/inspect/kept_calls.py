"""Calls that a tape keeps beside its records: to show them, or to record them once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from chainrules_py import Primitive
from chainrules_py.extend import is_structure_type, type_info
from chainrules_tape.core.tape import BareTape, Notes
from chainrules_tape.core.variable import BareVariable, reopen
from chainrules_tape.inspect.nans import check_value, source_line, trap_is_set, trapped


class KeptNotes(Notes):
    """Facts about a tape, its calls among them.

    Parameters
    ----------
    differentiable : bool
        Whether gradients are recorded as well.
    """

    __slots__ = ()

    def __init__(self, differentiable: bool = False) -> None:
        super().__init__()
        self.differentiable = differentiable
        self.calls = {}

    def keep(self, index: int, *call: Any) -> None:
        """Keep a call; under `debug_nans` look at its value."""
        primitive, primal, opened, options, value = call
        where = source_line((value, *[payload for payload, _ in opened]))
        kept = KeptCall(primitive, primal, opened, options, value, where)
        if self.calls is not None:
            self.calls[index] = kept
        if trap_is_set():
            check_value(kept)

    def player(self) -> Any:
        """Return the loop that plays records back inside `debug_nans`: it looks at each."""
        return trapped(self.calls) if self.calls is not None and trap_is_set() else None


class KeptCall:
    """A call as it was recorded: enough to show it, and to record it once more.

    Operands are kept as pairs of payload and link, not as variables: they would hold the tape.
    """

    __slots__ = ("opened", "options", "primal", "primitive", "value", "where")

    def __init__(
        self,
        primitive: Primitive[..., Any],
        primal: Callable[..., Any] | None,
        opened: list[tuple[Any, Any]],
        options: dict[str, Any],
        value: Any,
        where: str = "",
    ) -> None:
        self.primitive = primitive
        self.primal = primal
        self.opened = opened
        self.options = options
        self.value = value
        self.where = where

    def run(self, links: Any, xs: Sequence[Any]) -> Any:
        """Make the call again, of other operands of these types: return the value and the record.

        Bit by bit as it was: as the rule computes it.
        """
        classes, wanted = tuple(map(type, xs)), tuple([at is not None for _, at in self.opened])
        _, bound = BareVariable.tracing.find(self.primitive, self.primal, classes, wanted)
        assert bound is not None  # as it was when the call was recorded
        return bound.run(links, *xs, **self.options)


def replayed(tape: BareTape) -> Callable[[int], Any]:
    """Make a function that gives a tape's records, with saved values as variables of the tape."""
    calls = (tape.notes and tape.notes.calls) or {}

    def fetch(index: int) -> Any:
        record = tape[index]
        call = calls.get(index)
        if call is None:  # an input, or a field of a structure
            return record
        if record[0].statement.recipe.saves_values:
            values = [*call.opened, (call.value, index)]
            known = {id(value): (value, link) for value, link in values}
            kinds = [type(value) for value, _ in values]  # of some the identity says nothing
            some = any([type_info(c).is_python_number or is_structure_type(c) for c in kinds])
            if len(known) == len(values) and not some:
                found = [known.get(id(s), (s, None)) for s in record[2:]]
                return (*record[:2], *[reopen(value, link, tape) for value, link in found])
        operands = [reopen(payload, link, tape) for payload, link in call.opened]
        return call.run(record[1], operands)[1]  # so that what its rule computes is recorded

    return fetch

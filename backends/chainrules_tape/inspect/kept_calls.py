"""Calls that a tape keeps beside its records: to show them, or to record them once more."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from chainrules_py import Primitive
from chainrules_tape.core.backward import play
from chainrules_tape.core.cotangents import Cotangents
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

    def operands(self, tape: BareTape) -> list[Any]:
        """Return the operands, as variables again."""
        return [reopen(payload, link, tape) for payload, link in self.opened]


class KeepsCalls(BareVariable):
    """Variables of tapes that keep their calls, and all values."""

    __slots__ = ()

    def _put(self, pattern: Any, arrays: tuple[Any, ...], value: Any) -> bool:
        """Return False: the tape keeps all values, so none is written over."""
        return False


class Trapped(BareTape):
    """Tapes that are played back one record at a time while `debug_nans` looks at them."""

    __slots__ = ()

    def player(self) -> Callable[[Iterable[Any], Cotangents, int, int], None]:
        """Return the loop that plays records back; inside `debug_nans` one that looks."""
        calls = None if self.notes is None else self.notes.calls
        return trapped(calls) if calls is not None and trap_is_set() else play

"""Linearization: run a function once and keep its derivative as a linear tape of pushes.

A `LinearTape` corresponds to the tape of reverse mode: it has a record ``(push, links, *saved)``
for each call, but is played forwards, for one direction or for many at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, final

from chainrules_py import Tangent, ZeroTangent, is_zero, unthunk
from chainrules_py.extend import (
    ZEROS,
    Bound,
    Classes,
    Guard,
    GuardMode,
    SettledCalls,
    Trace,
    batched,
    describe,
    missing,
    note_rule,
)
from chainrules_tape.array_writes.writes_and_views import Writable
from chainrules_tape.core.bare_tape import BareTape, Closed
from chainrules_tape.core.cotangent_routing import parents
from chainrules_tape.core.variable import OnTape, Recording
from chainrules_tape.inspect.kept_calls import check_pushed, trap_is_set


class LinearTape(BareTape):
    """Records of one linearization, in the order of the calls."""

    __slots__ = ("order",)

    def __init__(self, guard: GuardMode = "sample") -> None:
        super().__init__(Guard(guard), _classes)
        self.order: list[tuple[int, tuple[int, ...]]] = []

    def trim(self, outputs: Iterable[int]) -> None:
        """Drop records that the outputs do not depend on, and find the last use of each tangent."""
        wanted = set(outputs)
        seen = set(wanted)
        for index in range(len(self) - 1, -1, -1):
            record = self[index]
            if index not in wanted:
                self[index] = (None, ())
            elif record[0] is not None:
                among = set(parents(record[1]))
                self.order.append((index, tuple(among - seen)))
                seen |= among
                wanted |= among
        self.order.reverse()

    def push(
        self, dots: dict[int, Any], outputs: Iterable[int], *, many: bool = False
    ) -> list[Any]:
        """Push the tangents of the inputs to the outputs.

        Parameters
        ----------
        dots : dict
            From the indices of inputs to their tangents; the dict is consumed.
        outputs : iterable of int
            The indices that were passed to `trim`.
        many : bool
            Whether the tangents have a leading axis of directions.
        """
        self.guard.check()
        record: tuple[Any, ...] = ()
        tangents: tuple[Any, ...] = ()
        try:
            for index, used in self.order:
                record = self[index]
                half = record[0]
                tangents = tuple([_gathered(link, dots) for link in record[1]])
                if not ZEROS.issuperset(map(type, tangents)):
                    half = batched(half) if many else half
                    try:
                        dots[index] = unthunk(half(tangents, *record[2:]))
                    except Exception:
                        if (lost := missing(tangents)) is None:
                            raise
                        dots[index] = lost
                for i in used:
                    dots.pop(i, None)
        except Exception as error:
            if record:
                note_rule(error, record[0], f"pushing {', '.join(map(describe, tangents))}")
            raise
        return [dots.get(i, _ZERO) for i in outputs]


class ClosedLinearTape(Closed, LinearTape):
    """Linear tape of a function that has returned."""

    __slots__ = ()


LinearTape.when_closed = LinearTape.when_consumed = ClosedLinearTape


def field(tangents: tuple[Any, ...], key: Any) -> Any:
    """Return the tangent of a field."""
    (t,) = tangents
    return t if is_zero(t) else t[key]


field.batched = True  # type: ignore[attr-defined]


@final
class Fields:
    """Link of an operand that is a structure: the links of its fields."""

    __slots__ = ("cls", "parents")

    def __init__(self, cls: type, links: dict[Any, Any]) -> None:
        self.cls, self.parents = cls, links


def _gathered(link: Any, dots: dict[int, Any]) -> Any:
    if type(link) is int:
        return dots.get(link, _ZERO)
    parts = {key: _gathered(inner, dots) for key, inner in link.parents.items()}
    parts = {key: t for key, t in parts.items() if not is_zero(t)}
    return Tangent.of(link.cls, parts) if parts else _ZERO


_ZERO = ZeroTangent()


class Linearizing(Recording):
    """Tracing of linearization: as in reverse mode, but a record holds a push."""

    mode = "linearize"
    debugged = staticmethod(trap_is_set)

    def fields(self, cls: type, links: dict[Any, Any]) -> Fields:
        """Return the link of a structure."""
        return Fields(cls, links)

    def part(self, at: BareTape, link: int, value: Any, key: Any) -> int:
        """Record that a field was read from a result; return the index of that record."""
        at.append((field, (link,), key))
        return len(at) - 1

    def linker(self, bound: Bound, flat: bool) -> Callable[[tuple[Any, ...]], Any]:
        """Return the function that makes the links of a record: a tuple of indices."""
        return tuple

    def leave(self, at: BareTape, y: Any, out: Any, arrays: Sequence[Any], bound: Bound) -> Any:
        """Append the record, guard the arrays, and return the variable."""
        index = len(at)
        at.append(out)
        for array in arrays:
            at.guard.hold(array, out[:1])
        return at.classes[type(y)](y, at, index)

    def note(self, at: BareTape, call: tuple[Any, ...], links: Any, y: Any, out: Any) -> None:
        """Raise inside `debug_nans` if the call made a NaN."""
        if trap_is_set():
            check_pushed(call[0], [payload for payload, _ in call[2]], (), y, None)


class LinearVariable(SettledCalls, Writable, OnTape):
    """Value whose tangent is computed later. It has a subclass for each type of payload."""

    __slots__ = ()
    engine = "linear"
    tracing: ClassVar[Trace] = Linearizing()


Linearizing.tracer = LinearVariable
_classes = Classes(LinearVariable, LinearVariable.tracing.wrap_fields)

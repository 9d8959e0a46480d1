"""Variables of reverse mode: values on a tape, each call of which becomes a record."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from chainrules_py import Primitive, Tangent, space
from chainrules_py.extend import (
    ArrayLike,
    Bound,
    Trace,
    fields_of,
    rebuild,
    structure_of,
)
from chainrules_tape.core.bare_tape import BareTape
from chainrules_tape.core.cotangent_routing import INPUT, Links, Structured, two
from chainrules_tape.rule_config import config, recorders


class Recording(Trace):
    """Tracing of reverse mode: the link of a variable is the index of its record."""

    mode = "reverse"
    config = config
    at = operator.attrgetter("tape")
    link = operator.attrgetter("place")

    def fields(self, cls: type, links: dict[Any, Any]) -> Any:
        """Return the indices of the fields that have a record, by their keys."""
        return links

    def part(self, at: BareTape, link: int, value: Any, key: Any) -> int:
        """Record that a field was read from a result; return the index of that record."""
        cls = type(value)
        structure = structure_of(cls)
        positions = structure is not None and structure.kind == "positions"
        at.append((into_field, link, cls, key, len(value) if positions else None))
        return len(at) - 1

    def linker(self, bound: Bound, flat: bool) -> Callable[[tuple[Any, ...]], Any]:
        """Return the function that makes the links of a record: an index, a pair, or an object."""
        n = sum(bound.wanted)
        if not flat or bound.may_be_zero:
            return Structured
        return Links if n > 2 else operator.itemgetter(0) if n == 1 else two

    def leave(self, at: BareTape, y: Any, out: Any, arrays: Sequence[Any], bound: Bound) -> Any:
        """Append the record, guard the arrays that it depends on, and return the variable."""
        index = len(at)
        at.append(out)
        for array in arrays:
            if at.notes is not None and at.notes.calls is not None:
                at.guard.hold(array, out[:1])
            else:
                at.capture(array, out, bound.may_be_zero)
        if bound.recipe.always:
            at.note().always[index] = space(y)
        return at.classes[type(y)](y, at, index)

    def wrap(self, value: Any, at: BareTape, link: int) -> Any:
        """Return a value as the result of the record at an index."""
        return at.classes[type(value)](value, at, link)

    def note(self, at: BareTape, call: tuple[Any, ...], links: Any, y: Any, out: Any) -> None:
        """Keep a call, if the tape keeps calls."""
        if at.notes is not None:
            at.notes.keep(len(at), out, *call, y)


class OnTape(ArrayLike):
    """Value with a record on a tape, in reverse or in linearized mode.

    Attributes
    ----------
    payload
        The value: an array or number, or a tracer of an outer differentiation.
    tape : BareTape
        The tape of its record.
    place : int
        Index of its record on the tape.
    """

    __slots__ = ("payload", "place", "tape")
    state: ClassVar[tuple[str, ...]] = __slots__
    config = config
    __dispatch_type__: ClassVar[type]
    payload_type: ClassVar[type]

    def __init__(self, value: Any, tape: BareTape, place: int) -> None:
        self.payload = value
        self.tape = tape
        self.place = place

    @property
    def level(self) -> int:
        """The level of its tape."""
        return self.tape.level

    @property
    def is_over(self) -> bool:
        """Whether its tape is closed."""
        return self.tape.state != "open"

    _is_shown = property(lambda x: recorders.made.get(id(x.tape)) is x.tape)

    def _leaf(self, value: Any) -> Any:
        """Return an input whose gradient is not needed."""
        tape = self.tape
        tape.append(INPUT)
        return tape.classes[type(value)](value, tape, len(tape) - 1)


class BareVariable(OnTape):
    """Value on a tape. It has a subclass for each type of payload.

    Attributes
    ----------
    tracing : Trace
        How its calls are recorded.
    results : mapping
        From the type of a value to the class of its variables.
    """

    __slots__ = ()
    engine = "tape"
    tracing: ClassVar[Trace] = Recording()
    results: ClassVar[Mapping[type, Any]]

    def __trace__(
        self,
        primitive: Primitive[..., Any],
        operands: tuple[Any, ...],
        options: dict[str, Any],
        primal: Callable[..., Any] | None = None,
    ) -> Any:
        """Record a call on this tape, which has the highest level in the call."""
        return self.tracing.call(primitive, primal, operands, options, self.tape)


Recording.tracer = BareVariable


def into_field(bar: Any, cls: type, key: Any, length: int | None) -> Any:
    """Return the cotangent of a structure with one in a field, and zero elsewhere."""
    return Tangent.of(cls, {key: bar}, length)


into_field.batched = True  # type: ignore[attr-defined]


def reopen(payload: Any, link: Any, tape: BareTape) -> Any:
    """Return a payload as the variable, or structure of variables, that it was opened from."""
    if link is None:
        return payload
    if type(link) is int:
        return tape.classes[type(payload)](payload, tape, link)
    fields = [reopen(field, link.get(key), tape) for key, field in fields_of(payload)]
    return rebuild(payload, fields)

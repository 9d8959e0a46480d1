"""Variables of reverse mode: values on a tape, on which each call becomes a record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

from chainrules_py import Primitive, Tangent, bind, find_rule
from chainrules_py.extend import (
    ArrayLike,
    Bound,
    demand_rule,
    fields_of,
    find_tracers,
    is_structure_type,
    is_tracer_type,
    rebuild,
    structure_of,
)
from chainrules_tape.config import config
from chainrules_tape.core.links import LEAF, Links, OneMaybeZero, Structured
from chainrules_tape.core.tape import BareTape, frozen, plain_arrays

__all__ = ["BareVariable", "linker", "record_call", "reopen", "through", "wrap", "wrap_fields"]

Linker: TypeAlias = Callable[[Bound], Callable[[list[Any]], Any]]


def linker(bound: Bound) -> Callable[[list[Any]], Any]:
    """Return what makes the links of a record of its parents: an index, a pair, or an object."""
    if bound.may_be_zero and sum(bound.wanted) == 1:
        return lambda links: OneMaybeZero(links[0])
    if bound.may_be_zero:
        return lambda links: Structured(tuple(links))
    if sum(bound.wanted) > 2:
        return lambda links: Links(tuple(links))
    if sum(bound.wanted) == 1:
        return lambda links: links[0]
    return tuple


class BareVariable(ArrayLike):
    """Value on a tape. It has a subclass for each type of payload.

    Attributes
    ----------
    payload
        The value: of the library, or a tracer of an outer differentiation.
    tape : BareTape
        Where its record stands.
    index : int
        Its record.
    """

    __slots__ = ("index", "payload", "tape")
    state: ClassVar[tuple[str, ...]] = __slots__
    engine = "tape"
    config = config
    links_of = staticmethod(linker)
    __dispatch_type__: ClassVar[type]
    payload_type: ClassVar[type]

    def __init__(self, value: Any, tape: BareTape, index: int) -> None:
        self.payload = value
        self.tape = tape
        self.index = index

    @property
    def level(self) -> int:
        """The level of its tape."""
        return self.tape.level

    def __trace__(
        self,
        primitive: Primitive[..., Any],
        operands: tuple[Any, ...],
        options: dict[str, Any],
        primal: Callable[..., Any] | None = None,
    ) -> Any:
        """Record a call on this tape, which is the highest of the call's."""
        return record_call(primitive, primal, self.tape, operands, options, self.links_of)

    def _leaf(self, value: Any) -> Any:
        """Return an input that no gradient is asked for."""
        tape = self.tape
        tape.append((None, LEAF))
        return wrap(value, tape, len(tape) - 1)


def record_call(
    primitive: Primitive[..., Any],
    primal: Callable[..., Any] | None,
    tape: BareTape,
    operands: tuple[Any, ...],
    options: dict[str, Any],
    linker: Linker,
) -> Any:
    """Record a call the general way: operands may be structures, or variables of several tapes.

    Parameters
    ----------
    primitive : Primitive
        The word that is called.
    primal : callable or None
        What the program called, where that is not the primitive.
    tape : BareTape
        The highest tape of the call's.
    operands, options
        What it is called with.
    linker : callable
        Makes the links of a record of a bound rule; `linker`, unless short ways are plugged in.
    """
    opened = [_open(x, tape) for x in operands]
    payloads = [payload for payload, _ in opened]
    wanted = tuple([part is not None for _, part in opened])
    classes = tuple(map(type, payloads))
    rule = find_rule(primitive, classes, config)
    if rule is None or rule.reverse is None:
        return through(primitive, operands, options, classes, "reverse")
    bound = bind(rule, classes, wanted, "reverse", primal=primal, config=config)
    if bound is None:
        return (primal or primitive)(*payloads, **options)
    parts = [part for (_, part), w in zip(opened, bound.wanted, strict=True) if w]
    flat = all(type(part) is int for part in parts)
    y, record = bound.run(
        linker(bound)(parts) if flat else Structured(tuple(parts)), *payloads, **options
    )
    index = len(tape)
    tape.append(record)
    keeps = tape.notes is not None and tape.notes.calls is not None
    for x, (_, part) in zip(operands, opened, strict=True):
        if type(part) is not int:
            for array in plain_arrays(x):
                tape.capture(array, record, keeps or bound.may_be_zero)
    tape.watch(record)
    if tape.notes is not None:
        tape.notes.keep(index, primitive, primal, opened, options, y)
    made = wrap(y, tape, index)
    views = opened and type(opened[0][1]) is int and isinstance(made, BareVariable)
    if views and bound.may_view:
        made.note_view(primitive, operands, options, y, payloads[0])
    return made


def wrap_fields(value: Any, tape: BareTape, index: int) -> Any:
    """Return a structure with a variable for each field, each with a record of its own."""
    cls = type(value)
    made = []
    structure = structure_of(cls)
    length = len(value) if structure is not None and structure.kind == "positions" else None
    for key, field in fields_of(value):
        place = len(tape)
        tape.append((into_field, index, cls, key, length))
        made.append(wrap(field, tape, place))
    return rebuild(value, made)


def into_field(bar: Any, cls: type, key: Any, length: int | None) -> Any:
    return Tangent.of(cls, {key: bar}, length)


into_field.batched = True  # type: ignore[attr-defined]


def wrap(value: Any, tape: BareTape, index: int) -> Any:
    """Return a value as the result of the record at an index."""
    return tape.classes[type(value)](value, tape, index)


def reopen(payload: Any, link: Any, tape: BareTape) -> Any:
    """Return a payload as the variable, or structure of variables, that it was opened from."""
    if link is None:
        return payload
    if type(link) is int:
        return wrap(payload, tape, link)
    fields = [reopen(field, link.get(key), tape) for key, field in fields_of(payload)]
    return rebuild(payload, fields)


def _open(x: Any, tape: BareTape) -> tuple[Any, Any]:
    """Return the payload of an operand and where its cotangent goes; None where it is constant."""
    cls = type(x)
    if is_tracer_type(cls):
        if isinstance(x, BareVariable) and x.tape is tape:
            return x.payload, x.index
        return frozen(x), None
    if is_structure_type(cls) and any(
        isinstance(t, BareVariable) and t.tape is tape for t in find_tracers(x)
    ):
        opened = [(key, *_open(field, tape)) for key, field in fields_of(x)]
        links = {key: link for key, _, link in opened if link is not None}
        return rebuild(x, [payload for _, payload, _ in opened]), links
    return x, None


def through(
    primitive: Primitive[..., Any],
    operands: tuple[Any, ...],
    options: dict[str, Any],
    classes: tuple[type, ...],
    mode: str,
) -> Any:
    """Differentiate a primitive without a rule through its body, if it has one."""
    if primitive.has_body and not primitive.opaque:
        return primitive.__wrapped__(*operands, **options)
    return demand_rule(primitive, classes, config, mode)  # which says what there is, and raises

"""Linearization: a function is run once, and its derivative kept as a linear tape of pushes.

A `LinearTape` is to forward mode what a tape is to reverse mode: a record ``(push, links, *saved)``
for each call, but played forwards, for one direction or for many at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, final

from chainrules_py import (
    Primitive,
    Tangent,
    TracerError,
    ZeroTangent,
    bind,
    find_rule,
    is_zero,
    unthunk,
)
from chainrules_py.extend import (
    Cache,
    Classes,
    Site,
    batched,
    describe,
    fields_of,
    find_tracers,
    is_structure_type,
    is_tracer_type,
    memory_of,
    new_level,
    rebuild,
)
from chainrules_tape.config import config
from chainrules_tape.core.tape import frozen, plain_arrays
from chainrules_tape.core.variable import through
from chainrules_tape.memory.guard import Guard
from chainrules_tape.memory.view import note_view
from chainrules_tape.memory.write import Writable

__all__ = ["LinearTape", "LinearVariable"]


class LinearTape(list[tuple[Any, ...]]):
    """The records of one linearization, in the order of the calls."""

    __slots__ = ("closed", "guard", "level", "order")

    def __init__(self) -> None:
        super().__init__()
        self.guard = Guard("fingerprint")
        self.level = new_level()
        self.closed = False
        self.order: list[tuple[int, tuple[int, ...]]] = []

    def leaf(self, value: Any) -> Any:
        """Record a value that tangents come in at."""
        self.guard.hold(value)
        return self.record(frozen(value), (None, ()))

    def link_of(self, x: Any) -> int | None:
        """Where the tangent of a value comes from; None where it has none here."""
        return x.index if isinstance(x, LinearVariable) and x.tape is self else None

    def record(self, value: Any, record: tuple[Any, ...]) -> Any:
        """Append a record, and return a value whose tangent the record gives."""
        if self.closed:
            msg = (
                "a traced value was used after the linearize, jacobian or hessian that made it was "
                "over; return values from the differentiated function instead of storing them, "
                "or ask for has_aux"
            )
            raise TracerError(msg)
        index = len(self)
        self.append(record)
        return _classes[type(value)](value, self, index)

    def close(self, outputs: Iterable[int]) -> None:
        """Drop what the outputs do not depend on, and note who is the last to read each tangent."""
        self.closed = True
        wanted = set(outputs)
        seen = set(wanted)
        for index in range(len(self) - 1, -1, -1):
            record = self[index]
            if index not in wanted:
                self[index] = (None, ())
                continue
            parents = dict.fromkeys([i for link in record[1] for i in _indices(link)])
            if record[0] is not None:
                self.order.append((index, tuple([i for i in parents if i not in seen])))
            seen.update(parents)
            wanted.update(parents)
        self.order.reverse()

    def push(
        self, dots: dict[int, Any], outputs: Iterable[int], *, many: bool = False
    ) -> list[Any]:
        """Push the tangents of the inputs to those of the outputs.

        Parameters
        ----------
        dots : dict
            From the indices of inputs to their tangents; it is used up.
        outputs : iterable of int
            The indices that `close` was told.
        many : bool
            Whether the tangents have a leading axis, which counts directions.
        """
        self.guard.check()
        zero = ZeroTangent()
        record: tuple[Any, ...] = ()
        tangents: tuple[Any, ...] = ()
        try:
            for index, used in self.order:
                record = self[index]
                half = record[0]
                tangents = tuple([_gathered(link, dots) for link in record[1]])
                if not all(map(is_zero, tangents)):
                    half = batched(half) if many else half
                    dots[index] = unthunk(half(tangents, *record[2:]))
                for i in used:
                    dots.pop(i, None)
        except Exception as error:
            _note(error, record, tangents)
            raise
        return [dots.get(i, zero) for i in outputs]


def field(tangents: tuple[Any, ...], key: Any) -> Any:
    """Return the tangent of a field."""
    (t,) = tangents
    return t if is_zero(t) else t[key]


field.batched = True  # type: ignore[attr-defined]


@final
class Fields:
    """The link of an operand that is a structure: those of its fields."""

    __slots__ = ("cls", "links")

    def __init__(self, cls: type, links: dict[Any, Any]) -> None:
        self.cls = cls
        self.links = links


def _indices(link: Any) -> list[int]:
    if type(link) is int:
        return [link]
    return [i for inner in link.links.values() for i in _indices(inner)]


def _gathered(link: Any, dots: dict[int, Any]) -> Any:
    if type(link) is int:
        return dots.get(link, _ZERO)
    parts = {key: _gathered(inner, dots) for key, inner in link.links.items()}
    parts = {key: t for key, t in parts.items() if not is_zero(t)}
    return Tangent.of(link.cls, parts) if parts else _ZERO


_ZERO = ZeroTangent()


def _note(error: Exception, record: tuple[Any, ...], tangents: tuple[Any, ...]) -> None:
    statement = getattr(record[0], "statement", None) if record else None
    if statement is not None:
        shown = ", ".join(map(describe, tangents))
        error.add_note(
            f"while pushing {shown} through {statement.primal.__name__}\n  rule: {statement.where}"
        )


class LinearVariable(Writable):
    """A value whose tangent comes later. It has a subclass for each type of payload."""

    __slots__ = ("index", "payload", "tape")
    state = __slots__
    engine = "linear"
    config = config
    __dispatch_type__: ClassVar[type]

    def __init__(self, value: Any, tape: LinearTape, index: int) -> None:
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
        """Record the push of a call; this level is the highest of the call's."""
        classes = tuple(map(type, operands))
        try:
            record = _recorders.table[primitive, primal, classes]
        except KeyError:
            table = _recorders.open()
            record = _recorder(primitive, primal, classes)
            table[primitive, primal, classes] = record
        return record(self.tape, operands, options)

    @classmethod
    def make_step(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """Make the step of a call without options."""
        primitive = site.primitive
        if primitive.options or primitive.variadic or len(classes) != len(primitive.operands):
            return None
        call = cls.make_call(site, classes)
        return None if call is None else lambda *operands: call(operands, {})

    @classmethod
    def make_call(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """Make the recorder of a call with its options; all its tracers must be of this engine."""
        if any(is_structure_type(c) or _is_other(c) for c in classes):
            return None
        record = _recorder(site.primitive, site.primal, classes)
        first, *others = [i for i, c in enumerate(classes) if issubclass(c, LinearVariable)]

        def call(operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
            tape = operands[first].tape
            if any([operands[i].tape is not tape for i in others]):
                return site.general(*operands, **options)
            return record(tape, operands, options)

        return call

    def _leaf(self, value: Any) -> Any:
        """Record a value without a tangent."""
        return self.tape.leaf(value)


_recorders = Cache()


def _is_other(cls: type) -> bool:
    return is_tracer_type(cls) and not issubclass(cls, LinearVariable)


def _recorder(
    primitive: Primitive[..., Any], primal: Callable[..., Any] | None, classes: tuple[type, ...]
) -> Callable[[LinearTape, tuple[Any, ...], dict[str, Any]], Any]:
    """Build a recorder of calls of a primitive with operands of these classes."""

    def record_any(tape: LinearTape, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
        return _record(primitive, primal, tape, operands, options)

    if any(map(is_structure_type, classes)):
        return record_any
    mine = tuple([issubclass(cls, LinearVariable) for cls in classes])
    payloads = tuple([c.payload_type if m else c for c, m in zip(classes, mine, strict=True)])  # type: ignore[attr-defined]
    rule = find_rule(primitive, payloads, config)
    if rule is None or rule.forward is None:
        return record_any
    bound = bind(rule, payloads, mine, "linearize", primal=primal, config=config)
    if bound is None:
        return record_any
    run = bound.run
    places = [i for i, m in enumerate(mine) if m]
    linked = [i for i in places if bound.wanted[i]]
    plain = [i for i, cls in enumerate(classes) if i not in places and memory_of(cls)]
    others = [i for i, cls in enumerate(classes) if _is_other(cls)]
    views = places[:1] == [0] and bound.may_view

    def record_one(tape: LinearTape, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
        payloads = list(operands)
        for i in places:
            x = operands[i]
            if x.tape is not tape:
                return record_any(tape, operands, options)
            payloads[i] = x.payload
        for i in others:
            payloads[i] = frozen(operands[i])
        y, record = run(tuple([operands[i].index for i in linked]), *payloads, **options)
        for i in plain:
            tape.guard.hold(operands[i], record[:1])
        made = tape.record(y, record)
        if views:
            note_view(made, primitive, operands, options, y, payloads[0])
        return made

    return record_one


def _record(
    primitive: Primitive[..., Any],
    primal: Callable[..., Any] | None,
    tape: LinearTape,
    operands: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    """Record a call whose operands may be structures, or traced by several linear tapes."""
    opened = [_open(x, tape) for x in operands]
    payloads = [payload for payload, _ in opened]
    wanted = tuple([link is not None for _, link in opened])
    classes = tuple(map(type, payloads))
    rule = find_rule(primitive, classes, config)
    if rule is None or rule.forward is None:
        return through(primitive, operands, options, classes, "forward")
    bound = bind(rule, classes, wanted, "linearize", primal=primal, config=config)
    if bound is None:
        return (primal or primitive)(*payloads, **options)
    links = tuple([link for (_, link), w in zip(opened, bound.wanted, strict=True) if w])
    y, record = bound.run(links, *payloads, **options)
    for x in operands:
        for array in plain_arrays(x):
            tape.guard.hold(array, record[:1])
    made = tape.record(y, record)
    if bound.may_view and operands[0] is not payloads[0]:
        x = operands[0]
        if isinstance(x, LinearVariable) and isinstance(made, LinearVariable):
            note_view(made, primitive, operands, options, y, payloads[0])
    return made


def _open(x: Any, tape: LinearTape) -> tuple[Any, Any]:
    """Return an operand's payload and where its tangent comes from; None where it has none."""
    cls = type(x)
    if is_tracer_type(cls):
        mine = isinstance(x, LinearVariable) and x.tape is tape
        return (x.payload, x.index) if mine else (frozen(x), None)
    if is_structure_type(cls) and any(
        isinstance(t, LinearVariable) and t.tape is tape for t in find_tracers(x)
    ):
        opened = [(key, *_open(part, tape)) for key, part in fields_of(x)]
        links = {key: link for key, _, link in opened if link is not None}
        return rebuild(x, [payload for _, payload, _ in opened]), Fields(cls, links)
    return x, None


def _record_fields(value: Any, tape: LinearTape, index: int) -> Any:
    made = [tape.record(x, (field, (index,), key)) for key, x in fields_of(value)]
    return rebuild(value, made)


_classes = Classes(LinearVariable, _record_fields)

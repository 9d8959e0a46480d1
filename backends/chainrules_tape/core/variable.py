"""The variables of reverse mode: each call on them is recorded on their tape."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from chainrules_py import (
    Primitive,
    Tangent,
    bind,
)
from chainrules_py.extend import (
    ArrayLike,
    Bound,
    Cache,
    Classes,
    Site,
    demand_rule,
    fields_of,
    find_tracers,
    is_structure_type,
    is_tracer_type,
    memory_of,
    rebuild,
    structure_of,
)
from chainrules_py.vocabulary.views import gives_views, read, subscripts
from chainrules_tape.config import config
from chainrules_tape.core.backward import LEAF
from chainrules_tape.core.links import AddInto, Links, OneMaybeZero, Structured
from chainrules_tape.fast import slices
from chainrules_tape.fast.concatenate import joiner
from chainrules_tape.fast.general_rules import recorder_of_rule
from chainrules_tape.fast.steps import STEPS, STEPS_BESIDE_PLAIN
from chainrules_tape.memory.guard import plain_arrays
from chainrules_tape.memory.record_write import put_in_place
from chainrules_tape.memory.views import note_view, own_copy
from chainrules_tape.memory.write import snapshot

if TYPE_CHECKING:
    from chainrules_tape.core.tape import Tape

__all__ = [
    "Variable",
    "kept_class",
    "reopen",
    "through",
    "variable_class",
    "wrap",
]


class Variable(ArrayLike):
    """A value on a tape. It has a subclass for each type of payload."""

    __slots__ = ("index", "payload", "tape")
    state = __slots__
    engine = "tape"
    __dispatch_type__: ClassVar[type]
    payload_type: ClassVar[type]

    def __init__(self, value: Any, tape: Tape, index: int) -> None:
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
        key = (primitive, primal, *map(type, operands))
        try:
            record = _recorders.table[key]
        except KeyError:
            table = _recorders.open()
            record = table[key] = _recorder(primitive, primal, tuple(map(type, operands)))
        return record(operands, options, self.tape)

    def _reader(self) -> Any:
        cls = type(self)
        if cls.__trace__ is not Variable.__trace__:
            return slices.general
        own = cls.payload_type

        def bound_for(n: int) -> Bound | None:
            payloads = (own,) * (n + 1)
            rule = Site(read).rule(payloads)
            if rule is None or rule.reverse is None:
                return None
            return bind(rule, payloads, (True, *[False] * n), "reverse", config=config)

        return slices.reader(cls, bound_for, self.payload, variable_class)

    def _read(self, pattern: Any, arrays: tuple[Any, ...]) -> Any:
        cls = type(self)
        # Without a key of several where there are no arrays: programs are full of these.
        key: Any = (read, *map(type, arrays), cls) if arrays else cls
        try:
            record = _recorders.table[key]
        except KeyError:
            others = [type(a) for a in arrays]
            if cls.__trace__ is not Variable.__trace__ or not all(map(memory_of, others)):
                return super()._read(pattern, arrays)
            table = _recorders.open()
            record = table[key] = _recorder(read, None, (cls, *others))
        return record((self, *arrays), {"index": pattern}, self.tape)

    @property
    def name(self) -> str:
        """What it is called in listings of its tape."""
        from chainrules_tape.inspect.text import name_of

        return name_of(self.tape, self.index)

    @classmethod
    def make_step(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """The fast steps: one or two operands, all options at their defaults."""
        primitive = site.primitive
        if primitive.options or primitive.variadic or len(classes) != len(primitive.operands):
            return None
        mine = tuple(issubclass(c, Variable) for c in classes)
        if len(classes) > 2 or any(
            is_tracer_type(c) and not m for c, m in zip(classes, mine, strict=True)
        ):
            return None
        if any(is_structure_type(c) for c in classes):
            return None
        payloads = tuple(_payload(c) if m else c for c, m in zip(classes, mine, strict=True))
        rule = site.rule(payloads)
        if rule is None or rule.reverse is None:
            return None
        bound = bind(rule, payloads, mine, "reverse", primal=site.primal, config=config)
        if bound is None:
            return _constant_step(site, mine)
        if bound.pull_into is not None or bound.wanted != mine:
            return None
        if bound.may_be_zero:
            call = cls.make_call(site, classes)
            return call and (lambda *operands: call(operands, {}))
        if any(memory_of(c) for c, m in zip(classes, mine, strict=True) if not m):
            return STEPS_BESIDE_PLAIN[mine](bound.run, site.general, variable_class)
        return STEPS[mine](bound.run, site.general, variable_class)

    @classmethod
    def make_call(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """What records a call with options whose operands are arrays, numbers and variables."""
        mine = [issubclass(c, Variable) for c in classes]
        if any(is_structure_type(c) for c in classes) or any(
            is_tracer_type(c) and not m for c, m in zip(classes, mine, strict=True)
        ):
            return None
        record = _recorder(site.primitive, site.primal, classes)
        first, *others = [i for i, m in enumerate(mine) if m]
        if not (first or others):  # its tape is that of the first operand
            return record

        def call(operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
            tape = operands[first].tape
            if any([operands[i].tape is not tape for i in others]):
                return site.general(*operands, **options)
            return record(operands, options, tape)

        return call

    @classmethod
    def make_join(cls, word: Primitive[..., Any]) -> Callable[..., Any] | None:
        """What joins any number of variables of this class, given as a sequence, and options."""
        own = (cls.payload_type, cls.payload_type)
        if not subscripts(own[0]):
            return None
        rule = Site(word).rule(own) if cls.__trace__ is Variable.__trace__ else None
        if rule is None or rule.reverse is None:
            return None
        bound = bind(rule, own, (True, True), "reverse", config=config)
        return bound and joiner(word, own[0], bound, variable_class)

    # -- writing in place (`chainrules_tape.memory.write`)

    def _leaf(self, value: Any) -> Any:
        """An input that no gradient is asked for."""
        tape = self.tape
        tape.append((None, LEAF))
        return wrap(value, tape, len(tape) - 1)

    def _put(self, pattern: Any, arrays: tuple[Any, ...], value: Any) -> bool:
        """Record a write whose result is the memory that was written to."""
        return put_in_place(self, pattern, arrays, value)


class KeptVariable(Variable):
    """A value on a tape that keeps the calls themselves, to show them or to record them again.

    It has no fast steps: that such tapes exist costs the others nothing.
    """

    __slots__ = ()

    def __trace__(
        self,
        primitive: Primitive[..., Any],
        operands: tuple[Any, ...],
        options: dict[str, Any],
        primal: Callable[..., Any] | None = None,
    ) -> Any:
        """Record a call on this tape, and keep it."""
        return _record(primitive, primal, self.tape, operands, options)

    def _put(self, pattern: Any, arrays: tuple[Any, ...], value: Any) -> bool:
        """False: the tape keeps all values."""
        return False

    @classmethod
    def make_step(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """None: each call is recorded the general way."""
        return None

    @classmethod
    def make_call(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """None, as for steps."""
        return None


_recorders = Cache()
Recorder: TypeAlias = Callable[..., Any]
"""``(operands, options, tape)``; the tape, which is the highest of the call's, is that of the only
operand where there is but one."""


def _recorder(
    primitive: Primitive[..., Any], primal: Callable[..., Any] | None, classes: tuple[type, ...]
) -> Recorder:
    """What records calls of a primitive with operands of these classes."""

    def record_any(operands: tuple[Any, ...], options: dict[str, Any], tape: Any = None) -> Any:
        tape = operands[0].tape if tape is None else tape
        return _record(primitive, primal, tape, operands, options)

    if any(map(is_structure_type, classes)):
        return record_any
    # All variables of the call are most often on one tape; then what they are settles everything.
    mine = tuple([issubclass(cls, Variable) for cls in classes])
    payloads = tuple([_payload(cls) if m else cls for cls, m in zip(classes, mine, strict=True)])
    rule = Site(primitive, primal).rule(payloads)
    bound = (
        bind(rule, payloads, mine, "reverse", primal=primal, config=config)
        if rule is not None and rule.reverse is not None
        else None
    )
    if bound is None:
        return record_any
    views = mine[0] and gives_views(primitive, bound.statement.recipe.pen)
    if _is_alone(bound, classes, mine):
        place = mine.index(True)
        return recorder_of_rule(primitive, bound.run, payloads, place, views, variable_class)
    run, link = bound.run, _linker(bound)
    places = [i for i, m in enumerate(mine) if m]
    linked = [i for i in places if bound.wanted[i]]
    plain = [i for i, cls in enumerate(classes) if i not in places and memory_of(cls)]
    may_be_zero = bound.may_be_zero
    others = [i for i, cls in enumerate(classes) if not mine[i] and is_tracer_type(cls)]

    if len(classes) == 1 and not may_be_zero:
        return _recorder_alone(primitive, bound, views)
    if mine[0] and plain == [*range(1, len(classes))] and not may_be_zero:
        return _recorder_beside_plain(primitive, bound, views)

    def record_one_tape(
        operands: tuple[Any, ...], options: dict[str, Any], tape: Any = None
    ) -> Any:
        payloads = list(operands)
        tape = operands[0].tape if tape is None else tape
        for i in places:
            x = operands[i]
            if x.tape is not tape:
                return record_any(operands, options, tape)
            payloads[i] = x.payload
        for i in others:
            payloads[i] = snapshot(operands[i])
        y, record = run(link([operands[i].index for i in linked]), *payloads, **options)
        index = len(tape)
        tape.append(record)
        for i in plain:
            tape.capture(operands[i], record, may_be_zero)
        if may_be_zero:
            tape.watch(record)
        made = variable_class[type(y)](y, tape, index)
        if views and note_view(made, primitive, operands, options, y, payloads[0]):
            own_copy(made)
        return made

    return record_one_tape


def _recorder_alone(primitive: Primitive[..., Any], bound: Bound, views: bool) -> Recorder:
    """As `_recorder`, of calls with one operand: most that have options are."""
    run, into = bound.run, bound.pull_into

    def record_alone(operands: tuple[Any, ...], options: dict[str, Any], _: Any = None) -> Any:
        (x,) = operands
        payload, tape = x.payload, x.tape
        links = x.index if into is None else AddInto(x.index, into)
        y, record = run(links, payload, **options)
        index = len(tape)
        tape.append(record)
        made = variable_class[type(y)](y, tape, index)
        if views and note_view(made, primitive, operands, options, y, payload):
            own_copy(made)
        return made

    return record_alone


def _recorder_beside_plain(primitive: Primitive[..., Any], bound: Bound, views: bool) -> Recorder:
    """As `_recorder`, where the operands but the first are arrays that somebody may write to."""
    run, into = bound.run, bound.pull_into

    def record_beside_plain(
        operands: tuple[Any, ...], options: dict[str, Any], _: Any = None
    ) -> Any:
        x, *rest = operands
        payload, tape = x.payload, x.tape
        links = x.index if into is None else AddInto(x.index, into)
        y, record = run(links, payload, *rest, **options)
        index = len(tape)
        tape.append(record)
        for array in rest:
            if id(array) not in tape.held:
                tape.guard.capture(array, record)
        made = variable_class[type(y)](y, tape, index)
        if views and note_view(made, primitive, operands, options, y, payload):
            own_copy(made)
        return made

    return record_beside_plain


def _is_alone(bound: Bound, classes: tuple[type, ...], mine: tuple[bool, ...]) -> bool:
    """Whether a may_be_zero rule has one variable, and no tracer of another kind beside it."""
    tracers = sum([is_tracer_type(cls) for cls in classes])
    return bound.may_be_zero and sum(mine) == tracers == 1 and bound.wanted == mine


def _linker(bound: Bound) -> Callable[[list[Any]], Any]:
    """What a record keeps of its parents: an index, a pair, or an object that sees to the rest."""
    if bound.may_be_zero and sum(bound.wanted) == 1:
        return lambda links: OneMaybeZero(links[0])
    if bound.may_be_zero:
        return lambda links: Structured(tuple(links))
    if sum(bound.wanted) > 2:
        return lambda links: Links(tuple(links))
    if bound.pull_into is not None:
        pull_into = bound.pull_into
        return lambda links: AddInto(links[0], pull_into)
    if sum(bound.wanted) == 1:
        return lambda links: links[0]
    return tuple


def _record(
    primitive: Primitive[..., Any],
    primal: Callable[..., Any] | None,
    tape: Tape,
    operands: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    """Record a call whose operands may be structures, or variables of several tapes."""
    opened = [_open(x, tape) for x in operands]
    payloads = [payload for payload, _ in opened]
    wanted = tuple([part is not None for _, part in opened])
    classes = tuple(map(type, payloads))
    rule = Site(primitive, primal).rule(classes)
    if rule is None or rule.reverse is None:
        return through(primitive, operands, options, classes, "reverse")
    bound = bind(rule, classes, wanted, "reverse", primal=primal, config=config)
    if bound is None:
        return (primal or primitive)(*payloads, **options)
    slices = [part for (_, part), w in zip(opened, bound.wanted, strict=True) if w]
    flat = all(type(part) is int for part in slices)
    y, record = bound.run(
        _linker(bound)(slices) if flat else Structured(tuple(slices)), *payloads, **options
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
    views = opened and type(opened[0][1]) is int and isinstance(made, Variable)
    if views and gives_views(primitive, bound.statement.recipe.pen):
        note_view(made, primitive, operands, options, y, payloads[0])
    return made


def _payload(cls: Any) -> type:
    return cls.payload_type  # type: ignore[no-any-return]


def _constant_step(site: Site, mine: tuple[bool, ...]) -> Callable[..., Any]:
    f = site.primal or site.primitive

    def step(*operands: Any) -> Any:
        tapes = [x.tape for x, m in zip(operands, mine, strict=True) if m]
        if any(t is not tapes[0] for t in tapes):
            return site.general(*operands)
        return f(*[x.payload if m else x for x, m in zip(operands, mine, strict=True)])

    return step


def _wrap_fields(value: Any, tape: Tape, index: int) -> Any:
    cls = type(value)
    made = []
    structure = structure_of(cls)
    length = len(value) if structure is not None and structure.kind == "positions" else None
    for key, field in fields_of(value):
        place = len(tape)
        tape.append((_into_field, index, cls, key, length))
        made.append(wrap(field, tape, place))
    return rebuild(value, made)


def _into_field(bar: Any, cls: type, key: Any, length: int | None) -> Any:
    return Tangent.of(cls, {key: bar}, length)


_into_field.batched = True  # type: ignore[attr-defined]


variable_class = Classes(Variable, _wrap_fields)
kept_class = Classes(KeptVariable, _wrap_fields)


def wrap(value: Any, tape: Tape, index: int) -> Any:
    """A value as the result of the record at an index."""
    return tape.classes[type(value)](value, tape, index)


def reopen(payload: Any, link: Any, tape: Tape) -> Any:
    """A payload as the variable, or the structure of variables, that it was opened from."""
    if link is None:
        return payload
    if type(link) is int:
        return wrap(payload, tape, link)
    fields = [reopen(field, link.get(key), tape) for key, field in fields_of(payload)]
    return rebuild(payload, fields)


def _open(x: Any, tape: Tape) -> tuple[Any, Any]:
    """The payload of an operand and where its cotangent goes; None where this tape is not in it."""
    cls = type(x)
    if is_tracer_type(cls):
        if isinstance(x, Variable) and x.tape is tape:
            return x.payload, x.index
        return snapshot(x), None
    if is_structure_type(cls) and any(
        isinstance(t, Variable) and t.tape is tape for t in find_tracers(x)
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
    """A primitive without a rule is differentiated through its body, if it has one."""
    if primitive.has_body and not primitive.opaque:
        return primitive.__wrapped__(*operands, **options)
    return demand_rule(primitive, classes, config, mode)  # which says what there is, and raises

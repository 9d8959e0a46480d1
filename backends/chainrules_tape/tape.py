"""Reverse mode: a tape of records, and the pass that plays it backwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from chainrules_py import Tangent, TracerError, bind
from chainrules_py.arrays import (
    dispatch_type,
    is_array_type,
    is_number_type,
    is_tracer_type,
    on_registration,
)
from chainrules_py.bind import Bound
from chainrules_py.dispatch import Cache
from chainrules_py.errors import describe
from chainrules_py.loading import see
from chainrules_py.primitive import Primitive, find_tracers
from chainrules_py.project import Space
from chainrules_py.registry import demand_rule
from chainrules_py.structure import fields_of, is_structure_type, rebuild, structure_of
from chainrules_py.tangents import (
    AbstractTangent,
    accumulate,
    is_mutable_destination,
    is_zero,
    unthunk,
)
from chainrules_tape.config import config
from chainrules_tape.tracing import ArrayLike, Site, members, new_level

__all__ = ["Tape", "Variable", "backward", "is_leaf_type", "variable_class"]


class Tape(list[tuple[Any, ...]]):
    """The records of one differentiation, in the order of the calls.

    A record is ``(pull, links, *saved)``: ``pull(y_bar, *saved)`` gives the cotangents that go to
    the records at ``links``, an index or a tuple of them.
    """

    __slots__ = ("level",)

    def __init__(self) -> None:
        super().__init__()
        self.level = new_level()

    def leaf(self, value: Any) -> Variable:
        """A variable that nothing flows out of: an input."""
        index = len(self)
        self.append((None, _LEAF))
        return variable_class[type(value)](value, self, index)  # type: ignore[no-any-return]

    def close(self) -> None:
        """From now on recording a call is an error: a variable has escaped its differentiation."""
        # By changing the class, so that an open tape is not asked at each record whether it is open.
        object.__setattr__(self, "__class__", ClosedTape)


class ClosedTape(Tape):
    """A tape whose differentiation is over."""

    __slots__ = ()

    def append(self, record: Any, /) -> None:
        """Refuse to record."""
        msg = (
            "a traced value was used after the grad, vjp or jvp that made it was over; "
            "return values from the differentiated function instead of storing them, "
            "or ask for has_aux"
        )
        raise TracerError(msg)


class Variable(ArrayLike):
    """A value on a tape. It has a subclass for each type of payload."""

    __slots__ = ("index", "tape", "value")
    engine = "tape"
    __dispatch_type__: ClassVar[type]

    def __init__(self, value: Any, tape: Tape, index: int) -> None:
        self.value = value
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
        return record(self.tape, operands, options)

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
        if rule is None:
            return None
        bound = bind(rule, payloads, mine, "reverse", primal=site.primal, config=config)
        if bound is None:
            return _constant_step(site, mine)
        if bound.pull_into is not None or bound.wanted != mine:
            return None
        if bound.careful:
            return _careful_step(bound.run, mine, site.general)
        return _STEPS[mine](bound.run, site.general)


_recorders = Cache()


def _recorder(
    primitive: Primitive[..., Any], primal: Callable[..., Any] | None, classes: tuple[type, ...]
) -> Callable[[Tape, tuple[Any, ...], dict[str, Any]], Any]:
    """What records calls of a primitive with operands of these classes."""

    def record_any(tape: Tape, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
        return _record(primitive, primal, tape, operands, options)

    if any(map(is_structure_type, classes)):
        return record_any
    # All variables of the call are most often on one tape; then what they are settles everything.
    mine = tuple([issubclass(cls, Variable) for cls in classes])
    payloads = tuple([_payload(cls) if m else cls for cls, m in zip(classes, mine, strict=True)])
    site = Site(primitive, primal)
    rule = site.rule(payloads)
    if rule is None or rule.reverse is None:
        return record_any
    bound = bind(rule, payloads, mine, "reverse", primal=primal, config=config)
    if bound is None:
        return record_any
    run, link = bound.run, _linker(bound)
    places = [i for i, m in enumerate(mine) if m]
    linked = [i for i in places if bound.wanted[i]]

    def record_one_tape(tape: Tape, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
        payloads = list(operands)
        for i in places:
            x = operands[i]
            if x.tape is not tape:
                return record_any(tape, operands, options)
            payloads[i] = x.value
        y, record = run(link([operands[i].index for i in linked]), *payloads, **options)
        index = len(tape)
        tape.append(record)
        return variable_class[type(y)](y, tape, index)

    return record_one_tape


def _linker(bound: Bound) -> Callable[[list[Any]], Any]:
    """What a record keeps of its parents: an index, a pair, or an object that sees to the rest."""
    if bound.careful or sum(bound.wanted) > 2:
        return lambda links: Several(tuple(links))
    if bound.pull_into is not None:
        pull_into = bound.pull_into
        return lambda links: Into(links[0], pull_into)
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
    parts = [part for (_, part), w in zip(opened, bound.wanted, strict=True) if w]
    flat = all([type(part) is int for part in parts])
    y, record = bound.run(
        _linker(bound)(parts) if flat else Several(tuple(parts)), *payloads, **options
    )
    index = len(tape)
    tape.append(record)
    return wrap(y, tape, index)


def _payload(cls: Any) -> type:
    return cls.payload_type  # type: ignore[no-any-return]


# The steps of one and two operands are written out: they are what each call of a program costs.


def _step_of_one(run: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    classes = variable_class

    def step(a: Any) -> Any:
        tape = a.tape
        y, record = run(a.index, a.value)
        index = len(tape)
        tape.append(record)
        return classes[type(y)](y, tape, index)

    return step


def _step_of_both(run: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    classes = variable_class

    def step(a: Any, b: Any) -> Any:
        tape = a.tape
        if tape is not b.tape:
            return general(a, b)
        y, record = run((a.index, b.index), a.value, b.value)
        index = len(tape)
        tape.append(record)
        return classes[type(y)](y, tape, index)

    return step


def _step_of_left(run: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    classes = variable_class

    def step(a: Any, b: Any) -> Any:
        tape = a.tape
        y, record = run(a.index, a.value, b)
        index = len(tape)
        tape.append(record)
        return classes[type(y)](y, tape, index)

    return step


def _step_of_right(run: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    classes = variable_class

    def step(a: Any, b: Any) -> Any:
        tape = b.tape
        y, record = run(b.index, a, b.value)
        index = len(tape)
        tape.append(record)
        return classes[type(y)](y, tape, index)

    return step


_STEPS = {
    (True,): _step_of_one,
    (True, True): _step_of_both,
    (True, False): _step_of_left,
    (False, True): _step_of_right,
}
"""What makes the step of a call, by which of its operands are variables."""


def _careful_step(
    run: Callable[..., Any], mine: tuple[bool, ...], general: Callable[..., Any]
) -> Callable[..., Any]:
    places = tuple(i for i, m in enumerate(mine) if m)

    def step(*operands: Any) -> Any:
        tape = operands[places[0]].tape
        if any(operands[i].tape is not tape for i in places):
            return general(*operands)
        links = Several(tuple([operands[i].index for i in places]))
        y, record = run(links, *[x.value if m else x for x, m in zip(operands, mine, strict=True)])
        index = len(tape)
        tape.append(record)
        return wrap(y, tape, index)

    return step


def _constant_step(site: Site, mine: tuple[bool, ...]) -> Callable[..., Any]:
    f = site.primal or site.primitive

    def step(*operands: Any) -> Any:
        tapes = [x.tape for x, m in zip(operands, mine, strict=True) if m]
        if any(t is not tapes[0] for t in tapes):
            return site.general(*operands)
        return f(*[x.value if m else x for x, m in zip(operands, mine, strict=True)])

    return step


def is_leaf_type(cls: type) -> bool:
    """Whether values of a class can be differentiated in: arrays, numbers, and tracers of them."""
    return (is_array_type(cls) or is_number_type(cls)) and dispatch_type(cls) is not bool


class _VariableClasses(dict[type, Any]):
    """From the type of a value to what puts it on a tape: a class of variables, or a function."""

    def __missing__(self, cls: type) -> Any:
        see(None, (cls,))
        if is_leaf_type(cls):
            made: Any = type(
                f"Variable[{dispatch_type(cls).__name__}]",
                (Variable,),
                members(dispatch_type(cls))
                | {
                    "__slots__": (),
                    "__module__": __name__,
                    "__dispatch_type__": dispatch_type(cls),
                    "payload_type": cls,
                },
            )
        elif is_structure_type(cls):
            made = _wrap_fields
        else:
            made = _constant
        self[cls] = made
        return made


variable_class = _VariableClasses()
on_registration(variable_class.clear)


def _constant(value: Any, tape: Tape, index: int) -> Any:
    return value


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


def wrap(value: Any, tape: Tape, index: int) -> Any:
    """A value as the result of the record at an index."""
    return variable_class[type(value)](value, tape, index)


class Leaf:
    """The link of an input: what was collected for it stays."""

    __slots__ = ()

    def pull(self, bars: Bars, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Do nothing."""


_LEAF = Leaf()


class Into:
    """The link of a record whose pull can add in place to what its parent has collected."""

    __slots__ = ("index", "pull_into")

    def __init__(self, index: int, pull_into: Callable[..., Any]) -> None:
        self.index = index
        self.pull_into = pull_into

    def pull(self, bars: Bars, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Add in place what the pull would return: n elements read one by one build no n arrays."""
        bars[index] = None
        link, saved = self.index, record[2:]
        dense = not isinstance(y_bar, AbstractTangent) and not is_tracer_type(type(y_bar))
        of = next((s for s in saved if type(s) is Space), None)
        if dense and of is not None and self._has_buffer(bars, of):
            self.pull_into(bars[link], y_bar, *saved)
        else:
            bars.add(link, record[0](y_bar, *saved))

    def _has_buffer(self, bars: Bars, of: Space) -> bool:
        """Whether its parent collects in a buffer of our own; from now on, where that can be."""
        link = self.index
        if link not in bars.plain:
            total = bars[link]
            if total is None:
                bars.own(link, of.zeros())
            elif not is_tracer_type(type(total)):
                bars.add(link, of.zeros())
        return link in bars.plain


class Several:
    """Any number of links, of which some may be structures, for a pull that may give zeros."""

    __slots__ = ("links",)

    def __init__(self, links: tuple[Any, ...]) -> None:
        self.links = links

    def pull(self, bars: Bars, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Send what the pull gives to each link that gets something."""
        bars[index] = None
        x_bars = record[0](y_bar, *record[2:])
        if len(self.links) == 1:
            x_bars = (x_bars,)
        for link, bar in zip(self.links, x_bars, strict=True):
            _send(bars, link, unthunk(bar))


def _send(bars: Bars, link: Any, bar: Any) -> None:
    """Add a cotangent where it belongs: at an index, or field by field."""
    if is_zero(bar):
        return
    if type(link) is int:
        bars.add(link, bar)
        return
    for key, inner in link.items():
        _send(bars, inner, unthunk(bar[key]))


def _open(x: Any, tape: Tape) -> tuple[Any, Any]:
    """The payload of an operand and where its cotangent goes; None where this tape is not in it."""
    cls = type(x)
    if is_tracer_type(cls):
        if isinstance(x, Variable) and x.tape is tape:
            return x.value, x.index
        return x, None
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
    if primitive.has_body:
        return primitive.__wrapped__(*operands, **options)
    return demand_rule(primitive, classes, config, mode)  # which says what there is, and raises


class Bars(list[Any]):
    """The cotangents collected for the records of a tape, None where there is none yet.

    Cotangents are added in reverse order of record, so the same inputs give the same bits. The
    only arrays written to are sums that were made here; ``plain`` says where they are.
    """

    __slots__ = ("owned", "plain")

    def __init__(self, tape: Tape) -> None:
        super().__init__([None] * len(tape))
        self.plain: set[int] = set()
        self.owned: dict[int, Any] = {}

    def add(self, link: int, bar: Any) -> None:
        """Add to what was collected, in place where it is a sum of our own."""
        total = self[link]
        if total is None:
            self[link] = bar
            return
        total, token = accumulate(total, bar, self.owned.get(link, False))
        self[link], self.owned[link] = total, token
        if token is True and is_mutable_destination(total):
            self.plain.add(link)

    def own(self, link: int, buffer: Any) -> None:
        """Collect into a buffer of our own from now on."""
        self[link], self.owned[link] = buffer, True
        if is_mutable_destination(buffer):
            self.plain.add(link)


# One loop without calls of our own in it: written in parts, it would cost a third more.
def backward(tape: Tape, bars: Bars, start: int) -> None:  # noqa: C901
    """Play a tape backwards from the record at ``start``; ``bars`` keeps the leaves' cotangents."""
    plain = bars.plain
    record: Any = None
    y_bar: Any = None
    try:
        for index in range(start, -1, -1):
            y_bar = bars[index]
            if y_bar is None:
                continue
            record = tape[index]
            links = record[1]
            n = len(record)
            if type(links) is int:
                bars[index] = None
                if n == 3:
                    bar = record[0](y_bar, record[2])
                elif n == 4:
                    bar = record[0](y_bar, record[2], record[3])
                else:
                    bar = record[0](y_bar, *record[2:])
                total = bars[links]
                if total is None:
                    bars[links] = bar
                elif links in plain and type(bar) is type(total):
                    total += bar  # a sum of our own; projection has made shape and dtype agree
                else:
                    bars.add(links, bar)
            elif type(links) is tuple:
                bars[index] = None
                if n == 4:
                    left, right = record[0](y_bar, record[2], record[3])
                elif n == 2:
                    left, right = record[0](y_bar)
                else:
                    left, right = record[0](y_bar, *record[2:])
                link, other = links
                total = bars[link]
                if total is None:
                    bars[link] = left
                elif link in plain and type(left) is type(total):
                    total += left
                else:
                    bars.add(link, left)
                total = bars[other]
                if total is None:
                    bars[other] = right
                elif other in plain and type(right) is type(total):
                    total += right
                else:
                    bars.add(other, right)
            else:
                links.pull(bars, index, y_bar, record)
    except Exception as error:
        _note(error, record, y_bar)
        raise


def _note(error: Exception, record: tuple[Any, ...], y_bar: Any) -> None:
    statement = getattr(record[0], "statement", None)
    if statement is None:
        return
    shown = ", ".join(describe(x) for x in record[2:])
    error.add_note(
        f"while pulling back {describe(y_bar)} through {statement.primal.__name__}, "
        f"which saved ({shown})\n"
        f"  rule: {statement.where}"
    )

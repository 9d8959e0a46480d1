"""Recorders: calls recorded by what was found once for the types of their operands.

The general way (`chainrules_tape.core.variable.record_call`) looks at each operand of each call.
Here everything that types settle is settled once, and kept by them. Without this room the same
records are made, more slowly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias

from chainrules_py import Primitive, bind, find_rule
from chainrules_py.extend import Bound, Cache, Site, is_structure_type, is_tracer_type, memory_of
from chainrules_py.vocabulary.views import read, subscripts
from chainrules_tape.config import config
from chainrules_tape.core.tape import frozen
from chainrules_tape.core.variable import BareVariable, record_call
from chainrules_tape.fast import slices
from chainrules_tape.fast.concatenate import joiner
from chainrules_tape.fast.general_rules import recorder_of_rule
from chainrules_tape.fast.steps import STEPS, STEPS_BESIDE_PLAIN
from chainrules_tape.memory.add_into import AddInto, linker
from chainrules_tape.memory.view import note_view

__all__ = ["FastCalls"]

Results: TypeAlias = Mapping[type, Any]
"""From the type of a value to the class of its variables."""


class FastCalls(BareVariable):
    """Variables whose calls take the short ways.

    Attributes
    ----------
    results : mapping
        From the type of a value to the class of its variables.
    """

    __slots__ = ()
    results: ClassVar[Results]

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
            record = table[key] = _recorder(
                primitive, primal, tuple(map(type, operands)), type(self)
            )
        return record(operands, options, self.tape)

    def _reader(self) -> Any:
        """Return what reads variables of its class by an index."""
        cls = type(self)
        own = cls.payload_type

        def bound_for(n: int) -> Bound | None:
            payloads = (own,) * (n + 1)
            rule = Site(read).rule(payloads, config)
            if rule is None or rule.reverse is None:
                return None
            return bind(rule, payloads, (True, *[False] * n), "reverse", config=config)

        return slices.reader(cls, bound_for, self.payload, cls.results)

    def _read(self, pattern: Any, arrays: tuple[Any, ...]) -> Any:
        """Return the elements at an index, of which arrays stand apart."""
        cls = type(self)
        # Without a key of several where there are no arrays: programs are full of these.
        key: Any = (read, *map(type, arrays), cls) if arrays else cls
        try:
            record = _recorders.table[key]
        except KeyError:
            others = [type(a) for a in arrays]
            if not all(map(memory_of, others)):
                return super()._read(pattern, arrays)
            table = _recorders.open()
            record = table[key] = _recorder(read, None, (cls, *others), cls)
        return record((self, *arrays), {"index": pattern}, self.tape)

    @classmethod
    def make_step(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """Return the step of a call with one or two operands, all options at their defaults."""
        primitive = site.primitive
        if primitive.options or primitive.variadic or len(classes) != len(primitive.operands):
            return None
        mine = tuple(issubclass(c, BareVariable) for c in classes)
        if len(classes) > 2 or any(
            is_tracer_type(c) and not m for c, m in zip(classes, mine, strict=True)
        ):
            return None
        if any(is_structure_type(c) for c in classes):
            return None
        payloads = tuple(_payload(c) if m else c for c, m in zip(classes, mine, strict=True))
        rule = site.rule(payloads, config)
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
            return STEPS_BESIDE_PLAIN[mine](bound.run, site.general, cls.results)
        return STEPS[mine](bound.run, site.general, cls.results)

    @classmethod
    def make_call(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """Return what records a call with options of arrays, numbers and variables."""
        mine = [issubclass(c, BareVariable) for c in classes]
        if any(is_structure_type(c) for c in classes) or any(
            is_tracer_type(c) and not m for c, m in zip(classes, mine, strict=True)
        ):
            return None
        record = _recorder(site.primitive, site.primal, classes, cls)
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
        """Return what joins any number of variables of this class, given as a sequence."""
        own = (cls.payload_type, cls.payload_type)
        if not subscripts(own[0]):
            return None
        rule = Site(word).rule(own, config)
        if rule is None or rule.reverse is None:
            return None
        bound = bind(rule, own, (True, True), "reverse", config=config)
        return bound and joiner(word, own[0], bound, cls.results)


_recorders = Cache()
Recorder: TypeAlias = Callable[..., Any]
"""``(operands, options, tape)``; the tape, which is the highest of the call's, is that of the only
operand where there is but one."""


def _recorder(
    primitive: Primitive[..., Any],
    primal: Callable[..., Any] | None,
    classes: tuple[type, ...],
    variable: type[FastCalls],
) -> Recorder:
    """Return what records calls of a primitive with operands of these classes."""

    def record_any(operands: tuple[Any, ...], options: dict[str, Any], tape: Any = None) -> Any:
        tape = operands[0].tape if tape is None else tape
        return record_call(primitive, primal, tape, operands, options, linker)

    if any(map(is_structure_type, classes)):
        return record_any
    results = variable.results
    # All variables of the call are most often on one tape; then what they are settles everything.
    mine = tuple([issubclass(cls, BareVariable) for cls in classes])
    payloads = tuple([_payload(cls) if m else cls for cls, m in zip(classes, mine, strict=True)])
    rule = find_rule(primitive, payloads, config)
    bound = (
        bind(rule, payloads, mine, "reverse", primal=primal, config=config)
        if rule is not None and rule.reverse is not None
        else None
    )
    if bound is None:
        return record_any
    views = mine[0] and bound.may_view
    if _is_alone(bound, classes, mine):
        place = mine.index(True)
        return recorder_of_rule(primitive, bound.run, payloads, place, views, results)
    run, link = bound.run, linker(bound)
    places = [i for i, m in enumerate(mine) if m]
    linked = [i for i in places if bound.wanted[i]]
    plain = [i for i, cls in enumerate(classes) if i not in places and memory_of(cls)]
    may_be_zero = bound.may_be_zero
    others = [i for i, cls in enumerate(classes) if not mine[i] and is_tracer_type(cls)]

    if len(classes) == 1 and not may_be_zero:
        return _recorder_alone(primitive, bound, views, results)
    if mine[0] and plain == [*range(1, len(classes))] and not may_be_zero:
        return _recorder_beside_plain(primitive, bound, views, results)

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
            payloads[i] = frozen(operands[i])
        y, record = run(link([operands[i].index for i in linked]), *payloads, **options)
        index = len(tape)
        tape.append(record)
        for i in plain:
            tape.capture(operands[i], record, may_be_zero)
        if may_be_zero:
            tape.watch(record)
        made = results[type(y)](y, tape, index)
        if views:
            note_view(made, primitive, operands, options, y, payloads[0])
        return made

    return record_one_tape


def _recorder_alone(
    primitive: Primitive[..., Any], bound: Bound, views: bool, results: Results
) -> Recorder:
    """Return what records calls with one operand: most that have options are such."""
    run, into = bound.run, bound.pull_into

    def record_alone(operands: tuple[Any, ...], options: dict[str, Any], _: Any = None) -> Any:
        (x,) = operands
        payload, tape = x.payload, x.tape
        links = x.index if into is None else AddInto(x.index, into)
        y, record = run(links, payload, **options)
        index = len(tape)
        tape.append(record)
        made = results[type(y)](y, tape, index)
        if views:
            note_view(made, primitive, operands, options, y, payload)
        return made

    return record_alone


def _recorder_beside_plain(
    primitive: Primitive[..., Any], bound: Bound, views: bool, results: Results
) -> Recorder:
    """Return what records calls whose operands but the first are arrays that may be written to."""
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
        made = results[type(y)](y, tape, index)
        if views:
            note_view(made, primitive, operands, options, y, payload)
        return made

    return record_beside_plain


def _is_alone(bound: Bound, classes: tuple[type, ...], mine: tuple[bool, ...]) -> bool:
    """Tell whether a rule that may give zeros has one variable, and no other tracer beside it."""
    tracers = sum([is_tracer_type(cls) for cls in classes])
    return bound.may_be_zero and sum(mine) == tracers == 1 and bound.wanted == mine


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

"""Fast paths for calls: what the types of the operands decide is looked up once.

The general path (`Trace.call`) inspects each operand of each call. Here everything that the types
decide is cached by type, and the steps of one and two operands are written out. Without this module
the same records are made, more slowly.

The step factories are one function, unrolled, because a Python call costs a tenth of an operation.
They take the function that runs and records a call (``run``, of a bound rule), the general path,
for operands of several tapes, and the classes of variables by the type of their payload.

A user-defined function may return memory of its operands, and may have captured a traced value.
Its steps check the result, inline for an array with memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from chainrules_py import Primitive
from chainrules_py.extend import (
    PullInto,
    Recorder,
    Settled,
    SettledCalls,
    Site,
    Tracer,
    Unmixed,
    note_step,
    type_info,
)
from chainrules_tape.array_writes.in_place_cotangent_links import AddInto
from chainrules_tape.array_writes.writes_and_views import note_view
from chainrules_tape.core.cotangent_routing import DEEP, AddWhereSummed, Links, pair
from chainrules_tape.core.variable import BareVariable

Run: TypeAlias = Callable[..., Any]
Classes: TypeAlias = Mapping[type, Any]


def _step_of_one(run: Run, general: Run, classes: Classes) -> Run:
    def step(a: Any) -> Any:
        tape = a.tape
        y, record = run(a.place, a.payload)
        index = len(tape)
        tape.append(record)
        return classes[type(y)](y, tape, index)

    return step


def _step_of_both(run: Run, general: Run, classes: Classes) -> Run:
    def step(a: Any, b: Any) -> Any:
        tape = a.tape
        if tape is not b.tape:
            return general(a, b)
        i, j = a.place, b.place
        y, record = run((i, j) if i | j < DEEP else pair(i, j), a.payload, b.payload)
        index = len(tape)
        tape.append(record)
        return classes[type(y)](y, tape, index)

    return step


def _step_of_left(
    run: Run, general: Run, classes: Classes, plain: bool = False, objects: Any = None
) -> Run:
    """Return the step for a second operand that is no variable; ``plain`` if it can be written to.

    If its dtype is ``objects``, it may hold traced values.
    """

    def step(a: Any, b: Any) -> Any:
        if plain and b.dtype is objects:
            return general(a, b)
        tape = a.tape
        y, record = run(a.place, a.payload, b)
        index = len(tape)
        tape.append(record)
        if plain and len(record) > 2 and id(b) not in tape.held:
            tape.guard.capture(b, record)
        return classes[type(y)](y, tape, index)

    return step


def _step_of_right(
    run: Run, general: Run, classes: Classes, plain: bool = False, objects: Any = None
) -> Run:
    def step(a: Any, b: Any) -> Any:
        if plain and a.dtype is objects:
            return general(a, b)
        tape = b.tape
        y, record = run(b.place, a, b.payload)
        index = len(tape)
        tape.append(record)
        if plain and len(record) > 2 and id(a) not in tape.held:
            tape.guard.capture(a, record)
        return classes[type(y)](y, tape, index)

    return step


STEPS: dict[tuple[bool, ...], Callable[..., Run]] = {
    (True,): _step_of_one,
    (True, True): _step_of_both,
    (True, False): _step_of_left,
    (False, True): _step_of_right,
}
"""Factory of the step of a call, by which of its operands are variables."""


def _step_of_any(  # noqa: C901
    run: Run,
    general: Run,
    classes: Classes,
    settled: Settled,
    views: Any = None,
    shared: Any = ((), None),
) -> Run:
    """Return the step of a call with any operands and options; without a rule it calls ``run``.

    Parameters
    ----------
    views : Primitive, optional
        The primitive, if its results may be views of the first operand.
    shared
        Indices of arrays, and ``share(made, operands, y, payloads)``, which notes whose memory a
        result uses; for user-defined functions (`Trace.sharing`).
    """
    places, plain, n = settled.places, settled.plain, len(settled.places)
    holders, objects, bound = settled.holders, settled.objects, settled.bound
    first, second = places[0], places[-1]
    into, closes = (None, False) if bound is None else (bound.pull_into, bound.may_be_zero)
    arrays, share = shared

    def step(*operands: Any, **options: Any) -> Any:  # noqa: C901
        for i in holders:
            if operands[i].dtype is objects:
                return general(*operands, **options)
        tape, payloads = operands[first].tape, [*operands]
        for i in places:
            x = operands[i]
            if x.tape is not tape:
                return general(*operands, **options)
            payloads[i] = x.payload
        if bound is None:
            return note_step(tape, run(*payloads, **options))
        links: Any = operands[first].place
        if n == 2:
            j = operands[second].place
            links = (links, j) if links | j < DEEP else pair(links, j)
        elif n > 2:
            links = Links(tuple([operands[i].place for i in places]))
        elif into is not None:
            links = AddInto(links, into)
        y, record = run(links, *payloads, **options)
        if n == 1 and closes and type(record[2]) is PullInto:
            record = (record[0], AddWhereSummed(links), *record[2:])
        index = len(tape)
        tape.append(record)
        for i in plain:
            if id(operands[i]) not in tape.held:
                tape.capture(operands[i], record, closes)
        made = classes[type(y)](y, tape, index)
        if views is not None:
            note_view(made, views, operands, options, y, payloads[0])
        for i in arrays:
            x = payloads[i]
            if (
                y.base is not None or y is x or x.base is y
                if type(y) is type(x)
                else not isinstance(made, Tracer)  # a structure
            ):
                share(made, operands, y, payloads)
                break
        return made

    return step


class FastSteps(SettledCalls, BareVariable):
    """Variables whose calls are settled once for the types of their operands.

    Calls with one or two operands and no options take a step that is written out.
    """

    __slots__ = ()

    @classmethod
    def make_step(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """Return the step of a call with operands of these classes and default options."""
        primitive = site.primitive
        if primitive.has_body:
            step = cls.any_step(primitive, site.primal, classes, site.general)
            if step is not None:
                return step
        if primitive.options or not len(classes) == len(primitive.operands) < 3:
            return super().make_step(site, classes)
        kinds = {getattr(c, "payload_type", c) for c in classes}
        for scalar in kinds - {float} if float in kinds else ():
            known = issubclass(scalar, float) and hasattr(scalar, "dtype")
            if known and (lifted := cls.make_lifted(site, classes, {float: scalar})) is not None:
                return lifted
        settled = cls.tracing.settle(primitive, site.primal, classes)
        if settled is None or settled.others or settled.views:
            return super().make_step(site, classes)
        bound = settled.bound
        if bound is None:
            return _step_of_any(site.primal or primitive, site.general, cls.results, settled)
        if (
            bound.wanted != settled.mine
            or bound.pull_into is not None
            or bound.may_be_zero
            or (bound.may_share and any([type_info(cls).is_array for cls in settled.payloads]))
        ):
            return super().make_step(site, classes)
        beside = (True, settled.objects) if settled.plain else ()
        return STEPS[settled.mine](bound.run, site.general, cls.results, *beside)

    @classmethod
    def short_step(cls, mine: tuple[bool, ...], run: Run, general: Run) -> Run:
        """Return the written-out step of one or two operands."""
        return STEPS[mine](run, general, cls.results)

    @classmethod
    def recorder(
        cls,
        primitive: Primitive[..., Any],
        primal: Callable[..., Any] | None,
        classes: tuple[type, ...],
    ) -> Recorder:
        """Return a function that records calls with operands of these classes."""
        slow = super().recorder(primitive, primal, classes)
        return cls.any_step(primitive, primal, classes, slow) or slow

    @classmethod
    def any_step(
        cls,
        primitive: Primitive[..., Any],
        primal: Callable[..., Any] | None,
        classes: tuple[type, ...],
        general: Run,
    ) -> Run | None:
        """Return the step of a call with any operands; None if the types do not settle it."""
        settled = cls.tracing.settle(primitive, primal, classes)
        bound = None if settled is None or settled.others else settled.bound
        if (
            settled is None
            or bound is None
            or bound.recipe.always
            or bound.wanted != settled.mine
            or (bound.may_share and not primitive.has_body)
            or (bound.pull_into is not None and (len(settled.places) > 1 or primitive.has_body))
            or (bound.may_be_zero and not bound.is_plain)
        ):
            return None
        if not primitive.has_body:
            views = primitive if settled.views else None
            return _step_of_any(bound.run, general, cls.results, settled, views)
        shared, results = cls.tracing.sharing(primitive, settled), Unmixed(cls.results, primitive)
        if shared is None:
            return None
        return _step_of_any(bound.run, general, results, settled, None, shared)

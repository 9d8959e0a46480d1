"""Steps of calls with one and two operands, written out: what each call of a program costs.

They are one function, unrolled: a frame is a tenth of an operation. Each is made of what runs and
records a call (``run``, of a bound rule), of the general way, for operands of several tapes, and of
the classes of variables by the type of what they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from chainrules_py.extend import Site, note_step, type_info
from chainrules_tape.core.links import DEEP, pair
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


def _step_of_left(run: Run, general: Run, classes: Classes) -> Run:
    def step(a: Any, b: Any) -> Any:
        tape = a.tape
        y, record = run(a.place, a.payload, b)
        index = len(tape)
        tape.append(record)
        return classes[type(y)](y, tape, index)

    return step


def _step_of_right(run: Run, general: Run, classes: Classes) -> Run:
    def step(a: Any, b: Any) -> Any:
        tape = b.tape
        y, record = run(b.place, a, b.payload)
        index = len(tape)
        tape.append(record)
        return classes[type(y)](y, tape, index)

    return step


def _step_of_left_beside_plain(run: Run, general: Run, classes: Classes) -> Run:
    def step(a: Any, b: Any) -> Any:
        tape = a.tape
        y, record = run(a.place, a.payload, b)
        index = len(tape)
        tape.append(record)
        if len(record) > 2 and id(b) not in tape.held:
            tape.guard.capture(b, record)
        return classes[type(y)](y, tape, index)

    return step


def _step_of_right_beside_plain(run: Run, general: Run, classes: Classes) -> Run:
    def step(a: Any, b: Any) -> Any:
        tape = b.tape
        y, record = run(b.place, a, b.payload)
        index = len(tape)
        tape.append(record)
        if len(record) > 2 and id(a) not in tape.held:
            tape.guard.capture(a, record)
        return classes[type(y)](y, tape, index)

    return step


def _step_of_constant(f: Run, mine: tuple[bool, ...], general: Run) -> Run:
    """Return the step of a call through which no derivative flows, as of a comparison."""
    if mine == (True,):
        return lambda a: note_step(a.tape, f(a.payload))
    if mine == (True, False):
        return lambda a, b: note_step(a.tape, f(a.payload, b))
    if mine == (False, True):
        return lambda a, b: note_step(b.tape, f(a, b.payload))

    def step(a: Any, b: Any) -> Any:
        return note_step(a.tape, f(a.payload, b.payload)) if a.tape is b.tape else general(a, b)

    return step


STEPS: dict[tuple[bool, ...], Callable[..., Run]] = {
    (True,): _step_of_one,
    (True, True): _step_of_both,
    (True, False): _step_of_left,
    (False, True): _step_of_right,
}
"""What makes the step of a call, by which of its operands are variables."""
STEPS_BESIDE_PLAIN: dict[tuple[bool, ...], Callable[..., Run]] = {
    (True, False): _step_of_left_beside_plain,
    (False, True): _step_of_right_beside_plain,
}
"""The same, where the other operand is an array that somebody may write to."""


class FastSteps(BareVariable):
    """Variables whose calls without options take a step that is written out."""

    __slots__ = ()

    @classmethod
    def make_step(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """Return the step of a call with one or two operands, all options at their defaults."""
        primitive = site.primitive
        if primitive.options or not len(classes) == len(primitive.operands) < 3:
            return super().make_step(site, classes)
        settled = cls.tracing.settle(primitive, site.primal, classes)
        if settled is None or settled.others or settled.views:
            return super().make_step(site, classes)
        bound = settled.bound
        if bound is None:
            return _step_of_constant(site.primal or primitive, settled.mine, site.general)
        if bound.wanted != settled.mine:
            return super().make_step(site, classes)
        if bound.pull_into is not None or bound.may_be_zero:
            return super().make_step(site, classes)
        if bound.may_share and any([type_info(cls).is_array for cls in settled.payloads]):
            return super().make_step(site, classes)
        steps = STEPS_BESIDE_PLAIN if settled.plain else STEPS
        return steps[settled.mine](bound.run, site.general, cls.results)

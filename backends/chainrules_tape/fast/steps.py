"""The steps of calls with one and two operands, written out: what each call of a program costs.

Each is made of what runs and records a call (``run``, of a bound rule), of the general way, for
operands of several tapes, and of the classes of variables by the type of what they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

__all__ = ["STEPS", "STEPS_BESIDE_PLAIN"]

Run: TypeAlias = Callable[..., Any]
Classes: TypeAlias = Mapping[type, Any]


def step_of_one(run: Run, general: Run, classes: Classes) -> Run:
    def step(a: Any) -> Any:
        tape = a.tape
        y, record = run(a.index, a.payload)
        index = len(tape)
        tape.append(record)
        return classes[type(y)](y, tape, index)

    return step


def step_of_both(run: Run, general: Run, classes: Classes) -> Run:
    def step(a: Any, b: Any) -> Any:
        tape = a.tape
        if tape is not b.tape:
            return general(a, b)
        y, record = run((a.index, b.index), a.payload, b.payload)
        index = len(tape)
        tape.append(record)
        return classes[type(y)](y, tape, index)

    return step


def step_of_left(run: Run, general: Run, classes: Classes) -> Run:
    def step(a: Any, b: Any) -> Any:
        tape = a.tape
        y, record = run(a.index, a.payload, b)
        index = len(tape)
        tape.append(record)
        return classes[type(y)](y, tape, index)

    return step


def step_of_right(run: Run, general: Run, classes: Classes) -> Run:
    def step(a: Any, b: Any) -> Any:
        tape = b.tape
        y, record = run(b.index, a, b.payload)
        index = len(tape)
        tape.append(record)
        return classes[type(y)](y, tape, index)

    return step


def step_of_left_beside_plain(run: Run, general: Run, classes: Classes) -> Run:
    def step(a: Any, b: Any) -> Any:
        tape = a.tape
        y, record = run(a.index, a.payload, b)
        index = len(tape)
        tape.append(record)
        if len(record) > 2 and id(b) not in tape.held:
            tape.guard.capture(b, record)
        return classes[type(y)](y, tape, index)

    return step


def step_of_right_beside_plain(run: Run, general: Run, classes: Classes) -> Run:
    def step(a: Any, b: Any) -> Any:
        tape = b.tape
        y, record = run(b.index, a, b.payload)
        index = len(tape)
        tape.append(record)
        if len(record) > 2 and id(a) not in tape.held:
            tape.guard.capture(a, record)
        return classes[type(y)](y, tape, index)

    return step


STEPS: dict[tuple[bool, ...], Callable[..., Run]] = {
    (True,): step_of_one,
    (True, True): step_of_both,
    (True, False): step_of_left,
    (False, True): step_of_right,
}
"""What makes the step of a call, by which of its operands are variables."""
STEPS_BESIDE_PLAIN: dict[tuple[bool, ...], Callable[..., Run]] = {
    (True, False): step_of_left_beside_plain,
    (False, True): step_of_right_beside_plain,
}
"""The same, where the other operand is an array that somebody may write to."""

"""Recording rules that compute the value themselves: of linear algebra, mostly, and of users.

Such a rule may give a zero for an operand, its halves may close over what they like, and it may
have taken arrays from outside. What of that a record does is found out by cheap tests of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from chainrules_py import Primitive
from chainrules_py.extend import (
    Recorder,
    Settled,
    SettledCalls,
    Space,
    type_info,
)
from chainrules_py.vocabulary.views import sharing
from chainrules_tape.core.links import OneMaybeZero
from chainrules_tape.core.variable import BareVariable
from chainrules_tape.memory.view import note_view


class FastRules(SettledCalls, BareVariable):
    """Variables that are the only tracers of a call whose rule may give a zero."""

    __slots__ = ()

    @classmethod
    def recorder(
        cls,
        primitive: Primitive[..., Any],
        primal: Callable[..., Any] | None,
        classes: tuple[type, ...],
    ) -> Recorder:
        """Return what records calls with one variable among plain arrays and numbers."""
        settled = cls.tracing.settle(primitive, primal, classes)
        bound = None if settled is None else settled.bound
        if settled is None or bound is None or not bound.may_be_zero:
            return super().recorder(primitive, primal, classes)
        if (
            settled.others
            or bound.may_share
            or bound.always
            or len(settled.places) > 1
            or bound.wanted != settled.mine
        ):
            return super().recorder(primitive, primal, classes)
        return recorder_of_rule(primitive, bound.run, settled, cls.results)


def recorder_of_rule(
    primitive: Primitive[..., Any],
    run: Callable[..., Any],
    settled: Settled,
    variables: Mapping[type, Any],
) -> Recorder:
    """Build a recorder of calls with one variable among plain arrays and numbers."""
    operands, views, plain = settled.payloads, settled.views, settled.plain
    (place,) = settled.places
    of = operands[place]
    alone, memory = len(operands) == 1, type_info(of).memory
    # Few rules give views: whose memory a result has is asked before anything is noted of it.
    asks = memory is not None and primitive not in sharing
    owner = memory.owner if memory is not None and asks else None

    def record_of_rule(operands: tuple[Any, ...], options: dict[str, Any], _: Any = None) -> Any:
        x = operands[place]
        payload, tape = x.payload, x.tape
        if alone:
            y, record = run(OneMaybeZero(x.place), payload, **options)
        else:
            payloads = [*operands]
            payloads[place] = payload
            y, record = run(OneMaybeZero(x.place), *payloads, **options)
        index = len(tape)
        tape.append(record)
        for i in plain:
            if id(operands[i]) not in tape.held and may_read(record, operands[i]):
                tape.capture(operands[i], record, True)
        made = variables[type(y)](y, tape, index)
        if views and (owner is None or (type(y) is of and owner(y) is owner(payload))):
            note_view(made, primitive, operands, options, y, payload)
        return made

    return record_of_rule


def may_read(record: tuple[Any, ...], x: Any) -> bool:
    """Tell whether a record's pull may read an array: yes unless all it saved is known not to."""
    of = type(x)
    memory = type_info(of).memory
    if memory is None:
        return True
    owner = memory.owner(x)
    for saved in record[2:]:
        cls = type(saved)
        if cls in _WITHOUT_ARRAYS:
            continue
        if cls is FunctionType:
            if saved.__closure__ or saved.__defaults__ or saved.__kwdefaults__:
                return True
        elif cls is not of:
            return True
        else:
            whose = memory.owner(saved)
            # What is no array may stand for the memory of any: a window that slides, a buffer.
            if whose is owner or (type(whose) is not of and type_info(type(whose)).memory is None):
                return True
    return False


_WITHOUT_ARRAYS = {Space, bool, int, float, complex, str, type(None)}

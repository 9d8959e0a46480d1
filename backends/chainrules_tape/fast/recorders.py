"""Recorders: calls recorded by what was found once for the types of their operands.

The general way (`Trace.call`) looks at each operand of each call. Here everything that types settle
is settled once, and kept by them. Without this room the same records are made, more slowly.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from chainrules_py import Primitive
from chainrules_py.extend import PullInto, Recorder, SettledCalls, Space, type_info
from chainrules_tape.core.links import AddWhereSummed
from chainrules_tape.core.variable import BareVariable
from chainrules_tape.memory.links import AddInto
from chainrules_tape.memory.view import note_view


class FastCalls(SettledCalls, BareVariable):
    """Variables whose calls are settled once for the types of their operands."""

    __slots__ = ()

    @classmethod
    def recorder(
        cls,
        primitive: Primitive[..., Any],
        primal: Callable[..., Any] | None,
        classes: tuple[type, ...],
    ) -> Recorder:
        """Return what records calls; written out where one operand is the only tracer."""
        settled = cls.tracing.settle(primitive, primal, classes)
        bound = None if settled is None else settled.bound
        if (
            settled is None
            or bound is None
            or bound.may_share
            or bound.always
            or bound.wanted != settled.mine
            or settled.others
            or len(settled.places) > 1
            or (bound.may_be_zero and not bound.is_plain)
        ):
            return super().recorder(primitive, primal, classes)
        run, into, views, results = bound.run, bound.pull_into, settled.views, cls.results
        (place,), plain, closes = settled.places, settled.plain, bound.may_be_zero
        holders, objects = settled.holders, settled.objects
        general = super().recorder(primitive, primal, classes)

        def record(operands: tuple[Any, ...], options: dict[str, Any], _: Any = None) -> Any:
            for i in holders:
                if operands[i].dtype is objects:
                    return general(operands, options)
            x = operands[place]
            payloads = [*operands]
            payloads[place] = payload = x.payload
            tape = x.tape
            links = x.place if into is None else AddInto(x.place, into)
            y, record = run(links, *payloads, **options)
            if closes and type(record[2]) is PullInto:
                record = (record[0], AddWhereSummed(x.place), *record[2:])
            index = len(tape)
            tape.append(record)
            for i in plain:
                a = operands[i]
                if id(a) in tape.held:
                    continue
                if not closes:
                    tape.guard.capture(a, record)
                elif may_read(record, a):
                    tape.guard.hold(a, record[:1])
            made = results[type(y)](y, tape, index)
            if views:
                note_view(made, primitive, operands, options, y, payload)
            return made

        return record


def may_read(record: tuple[Any, ...], x: Any) -> bool:
    """Tell whether a record's pull may read an array: yes unless all it saved is known not to."""
    of = type(x)
    owner: Any = type_info(of).memory.owner  # type: ignore[union-attr]  # it is watched over
    mine = owner(x)
    for saved in record[2:]:
        cls = type(saved)
        if cls is of:
            whose = owner(saved)
            # What is no array may stand for the memory of any: a window that slides, a buffer.
            if whose is mine or (type(whose) is not of and type_info(type(whose)).memory is None):
                return True
        elif cls is FunctionType:
            if saved.__closure__ or saved.__defaults__ or saved.__kwdefaults__:
                return True
        elif cls not in _WITHOUT_ARRAYS:
            return True
    return False


_WITHOUT_ARRAYS = {Space, bool, int, float, complex, str, type(None)}

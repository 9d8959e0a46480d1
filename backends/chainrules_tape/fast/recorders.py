"""Recorders: calls recorded by what was found once for the types of their operands.

The general way (`Trace.call`) looks at each operand of each call. Here everything that types settle
is settled once, and kept by them. Without this room the same records are made, more slowly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py import Primitive
from chainrules_py.extend import Recorder, SettledCalls
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
            or bound.may_be_zero
            or bound.may_share
            or bound.always
            or bound.wanted != settled.mine
            or settled.others
            or len(settled.places) > 1
        ):
            return super().recorder(primitive, primal, classes)
        run, into, views, results = bound.run, bound.pull_into, settled.views, cls.results
        (place,), plain = settled.places, settled.plain

        def record_alone(operands: tuple[Any, ...], options: dict[str, Any], _: Any = None) -> Any:
            (x,) = operands
            payload, tape = x.payload, x.tape
            links = x.place if into is None else AddInto(x.place, into)
            y, record = run(links, payload, **options)
            index = len(tape)
            tape.append(record)
            made = results[type(y)](y, tape, index)
            if views:
                note_view(made, primitive, operands, options, y, payload)
            return made

        def record(operands: tuple[Any, ...], options: dict[str, Any], _: Any = None) -> Any:
            x = operands[place]
            payloads = [*operands]
            payloads[place] = payload = x.payload
            tape = x.tape
            links = x.place if into is None else AddInto(x.place, into)
            y, record = run(links, *payloads, **options)
            index = len(tape)
            tape.append(record)
            for i in plain:
                if id(operands[i]) not in tape.held:
                    tape.guard.capture(operands[i], record)
            made = results[type(y)](y, tape, index)
            if views:
                note_view(made, primitive, operands, options, y, payload)
            return made

        return record_alone if len(classes) == 1 else record

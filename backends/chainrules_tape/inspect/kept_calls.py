"""Calls that a tape keeps besides its records: to show, re-record, or search them for NaN."""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from chainrules_py import NanError, Primitive, unthunk
from chainrules_py.extend import (
    Mode,
    Tracer,
    describe,
    fields_of,
    is_structure_type,
    namespace_of,
    place_of_call,
    settled,
    type_info,
)
from chainrules_tape.core.backward import play
from chainrules_tape.core.bare_tape import BareTape, Notes
from chainrules_tape.core.cotangent_routing import parents
from chainrules_tape.core.variable import BareVariable, reopen


class KeptNotes(Notes):
    """Facts about a tape, including its calls.

    Parameters
    ----------
    differentiable : bool
        Whether gradients are recorded as well.
    """

    __slots__ = ()

    def __init__(self, differentiable: bool = False) -> None:
        super().__init__()
        self.differentiable, self.calls = differentiable, {}

    def keep(self, index: int, record: Any, *call: Any) -> None:
        """Keep a call; inside `debug_nans` also check its value."""
        primitive, primal, opened, options, value = call
        kept = KeptCall(primitive, primal, opened, options, value, source_line())
        if self.calls is not None:
            self.calls[index] = kept
        if trap_is_set():
            check_pushed(primitive, [payload for payload, _ in opened], (), value, None)

    def player(self) -> Any:
        """Return the loop that checks each record inside `debug_nans`, or None."""
        return trapped(self.calls) if self.calls is not None and trap_is_set() else None


class KeptCall:
    """Recorded call, with what is needed to show it and to record it again.

    Operands are kept as pairs of payload and link, because variables would keep the tape alive.
    """

    __slots__ = ("opened", "options", "primal", "primitive", "value", "where")

    def __init__(
        self,
        primitive: Primitive[..., Any],
        primal: Callable[..., Any] | None,
        opened: list[tuple[Any, Any]],
        options: dict[str, Any],
        value: Any,
        where: str = "",
    ) -> None:
        self.primitive, self.primal = primitive, primal
        self.opened = [(settled(x) if callable(x) else x, link) for x, link in opened]
        self.options, self.value, self.where = options, value, where

    def run(self, links: Any, xs: Sequence[Any]) -> Any:
        """Repeat the call with other operands of the same types; return the value and the record.

        The rule computes the value, so that it is bitwise equal to the first.
        """
        classes, wanted = tuple(map(type, xs)), tuple([at is not None for _, at in self.opened])
        _, bound = BareVariable.tracing.find(self.primitive, self.primal, classes, wanted)
        assert bound is not None  # a rule was found when the call was recorded
        return bound.run(links, *xs, **self.options)


def replayed(tape: BareTape) -> Callable[[int], Any]:
    """Return a function that returns records with their saved values as variables of the tape."""
    calls = (tape.notes and tape.notes.calls) or {}

    def fetch(index: int) -> Any:
        record = tape[index]
        call = calls.get(index)
        if call is None:  # an input, or a field of a structure
            return record
        if record[0].statement.recipe.saves_values:
            values = [*call.opened, (call.value, index)]
            known = {id(value): (value, link) for value, link in values}
            kinds = [type(value) for value, _ in values]  # classes whose identity means nothing
            some = any([type_info(c).is_python_number or is_structure_type(c) for c in kinds])
            if len(known) == len(values) and not some:
                found = [known.get(id(s), (s, None)) for s in record[2:]]
                return (*record[:2], *[reopen(value, link, tape) for value, link in found])
        # So that the rule's operations are recorded.
        return call.run(record[1], [reopen(x, link, tape) for x, link in call.opened])[1]

    return fetch


# ----------------------------------------------------------------------------------- detecting NaN

trap = Mode("debug_nans", on=os.environ.get("CHAINRULES_DEBUG") == "1")
trap_is_set = trap.get
"""Return whether differentiation that begins now is inside `debug_nans`."""


def debug_nans() -> AbstractContextManager[None]:
    """Raise at the first call that makes a NaN from operands without one.

    Differentiation that begins inside keeps its calls and checks every value, every cotangent, and
    the tangents of `jvp`, so it is slow; outside it costs nothing.

    Raises
    ------
    NanError
        From the call that made a NaN, or from the gradient; it names the call and its line.

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_tape import grad
    >>> with debug_nans(), np.errstate(all="ignore"):
    ...     grad(lambda x: np.sum(np.log(x)))(np.array([1.0, -1.0]))
    Traceback (most recent call last):
    ...
    chainrules_py.errors.NanError: log(float64[2]) gave NaN...
    """
    return trap.set()


def has_nan(x: Any) -> bool:
    """Return whether a value, a tangent, or the payload of a tracer has a NaN."""
    while isinstance(x, Tracer):
        x = x.__payload__
    cls = type(x)
    if is_structure_type(cls):
        return any(has_nan(field) for _, field in fields_of(x))
    if type_info(cls).is_number:
        return bool(x != x)
    return type_info(cls).is_array and bool(namespace_of(cls).any(x != x))


def check_pushed(primitive: Any, payloads: Any, tangents: Any, y: Any, y_dot: Any) -> None:
    """Raise if a call, or its push, makes a NaN from values without one."""
    for what, result, given in (
        ("", y, payloads),
        ("pushing through ", unthunk(y_dot), (y, *payloads, *tangents)),
    ):
        if has_nan(result) and not any(map(has_nan, given)):
            raise NanError(
                f"{what}{shown(primitive, payloads)} gave NaN; look at its operands in\n"
                f"  {source_line()}"
            )


def shown(primitive: Any, payloads: Any) -> str:
    """Return the name of a call with the types and shapes of its operands."""
    return f"{primitive.__name__}({', '.join(map(describe, payloads))})"


def source_line() -> str:
    """Return the line of the program that makes the call: outside the engine and the libraries."""
    file, number = place_of_call(0)
    return f"{file}:{number}: {linecache.getline(file, number).strip()}"


def trapped(calls: dict[int, Any]) -> Callable[..., None]:
    """Return a player that plays records one by one and checks the cotangents that each returns."""

    def play_trapped(records: Iterable[Any], bars: Any, start: int, stop: int) -> None:
        for index, record in zip(range(start, stop, -1), records, strict=True):
            y_bar = bars[index]
            play([record], bars, index, index - 1)
            if y_bar is None or index not in calls or has_nan(y_bar):
                continue
            call = calls[index]
            if has_nan(call.value) or any(has_nan(payload) for payload, _ in call.opened):
                continue
            if any(bars[link] is not None and has_nan(bars[link]) for link in parents(record[1])):
                text = shown(call.primitive, [payload for payload, _ in call.opened])
                raise NanError(
                    f"going back through {text} gave NaN for a cotangent {describe(y_bar)} "
                    f"without one\n  {call.where}"
                )

    return play_trapped

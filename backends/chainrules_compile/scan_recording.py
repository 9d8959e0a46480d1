"""Recording of scans: first iterations one by one until the carry keeps its form, then a loop.

The loop body is recorded like the other iterations, into a separate list of calls, on placeholders
for the carry and for a row. All other operands of its calls are the same in each iteration.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any, final

import numpy as np

from chainrules_compile.errors import MISS, RecordingError
from chainrules_compile.internal_functions import expect, is_finite
from chainrules_compile.layouts import layout_of
from chainrules_compile.loop_node import Loop, rows_of, stacked_rows
from chainrules_compile.passes.scan_bodies import with_own_turns
from chainrules_compile.recorded_calls import ELSEWHERE
from chainrules_compile.recorded_types import classes
from chainrules_compile.recorded_values import Noted, plain
from chainrules_compile.scan_iteration import Leaves, Turn, renamed
from chainrules_compile.scope import Scope
from chainrules_compile.writers.numpy_source import write
from chainrules_py.extend import type_info
from chainrules_py.ops import stack
from chainrules_py.ops.engine_operations import duplicate
from chainrules_py.program import Call, Program, Value

LONG = 4096
"""Maximum length of a scan that is recorded one by one if an iteration guards numbers."""
_PEELED = 4
"""Number of iterations after which the carry must keep its form."""


class Unsteady(Exception):  # noqa: N818 (not an error: iterations are recorded one by one)
    """The function of a scan has side effects, or fails as a loop body: no scan becomes a loop."""


class Changing(Exception):  # noqa: N818 (not an error: iterations are recorded one by one)
    """A scan cannot become a loop, for example because its carry changes form."""


@final
class Turns:
    """Iterations of a scan of values that no engine traces, with as many as possible in a loop.

    Attributes
    ----------
    f : callable
        Takes the leaves of the carry and of a row; returns those of the new carry and outputs.
    carry, rows : tuple
        The current carry, and the arrays whose rows are passed.
    order : range
        The indices of the rows, in the order of the iterations.
    back : bool
        Whether the order is backwards.
    results : list
        The outputs of each iteration that was recorded by itself.
    kept : list or None
        For each output of the loop the value of the list and its payload, None if it is absent;
        None before there is a loop.
    recorder : Recorder or None
        The recorder of the calls; None until a recorded value is found.
    """

    def __init__(
        self,
        f: Any,
        carry: Leaves,
        rows: Leaves,
        length: int,
        backwards: bool,
    ) -> None:
        self.f, self.carry, self.rows, self.back = f, carry, rows, backwards
        self.order = range(length)[::-1] if backwards else range(length)
        self.results: list[Leaves] = []
        self.kept: list[Any] | None = None
        found = (x.recorder for x in (*carry, *rows) if isinstance(x, Noted))
        self.recorder: Any = next(found, None)

    def result(self) -> Any:
        """Return the final carry and the stacked outputs."""
        self._record()
        return self.carry, tuple(map(self._whole, range(len(self.results[0]))))

    def _record(self) -> None:
        """Record iterations one by one, until the rest becomes a loop."""
        for done, i in enumerate(self.order):
            if self.results and self.recorder is not None:
                if done > _PEELED:
                    raise Changing
                if self._looped(self.order[done:]):
                    return
            rows = [None if x is None else x[i] for x in self.rows]
            carry, ys = self.f(self._noting(self.carry), self._noting(rows))
            self.carry, known = carry, self.recorder
            self.results.append(ys)
            noted = [x.recorder for x in (*carry, *ys) if isinstance(x, Noted)]
            self.recorder = noted[0] if known is None and noted else known

    def _noting(self, xs: Iterable[Any]) -> Leaves:
        """Return the arguments of an iteration, as recorded values if there is a recorder."""
        if self.recorder is None:
            return tuple(xs)
        return tuple([
            self.recorder._noted(x, self.recorder.operand(x), None, None)
            if type(x) is np.ndarray
            else x
            for x in xs
        ])  # fmt: skip

    def _whole(self, j: int) -> Any:
        """Return an output of all iterations as an array, zero where absent; None if all are."""
        kept = None if self.kept is None else self.kept[j]
        rows = [each[j] for each in self.results]
        there = [plain(y) for y in rows if y is not None]
        if kept is None and not there:
            return None
        if kept is None and self.kept is not None:
            raise Changing
        like = there[0] if kept is None else kept[1][0]
        zeros = np.zeros(np.shape(like), getattr(like, "dtype", float))[()]
        rows = [zeros if y is None else y for y in rows]
        if kept is None:
            return stack(*rows[:: -1 if self.back else 1])
        return self._stacked(rows, *kept)

    def _looped(self, left: range) -> bool:
        """Record the rest as a loop; return False if the body changes the form of the carry."""
        for x in self.recorder.alive():
            x.current  # noqa: B018 (views are read before the loop, not in its body)
        asked, before = dict(self.recorder._asked), len(self.recorder.living)
        outside = self.recorder.calls
        try:
            self.recorder.calls = []
            turn = self._turn(left[0])
        finally:
            self.recorder.calls = outside
        forms = zip(turn.held, self.carry, turn.new, strict=True)
        if not all([_same_form(*each) for each in forms]):
            self.recorder._asked = asked
            return False
        pairs = [xs for ys in self.results for xs in zip(ys, turn.ys, strict=True)]
        if any([_row_form(x) != _row_form(y) for x, y in pairs if x is not None and y is not None]):
            raise Changing
        self._check_questions(turn.calls)
        payloads = payloads_of(self.recorder, before, turn)
        self._note(left, turn, payloads)
        return True

    def _turn(self, at: int) -> Turn:
        """Record the loop body on placeholders."""
        held = [self._held(x) for x in self.carry]
        rows = [None if x is None else self._stand_in(plain(x)[at]) for x in self.rows]
        state = [x if h is None else h for h, x in zip(held, self.carry, strict=True)]
        new, ys = self.f(tuple(state), tuple(rows))
        going = [y for h, y in zip(held, new, strict=True) if h is not None]
        outputs = [self._output(y) for y in going]
        kept = [self._output(y) for y in ys if y is not None]
        found = [h for h in held if h is not None], [h for h in rows if h is not None]
        return Turn(held, *found, new, ys, (*outputs, *kept), self.recorder.calls)

    def _held(self, x: Any) -> Noted | None:
        """Return the placeholder of a leaf of the carry; None for a static leaf."""
        y = plain(x)
        if _static(y) or not isinstance(x, (Noted, np.ndarray)):
            return None
        if not (type_info(type(y)).is_array or type_info(type(y)).is_number):
            raise Changing
        return self._stand_in(y)

    def _stand_in(self, y: Any) -> Noted:
        if type(y) is np.ndarray:
            y = np.array(y, order="C")
        value = Value(self.recorder._name(), type(y), *_form(y), ELSEWHERE, layout_of(y))
        held: Noted = classes[type(y)](y, self.recorder, value)
        if type(y) is np.ndarray:
            self.recorder._owners[id(y)] = weakref.ref(held)
        return held

    def _output(self, y: Any) -> Any:
        """Return the contiguous value of an output of the loop body; None if absent."""
        if y is None:
            return None
        if isinstance(y, Noted) and type(y.payload) is np.ndarray:
            return self._laid(y).current
        if _static(y):
            raise Changing
        return self.recorder.operand(y)

    def _laid(self, x: Any) -> Any:
        """Return a C-contiguous array: the array itself, or a copy."""
        y, noted = plain(x), isinstance(x, Noted)
        if type(y) is not np.ndarray or y.flags.c_contiguous:
            return x
        return duplicate(x) if noted else np.ascontiguousarray(x)

    def _check_questions(self, body: list[Call]) -> None:
        """Raise if the loop body guards numbers, as a guard may fail in other iterations."""
        if not asks(body):
            return
        if len(self.order) <= LONG:
            raise Changing
        raise RecordingError(
            f"a turn of scan asks about a number, as `if` does, and each of {len(self.order)} may "
            f"answer otherwise; write np.where(x > 0, y, z), or a `for` loop in place of scan"
        )

    def _note(self, left: range, turn: Turn, payloads: dict[Value, Any]) -> None:
        """Record the loop, and update the carry and the outputs."""
        body, same = turn.program(self.recorder)
        if any([x not in payloads for x in same]):
            raise Changing
        sequences, lists = self._sequences(left)
        n, backwards = len(left), (self.back,) * len(sequences)
        loop = Loop(body, n, len(same), len(turn.carried), backwards)
        pairs = zip(turn.held, self.carry, strict=True)
        firsts = [self._laid(x) for h, x in pairs if h is not None]
        operands = (*same, *map(self.recorder.operand, firsts), *sequences)
        ends = [renamed(h.current, self.recorder._name()) for h in turn.carried]
        keeps = [Value(self.recorder._name(), list) for y in turn.ys if y is not None]
        call = Call(loop, operands, {}, (*ends, *keeps))
        found = run_loop(call, (*[payloads[x] for x in same], *map(plain, firsts), *lists))
        if any([x.layout != layout_of(y) for x, y in zip(ends, found, strict=False)]):
            raise Changing
        self.recorder.calls.append(call)
        last = iter(
            [self.recorder._noted(y, x, None, None) for x, y in zip(ends, found, strict=False)]
        )
        pairs = zip(turn.held, turn.new, strict=True)
        self.carry = tuple([x if h is None else next(last) for h, x in pairs])
        kept = iter(zip(keeps, found[len(ends) :], strict=True))
        self.kept = [None if y is None else next(kept) for y in turn.ys]

    def _sequences(self, left: range) -> tuple[list[Value], list[Any]]:
        """Record the lists of the remaining rows; return their values and payloads."""
        values, lists = [], []
        for x in self.rows:
            if x is None:
                continue
            x = self._laid(x)
            value = Value(self.recorder._name(), list, memory=ELSEWHERE)
            options = {"first": min(left), "last": max(left) + 1}
            self.recorder.calls.append(
                Call(rows_of, (self.recorder.operand(x),), options, (value,))
            )
            values.append(value)
            lists.append(rows_of(plain(x), **options))
        return values, lists

    def _stacked(self, first: list[Any], kept: Value, rows: list[Any]) -> Any:
        """Record the array that stacks single outputs and those of the loop after them."""
        operands = (*[self.recorder.operand(x) for x in first], kept)
        payload = stacked_rows(*map(plain, first), rows, back=self.back)
        value = self.recorder._value(payload, self.recorder._name(), None)
        self.recorder.calls.append(Call(stacked_rows, operands, {"back": self.back}, (value,)))
        return self.recorder._noted(payload, value, None, None)


def _static(x: Any) -> bool:
    """Return whether a leaf is static: the same in each iteration."""
    return x is None or isinstance(x, (bool, int, str))


def _form(y: Any) -> tuple[Any, Any]:
    return getattr(y, "shape", None), getattr(y, "dtype", None)


def _row_form(x: Any) -> Any:
    """Return the shape and dtype of an output in the stacked array."""
    y = plain(x)
    return np.shape(y), getattr(y, "dtype", None) or np.asarray(y).dtype


def _same_form(held: Noted | None, x: Any, y: Any) -> bool:
    """Return whether the new carry of an iteration has the form of the old one."""
    if held is None:
        return type(x) is type(y) and not isinstance(x, Noted) and repr(x) == repr(y)
    y, z = plain(y), held.payload
    return type(y) is type(z) and _form(y) == _form(z)


def asks(body: list[Call]) -> bool:
    """Return whether calls guard numbers that they compute, other than by `is_finite`."""
    made = {y: call for call in body for y in call.results}
    for call in body:
        if call.function is expect and call.options["kind"] is not type:
            question = made.get(call.operands[0])
            if question is not None and question.function is not is_finite:
                return True
    return False


def payloads_of(recorder: Any, before: int, turn: Turn) -> dict[Value, Any]:
    """Return the payloads of the values that existed before the loop body was recorded.

    Raises
    ------
    RecordingError
        If the loop body writes to one.
    """
    found = {**recorder.captured, **recorder.constants}
    made = {y for call in turn.calls for y in call.results}
    for reference in recorder.living[:before]:
        x = reference()
        if x is None or x.noted is None:
            continue
        if x.noted in made:
            raise RecordingError(
                "a turn of scan writes to an array from outside of it; carry the array, and write "
                "to a copy"
            )
        found[x.noted] = x.payload
    return found


def run_loop(call: Call, given: Leaves) -> list[Any]:
    """Compute a loop, as a separate program.

    Raises
    ------
    Changing
        If a guard of the loop body fails in some iteration.
    """
    inputs = tuple([renamed(x, f"x{i}") for i, x in enumerate(call.values)])
    scope = Scope()
    instead = Call(call.function, inputs, {}, call.results)
    looping = with_own_turns(Program("loop", inputs, (instead,), call.results))
    names = {x: x.name for x in inputs}
    body = write(looping, names, scope)
    lines = [*body.lines, f"return [{', '.join(body.outputs)}]"]
    source = f"def loop({', '.join(names.values())}):\n" + "".join([f"    {t}\n" for t in lines])
    made: dict[str, Any] = {}
    exec(source, scope.data, made)  # noqa: S102
    found = made["loop"](*given)
    if found is MISS:
        raise Changing
    return list(found)

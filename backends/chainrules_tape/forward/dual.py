"""Forward mode: values that carry their tangents."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from chainrules_py import Tangent, is_zero, unthunk, zero_tangent
from chainrules_py.extend import (
    ZEROS,
    Bound,
    Classes,
    Settled,
    SettledCalls,
    Site,
    Thunk,
    Trace,
    Tracer,
    Unmixed,
    missing,
    notes,
)
from chainrules_py.ops.engine_operations import duplicate
from chainrules_tape.array_writes.writes_and_views import Writable, alone, fits
from chainrules_tape.core.bare_tape import refuse_over
from chainrules_tape.inspect.kept_calls import check_pushed, trap_is_set
from chainrules_tape.rule_config import config

Run: TypeAlias = Callable[..., Any]


class Pushing(Trace):
    """Tracing of forward mode: the link of a dual is its tangent. Nothing is kept for later.

    Duals belong to one differentiation if they share its level.
    """

    mode = "forward"
    config = config
    at = operator.attrgetter("_level")
    link = operator.attrgetter("tangent")
    keeps = False
    debugged = staticmethod(trap_is_set)

    def fields(self, cls: type, links: dict[Any, Any]) -> Any:
        """Return the tangent of a structure."""
        return Tangent.of(cls, links)

    def part(self, at: int, link: Any, value: Any, key: Any) -> Any:
        """Return the tangent of a field."""
        return unthunk(link[key])

    def leave(self, at: int, y: Any, out: Any, arrays: Sequence[Any], bound: Bound) -> Any:
        """Pair the value with its tangent if the tangent is not zero."""
        if at not in notes:
            refuse_over()
        y_dot = unthunk(out)
        return y if is_zero(y_dot) else duals[type(y)](y, at, y_dot)

    def wrap(self, value: Any, at: int, link: Any) -> Any:
        """Pair a value with its tangent if the tangent is not zero."""
        return value if is_zero(link) else duals[type(value)](value, at, link)

    def note(self, at: int, call: tuple[Any, ...], links: Any, y: Any, out: Any) -> None:
        """Raise inside `debug_nans` if the call, or its push, made a NaN."""
        if trap_is_set():
            primitive, _, opened, _ = call
            check_pushed(primitive, [payload for payload, _ in opened], links, y, out)


class Dual(SettledCalls, Writable):
    """Value with its tangent, at one level. It has a subclass for each type of payload."""

    __slots__ = ("_level", "payload", "tangent")
    state = __slots__
    engine = "forward"
    config = config
    tracing: ClassVar[Trace] = Pushing()
    __dispatch_type__: ClassVar[type]

    def __init__(self, value: Any, level: int, tangent: Any) -> None:
        self.payload = value
        self.tangent = tangent
        self._level = level

    @property
    def level(self) -> int:
        """The level of its differentiation."""
        return self._level

    @property
    def is_over(self) -> bool:
        """Whether its differentiation has ended."""
        return self._level not in notes

    @classmethod
    def make_step(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """Return the step of a call with operands of these classes and default options."""
        primitive, written = site.primitive, site.primitive.has_body
        if not written and (primitive.options or not len(classes) == len(primitive.operands) < 3):
            return super().make_step(site, classes)
        settled = cls.tracing.settle(primitive, site.primal, classes)
        bound = None if settled is None or settled.others else settled.bound
        shared = cls.tracing.sharing(primitive, settled) if written and settled else None
        if (
            settled is None
            or bound is None
            or bound.wanted != settled.mine
            or (shared is None and (written or not bound.recipe.is_elementwise or bound.may_share))
        ):
            return super().make_step(site, classes)
        if shared is None:
            return _STEPS[settled.mine](bound.run, site.general, settled.objects)
        results = Unmixed(duals, primitive)
        return _step_of_written(bound.run, site.general, results, settled, *shared)

    # -- writing in place (`chainrules_tape.array_writes.writes_and_views`)

    def own_memory(self) -> None:
        """Copy the value and the tangent."""
        super().own_memory()
        self.tangent = duplicate(self.tangent)

    def _leaf(self, value: Any) -> Any:
        """Return a value with a zero tangent, which can be written to as well."""
        return duals[type(value)](value, self._level, zero_tangent(value))

    def _put(self, pattern: Any, arrays: tuple[Any, ...], value: Any) -> bool:
        """Write to the value and to the tangent."""
        y, y_dot = self.tracing.open(value, self._level)
        if y_dot is None or is_zero(y_dot):
            y_dot = 0
        if not (
            alone(self)
            and alone(self, "tangent")
            and fits(self.payload, y, *arrays)
            and fits(self.tangent, y_dot, *arrays)
        ):
            return False
        where = pattern.join(arrays)
        self.payload[where] = y
        self.tangent[where] = y_dot
        return True


Pushing.tracer = Dual

# The steps of one and two operands are written out, as those of the tape are. An operand that is
# an array may have the dtype `objects` and hold traced values.


def _step_of_one(run: Run, general: Run, objects: Any) -> Run:
    def step(a: Any) -> Any:
        if a._level not in notes or trap_is_set():
            return general(a)
        y, y_dot = run((a.tangent,), a.payload)
        return y if type(y_dot) in ZEROS else duals[type(y)](y, a._level, y_dot)

    return step


def _step_of_both(run: Run, general: Run, objects: Any) -> Run:
    def step(a: Any, b: Any) -> Any:
        level = a._level
        if level != b._level or level not in notes or trap_is_set():
            return general(a, b)
        y, y_dot = run((a.tangent, b.tangent), a.payload, b.payload)
        return y if type(y_dot) in ZEROS else duals[type(y)](y, level, y_dot)

    return step


def _step_of_left(run: Run, general: Run, objects: Any) -> Run:
    def step(a: Any, b: Any) -> Any:
        level = a._level
        if level not in notes or trap_is_set() or (objects is not None and b.dtype is objects):
            return general(a, b)
        y, y_dot = run((a.tangent,), a.payload, b)
        return y if type(y_dot) in ZEROS else duals[type(y)](y, level, y_dot)

    return step


def _step_of_right(run: Run, general: Run, objects: Any) -> Run:
    def step(a: Any, b: Any) -> Any:
        level = b._level
        if level not in notes or trap_is_set() or (objects is not None and a.dtype is objects):
            return general(a, b)
        y, y_dot = run((b.tangent,), a, b.payload)
        return y if type(y_dot) in ZEROS else duals[type(y)](y, level, y_dot)

    return step


def _step_of_written(
    run: Any, general: Any, classes: Any, settled: Settled, arrays: list[int], share: Any
) -> Callable[..., Any]:
    """Return the step of a user-defined function, with any operands and options."""
    places = settled.places
    first = places[0]
    holders, objects = settled.holders, settled.objects

    def step(*operands: Any, **options: Any) -> Any:
        for i in holders:
            if operands[i].dtype is objects:
                return general(*operands, **options)
        level, payloads, tangents = operands[first]._level, [*operands], []
        for i in places:
            x = operands[i]
            if x._level != level:
                return general(*operands, **options)
            payloads[i] = x.payload
            tangents.append(x.tangent)
        if level not in notes or trap_is_set():
            return general(*operands, **options)
        try:
            y, y_dot = run(tuple(tangents), *payloads, **options)
        except Exception:
            if missing(tangents) is None:
                raise
            return general(*operands, **options)  # whose error names what is not implemented
        y_dot = y_dot() if type(y_dot) is Thunk else y_dot
        made = y if type(y_dot) in ZEROS else classes[type(y)](y, level, y_dot)
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


_STEPS: dict[tuple[bool, ...], Callable[..., Run]] = {
    (True,): _step_of_one,
    (True, True): _step_of_both,
    (True, False): _step_of_left,
    (False, True): _step_of_right,
}


duals = Classes(Dual, Dual.tracing.wrap_fields)

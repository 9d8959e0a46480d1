"""Forward mode: values that carry their tangent along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from chainrules_py import (
    Primitive,
    Tangent,
    ZeroTangent,
    bind,
    find_rule,
    is_zero,
    unthunk,
    zero_tangent,
)
from chainrules_py.extend import (
    Bound,
    Cache,
    Classes,
    Site,
    fields_of,
    find_tracers,
    is_structure_type,
    is_tracer_type,
    rebuild,
)
from chainrules_py.vocabulary.views import duplicate, read
from chainrules_tape.config import config
from chainrules_tape.core.variable import through
from chainrules_tape.inspect.nans import check_pushed, trap_is_set
from chainrules_tape.memory.view import note_view
from chainrules_tape.memory.write import Writable, alone, fits

__all__ = ["Dual", "dual", "open_dual"]


class Dual(Writable):
    """A value with its tangent, at one level. It has a subclass for each type of payload."""

    __slots__ = ("_level", "payload", "tangent")
    state = __slots__
    engine = "forward"
    config = config
    __dispatch_type__: ClassVar[type]

    def __init__(self, value: Any, tangent: Any, level: int) -> None:
        self.payload = value
        self.tangent = tangent
        self._level = level

    @property
    def level(self) -> int:
        """The differentiation that it belongs to."""
        return self._level

    def __trace__(
        self,
        primitive: Primitive[..., Any],
        operands: tuple[Any, ...],
        options: dict[str, Any],
        primal: Callable[..., Any] | None = None,
    ) -> Any:
        """Push the tangents of a call forward; this level is the highest of the call's."""
        classes = tuple(map(type, operands))
        try:
            push = _pushers.table[primitive, primal, classes]
        except KeyError:
            table = _pushers.open()
            push = table[primitive, primal, classes] = _pusher(primitive, primal, classes)
        return push(self._level, operands, options)

    def _read(self, pattern: Any, arrays: tuple[Any, ...]) -> Any:
        if arrays:
            return super()._read(pattern, arrays)
        cls = type(self)
        try:
            push = _pushers.table[cls]
        except KeyError:
            if cls.__trace__ is not Dual.__trace__:
                return super()._read(pattern, arrays)
            table = _pushers.open()
            push = table[cls] = _pusher(read, None, (cls,))
        return push(self._level, (self,), {"index": pattern})

    @classmethod
    def make_step(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """Make the step of a call without options."""
        primitive = site.primitive
        if primitive.options or primitive.variadic or len(classes) != len(primitive.operands):
            return None
        mine = [issubclass(c, Dual) for c in classes]
        others = any(is_tracer_type(c) and not m for c, m in zip(classes, mine, strict=True))
        if others or len(classes) > 2 or any(map(is_structure_type, classes)):
            return None
        bound = _bound(site.primitive, site.primal, classes, mine)
        if bound is None or not bound.is_elementwise:
            call = cls.make_call(site, classes)
            return None if call is None else lambda *operands: call(operands, {})
        if list(bound.wanted) != mine:
            return None
        if len(classes) == 1:
            return _step_of_one(bound.run, site.general)
        if all(mine):
            return _step_of_both(bound.run, site.general)
        return (_step_of_left if mine[0] else _step_of_right)(bound.run, site.general)

    @classmethod
    def make_call(cls, site: Site, classes: tuple[type, ...]) -> Callable[..., Any] | None:
        """Make the function that pushes through a call with options; all tracers must be ours."""
        mine = [issubclass(c, Dual) for c in classes]
        others = any(is_tracer_type(c) and not m for c, m in zip(classes, mine, strict=True))
        if others or any(map(is_structure_type, classes)):
            return None
        push = _pusher(site.primitive, site.primal, classes)
        first, *rest = [i for i, m in enumerate(mine) if m]

        def call(operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
            level = operands[first]._level
            if any([operands[i]._level != level for i in rest]):
                return site.general(*operands, **options)
            return push(level, operands, options)

        return call

    # -- writing in place (`chainrules_tape.memory.write`)

    def _leaf(self, value: Any) -> Any:
        """Return a value with a tangent of zeros, which can be written to as well."""
        return dual(value, zero_tangent(value), self._level)

    def own_memory(self) -> None:
        """Copy the value and the tangent."""
        super().own_memory()
        self.tangent = duplicate(self.tangent)

    def _put(self, pattern: Any, arrays: tuple[Any, ...], value: Any) -> bool:
        """Write to the value and to the tangent."""
        y, y_dot = open_dual(value, self._level)
        if is_zero(y_dot):
            y_dot = 0
        if not (
            alone(self)
            and alone(self, "tangent")
            and fits(self.payload, y)
            and fits(self.tangent, y_dot)
        ):
            return False
        where = pattern.join(arrays)
        self.payload[where] = y
        self.tangent[where] = y_dot
        return True


_pushers = Cache()


def _bound(
    primitive: Primitive[..., Any],
    primal: Callable[..., Any] | None,
    classes: tuple[type, ...],
    mine: list[bool],
) -> Bound | None:
    """Bind the rule of a call whose tangents are those of the duals; None if it has none."""
    payloads = tuple([c.payload_type if m else c for c, m in zip(classes, mine, strict=True)])  # type: ignore[attr-defined]
    rule = find_rule(primitive, payloads, config)
    if rule is None or rule.forward is None:
        return None
    return bind(rule, payloads, tuple(mine), "forward", primal=primal, config=config)


def _pusher(
    primitive: Primitive[..., Any], primal: Callable[..., Any] | None, classes: tuple[type, ...]
) -> Callable[[int, tuple[Any, ...], dict[str, Any]], Any]:
    """Build a function that pushes tangents through a primitive, for operands of these classes."""

    def push_any(level: int, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
        return _push(primitive, primal, level, operands, options)

    if any(map(is_structure_type, classes)):
        return push_any
    mine = [issubclass(cls, Dual) for cls in classes]
    bound = _bound(primitive, primal, classes, mine)
    if bound is None:
        return push_any
    run = bound.run
    places = [i for i, m in enumerate(mine) if m]
    wanted = [i for i in places if bound.wanted[i]]
    views = places[:1] == [0] and bound.may_view

    def push_alone(level: int, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
        (x,) = operands
        if trap_is_set():
            return push_one(level, operands, options)
        y, y_dot = run((x.tangent,), x.payload, **options)
        made = dual(y, unthunk(y_dot), level)
        if views and isinstance(made, Dual):
            note_view(made, primitive, operands, options, y, x.payload)
        return made

    def push_one(level: int, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
        payloads = list(operands)
        for i in places:
            x = operands[i]
            if x._level != level:
                return push_any(level, operands, options)
            payloads[i] = x.payload
        tangents = tuple([operands[i].tangent for i in wanted])
        y, y_dot = run(tangents, *payloads, **options)
        if trap_is_set():
            check_pushed(primitive, payloads, tangents, y, y_dot)
        made = dual(y, unthunk(y_dot), level)
        if views and isinstance(made, Dual):
            note_view(made, primitive, operands, options, y, payloads[0])
        return made

    return push_alone if len(classes) == len(wanted) == 1 else push_one


def _push(
    primitive: Primitive[..., Any],
    primal: Callable[..., Any] | None,
    level: int,
    operands: tuple[Any, ...],
    options: dict[str, Any],
) -> Any:
    """Push through a call whose operands may be structures, or duals of several levels."""
    opened = [open_dual(x, level) for x in operands]
    payloads = [payload for payload, _ in opened]
    wanted = tuple(not is_zero(t) for _, t in opened)
    classes = tuple(map(type, payloads))
    rule = find_rule(primitive, classes, config)
    if rule is None or rule.forward is None:
        return through(primitive, operands, options, classes, "forward")
    bound = bind(rule, classes, wanted, "forward", primal=primal, config=config)
    if bound is None:
        return (primal or primitive)(*payloads, **options)
    tangents = tuple([t for (_, t), w in zip(opened, bound.wanted, strict=True) if w])
    y, y_dot = bound.run(tangents, *payloads, **options)
    if trap_is_set():
        check_pushed(primitive, payloads, tangents, y, y_dot)
    made = dual(y, unthunk(y_dot), level)
    if isinstance(made, Dual) and bound.may_view:
        x = operands[0]
        if isinstance(x, Dual) and x._level == level:
            note_view(made, primitive, operands, options, y, payloads[0])
    return made


# The steps of one and two operands are written out, as those of the tape are.


def _step_of_one(run: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    def step(a: Any) -> Any:
        if trap_is_set():
            return general(a)
        y, y_dot = run((a.tangent,), a.payload)
        return y if is_zero(y_dot) else _classes[type(y)](y, y_dot, a._level)

    return step


def _step_of_both(run: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    def step(a: Any, b: Any) -> Any:
        level = a._level
        if level != b._level or trap_is_set():
            return general(a, b)
        y, y_dot = run((a.tangent, b.tangent), a.payload, b.payload)
        return y if is_zero(y_dot) else _classes[type(y)](y, y_dot, level)

    return step


def _step_of_left(run: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    def step(a: Any, b: Any) -> Any:
        if trap_is_set():
            return general(a, b)
        y, y_dot = run((a.tangent,), a.payload, b)
        return y if is_zero(y_dot) else _classes[type(y)](y, y_dot, a._level)

    return step


def _step_of_right(run: Callable[..., Any], general: Callable[..., Any]) -> Callable[..., Any]:
    def step(a: Any, b: Any) -> Any:
        if trap_is_set():
            return general(a, b)
        y, y_dot = run((b.tangent,), a, b.payload)
        return y if is_zero(y_dot) else _classes[type(y)](y, y_dot, b._level)

    return step


def open_dual(x: Any, level: int) -> tuple[Any, Any]:
    """Split a value into its primal and its tangent of a level, taking structures apart."""
    cls = type(x)
    if is_tracer_type(cls):
        return (
            (x.payload, x.tangent)
            if isinstance(x, Dual) and x._level == level
            else (x, ZeroTangent())
        )
    if is_structure_type(cls) and any(
        isinstance(t, Dual) and t._level == level for t in find_tracers(x)
    ):
        opened = [(key, *open_dual(field, level)) for key, field in fields_of(x)]
        tangent = Tangent.of(cls, {key: t for key, _, t in opened if not is_zero(t)})
        return rebuild(x, [payload for _, payload, _ in opened]), tangent
    return x, ZeroTangent()


def dual(y: Any, y_dot: Any, level: int) -> Any:
    """Pair a value with its tangent, field by field for structures; a zero tangent is left out."""
    return y if is_zero(y_dot) else _classes[type(y)](y, y_dot, level)


def _dual_fields(y: Any, y_dot: Any, level: int) -> Any:
    return rebuild(y, [dual(field, unthunk(y_dot[key]), level) for key, field in fields_of(y)])


_classes = Classes(Dual, _dual_fields)

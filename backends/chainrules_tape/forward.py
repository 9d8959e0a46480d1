"""Forward mode: values that carry their tangent along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from chainrules_py import Tangent, ZeroTangent, bind
from chainrules_py.arrays import dispatch_type, is_tracer_type
from chainrules_py.primitive import Primitive, find_tracers
from chainrules_py.structure import fields_of, is_structure_type, rebuild
from chainrules_py.tangents import is_zero, unthunk
from chainrules_py.vocabulary import copy, zeros_like
from chainrules_tape.config import config
from chainrules_tape.debugging import check_pushed, trap_is_set
from chainrules_tape.inplace import alone, fits, gives_views, join, share
from chainrules_tape.members import members
from chainrules_tape.tracing import ArrayLike, Site
from chainrules_tape.variables import is_leaf_type, through

__all__ = ["Dual", "dual", "open_dual"]


class Dual(ArrayLike):
    """A value with its tangent, at one level. It has a subclass for each type of payload."""

    __slots__ = ("_level", "payload", "tangent")
    state = __slots__
    engine = "forward"
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
        level = self._level
        opened = [open_dual(x, level) for x in operands]
        payloads = [payload for payload, _ in opened]
        wanted = tuple(not is_zero(t) for _, t in opened)
        classes = tuple(map(type, payloads))
        rule = Site(primitive, primal).rule(classes)
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
        if isinstance(made, Dual) and gives_views(primitive, bound.statement.recipe.pen):
            x = operands[0]
            views = isinstance(x, Dual) and x._level == level and share(y, payloads[0])
            if views and join(made, x, options):
                made.payload, made.tangent = copy(y), copy(made.tangent)
        return made

    # -- writing in place (`chainrules_tape.inplace`)

    def _leaf(self, value: Any) -> Any:
        """A value with a tangent of zeros, which can be written to as well."""
        return dual(value, zeros_like(value), self._level)

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


def open_dual(x: Any, level: int) -> tuple[Any, Any]:
    """The value and the tangent of a level in a value, with structures taken apart."""
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


class _DualClasses(dict[type, Any]):
    def __missing__(self, cls: type) -> Any:
        made = self[cls] = type(
            f"Dual[{dispatch_type(cls).__name__}]",
            (Dual,),
            members(dispatch_type(cls))
            | {
                "__slots__": (),
                "__module__": __name__,
                "__dispatch_type__": dispatch_type(cls),
                "payload_type": cls,
            },
        )
        return made


_classes = _DualClasses()


def dual(y: Any, y_dot: Any, level: int) -> Any:
    """A value with its tangent, field by field for structures; the value alone if that is zero."""
    if is_zero(y_dot):
        return y
    cls = type(y)
    if is_structure_type(cls):
        return rebuild(y, [dual(field, unthunk(y_dot[key]), level) for key, field in fields_of(y)])
    if not is_leaf_type(cls):
        return y
    return _classes[cls](y, y_dot, level)

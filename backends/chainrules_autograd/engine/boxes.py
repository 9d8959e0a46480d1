"""autograd's boxes as tracers: operations on them are calls that autograd records.

autograd has one class of boxes for arrays and numbers of all types. Rules are chosen by the type of
the payload; therefore each type has a class here, which autograd accepts as a box. Only the halves
of our rules see these classes. autograd itself makes its own boxes, which operations accept, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from autograd.builtins import DictBox, SequenceBox
from autograd.extend import Box
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.tracer import getval, isbox

from chainrules_autograd.engine import _private
from chainrules_py import TracerError
from chainrules_py.extend import (
    Tracer,
    aliases,
    answer_as,
    describe,
    flatten,
    is_structure_type,
    map_leaves,
    rebuild,
    register_host,
    see,
    stood_for,
    type_info,
)
from chainrules_py.ops import binary_operators, index, square_operator, unary_operators

runner: list[Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]] = []
"""Runs a call of a primitive on boxes; set by `chainrules_autograd.engine.calls`."""


class Traced(ArrayBox, Tracer):  # type: ignore[misc]
    """A box that is a tracer. It has a subclass for each type of payload."""

    __slots__ = ()
    __dispatch_type__: ClassVar[type]

    @property
    def level(self) -> int:
        """The number of its trace; inner differentiations have higher numbers."""
        return _private.trace(self)

    @property
    def __payload__(self) -> Any:
        return boxed(self._value)

    def __trace__(
        self,
        primitive: Any,
        operands: tuple[Any, ...],
        options: dict[str, Any],
        primal: Callable[..., Any] | None = None,
    ) -> Any:
        """Make autograd record a call."""
        return runner[0](primitive, operands, options)

    @property
    def device(self) -> Any:
        """The device of the payload."""
        return getattr(getval(self), "device", None)

    def __getitem__(self, where: Any) -> Any:
        return index(self, where)

    def __bool__(self) -> bool:
        return bool(getval(self))

    # A NumPy function of a box is a call of operations as well, so that rules apply in what rules
    # compute.

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Any:
        row = aliases.get(ufunc if method == "__call__" else getattr(ufunc, method))
        if row is None:
            return super().__array_ufunc__(ufunc, method, *operands, **options)
        return row.call(opened(operands), options)()

    def __array_function__(
        self, f: Any, types: Any, operands: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        row = aliases.get(f)
        return NotImplemented if row is None else row.call(opened(operands), options)()

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TracerError(
            f"{describe(bare(self))}, which autograd differentiates, does not become a plain "
            f"array: its derivative would be lost; write np.stack([x, y]) for np.array([x, y]), "
            f"also where a buffer was to be filled"
        )

    def item(self) -> Any:
        """Raise instead of converting to a plain number, as ``__float__`` and the like do."""
        return self.__array__()

    __float__ = __int__ = __complex__ = item

    def __setitem__(self, where: Any, value: Any) -> None:
        raise TracerError(
            f"{describe(bare(self))}, which autograd differentiates, is written to in place, which "
            f"autograd does not see; write np.where(condition, value, x), or np.concatenate"
        )

    __hash__ = ArrayBox.__hash__


class TracedNumber(Traced):
    """A box of a Python number, which has no dtype."""

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """Missing dtype: reading it raises AttributeError, as for Python numbers."""
        raise AttributeError("a number of Python's has no dtype")


def _operator(operation: Any, *, reflected: bool = False) -> Any:
    def method(self: Any, other: Any) -> Any:
        if not _is_operand(other):
            return NotImplemented
        return operation(other, self) if reflected else operation(self, other)

    return method


def _is_operand(x: Any) -> bool:
    return isbox(x) or type_info(type(x)).is_array or type_info(type(x)).is_number


def _power(self: Any, other: Any) -> Any:
    if type(other) is int and other == 2:
        return square_operator[0](self)
    return binary_operators["__pow__"][0](self, other)


for _name, (_operation, _) in unary_operators.items():
    setattr(Traced, _name, _operation)
for _name, (_operation, _) in binary_operators.items():  # type: ignore[assignment]
    setattr(Traced, _name, _operator(_operation))
    if _name not in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
        setattr(Traced, f"__r{_name[2:]}", _operator(_operation, reflected=True))
Traced.__pow__ = _power


_classes: dict[type, type] = {}


def _class_for(payload: type) -> type:
    """Return the class of tracers for a payload type; make it at the first call."""
    try:
        return _classes[payload]
    except KeyError:
        see(None, (payload,))
        base = TracedNumber if payload in (int, float, complex) else Traced
        state: dict[str, Any] = {
            "__slots__": (),
            "__module__": __name__,
            "__dispatch_type__": payload,
        }
        if payload in stood_for:
            state["__class__"] = property(answer_as)
        made = _classes[payload] = type(f"Traced[{payload.__name__}]", (base,), state)
        # A box of a box has the class of the inner one.
        Box.types.add(made)
        Box.type_mappings[made] = made
        return made


def boxed(x: Any) -> Any:
    """Convert autograd's boxes to tracers, also in structures."""
    cls = type(x)
    if cls is ArrayBox:
        return _class_for(type(getval(x)))(_private.value(x), _private.trace(x), _private.node(x))
    if cls in (SequenceBox, DictBox):
        value = getval(x)
        keys = value if cls is DictBox else range(len(value))
        return rebuild(value, [boxed(x[key]) for key in keys])
    if is_structure_type(cls):
        return map_leaves(boxed, x)
    return x


def returned(y: Any) -> Any:
    """Convert tracers in a result to autograd's own boxes, which its programs expect."""
    cls = type(y)
    if issubclass(cls, Traced):
        return ArrayBox(_private.value(y), _private.trace(y), _private.node(y))
    if is_structure_type(cls):
        return map_leaves(returned, y)
    return y


def is_boxed(x: Any) -> bool:
    """Return whether a value is, or holds, a box."""
    return any(map(isbox, flatten(x)[0]))


def bare(x: Any) -> Any:
    """Remove the boxes of a value, at every level."""
    if isbox(x):
        return bare(getval(x))
    return map_leaves(bare, x) if is_structure_type(type(x)) else x


def opened(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return operands with tracers for boxes."""
    return tuple(map(boxed, operands))


def _host(primitive: Any, classes: tuple[type, ...], _: Any) -> Callable[..., Any]:
    """Return the function that runs a primitive with autograd's own boxes among its operands."""
    return lambda *operands, **options: primitive(*opened(operands), **options)


for _cls in (ArrayBox, SequenceBox, DictBox):
    register_host(_cls, _host, constant=bare, varies=isbox)

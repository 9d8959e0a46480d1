"""Recorded values: proxies of the arrays and numbers of a function that is being recorded.

Engines see a recorded value as an array of a library with the functions of the original:
`__dispatch_type__` selects the operations and facts of that library, and the host computes and
records each call (`chainrules_compile.primitive_calls`). It is not a `Tracer`: it carries no
derivative, and functions that strip tracers keep it.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, TypeVar
from weakref import ref

import numpy as np

from chainrules_compile.errors import RecordingError, Unfit
from chainrules_compile.internal_functions import double
from chainrules_py.extend import (
    MOST_ELEMENTS,
    Line,
    Tracer,
    advised_at,
    asks_first,
    caller,
    describe,
    element_methods,
    flatten,
    is_structure_type,
    joined,
    root_module,
    told,
    type_info,
    unflatten,
)
from chainrules_py.program import Value

T = TypeVar("T")
CLASSES: set[type] = set()
"""All classes of recorded values, for a fast test of operands."""


class Noted:
    """Value while a function is recorded; there is a subclass for each type of payload.

    Attributes
    ----------
    payload
        The value itself, for the arguments that the function is recorded with.
    recorder : Recorder
        The recorder of the calls.
    reading : Reading or None
        How a view was read from another recorded array.
    views : list of weakref
        The recorded arrays that were read from it.
    """

    __asked_again__ = True
    __slots__ = ("__weakref__", "noted", "payload", "reading", "recorder", "views")
    __dispatch_type__: ClassVar[type]
    payload_type: ClassVar[type]
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, payload: Any, recorder: Any, noted: Value | None) -> None:
        self.payload = payload
        self.recorder = recorder
        self.noted = noted
        self.reading: Reading | None = None
        self.views: list[ref[Noted]] | None = None
        recorder.living.append(ref(self))

    def __init_subclass__(cls) -> None:
        CLASSES.add(cls)
        for name, method in element_methods.items():
            setattr(cls, name, method)

    @property
    def current(self) -> Value:
        """The value in the program; a view is read again if its parent was written to."""
        if self.noted is None:
            self.recorder.read_again(self)
        assert self.noted is not None
        return self.noted

    # -- conversions that a program guards

    def __bool__(self) -> bool:
        return bool(self.recorder.ask(bool, self))

    def __int__(self) -> int:
        return int(self.recorder.ask(int, self))

    def __index__(self) -> int:
        return int(self.recorder.ask(operator.index, self))

    # -- conversions to plain values, which are refused

    def __float__(self) -> float:
        if "logging" in map(root_module, Line(caller()).library):
            return written(self, float(self.payload))
        return refuse(self, "a float")

    def __complex__(self) -> complex:
        return refuse(self, "a complex")

    @property
    def __array__(self) -> Any:
        """Missing for a small real value, which NumPy then makes an element of an object array.

        A Python number becomes one of NumPy's, as in an array.
        """
        if not self._is_element():
            return lambda *_, **__: refuse(self, "an array")
        if type(self.payload) is not float:
            raise AttributeError("__array__")
        made = np.empty((), object)
        made[()] = self.recorder.call(double, (self,), {})
        return lambda *_, **__: made

    @property
    def __array_interface__(self) -> Any:
        if self._is_element():
            raise AttributeError("__array_interface__")
        return refuse(self, "an array")

    def _is_element(self) -> bool:
        """Return whether it becomes an element; guard that it is finite.

        Some functions of NumPy compute otherwise with objects that are not. A narrower element
        would stay narrow beside others, which widen it in an array of numbers.
        """
        x = np.asarray(self.payload)
        is_element = x.dtype == np.float64 and 0 < x.size <= MOST_ELEMENTS
        if is_element and self.current not in self.recorder.elements:
            self.recorder.elements.add(self.current)
            if not np.all(np.isfinite(self)):
                refuse(self, "an array")
        return is_element

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        refuse(self, "bytes")

    def __copy__(self: Any) -> Any:
        return self.copy() if type_info(type(self)).is_array else self

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    # -- texts, which keep the function from being compiled

    def __str__(self) -> str:
        return written(self, str(self.payload))

    def __format__(self, spec: str) -> str:
        return written(self, format(self.payload, spec))

    def __repr__(self) -> str:
        return written(self, repr(self.payload))

    # -- NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **keywords: Any) -> Any:
        if holds_tracers(operands) or holds_tracers(keywords):
            return NotImplemented
        if keywords.get("out") is not None:
            return self.recorder.write_result(ufunc, method, operands, keywords)
        if method == "at":
            return self.recorder.write_by(ufunc.at, operands, keywords)
        if method != "__call__":
            return self.recorder.call(getattr(ufunc, method), operands, keywords)
        return self.recorder.call(ufunc, operands, keywords)

    def __array_function__(
        self, function: Any, types: Any, operands: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        if holds_tracers(operands) or holds_tracers(keywords):
            return NotImplemented
        return self.recorder.call_function(function, operands, keywords)


def member_of(x: Noted, name: str) -> Any:
    """Return an attribute or a method of a recorded value, by the class of its payload."""
    member = getattr(type(x).payload_type, name)  # raises as the class does
    if not callable(member):
        return x.recorder.attribute(x, name)
    return lambda *operands, **keywords: x.recorder.call_method(
        name, member, (x, *operands), keywords
    )


def written(x: Noted, given: T) -> T:
    """Return a text of a value, or the number that goes into one: no program makes it."""
    Unfit(told(f"a text is made of {describe(x.payload)}", Line(caller()), _INSTEAD["a text"]))
    return given


class Subscripts:
    """Methods that recorded arrays have and recorded numbers do not have."""

    __slots__ = ()

    def __len__(self: Any) -> int:
        return len(self.payload)

    def __iter__(self: Any) -> Any:
        return (self[i] for i in range(len(self)))

    def __contains__(self: Any, item: Any) -> bool:
        return bool((self == item).any())

    def __getitem__(self: Any, where: Any) -> Any:
        return self.recorder.read(self, where)

    def __setitem__(self: Any, where: Any, value: Any) -> None:
        self.recorder.write(self, where, joined(value))

    __array_priority__ = 1000


class Reading:
    """Call that reads a view, and the position of the view among its results.

    Attributes
    ----------
    parent : Noted
        The array that it is a view of.
    function, operands, options
        The call.
    results, index : int
        The number of results of the call, and the index of the view among them.
    where : Index or None
        The index of a subscript without arrays.
    """

    __slots__ = ("function", "index", "operands", "options", "parent", "results", "where")

    def __init__(
        self,
        parent: Noted,
        call: tuple[Any, tuple[Any, ...], Any],
        results: int = 1,
        index: int = 0,
    ) -> None:
        self.parent = parent
        self.function, self.operands, self.options = call
        self.results = results
        self.index = index
        self.where: Any = None

    @property
    def place(self) -> int | None:
        """The index of the parent among the operands; None unless it is there exactly once."""
        places = [i for i, x in enumerate(self.operands) if x is self.parent]
        return places[0] if len(places) == 1 else None


_STRUCTURES = (tuple, list, dict)


def holds_tracers(x: Any) -> bool:
    """Return whether a value is a tracer, or a tuple, list or dict that contains one."""
    cls = type(x)
    if cls is tuple or cls is list:
        return any(map(holds_tracers, x))
    if cls is dict:
        return any(map(holds_tracers, x.values()))
    return issubclass(cls, Tracer)


def plain(x: Any) -> Any:
    """Return a value with payloads in place of recorded values."""
    cls = type(x)
    if cls in CLASSES:
        return x.payload
    if is_structure_type(cls) and holds_noted(x):
        leaves, tree = flatten(x)
        return unflatten(tree, map(plain, leaves))
    return x


def holds_noted(x: Any) -> bool:
    """Return whether a value is recorded, or contains a recorded value."""
    cls = type(x)
    if cls in CLASSES:
        return True
    return is_structure_type(cls) and any(map(holds_noted, flatten(x)[0]))


def simple(x: Any) -> bool:
    """Return whether an operand can be stored in a call without flattening."""
    cls = type(x)
    if cls in _STRUCTURES:
        return all(map(simple, x.values() if cls is dict else x))
    return not is_structure_type(cls) or not holds_noted(x)


_INSTEAD = {
    "a float": "use {x}",
    "a complex": "use {x} + 0j",
    "an array": "write it with functions of NumPy's or of chainrules_py.ops, or as a @primitive",
    "bytes": "return it, and pickle what the compiled function gives",
    "a text": "print, or format, what the compiled function returns",
}
"""What to write where nothing is known of the called function."""


def instead_at(line: Line) -> str:
    """Return what to write for the function that a line calls; empty if nothing is known.

    A recorded value has no derivative to ignore.
    """
    if getattr(line.function, "__globals__", {}).get("__name__", "").startswith("chainrules_"):
        return f"{line.called} is not compiled: call it outside, and compile what is around it"
    found = advised_at(line) or ""
    return "" if "ignore_derivatives" in found else found


def refuse(x: Noted, kind: str) -> NoReturn:
    """Raise for a conversion to a plain value.

    Raises
    ------
    RecordingError
        Always; the message says what to write instead.
    """
    line = Line(caller())
    write = instead_at(line) or _INSTEAD[kind].format(x=line.argument)
    if isinstance(line.node, ast.Subscript):
        of, place = ast.unparse(line.node.value), ast.unparse(line.node.slice)
        write = f"use take({of}, {place}, axis=0), after 'from chainrules_py.ops import take'"
        if isinstance(line.node.slice, ast.Tuple):
            write = f"pass {of} as an argument"
        elif x.payload.dtype.kind == "b":
            write = f"use np.compress({place}, {of}, axis=0)"
    elif isinstance(line.node, ast.BinOp) and isinstance(line.node.op, ast.Mod):  # "%.3f" % x
        write = _INSTEAD["a text"]
    raise RecordingError(
        told(
            f"{describe(x.payload)} of a function that is being compiled does not become {kind}",
            line,
            write,
        ),
        arguments=x.recorder.arguments_of(x),
    )


# ------------------------------------------------------------------------------------- operators

_BINARY = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift lt le gt ge eq ne"
_UNARY = "neg pos abs invert"
_COMPARISONS = frozenset(["lt", "le", "gt", "ge", "eq", "ne"])


def _binary(function: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    def computed(x: Noted, other: Any, operands: tuple[Any, Any]) -> Any:
        if _defers(function, other, x):
            return NotImplemented
        return x.recorder.compute(function, function, operands, {})

    return (
        lambda self, other: computed(self, other, (self, other)),
        lambda self, other: computed(self, other, (other, self)),
    )


def _in_place(function: Callable[[Any, Any], Any]) -> Any:
    def method(self: Noted, other: Any) -> Any:
        if _defers(function, other, self) or asks_first(self, other):
            return NotImplemented
        if not type_info(type(self)).is_array:
            return self.recorder.call(function, (self, other), {})
        self.recorder.write_operator(self, function, joined(other))
        return self

    return method


def _defers(function: Any, other: Any, x: Noted) -> bool:
    """Return whether an operator defers to the class of the other operand, as for a tracer.

    A product with a number defers to a sequence, which it repeats.
    """
    if function is operator.mul and isinstance(other, _REPEATED) and not isinstance(x, Subscripts):
        return True
    cls = type(other)
    if cls in _PLAIN or issubclass(cls, Noted):
        return False
    if issubclass(cls, Tracer):
        return True
    known = type_info(cls).is_array or type_info(cls).is_number
    return not (known or cls.__module__.partition(".")[0] in _KNOW_NO_BETTER)


_PLAIN = frozenset((int, float, complex, bool))
_REPEATED = (list, tuple, str, bytes, bytearray)
_KNOW_NO_BETTER = frozenset(("builtins", "numpy", "datetime", "decimal", "fractions"))


def _without_nan(compare: Callable[[Any, Any], Any]) -> Any:
    """Return a comparison that guards that no number is NaN, if there are arrays of objects.

    NumPy's functions compare objects otherwise than numbers then.
    """

    def method(self: Noted, other: Any) -> Any:
        for x in (self, other) if self.recorder.elements else ():
            if isinstance(x, Noted) and type_info(type(x)).is_number and np.isnan(x):
                refuse(x, "an array")
        return compare(self, other)

    return method


for _name in _BINARY.split():
    _function = getattr(operator, _name)
    _method, _reflected = _binary(_function)
    _method = _without_nan(_method) if _name in _COMPARISONS else _method
    setattr(Noted, f"__{_name.strip('_')}__", _method)
    if _name not in _COMPARISONS:
        setattr(Noted, f"__r{_name.strip('_')}__", _reflected)
        setattr(Noted, f"__i{_name.strip('_')}__", _in_place(_function))


for _name in _UNARY.split():
    _function = getattr(operator, _name)
    setattr(Noted, f"__{_name}__", lambda self, f=_function: self.recorder.call(f, (self,), {}))
setattr(Noted, "__divmod__", _binary(divmod)[0])  # noqa: B010
setattr(Noted, "__rdivmod__", _binary(divmod)[1])  # noqa: B010

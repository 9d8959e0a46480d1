"""What an object holds, wherever it keeps it: what Python's collector finds, less code.

No list of containers is asked: attributes and slots, items, what functions captured, what methods
are bound to, what is left of an iterator, buffers. What the collector cannot look into is opaque:
bytes, and objects of libraries that are written in C. Such may hold anything.
"""

from __future__ import annotations

import builtins
import contextlib
import contextvars
import functools
import gc
import io
import itertools
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from numbers import Integral, Number
from typing import Any, NamedTuple

from chainrules_py.errors import TracerError
from chainrules_py.values.forgetting import forgets
from chainrules_py.values.generators import is_generator

_MOST = 10_000
_NOTHING = (types.ModuleType, types.CodeType, str, bool, int, type(None), type(...))
_WHOLE = {*"?bhHiIlLqQnN"}
"""Formats of buffers of whole numbers; those of bytes may be of any."""
MACHINERY = {"logging", "asyncio", "multiprocessing", "numba"}
"""Libraries whose objects are no values: they wait, write down what happens, or are compiled."""


def holds(x: Any, is_it: Callable[[Any], bool]) -> bool:
    """Tell whether a value is, or may hold, what passes a test.

    It may if it holds more than 10,000 values, or something that cannot be looked into.

    Examples
    --------
    >>> from collections import deque
    >>> from functools import partial
    >>> holds({"f": partial(pow, deque([2.0]))}, lambda y: type(y) is float)
    True
    >>> holds([1], lambda y: type(y) is float), holds([b""], lambda y: type(y) is float)
    (False, True)
    """
    return any([y is OPAQUE or is_it(y) for y in inside(x)])


def inside(
    x: Any, passed: Callable[[Any], bool] = lambda _: False, most: int = _MOST, ours: bool = False
) -> Iterator[Any]:
    """Yield a value and all that it holds, each once; `OPAQUE` for what is not looked into.

    What is ``passed`` by, is left out with what it holds; so is what objects of these packages
    hold, but with ``ours``, and what tracers do.
    """
    seen, waiting = dict[int, Any](), [x]  # which keeps ids from being given again
    while waiting and len(seen) < most:
        y = waiting.pop()
        if not (id(y) in seen or issubclass(type(y), _NOTHING) or passed(y)):
            seen[id(y)] = y
            yield y
            found = _parts(y, ours)
            if found is None or makes(y):
                yield OPAQUE
            waiting += _told(y) if found is None else found
    if waiting:
        yield OPAQUE


@functools.cache
def may_hold(cls: type) -> bool:
    """Tell whether values of a class may be, or hold, a number that is not whole."""
    return not (str(cls.__module__).partition(".")[0] in MACHINERY or issubclass(cls, _NOTHING))


OPAQUE = object()
"""Stands for values of which nobody knows what they hold."""


def _parts(x: Any, ours: bool) -> list[Any] | None:
    """List what a value holds itself; None if nobody knows."""
    cls = type(x)
    if isinstance(x, type):  # what a module defines was there before
        home: Any = sys.modules.get(x.__module__)
        with contextlib.suppress(AttributeError):
            if functools.reduce(getattr, x.__qualname__.split("."), home) is x:
                return []
        return [*vars(x).values(), *x.__bases__]
    is_ours = str(cls.__module__).startswith("chainrules_")  # None of a class of ctypes
    if ours and is_ours and not hasattr(cls, "__payload__"):
        return [y for _, y in named(x)]
    if hasattr(cls, "dtype") and hasattr(cls, "shape"):  # an array, or what stands for one
        return [*elements(x)] if holds_objects(x) else []
    if is_ours:
        return [getattr(x, name, None) for name in (*getattr(cls, "FIELDS", ()), "captured")]
    if hasattr(cls, "__array__"):
        with contextlib.suppress(TracerError):  # of what holds tracers
            return [x.__array__()]
    if is_generator(cls) or not may_hold(cls):  # type: ignore[arg-type]  # classes are hashable
        return []
    if isinstance(x, io.BytesIO):
        return None
    with contextlib.suppress(TypeError, ValueError, BufferError):
        buffer = memoryview(x)
        return [buffer.obj] if buffer.format in _WHOLE else [0.0]
    found = [y for _, y in named(x)]
    if cls is types.FunctionType:
        return [*found, x.__defaults__, x.__kwdefaults__]
    return None if not found and _is_closed(cls) else found  # type: ignore[arg-type]  # hashable


def named(x: Any) -> list[tuple[str, Any]]:
    """List what a value holds itself, each with how it is written, where it is: ``.w``, ``[0]``."""
    cls = type(x)
    kind, has_attributes = reader(cls)  # type: ignore[arg-type]  # classes are hashable
    held: list[tuple[str, Any]] = []
    with contextlib.suppress(LookupError):
        if kind:
            held = [(f"[{n!r}]" if kind.mark == "[" else f"{kind.mark}{n}" if kind.mark else "", y)
                    for n, y in pairs(kind.read(x))]  # fmt: skip
    if kind is None or cls.__bases__ != (object,):  # which may hold more than its base does
        held += [("", y) for y in rest(x)]
    return held + [(f".{n}", y) for n, y in (attributes(x) if has_attributes else {}).items()]


def cells(f: types.FunctionType) -> dict[str, Any]:
    """Return what a function has captured, by name."""
    return dict(zip(f.__code__.co_freevars, map(content, f.__closure__ or ()), strict=True))


def walked(x: Any) -> list[Any]:
    """List what an object written in C refers to, which the collector does not see."""
    if isinstance(x, weakref.ref):
        return [x()]
    if type(x) in weakref.ProxyTypes:
        with contextlib.suppress(ReferenceError):
            return [x.__init__.__self__]  # which the proxy asks the other for
        return []
    names = [n for n in ("base", "operands", "iters") if type(getattr(type(x), n, None)) in _OF_C]
    asked = [(getattr(x, n), getattr(x, n)) for n in names]
    return [y for y, again in asked if y is again or type(y) is tuple]  # and is not made for us


def _told(x: Any) -> list[Any]:
    """List what an object tells by attributes written in C, where nothing else is known."""
    found, cls = [], type(x)
    for name in of_c(cls):  # type: ignore[arg-type]  # classes are hashable
        with contextlib.suppress(Exception):  # of another library, for a reason of its own
            found.append(getattr(x, name))
    return found


@functools.cache
def of_c(cls: type) -> frozenset[str]:
    """Return the names of the attributes of a class that are written in C."""
    held = [item for base in cls.__mro__ for item in vars(base).items()]
    return frozenset([name for name, member in held if type(member) in _OF_C])


COLLECTED = 1 << 14  # Py_TPFLAGS_HAVE_GC
_OF_C = types.GetSetDescriptorType, types.MemberDescriptorType
_OF_PYTHON = {*dir(builtins), "NotImplementedType", "PyCapsule"}


@functools.cache
def _is_closed(cls: type) -> bool:
    """Tell whether values of a class keep what they hold in C, where the collector cannot look."""
    home = str(cls.__module__).partition(".")[0]
    of_python = cls.__name__ in _OF_PYTHON or cls.__flags__ & COLLECTED
    if of_python if home == "builtins" else home in sys.stdlib_module_names:
        return False
    own = {name for base in cls.__mro__[:-1] for name in vars(base)}
    return not own & {"__dict__", "__slots__", "__call__", "newbyteorder"}


WHOLE = "{"
"""The mark of sets, of which all is one."""


class Kind(NamedTuple):
    """How values of a class contain others, besides their attributes.

    Attributes
    ----------
    read : callable
        ``read(x)`` gives what it contains; see `Place`.
    mark : str or None
        How a key of that is written.
    made : callable or None
        ``made(x, parts)`` makes another value around others.
    fill : callable or None
        ``fill(new, items)`` puts others into a copy, which may hold itself.
    """

    read: Callable[[Any], Any]
    mark: str | None = None
    made: Callable[[Any, list[Any]], Any] | None = None
    fill: Callable[[Any, list[tuple[Any, Any]]], Any] | None = None


def _filling(clear: Any, put: Any) -> Callable[[Any, list[tuple[Any, Any]]], Any]:
    return lambda new, items: (clear(new), put(new, [y for _, y in items]))


_KINDS: dict[type, Kind] = {
    dict: Kind(dict.copy, "[", fill=dict.update),
    list: Kind(lambda x: tuple(list.__iter__(x)), "[", fill=_filling(list.clear, list.extend)),
    tuple: Kind(
        lambda x: tuple(tuple.__iter__(x)), None, lambda x, parts: tuple.__new__(type(x), parts)
    ),
    deque: Kind(lambda x: tuple(deque.__iter__(x)), "[", fill=_filling(deque.clear, deque.extend)),
    set: Kind(lambda x: frozenset(set.__iter__(x)), WHOLE, fill=_filling(set.clear, set.update)),
    frozenset: Kind(
        lambda x: frozenset(frozenset.__iter__(x)), None, lambda x, parts: type(x)(parts)
    ),
    types.MethodType: Kind(
        lambda x: (x.__func__, x.__self__), None, lambda _, parts: types.MethodType(*parts)
    ),
    types.MappingProxyType: Kind(
        lambda x: tuple(gc.get_referents(x)), None, lambda _, p: types.MappingProxyType(*p)
    ),
    types.FunctionType: Kind(cells, "."),
    types.CellType: Kind(lambda x: {"": content(x)}, ""),
    contextvars.ContextVar: Kind(lambda x: {"": x.get()}, ""),
    weakref.ref: Kind(lambda x: (x(),)),
    memoryview: Kind(lambda x: (x.obj,)),
}


@functools.cache
def reader(cls: type) -> tuple[Kind | None, bool]:
    """Return how values of a class contain others, and whether they have attributes."""
    kind = next((_KINDS[base] for base in cls.__mro__ if base in _KINDS), None)
    return kind, bool(slots(cls)) or any(["__dict__" in vars(base) for base in cls.__mro__])


def content(cell: Any, empty: Any = None) -> Any:
    """Return the content of a closure's cell, or ``empty`` where it is not yet assigned."""
    try:
        return cell.cell_contents
    except ValueError:
        return empty


def attributes(x: Any) -> dict[str, Any]:
    """Return the attributes of an object of somebody's own class."""
    held = getattr(x, "__dict__", None)
    found = dict(held) if isinstance(held, dict) else {}
    for member in slots(type(x)):  # type: ignore[arg-type]  # classes are hashable
        try:
            found[member.__name__] = member.__get__(x)
        except AttributeError:
            continue
    return found


@functools.cache
def slots(cls: type) -> tuple[types.MemberDescriptorType, ...]:
    """Return the slots of a class that Python's code defines."""
    found = [vars(base).values() for base in cls.__mro__ if "__slots__" in vars(base)]
    return tuple([x for each in found for x in each if type(x) is types.MemberDescriptorType])


def holds_objects(x: Any) -> bool:
    """Tell whether the elements of an array are objects."""
    return getattr(getattr(x, "dtype", None), "hasobject", False)


def elements(x: Any) -> tuple[Any, ...]:
    """Return the objects in an array of objects."""
    return tuple(x.ravel().tolist())


def _bytes(x: Any) -> dict[str, int]:
    return {" (its bytes, by a hash)": hash(memoryview(x).tobytes())}


def buffer_or_rest(x: Any) -> tuple[Callable[[Any], Any], str | None]:
    """Return how to read any object: its bytes, if it has any, or what the collector finds."""
    try:
        memoryview(x)
    except (TypeError, ValueError, BufferError):
        return rest, None
    return _bytes, ""


def pairs(held: Any) -> Iterable[tuple[Any, Any]]:
    """Return what is held, each with its name, key or number; of a set with itself."""
    if isinstance(held, dict):
        return held.items()
    return ((y, y) for y in held) if isinstance(held, frozenset) else enumerate(held)


def rest(x: Any) -> tuple[Any, ...]:
    """Return what the collector finds in an object besides its attributes and its class."""
    known = {id(type(x)), id(getattr(x, "__dict__", None)), *map(id, attributes(x).values())}
    return tuple([y for y in [*gc.get_referents(x), *walked(x)] if id(y) not in known])


forgets(lambda: (_is_closed, may_hold, of_c, reader, slots))


def is_real(x: Any) -> bool:
    """Tell whether a value is a number that is not whole, or an array of such."""
    dtype = getattr(x, "dtype", "") if hasattr(x, "shape") else ""
    kind, exact = str(dtype).lower(), type(x).__name__ in ("Decimal", "Fraction")
    known = exact or "float" in kind or "complex" in kind or bool(getattr(dtype, "names", None))
    return issubclass(getattr(type(x), "__dispatch_type__", type(x)), (float, complex)) or known


# ------------------------------------------------- what would have a derivative, if it were a leaf

_MAKERS = map, itertools.starmap, itertools.accumulate, type(iter(int, 1)), types.AsyncGeneratorType
_MAKING = ("BINARY", "CALL", "UNARY")


def makes(x: Any) -> bool:
    """Tell whether a value computes what it gives when it is asked: nobody knows what that is.

    A generator that only hands on what it was given does not.
    """
    if not isinstance(x, (types.GeneratorType, types.CoroutineType)):
        return isinstance(x, _MAKERS)
    import dis  # which imports inspect

    code: types.CodeType = x.gi_code if isinstance(x, types.GeneratorType) else x.cr_code
    steps = [step.opname for step in dis.get_instructions(code)]
    named = code.co_names or any([isinstance(y, (float, complex)) for y in code.co_consts])
    return bool(named) or any([x.startswith(_MAKING) and "INTRINSIC" not in x for x in steps])


def holds_numbers(x: Any) -> bool:
    """Tell whether a value holds real numbers, wherever it keeps them, or makes them when asked.

    Code is looked past, and so are bytes.

    Examples
    --------
    >>> from decimal import Decimal
    >>> [holds_numbers(x) for x in ({Decimal("1.5")}, map(len, ["a"]), [lambda: 2.0])]
    [True, True, False]
    """
    if x is None or isinstance(x, (str, bytes, int)):
        return False
    if isinstance(x, Number) or _is_of_numbers(getattr(x, "dtype", None)):
        return True  # a Fraction, a Decimal
    return any([y is not OPAQUE and _counts(y) for y in inside(x, _is_fixed)])


def _counts(x: Any) -> bool:
    if isinstance(x, Number) or _is_of_numbers(getattr(x, "dtype", None)):
        return not isinstance(x, Integral)
    fields = getattr(getattr(x, "dtype", None), "names", None)
    return (is_real(x) and not fields) or makes(x) or _format_of(x) in _FLOATS


def _is_fixed(x: Any) -> bool:
    """Tell whether a value is constant, whatever it holds: code, a name for something, bytes."""
    if isinstance(x, _FIXED) or (callable(x) and type(x).__module__.startswith("chainrules_")):
        return True
    return _format_of(x) not in (None, "O", "T", *_FLOATS)  # of objects, and of records


_FIXED = (
    str, bytes, int, type, Enum, types.ModuleType, types.FunctionType, types.BuiltinFunctionType,
    types.MethodType, functools.partial,
)  # fmt: skip


def _format_of(x: Any) -> str | None:
    """Return the mark of the elements of a buffer, None for what is none."""
    buffer: Any = x
    try:
        return memoryview(buffer).format.lstrip("<>=@!&")[:1]
    except (TypeError, ValueError, BufferError):  # ValueError: dates of NumPy's
        return None


def _is_of_numbers(dtype: Any) -> bool:
    """Tell whether elements are objects, or records with floating numbers in them."""
    fields = getattr(dtype, "fields", None)
    inside = [field[0].base for field in fields.values()] if isinstance(fields, Mapping) else []
    floats = any([d.kind in ("f", "c") or _is_of_numbers(d) for d in inside])
    return floats or getattr(dtype, "kind", None) == "O"


_FLOATS = ("e", "f", "d", "g", "Z")
"""Marks of floating numbers in the formats of buffers."""

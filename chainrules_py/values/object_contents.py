"""What a value holds directly: items, attributes, and what a function captured; one level.

A number or tracer at a deeper level is a constant to every derivative.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from numbers import Integral, Number
from typing import Any

from chainrules_py.values.caches import forgets

_VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_ITEMS = (list, tuple, set, frozenset, deque, *_VIEWS)
_BOUND = (types.MethodType, types.BuiltinMethodType)


def directly(x: Any) -> list[Any]:
    """List what a value holds directly; an empty list for a number or an array of numbers.

    Examples
    --------
    >>> from collections import deque
    >>> from functools import partial
    >>> directly(deque([1.0])), directly(partial(pow, 2.0)), directly(lambda x, y=3.0: x)
    ([1.0], [<built-in function pow>, 2.0], [3.0])
    """
    cls = type(x)
    if cls is types.FunctionType:
        return [part for _, part in parts_of(x)]
    if isinstance(x, functools.partial):
        return [x.func, *x.args, *x.keywords.values()]
    if isinstance(x, _BOUND):
        return [x.__self__, *attributes(x.__self__).values()]
    if cls is slice:
        return [x.start, x.stop, x.step]
    if cls is types.MappingProxyType:
        return [*x.copy().values()]
    of_objects = hasattr(cls, "dtype") and holds_objects(x)
    if of_objects or hasattr(cls, "__dispatch_type__"):  # a tracer holds what it traces
        return [*elements(x)] if of_objects else []
    found = [*attributes(x).values()]
    for base in cls.__mro__:
        if base is dict:
            found += dict.values(x)
        elif base in _ITEMS:
            found += base.__iter__(x)  # type: ignore[attr-defined]
    return found


def inside(x: Any) -> Iterator[Any]:
    """Yield a value, and what it holds directly, or in a list, dict or object of these packages.

    Examples
    --------
    >>> [*inside({"a": [2.0]})]
    [{'a': [2.0]}, 2.0]
    """
    yield x
    for y in directly(x):
        yield from _items(y)


def holds(x: Any, is_it: Callable[[Any], bool]) -> bool:
    """Return whether a value, or one that is `inside` it, passes a test."""
    return any(map(is_it, inside(x)))


def _items(x: Any, depth: int = 3) -> Iterator[Any]:
    """Yield a value, or the contents of a tuple, list, dict, or object of these packages."""
    cls = type(x)
    ours = str(cls.__module__).startswith("chainrules_") and not hasattr(cls, "__payload__")
    if depth and (ours or cls in (tuple, list, dict)):
        for y in directly(x):
            yield from _items(y, depth - 1)
    else:
        yield x


def parts_of(f: Any) -> list[tuple[str, Any]]:
    """List what a function captured, with names: its cells, defaults, and the object of a method.

    One level: what a captured object holds is up to its author.
    """
    if isinstance(f, types.MethodType):
        return [("self", f.__self__), *attributes(f.__self__).items(), *parts_of(f.__func__)]
    if isinstance(f, functools.partial):
        named = [(f"argument {i}", x) for i, x in enumerate(f.args)]
        return [*named, *f.keywords.items(), *parts_of(f.func)]
    if not isinstance(f, types.FunctionType):
        opens = callable(f) and not isinstance(f, (type, types.BuiltinFunctionType))
        return list(attributes(f).items()) if opens and not hasattr(f, "__wrapped__") else []
    defaults, count = f.__defaults__ or (), f.__code__.co_argcount
    optional = zip(f.__code__.co_varnames[count - len(defaults) : count], defaults, strict=True)
    return [*cells(f).items(), *optional, *(f.__kwdefaults__ or {}).items()]


def cells(f: types.FunctionType) -> dict[str, Any]:
    """Return the contents of a function's closure cells, by name."""
    return dict(zip(f.__code__.co_freevars, map(content, f.__closure__ or ()), strict=True))


def content(cell: Any, empty: Any = None) -> Any:
    """Return the content of a closure's cell, or ``empty`` if it is not yet assigned."""
    try:
        return cell.cell_contents
    except ValueError:
        return empty


def attributes(x: Any) -> dict[str, Any]:
    """Return the attributes of an object, those in slots included."""
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
    """Return the slots that a class and its bases define in ``__slots__``."""
    found = [vars(base).values() for base in cls.__mro__ if "__slots__" in vars(base)]
    return tuple([x for each in found for x in each if type(x) is types.MemberDescriptorType])


def holds_objects(x: Any) -> bool:
    """Return whether the elements of an array are objects."""
    return getattr(getattr(x, "dtype", None), "hasobject", False)


def elements(x: Any) -> tuple[Any, ...]:
    """Return the objects in an array of objects."""
    return tuple(getattr(x, "values", x).ravel().tolist())  # xarray: the array inside


forgets(lambda: (slots,))


def is_real(x: Any) -> bool:
    """Return whether a value is a number of a type that is not integer, or an array of them."""
    dtype = getattr(x, "dtype", "") if hasattr(x, "shape") else ""
    kind, exact = str(dtype).lower(), type(x).__name__ in ("Decimal", "Fraction")
    known = exact or "float" in kind or "complex" in kind or bool(getattr(dtype, "names", None))
    return issubclass(getattr(type(x), "__dispatch_type__", type(x)), (float, complex)) or known


def holds_numbers(x: Any) -> bool:
    """Return whether a value is or holds real numbers that no derivative sees.

    Functions and bytes are constants, whatever they hold; an iterator may yield any numbers.

    Examples
    --------
    >>> from decimal import Decimal
    >>> [holds_numbers(x) for x in ({Decimal("1.5")}, [[2.0]], ["a"], lambda: 2.0)]
    [True, True, False, False]
    """
    if isinstance(x, _FIXED) or (callable(x) and type(x).__module__.startswith("chainrules_")):
        return False
    return hasattr(type(x), "__next__") or holds(x, _counts)


def _counts(x: Any) -> bool:
    if isinstance(x, Number):
        return not isinstance(x, Integral)
    dtype = getattr(x, "dtype", None)
    fields = getattr(dtype, "names", None)
    return is_of_numbers(dtype) or (is_real(x) and not fields) or _format_of(x) in _FLOATS


_FIXED = (*_BOUND, str, bytes, int, Enum, types.ModuleType, types.FunctionType, functools.partial)


def _format_of(x: Any) -> str | None:
    """Return the format character of a buffer's elements, or None if it is not a buffer."""
    buffer: Any = x
    try:
        return memoryview(buffer).format.lstrip("<>=@!&")[:1]
    except (TypeError, ValueError, BufferError):  # ValueError: NumPy's dates
        return None


def is_of_numbers(dtype: Any) -> bool:
    """Return whether elements are objects, or records that contain floating-point numbers."""
    fields = getattr(dtype, "fields", None)
    inside = [field[0].base for field in fields.values()] if isinstance(fields, Mapping) else []
    floats = any([d.kind in ("f", "c") or is_of_numbers(d) for d in inside])
    return floats or getattr(dtype, "kind", None) == "O"


_FLOATS = ("e", "f", "d", "g", "Z")
"""Format characters of floating-point numbers in buffers."""

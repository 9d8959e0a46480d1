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
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

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


def inside(x: Any) -> Iterator[Any]:
    """Yield a value and all that it holds, each once; `OPAQUE` for what is not looked into."""
    seen, waiting = dict[int, Any](), [x]  # which keeps ids from being given again
    while waiting and len(seen) < _MOST:
        y = waiting.pop()
        if id(y) not in seen and not issubclass(type(y), _NOTHING):
            seen[id(y)] = y
            yield y
            found = _parts(y)
            if found is None:
                yield OPAQUE
            else:
                waiting += found
    if waiting:
        yield OPAQUE


_COLLECTED = 1 << 14  # Py_TPFLAGS_HAVE_GC
_OF_PYTHON = {*dir(builtins), "NotImplementedType", "PyCapsule"}
OPAQUE = object()
"""Stands for values of which nobody knows what they hold."""


def _parts(x: Any) -> list[Any] | None:
    """List what a value holds itself; None if nobody knows."""
    cls = type(x)
    if cls is types.FunctionType:
        return [x.__closure__, x.__defaults__, x.__kwdefaults__, x.__dict__]
    if isinstance(x, type):  # what a module defines was there before
        home: Any = sys.modules.get(x.__module__)
        with contextlib.suppress(AttributeError):
            if functools.reduce(getattr, x.__qualname__.split("."), home) is x:
                return []
        return [*vars(x).values(), *x.__bases__]
    if hasattr(cls, "dtype"):  # an array, or what stands for one
        kept = getattr(getattr(x, "dtype", None), "hasobject", False)
        return x.ravel().tolist() if kept else []
    if cls.__module__.startswith("chainrules_"):
        return [getattr(x, name, None) for name in (*getattr(cls, "FIELDS", ()), "captured")]
    if hasattr(cls, "__array__"):
        return [x.__array__()]
    if cls.__module__.partition(".")[0] in MACHINERY or is_generator(cls):
        return []
    if isinstance(x, io.BytesIO):
        return None
    if isinstance(x, contextvars.ContextVar):
        return [x.get(None)]
    with contextlib.suppress(TypeError, ValueError, BufferError):
        buffer = memoryview(x)
        return [buffer.obj] if buffer.format in _WHOLE else [0.0]
    found = [y for y in gc.get_referents(x) if y is not cls] + walked(x)
    return None if not found and _is_closed(cls) else found  # type: ignore[arg-type]  # hashable


def walked(x: Any) -> list[Any]:
    """List what an object written in C refers to, which the collector does not see."""
    if isinstance(x, weakref.ref):
        return [x()]
    if type(x) in weakref.ProxyTypes:
        with contextlib.suppress(ReferenceError):
            return [x.__init__.__self__]  # which the proxy asks the other for
        return []
    of_c = types.GetSetDescriptorType, types.MemberDescriptorType
    names = [n for n in ("base", "operands", "iters") if type(getattr(type(x), n, None)) in of_c]
    return [getattr(x, n) for n in names]


@functools.cache
def _is_closed(cls: type) -> bool:
    """Tell whether values of a class keep what they hold in C, where the collector cannot look."""
    home = cls.__module__.partition(".")[0]
    of_python = cls.__name__ in _OF_PYTHON or cls.__flags__ & _COLLECTED
    if of_python if home == "builtins" else home in sys.stdlib_module_names:
        return False
    own = {name for base in cls.__mro__[:-1] for name in vars(base)}
    return not own & {"__dict__", "__slots__", "__call__", "newbyteorder"}


forgets(lambda: (_is_closed,))


def is_real(x: Any) -> bool:
    """Tell whether a value is a number that is not whole, or an array of such."""
    dtype = getattr(x, "dtype", "")
    kind, exact = str(dtype), type(x).__name__ in ("Decimal", "Fraction")
    known = exact or "float" in kind or "complex" in kind or bool(getattr(dtype, "names", None))
    return issubclass(getattr(type(x), "__dispatch_type__", type(x)), (float, complex)) or known

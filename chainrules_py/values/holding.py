"""What an object holds, wherever it keeps it: what Python's collector finds, less code and classes.

No list of containers is asked: attributes and slots, items, what functions captured, what methods
are bound to, what is left of an iterator, buffers.
"""

from __future__ import annotations

import contextlib
import gc
import types
from collections.abc import Callable
from typing import Any

_MOST = 10_000
_NOTHING = (type, types.ModuleType, types.CodeType, str, bytes, bool, int)
_MACHINERY = {"threading", "_thread", "queue", "logging", "asyncio", "concurrent", "weakref"}


def holds(x: Any, is_it: Callable[[Any], bool]) -> bool:
    """Tell whether a value is, or holds, what passes a test; of more than 10,000 values yes.

    Examples
    --------
    >>> from collections import deque
    >>> from functools import partial
    >>> holds({"f": partial(pow, deque([2.0]))}, lambda y: type(y) is float)
    True
    """
    seen, waiting = dict[int, Any](), [x]  # which keeps ids from being given again
    while waiting and len(seen) < _MOST:
        y = waiting.pop()
        if id(y) not in seen and not issubclass(type(y), _NOTHING):
            seen[id(y)] = y
            if is_it(y):
                return True
            waiting += _parts(y)
    return bool(waiting)


def _parts(x: Any) -> list[Any]:
    """List what a value holds itself."""
    cls = type(x)
    if cls is types.FunctionType:
        return [x.__closure__, x.__defaults__, x.__kwdefaults__, x.__dict__]
    if hasattr(cls, "dtype"):  # an array, or what stands for one
        kept = getattr(getattr(x, "dtype", None), "hasobject", False)
        return x.ravel().tolist() if kept else []
    if hasattr(cls, "__array__"):
        return [x.__array__()]
    with contextlib.suppress(TypeError, ValueError, BufferError):
        buffer = memoryview(x)
        return [0.0 if buffer.format[-1:] in "efdgZ" else None, buffer.obj]
    if cls.__module__.partition(".")[0] in _MACHINERY:
        return []
    return [*gc.get_referents(x), *walked(x)]


def walked(x: Any) -> list[Any]:
    """List the arrays that an iterator written in C is over, which the collector does not see."""
    of_c = types.GetSetDescriptorType, types.MemberDescriptorType
    names = [n for n in ("base", "operands") if isinstance(getattr(type(x), n, None), of_c)]
    return [getattr(x, n) for n in names]


def is_real(x: Any) -> bool:
    """Tell whether a value is a number that is not whole, or an array of such."""
    dtype = getattr(x, "dtype", "")
    kind, exact = str(dtype), type(x).__name__ in ("Decimal", "Fraction")
    known = exact or "float" in kind or "complex" in kind or bool(getattr(dtype, "names", None))
    return issubclass(getattr(type(x), "__dispatch_type__", type(x)), (float, complex)) or known

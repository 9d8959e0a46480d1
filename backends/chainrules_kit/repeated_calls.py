"""Functions that are called again: what they give is compared with the first time.

Who notes calls may listen, to tell them from those that are made for the first time.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from chainrules_py import MutationError
from chainrules_py import ops as v
from chainrules_py.extend import (
    describe,
    flatten,
    is_opaque,
    kind_of,
    name_of,
    plain,
)
from chainrules_py.ops.linalg import resolution
from chainrules_py.ops.views import duplicate

_FEW = 64
"""So many elements of an array are compared."""


def check_same(f: Any, y: Any, before: list[Any]) -> None:
    """Raise if a function that is run again gave something else than the first time.

    Raises
    ------
    MutationError
        If the `samples` of its result are others.
    """
    now = samples(y)
    if len(now) != len(before) or not all(map(_alike, now, before)):
        msg = (
            f"{name_of(f)} gave something else when it was run again for its derivative, "
            f"{describe(y)}; it has to be a function of its arguments: draw random numbers "
            f"outside, and do not write to what it reads"
        )
        raise MutationError(msg)


def samples(y: Any) -> list[Any]:
    """Keep a few elements of each array in a value, and all numbers, to tell it from others."""
    return [_sample(plain(x)) for x in flatten(y)[0]]


def _sample(x: Any) -> tuple[Any, ...]:
    shape = tuple(getattr(x, "shape", ()))
    if is_opaque(type(x)) or callable(x) or hasattr(type(x), "__dispatch_type__"):
        return type(x), shape, None  # nothing of it is used again, or it stands for many values
    if not (shape and all(shape)):
        return type(x), shape, x if not shape else None
    step = -(-math.prod(shape) // _FEW)
    return type(x), shape, duplicate(v.reshape(x, shape=(-1,))[::step])


def _alike(now: tuple[Any, ...], before: tuple[Any, ...]) -> bool:
    """Tell whether two samples are of the same values, up to rounding."""
    (*kind, a), (*other, b) = now, before
    if kind != other or a is b:
        return kind == other
    same: Any = a == b
    if kind_of(a) in ("real", "complex"):
        largest: Any = v.max(abs(a)) if getattr(a, "shape", ()) else abs(a)
        epsilon = resolution(a) if hasattr(a, "dtype") else sys.float_info.epsilon
        near = epsilon**0.5 * float(largest) if math.isfinite(float(largest)) else 0.0
        same = same | ((a != a) & (b != b)) | (abs(a - b) <= near)
    return bool(v.all(same)) if getattr(same, "shape", ()) else bool(same)


listeners: list[Callable[[Any, bool], None]] = []
"""Each is told the values that calls are made again of, and whether that begins or is over."""


@contextmanager
def making_again(given: Any) -> Iterator[None]:
    """Have the calls within count as calls that were made before, of the same values.

    Whoever notes calls would find that they were made, and keep what they gave from the first time
    on: which is what they are made again for, so as not to keep it.

    Parameters
    ----------
    given
        Values that the calls are made of, or functions.

    Examples
    --------
    >>> listeners.append(lambda given, begins: print(given, begins))
    >>> with making_again(1.0):
    ...     print("once more")
    1.0 True
    once more
    1.0 False
    >>> _ = listeners.pop()
    """
    told = tuple(listeners)
    for listener in told:
        listener(given, True)
    try:
        yield
    finally:
        for listener in told:
            listener(given, False)

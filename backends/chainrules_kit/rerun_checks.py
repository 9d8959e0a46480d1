"""Repeated calls of functions: their results are compared with the first ones.

Code that notes calls may listen, to distinguish repeated calls from first ones.
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
from chainrules_py.ops.engine_operations import duplicate
from chainrules_py.ops.linalg import resolution

_FEW = 64
"""Number of elements of an array that are compared."""


def check_same(f: Any, y: Any, before: list[Any]) -> None:
    """Raise if a repeated call of a function returned something else than the first.

    Raises
    ------
    MutationError
        If the `samples` of its result differ.
    """
    now = samples(y)
    if len(now) != len(before) or not all(map(_alike, now, before)):
        raise MutationError(
            f"{name_of(f)} gave something else when it was run again for its derivative, "
            f"{describe(y)}; it has to be a function of its arguments: draw random numbers "
            f"outside, and do not write to what it reads"
        )


def samples(y: Any) -> list[Any]:
    """Return all numbers and a few elements of each array in a value, for later comparison."""
    return [_sample(plain(x)) for x in flatten(y)[0]]


def _sample(x: Any) -> tuple[Any, ...]:
    shape = tuple(getattr(x, "shape", ()))
    if is_opaque(type(x)) or callable(x) or hasattr(type(x), "__dispatch_type__"):
        return type(x), shape, None  # its values are not used again, or it represents many values
    if not (shape and all(shape)):
        return type(x), shape, x if not shape else None
    step = -(-math.prod(shape) // _FEW)
    return type(x), shape, duplicate(v.reshape(x, shape=(-1,))[::step])


def _alike(now: tuple[Any, ...], before: tuple[Any, ...]) -> bool:
    """Return whether two samples have the same values, up to rounding."""
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
"""Called with the values of repeated calls, and with True before them and False after."""


@contextmanager
def making_again(given: Any) -> Iterator[None]:
    """Mark the calls in a block as repetitions of earlier calls with the same values.

    Without the mark, code that notes calls would see them as repeated, and keep their results from
    the first call on; but calls are repeated in order not to keep results.

    Parameters
    ----------
    given
        Values that the calls use, or functions.

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

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
from chainrules_py import vocabulary as v
from chainrules_py.extend import (
    Tracer,
    describe,
    flatten,
    inside,
    is_opaque,
    kind_of,
    name_of,
    plain,
    type_info,
)
from chainrules_py.vocabulary.linalg import resolution
from chainrules_py.vocabulary.views import duplicate

_FEW = 64
"""Arrays of so many numbers are kept whole."""
_MOST = 1_000
"""So many values are looked at in an object."""


def check_same(f: Any, y: Any, before: list[Any], few: int = _FEW) -> None:
    """Raise if a function that is run again gave something else than the first time.

    Raises
    ------
    MutationError
        If the `samples` of its result are others.
    """
    if not agree(samples(y, few), before):
        raise MutationError(another(name_of(f), y))


def another(name: str, y: Any) -> str:
    """Tell that what was run again gave something else than the first time."""
    return (
        f"{name} gave something else when it was run again for its derivative, {describe(y)}; it "
        f"has to be a function of its arguments: draw random numbers outside, and do not write to "
        f"what it reads"
    )


def prints(y: Any) -> list[Any]:
    """Return what is equal of values that are equal to the last bit, at the cost of one read."""
    found: list[Any] = []
    for x in _compared(y):
        memory = type_info(type(x)).memory
        if _is_of_many_runs(x):
            found.append(type(x))
        else:
            found.append(x if memory is None else memory.fingerprint(x, True))
    return found


def _compared(y: Any) -> Iterator[Any]:
    """Yield the leaves of a value; for what is no structure its class, and what is traced in it.

    Nothing else of that is used again.
    """
    for leaf in flatten(y)[0]:
        x = plain(leaf)
        if not (is_opaque(type(x)) or callable(x)) or _is_of_many_runs(x):
            yield x
            continue
        yield type(x)
        yield from (plain(y) for y in inside(leaf, most=_MOST, ours=True) if isinstance(y, Tracer))


def _is_of_many_runs(x: Any) -> bool:
    """Tell whether a value stands for those of many runs, which nobody can compare now."""
    return hasattr(type(x), "__dispatch_type__")


def samples(y: Any, few: int = _FEW, whole: bool = False) -> list[Any]:
    """Sum up the numbers in a value, to tell whether another value is the same up to rounding.

    An array of more than a few elements is read as a square, of which rows and columns are summed:
    another element is seen in two of these sums. With ``whole`` objects are compared themselves.
    """
    found: list[Any] = []
    for x in map(plain, flatten(y)[0]) if whole else _compared(y):
        if isinstance(x, type) and not whole:
            found.append((x,))
            continue
        shape, kind = getattr(x, "shape", ()), kind_of(x)
        found.append((type(x), shape))
        if _is_of_many_runs(x):
            continue
        if not shape:
            found.append((None, [x]))
        elif all(shape) and kind in ("real", "complex", "int", "bool"):
            n = math.prod(shape)
            found.append((None, [duplicate(x)]) if n <= few else _summed(x, n, kind))
    return found


def _summed(x: Any, n: int, kind: str) -> tuple[Any, list[Any]]:
    """Return sums of the numbers in an array, and by how much rounding may change each."""
    k = math.isqrt(n)
    x = v.reshape(x, shape=(n,))
    square = v.reshape(x[: k * k], shape=(k, k))
    parts = [v.sum(square, axis=0), v.sum(square, axis=1), duplicate(x[k * k :])]
    return (_rounding(x) * k**0.5 if kind in ("real", "complex") else 0.0), parts


def _rounding(x: Any) -> float:
    """Return by how much numbers may differ that are computed again; none beside infinite ones."""
    sizes: tuple[Any, ...]
    if not getattr(x, "shape", ()):
        sizes = (abs(x),)
    elif kind_of(x) == "real":  # in no array of that size
        sizes = abs(float(v.max(x))), abs(float(v.min(x)))
    else:
        sizes = (float(v.max(abs(x))),)
    epsilon = resolution(x) if hasattr(x, "dtype") else sys.float_info.epsilon
    return float(epsilon**0.5 * max(sizes)) if all(map(math.isfinite, sizes)) else 0.0


def agree(samples: list[Any], others: list[Any]) -> bool:
    """Tell whether two samples are of the same values, up to rounding."""
    return len(samples) == len(others) and all(map(_agree, samples, others))


def _agree(x: Any, y: Any) -> bool:
    if type(x[-1]) is not list or type(y[-1]) is not list:
        return bool(x == y)
    return all([_close(a, b, x[0]) for a, b in zip(x[1], y[1], strict=True)])


def _close(a: Any, b: Any, rounding: float | None) -> bool:
    same: Any
    if a is b or kind_of(a) not in ("real", "complex"):
        same = a is b or a == b
    else:
        most = _rounding(a) if rounding is None else rounding
        same = (a == b) | ((a != a) & (b != b)) | (abs(a - b) <= most)
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

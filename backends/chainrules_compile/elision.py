"""Elision: where NumPy's operators write a result into an operand that nobody has a name for.

``f(x) * y`` of large arrays is written over what ``f`` gave, so it lies as that does, and a sum of
it is added in that order. Whether an operand has a name is told by how often it is referred to, of
a noted value as of the array that it stands for. How often that is for one without is tried once.

A complex product is rounded by the order of its factors, and where the second is written over it
comes first.
"""

from __future__ import annotations

import functools
import operator
import sys
from typing import Any

import numpy as np

LEAST = 1 << 18
"""How many bytes an operand has at least that is written over."""
COMMUTES: dict[Any, bool] = {
    operator.add: True,
    operator.mul: True,
    operator.sub: False,
    operator.truediv: False,
    operator.floordiv: False,
}
"""The operators, and whether the second operand may be written over as well."""


def as_written(
    function: Any,
    operands: tuple[Any, ...],
    given: tuple[Any, ...],
    references: tuple[int, int],
    y: Any,
    of_array: bool = False,
) -> Any:
    """Return a result as NumPy gives it where it writes that over an operand.

    Parameters
    ----------
    function : callable
        The operator.
    operands, given : tuple
        Its operands, noted and plain.
    references : tuple of int
        How often each was referred to when the operator was called.
    y : Noted
        What the function gives of them.
    of_array : bool
        Whether the operator was an array's, which has called its ufunc.
    """
    has_name = [n > most for n, most in zip(references, _unnamed(of_array), strict=True)]
    i = _written_over(function, given, has_name, y.payload)
    if i is None:
        return y
    if i and function is operator.mul and y.payload.dtype.kind == "c":
        y = y.recorder.compute(function, function, operands[::-1], {})
    x = given[i]
    order = "F" if x.flags.f_contiguous else "C" if x.flags.c_contiguous else None
    if order is None or x.strides == y.payload.strides:
        return y
    return y.recorder.call(np.copy, (y,), {"order": order})


def _written_over(function: Any, given: tuple[Any, ...], has_name: Any, y: Any) -> int | None:
    """Return which operand a result is written over, by its number; None for neither."""
    for i in (0, 1) if COMMUTES[function] else (0,):
        if not has_name[i] and _is_written_over(given[i], given[1 - i], y):
            return i if elides() else None
    return None


def _is_written_over(x: Any, other: Any, y: Any) -> bool:
    if type(x) is not np.ndarray or x.nbytes < LEAST or x.dtype != y.dtype or x.shape != y.shape:
        return False
    if not (x.flags.owndata and x.flags.writeable):
        return False
    if type(other) is not np.ndarray or other.ndim == 0:
        return True
    return other.shape == x.shape and np.can_cast(other.dtype, x.dtype, "safe")


@functools.cache
def elides() -> bool:
    """Tell whether this NumPy, on this system, writes over what has no name."""
    n = 192
    rows = np.zeros((n, n))
    return not (np.zeros((n, n), order="F") * rows).flags.c_contiguous


class _Counted:
    """Stands for a noted value: its product is how often it, and the other, are referred to."""

    def __mul__(self, other: Any) -> tuple[int, int]:
        return sys.getrefcount(self), sys.getrefcount(other)

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any) -> tuple[int, int]:
        for _ in operands:
            pass  # which leaves a name for the last one, as there
        return counts(operands)


@functools.cache
def _unnamed(of_array: bool) -> tuple[int, int]:
    """Return up to how many references operands have that nobody has.

    Those of a method are counted there, those of an array's operator where it has called its ufunc.
    """
    make: Any = functools.partial(np.zeros, 2) if of_array else _Counted
    one, other = make(), _Counted()
    first, second, known = (make() * other)[0], (one * _Counted())[1], one * other
    return (first if first < known[0] else 0), (second if second < known[1] else 0)


def counts(operands: tuple[Any, ...]) -> tuple[int, int]:
    """Return how often two operands are referred to."""
    return sys.getrefcount(operands[0]), sys.getrefcount(operands[1])

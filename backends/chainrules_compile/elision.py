"""Elision: where NumPy's operators write a result into an operand that nobody has a name for.

``f(x) * y`` of large arrays is written over what ``f`` gave, so it lies as that does, and a sum of
it is added in that order. Whether an operand has a name is told by how often it is referred to, of
a noted value as of the array that it stands for. How often that is for one without is tried once.
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


def order_of(function: Any, given: tuple[tuple[Any, bool], ...], y: Any) -> str | None:
    """Return the order in which a result lies if that is another than that of the function.

    Parameters
    ----------
    function : callable
        The operator.
    given : tuple of (object, bool)
        Its operands, plain, and whether somebody has each.
    y : ndarray
        What the function gives of them.
    """
    candidates = (given, given[::-1]) if COMMUTES[function] else (given,)
    for (x, has_name), (other, _) in candidates:
        if not has_name and _is_written_over(x, other, y):
            if x.strides == y.strides or not elides():
                return None
            return "F" if x.flags.f_contiguous else "C" if x.flags.c_contiguous else None
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


@functools.cache
def names() -> tuple[int, int]:
    """Return up to how many references the operands of a method have that nobody has."""
    named = _Counted()
    first, second = (_Counted() * named)[0], (named * _Counted())[1]
    known = named * named
    return (first if first < known[0] else 0), (second if second < known[1] else 0)

"""Plain functions: NumPy's functions of one number, computed as Python's.

Python's take a fifth of the time, but raise where NumPy gives infinities and NaN: so each has a
range, and outside of it NumPy is asked. They agree with NumPy's to a unit in the last
place or two.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any, final

import numpy as np

from chainrules_py import ops as v

_WIDE = 1e300
_EXPONENT = 700.0


@final
class Plain:
    """Function of one of Python's numbers, and what NumPy has for it.

    Attributes
    ----------
    ufunc, plain : callable
        NumPy's function, and Python's.
    low, high : float
        Between which numbers Python's computes the same, and raises nothing.
    """

    __slots__ = ("__name__", "high", "low", "plain", "ufunc")

    def __init__(
        self, ufunc: Any, plain: Callable[[float], float], low: float, high: float
    ) -> None:
        self.__name__ = ufunc.__name__
        self.ufunc = ufunc
        self.plain = plain
        self.low = low
        self.high = high

    def __call__(self, x: float) -> float:
        """Compute it."""
        return self.plain(x) if self.low < x < self.high else float(self.ufunc(x))


_RANGES: tuple[tuple[float, float, tuple[tuple[Any, Any], ...]], ...] = (
    (-_WIDE, _WIDE, ((np.sin, math.sin), (np.cos, math.cos), (np.tan, math.tan))),
    (-_WIDE, _WIDE, ((np.tanh, math.tanh), (np.arctan, math.atan), (np.arcsinh, math.asinh))),
    (-_EXPONENT, _EXPONENT, ((np.exp, math.exp), (np.expm1, math.expm1))),
    (-_EXPONENT, _EXPONENT, ((np.sinh, math.sinh), (np.cosh, math.cosh))),
    (0.0, _WIDE, ((np.log, math.log), (np.log2, math.log2), (np.log10, math.log10))),
    (-1.0, _WIDE, ((np.log1p, math.log1p),)),
    (-1.0, 1.0, ((np.arcsin, math.asin), (np.arccos, math.acos))),
)
PLAIN: dict[Any, Plain] = {
    f: Plain(f, plain, low, high) for low, high, some in _RANGES for f, plain in some
}
"""By a function of NumPy's the plain one."""


def power(x: float, n: float) -> Any:
    """Raise a number of Python's to a power, as NumPy does its own."""
    low, high = power_range(n)
    return x**n if low < x < high else np.float64(x) ** n


def power_silently(x: float, n: float) -> Any:
    """Raise a number of Python's to a power, as the operation `pow` does, which says nothing."""
    low, high = power_range(n)
    return x**n if low < x < high else v.pow(np.float64(x), n)


@functools.lru_cache(maxsize=256)
def power_range(n: float) -> tuple[float, float]:
    """Return between which numbers a power is a finite number of Python's, and raises nothing."""
    if not math.isfinite(n) or abs(n) < 1e-3:
        return 0.0, 0.0
    most = 10.0 ** min(math.floor(sys.float_info.max_10_exp / abs(n) - 0.5), 300)
    if n < 0:
        return 1.0 / most, _WIDE
    return (-most if n == round(n) else 0.0), most

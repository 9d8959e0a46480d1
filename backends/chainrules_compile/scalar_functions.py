"""Scalar versions of NumPy functions that call Python's `math`.

The functions of `math` take a fifth of the time, but raise where NumPy gives infinities and NaN.
Each therefore has a range, outside of which NumPy is called. They agree with NumPy's to one or two
units in the last place.
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
    """Function of a Python number, with its NumPy counterpart.

    Attributes
    ----------
    ufunc, plain : callable
        NumPy's function and Python's.
    low, high : float
        Open interval in which Python's function agrees with NumPy's and does not raise.
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
        """Compute the function at a number."""
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
"""The scalar function of each NumPy function."""


def power(x: float, n: float) -> Any:
    """Raise a Python number to a power, with NumPy's result and warnings."""
    low, high = power_range(n)
    return x**n if low < x < high else np.float64(x) ** n


def power_silently(x: float, n: float) -> Any:
    """Raise a Python number to a power as the operation `pow` does, without warnings."""
    low, high = power_range(n)
    return x**n if low < x < high else v.pow(np.float64(x), n)


@functools.lru_cache(maxsize=256)
def power_range(n: float) -> tuple[float, float]:
    """Return the open interval in which a power is finite in Python and does not raise."""
    if not math.isfinite(n) or abs(n) < 1e-3:
        return 0.0, 0.0
    most = 10.0 ** min(math.floor(sys.float_info.max_10_exp / abs(n) - 0.5), 300)
    if n < 0:
        return 1.0 / most, _WIDE
    return (-most if n == round(n) else 0.0), most

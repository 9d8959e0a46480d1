"""Factors by which derivatives are off, as an author writes them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

_LEAST = float(np.finfo(float).tiny)
_CONSTANTS = {
    "pi": math.pi,
    "log(2)": math.log(2),
    "log(10)": math.log(10),
    "sqrt(pi)": math.sqrt(math.pi),
    "sqrt(2 pi)": math.sqrt(2 * math.pi),
    "pi/180": math.pi / 180,
    **{f"sqrt({n})": math.sqrt(n) for n in (2, 3, 5, 6, 7, 8, 10, 12)},
}


def scale_of(derivatives: Any) -> float:
    """Return the largest absolute value of some derivatives, at least the least normal number."""
    finite = derivatives[np.isfinite(derivatives)]
    return max(_LEAST, float(np.max(np.abs(finite), initial=0.0)))


def close(a: Any, b: Any, digits: float = 1e-6) -> bool:
    """Return whether numbers are equal within ``digits``, or negligible beside the largest."""
    return bool(np.allclose(a, b, rtol=digits, atol=1e-2 * digits * scale_of(b)))


def name_ratio(have: Any, want: Any, *, single: bool, digits: float = 1e-6) -> str:
    """Name how one array is a multiple of another, as ``"factor 2"``; empty if it is none.

    Parameters
    ----------
    have, want : array
        The two arrays.
    single : bool
        Whether there is only one number, so that any other one is a multiple of it.
    digits : float
        Relative tolerance for equal numbers.
    """
    top = float(np.max(np.abs(want), initial=0.0))
    if not top or not np.isfinite(top):
        return ""
    have, want = have / top, want / top
    c = float(np.sum(have * want)) / float(np.sum(want * want))
    if not c or abs(c - 1) < 10 * digits or not close(have, c * want, digits):
        return ""
    if abs(c + 1) < digits:
        return "wrong sign"
    if name := name_constant(c, digits):
        return f"factor {name}"
    return "" if single else f"factor {c:.6g}"


def name_constant(c: float, digits: float = 1e-6) -> str:
    """Write a number as a small fraction times a well-known constant; empty if it is none.

    Examples
    --------
    >>> name_constant(0.75), name_constant(2 * 3.141592653589793), name_constant(0.1234567)
    ('3/4', '2 pi', '')
    """
    inverses = {f"1/({name})": 1 / value for name, value in _CONSTANTS.items()}
    for name, value in {"": 1.0, **_CONSTANTS, **inverses}.items():
        most = 2 if name else 24 if digits < 1e-4 else 4
        ratio = c / value if 1e-99 < abs(c) < 1e99 else 0.0
        part = Fraction(ratio).limit_denominator(most)
        near = abs(float(part) - ratio) < (1e-6 if name else digits) * abs(ratio)
        if near and abs(part) <= 12 * most:
            return name if name and part == 1 else f"{part} {name}".strip()
    return ""

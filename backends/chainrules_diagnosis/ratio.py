"""Constants, as an author would write them, by which one array is a multiple of another."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules_diagnosis.block import close

_CONSTANTS = {
    "pi": math.pi,
    "2 pi": 2 * math.pi,
    "log(2)": math.log(2),
    "log(10)": math.log(10),
    "sqrt(2)": math.sqrt(2),
    "sqrt(pi)": math.sqrt(math.pi),
    "sqrt(2 pi)": math.sqrt(2 * math.pi),
    "pi/180": math.pi / 180,
    "pi**2": math.pi**2,
    "log(2)**2": math.log(2) ** 2,
    "log(10)**2": math.log(10) ** 2,
}


def name_ratio(have: Any, want: Any, *, single: bool, digits: float = 1e-6) -> str:
    """Name how one array is a multiple of another, as ``"factor 2"``; empty if it is none.

    Parameters
    ----------
    have, want : array
        The two.
    single : bool
        Whether there is but one number, of which every other one is a multiple.
    digits : float
        What equal numbers may differ by, relative to them.
    """
    top = float(np.max(np.abs(want), initial=0.0))
    if not top or not np.isfinite(top):
        return ""
    have, want = have / top, want / top
    norm = float(np.sum(want * want))
    c = float(np.sum(have * want)) / norm
    if not c or abs(c - 1) < 10 * digits or not close(have, c * want, digits):
        return ""
    if abs(c + 1) < digits:
        return "wrong sign"
    if name := name_constant(c, digits):
        return f"factor {name}"
    inverse = f" (1/{1 / c:.6g})" if abs(c) < 1 else ""
    return "" if single else f"factor {c:.6g}{inverse}"


def name_constant(c: float, digits: float = 1e-6) -> str:
    """Write a number by a small fraction and a well-known constant; empty if it is none.

    Examples
    --------
    >>> name_constant(0.75), name_constant(2 * 3.141592653589793), name_constant(0.1234567)
    ('3/4', '2 pi', '')
    """
    if not 1e-99 < abs(c) < 1e99:
        return ""
    if simple := simple_fraction(c, 24 if digits < 1e-4 else 4, digits):
        return simple
    for name, value in _CONSTANTS.items():
        for text, at in ((name, value), (f"1/({name})", 1 / value)):
            if simple := simple_fraction(c / at, 2, 1e-6):
                return f"{'' if simple == '1' else simple + ' '}{text}"
    for square, text in ((c * c, "{}sqrt({})"), (1 / (c * c), "{}1/sqrt({})")):
        if digits < 1e-4 and square < _MOST and (n := simple_fraction(square, 1, digits)):
            return text.format("-" if c < 0 else "", n)
    return ""


_MOST = 128.0


def simple_fraction(c: float, denominator: int, digits: float) -> str:
    """Write a number as a fraction of small whole numbers; empty if it is none."""
    if not math.isfinite(c) or abs(c) > 12 * denominator:
        return ""
    for down in range(1, denominator + 1):
        up = round(c * down)
        if up and abs(up / down - c) < digits * abs(c):
            return str(up) if down == 1 else f"{up}/{down}"
    return ""

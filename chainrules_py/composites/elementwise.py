"""Functions that act element by element and are made of several words."""

from __future__ import annotations

import math
from typing import Any

from chainrules_py.arrays import Array, Numeric, namespace
from chainrules_py.vocabulary import (
    atan2,
    clip,
    clip_above,
    clip_below,
    imag,
    positive,
    real,
)

__all__ = ["angle", "bounded"]


def angle(x: Numeric, deg: bool = False) -> Any:
    """The angle of complex numbers, in radians unless in degrees; 0 or π of real ones."""
    radians = atan2(imag(x), real(x))
    return radians * (180 / math.pi) if deg else radians


def bounded(x: Numeric, lo: Numeric | None = None, hi: Numeric | None = None) -> Any:
    """x between bounds, each of which may be absent."""
    if lo is None:
        return positive(x) if hi is None else clip_above(x, hi)
    return clip_below(x, lo) if hi is None else clip(x, lo, hi)


@clip_below.implement
def clip_below_standard(x: Array, lo: Numeric) -> Any:
    """One function in the standard."""
    return namespace(x).clip(x, min=lo)


@clip_above.implement
def clip_above_standard(x: Array, hi: Numeric) -> Any:
    """One function in the standard."""
    return namespace(x).clip(x, max=hi)

"""Words for angles: circular and hyperbolic functions and their inverses, in radians."""

from __future__ import annotations

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.arrays import Numeric

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cos",
    "cosh",
    "deg2rad",
    "rad2deg",
    "sin",
    "sinc",
    "sinh",
    "tan",
    "tanh",
]


@primitive
def sin(x: Numeric, /) -> Any:
    """Compute the sine, x in radians."""


@primitive
def cos(x: Numeric, /) -> Any:
    """Compute the cosine, x in radians."""


@primitive
def tan(x: Numeric, /) -> Any:
    """Compute the tangent, x in radians."""


@primitive
def asin(x: Numeric, /) -> Any:
    """Compute the angle with sine x, between -π/2 and π/2."""


@primitive
def acos(x: Numeric, /) -> Any:
    """Compute the angle with cosine x, between 0 and π."""


@primitive
def atan(x: Numeric, /) -> Any:
    """Compute the angle with tangent x, between -π/2 and π/2."""


@primitive
def atan2(y: Numeric, x: Numeric, /) -> Any:
    """Compute the angle of the point (x, y), between -π and π."""


@primitive
def sinh(x: Numeric, /) -> Any:
    """Compute the hyperbolic sine."""


@primitive
def cosh(x: Numeric, /) -> Any:
    """Compute the hyperbolic cosine."""


@primitive
def tanh(x: Numeric, /) -> Any:
    """Compute the hyperbolic tangent."""


@primitive
def asinh(x: Numeric, /) -> Any:
    """Find the number with hyperbolic sine x."""


@primitive
def acosh(x: Numeric, /) -> Any:
    """Find the number, not negative, with hyperbolic cosine x."""


@primitive
def atanh(x: Numeric, /) -> Any:
    """Find the number with hyperbolic tangent x."""


@primitive
def deg2rad(x: Numeric, /) -> Any:
    """Degrees as radians."""


@primitive
def rad2deg(x: Numeric, /) -> Any:
    """Radians as degrees."""


@primitive
def sinc(x: Numeric, /) -> Any:
    """sin(πx) / (πx), and 1 at 0."""

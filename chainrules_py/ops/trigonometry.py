"""Trigonometric and hyperbolic operations and their inverses; angles are in radians."""

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Numeric

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


cos = sin.alike("cos", "Compute the cosine, x in radians.")
tan = sin.alike("tan", "Compute the tangent, x in radians.")
asin = sin.alike("asin", "Compute the angle with sine x, between -π/2 and π/2.")
acos = sin.alike("acos", "Compute the angle with cosine x, between 0 and π.")
atan = sin.alike("atan", "Compute the angle with tangent x, between -π/2 and π/2.")


@primitive
def atan2(y: Numeric, x: Numeric, /) -> Any:
    """Compute the angle of the point (x, y), between -π and π."""


sinh = sin.alike("sinh", "Compute the hyperbolic sine.")
cosh = sin.alike("cosh", "Compute the hyperbolic cosine.")
tanh = sin.alike("tanh", "Compute the hyperbolic tangent.")
asinh = sin.alike("asinh", "Find the number with hyperbolic sine x.")
acosh = sin.alike("acosh", "Find the number, not negative, with hyperbolic cosine x.")
atanh = sin.alike("atanh", "Find the number with hyperbolic tangent x.")
deg2rad = sin.alike("deg2rad", "Degrees as radians.")
rad2deg = sin.alike("rad2deg", "Radians as degrees.")
sinc = sin.alike("sinc", "sin(πx) / (πx), and 1 at 0.")

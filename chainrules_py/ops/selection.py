"""Operations that choose between values, or between signs: extrema, bounds, absolute values."""

from __future__ import annotations

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.arrays import Array, Numeric

__all__ = [
    "abs",
    "choose",
    "clip",
    "clip_above",
    "clip_below",
    "copysign",
    "cumulative_max",
    "cumulative_min",
    "fmax",
    "fmin",
    "heaviside",
    "maximum",
    "minimum",
    "nan_to_num",
    "nextafter",
    "sign",
    "tie_share",
    "where",
]


@primitive
def maximum(x: Numeric, y: Numeric, /) -> Any:
    """Return the greater of x and y; NaN if one of them is."""


minimum = maximum.alike("minimum", "Return the lesser of x and y; NaN if one of them is.")


@primitive
def tie_share(z: Numeric, x: Numeric, y: Numeric, /) -> Any:
    """Compute the share of x in the extremum z of x and y: 1, or 1/2 at a tie, or 0."""


fmax = maximum.alike("fmax", "Return the greater of x and y; the other one if one of them is NaN.")
fmin = maximum.alike("fmin", "Return the lesser of x and y; the other one if one of them is NaN.")


@primitive
def cumulative_max(x: Array, /, *, axis: int) -> Any:
    """Find the greatest of the first elements, y_k = max_{j≤k} x_j, along an axis."""


cumulative_min = cumulative_max.alike(
    "cumulative_min", "Find the least of the first elements, y_k = min_{j≤k} x_j, along an axis."
)


@primitive
def clip(x: Numeric, lo: Numeric, hi: Numeric, /) -> Any:
    """x, or the bound that it is beyond; hi where the bounds are the wrong way round."""


@primitive
def clip_below(x: Numeric, lo: Numeric, /) -> Any:
    """x, or lo where x is below it."""


@primitive
def clip_above(x: Numeric, hi: Numeric, /) -> Any:
    """x, or hi where x is above it."""


@primitive
def where(condition: Numeric, x: Numeric, y: Numeric, /) -> Any:
    """x where the condition holds, y elsewhere."""


@primitive
def choose(a: Numeric, /, *choices: Numeric) -> Any:
    """Take the element of the choice that a, an integer from 0 on, names; all broadcast."""


@primitive
def nan_to_num(x: Numeric, nan: Numeric, posinf: Numeric, neginf: Numeric, /) -> Any:
    """x with numbers in place of NaN, ∞ and -∞; of complex x, in both parts."""


@primitive
def heaviside(x: Numeric, h: Numeric, /) -> Any:
    """0 for negative x, 1 for positive, h at 0."""


@primitive
def abs(x: Numeric, /) -> Any:
    """Compute the absolute value."""


sign = abs.alike("sign", "-1, 0 or 1; of complex x, x / abs(x), and 0 at 0.")
copysign = maximum.alike("copysign", "Combine the size of x with the sign of y.")
nextafter = maximum.alike(
    "nextafter", "Find the floating-point number next to x in the direction of y."
)

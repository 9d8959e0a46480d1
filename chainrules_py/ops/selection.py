"""Operations that choose between values, or between signs: extrema, bounds, absolute values."""

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Array, Numeric

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
    """Return the greater of x and y; NaN if one of them is NaN."""


minimum = maximum.alike("minimum", "Return the lesser of x and y; NaN if one of them is.")


@primitive
def tie_share(z: Numeric, x: Numeric, y: Numeric, /) -> Any:
    """Compute the share of x in the extremum z of x and y: 1, or 1/2 at a tie, or 0."""


fmax = maximum.alike("fmax", "Return the greater of x and y; the other one if one of them is NaN.")
fmin = maximum.alike("fmin", "Return the lesser of x and y; the other one if one of them is NaN.")


@primitive
def cumulative_max(x: Array, /, *, axis: int) -> Any:
    """Compute cumulative maxima y_k = max_{j≤k} x_j along an axis."""


cumulative_min = cumulative_max.alike(
    "cumulative_min", "Find the least of the first elements, y_k = min_{j≤k} x_j, along an axis."
)


@primitive
def clip(x: Numeric, lo: Numeric, hi: Numeric, /) -> Any:
    """Return x, or the bound that it exceeds; hi if lo is greater than hi."""


@primitive
def clip_below(x: Numeric, lo: Numeric, /) -> Any:
    """Return x, or lo where x is below it."""


@primitive
def clip_above(x: Numeric, hi: Numeric, /) -> Any:
    """Return x, or hi where x is above it."""


@primitive
def where(condition: Numeric, x: Numeric, y: Numeric, /) -> Any:
    """Return x where the condition holds, y elsewhere."""


@primitive
def choose(a: Numeric, /, *choices: Numeric) -> Any:
    """Take each element from the choice number a, counted from 0; all operands broadcast."""


@primitive
def nan_to_num(x: Numeric, nan: Numeric, posinf: Numeric, neginf: Numeric, /) -> Any:
    """Replace NaN, ∞ and -∞ in x by numbers; in both parts of complex x."""


@primitive
def heaviside(x: Numeric, h: Numeric, /) -> Any:
    """Return 0 for negative x, 1 for positive x, and h at 0."""


@primitive
def abs(x: Numeric, /) -> Any:
    """Compute the absolute value."""


sign = abs.alike("sign", "-1, 0 or 1; of complex x, x / abs(x), and 0 at 0.")
copysign = maximum.alike("copysign", "Combine the size of x with the sign of y.")
nextafter = maximum.alike(
    "nextafter", "Find the floating-point number next to x in the direction of y."
)

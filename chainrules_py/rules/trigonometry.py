"""Rules of trigonometric and hyperbolic functions and their inverses.

Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 4.3 to 4.6.
"""

import math

from chainrules_py.ops import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    conj,
    copysign,
    cos,
    cosh,
    deg2rad,
    divide,
    exp,
    hypot,
    negative,
    rad2deg,
    real,
    sin,
    sinc,
    sinh,
    sqrt,
    tan,
    tanh,
    where,
)
from chainrules_py.registry.constructors import scalar_rule, scalar_rules
from chainrules_py.tangents.space import kind_of
from chainrules_py.values.find_tracers import is_traced


# On branch cuts, the sign of a zero part of x determines the side of the cut. Adding a number loses
# it, 0 + (-0) = 0; subtracting -1 keeps it, but in PyTorch subtracting 1, and -x, do not.
def increased(x):
    """Compute x + 1, and keep the signs of zeros."""
    return x - (-1)


def decreased(x):
    """Compute x - 1, and keep the signs of zeros of complex numbers."""
    return negative(increased(negative(x))) if kind_of(x) == "complex" else x - 1


def below_circle(x):
    """Compute √(1 - x²) of a product, which is accurate near the end points."""
    # A product of complex numbers may lose the sign of a zero. JAX's root ignores it, and is that
    # of the upper side; there 1 - x is on the lower side, where the root is a conjugate.
    return (
        sqrt((1 - x) * (1 + x))
        if kind_of(x) != "complex"
        else conj(sqrt(conj(increased(negative(x))))) * sqrt(increased(x))
    )


def across(a, y, x):
    """Compute a / (x² + y²), without overflow on the way."""
    r = hypot(x, y)
    return divide(divide(a, r), r)


def squared_secant(y, x):
    """1 / cosh² x = (e⁻ˣ (1 + y))², or the same of -x; not 1 - y², which is 0 where y rounds to 1.

    The sign of a traced x is constant, and 1 at 0, so that derivatives of any order are those of
    one formula.
    """
    # An engine of no host, as tinygrad, has tensors without Python's abs.
    if kind_of(x) == "real" and not is_traced(x) and hasattr(x, "__abs__"):
        secant = exp(-abs(x)) * (1.0 + abs(y))
    else:
        sign = copysign(1.0, real(x) if kind_of(x) == "complex" else x)
        secant = exp(-sign * x) * (1.0 + sign * y)
    return secant * secant


def sinc_series(x):
    """Differentiate sin(πx) / (πx) = Σ (-1)ᵏ (πx)²ᵏ / (2k + 1)!, term by term."""
    total, s = 0.0, x * x
    for k in range(12, 0, -1):
        total = total * s + (-1) ** k * 2 * k * math.pi ** (2 * k) / math.factorial(2 * k + 1)
    return x * total


def sinc_slope(y, x):
    """Compute (cos(πx) - y) / x; near 0, where the difference cancels, by its series."""
    near = abs(x) < 0.5
    return where(near, sinc_series(where(near, x, 0)), (cos(math.pi * x) - y) / where(near, 1, x))


# ------------------------------------------------------------------------------- formulas

scalar_rules(
    (sin, lambda _y, x: cos(x)),
    (cos, lambda _y, x: -sin(x)),
    # Of complex numbers, 1 + y² cancels where y is near i.
    (tan, lambda y, x: 1 + y * y if kind_of(x) != "complex" else squared_secant(1j * y, 1j * x)),
    # Near ±i, (x - i)(x + i) keeps the digits that 1 + x² cancels.
    (
        atan,
        lambda _y, x: (
            divide(1, 1 + x * x) if kind_of(x) != "complex" else divide(divide(1, x - 1j), x + 1j)
        ),
    ),
    (sinh, lambda _y, x: cosh(x)),
    (cosh, lambda _y, x: sinh(x)),
    (tanh, squared_secant),
    (
        asinh,
        lambda _y, x: divide(
            1, hypot(1, x) if kind_of(x) == "real" else sqrt((x - 1j) * (x - complex(0, -1)))
        ),
    ),
    (sinc, sinc_slope),
    complex="holomorphic",
)

scalar_rules(
    (asin, lambda _y, x: divide(1, below_circle(x))),
    (acos, lambda _y, x: divide(-1, below_circle(x))),
    # Two roots, not the root of x² - 1: that has the other sign in the left half of the plane.
    (acosh, lambda _y, x: divide(1, sqrt(decreased(x)) * sqrt(increased(x)))),
    (atanh, lambda _y, x: divide(1, (1 - x) * (1 + x))),
    singular=True,
    complex="holomorphic",
)

scalar_rules((deg2rad, lambda _y, _x: math.pi / 180), (rad2deg, lambda _y, _x: 180 / math.pi))

scalar_rule(
    atan2, lambda _z, y, x: across(x, y, x), lambda _z, y, x: across(-y, y, x), singular=True
)

"""Elementwise operations: arithmetic, powers, logarithms. Operands broadcast."""

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Numeric

__all__ = [
    "add",
    "bessel_i",
    "cbrt",
    "complex_outside",
    "conj",
    "divide",
    "divmod",
    "exp",
    "exp2",
    "expm1",
    "floor_divide",
    "fmod",
    "frexp",
    "hypot",
    "imag",
    "ldexp",
    "lift",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logaddexp_share",
    "modf",
    "multiply",
    "negative",
    "positive",
    "pow",
    "real",
    "real_if_close",
    "reciprocal",
    "remainder",
    "sqrt",
    "square",
    "strong_multiply",
    "subtract",
    "unwrap",
]


@primitive
def add(x: Numeric, y: Numeric, /) -> Any:
    """Compute the sum x + y."""


subtract = add.alike("subtract", "Compute the difference x - y.")
multiply = add.alike("multiply", "Compute the product x y.")
divide = add.alike("divide", "Compute the quotient x / y.")
QUOTIENTS: list[Any] = [divide]
"""Functions that compute x / y; rules add others, with other second derivatives."""


@primitive
def negative(x: Numeric, /) -> Any:
    """Compute the negative -x."""


positive = negative.alike("positive", "x itself.")
reciprocal = negative.alike("reciprocal", "Compute the inverse 1 / x.")
floor_divide = add.alike("floor_divide", "Compute the greatest integer that is at most x / y.")
remainder = add.alike(
    "remainder", "Compute the rest that ``floor_divide`` leaves of x; it has the sign of y."
)
fmod = add.alike(
    "fmod", "Compute the rest of x after division by y towards zero; it has the sign of x."
)
divmod = add.alike("divmod", "``floor_divide`` and ``remainder``, a pair.")
modf = negative.alike(
    "modf", "Return the parts of x behind and before the point, a pair, both with the sign of x."
)
frexp = negative.alike(
    "frexp", "m and the integer n with x = m 2ⁿ and 1/2 ≤ abs(m) < 1, a pair; zeros of 0."
)


@primitive
def ldexp(x: Numeric, n: Numeric, /) -> Any:
    """Compute x 2ⁿ for integers n."""


@primitive
def strong_multiply(c: Numeric, p: Numeric, /) -> Any:
    """Compute the product c p, and 0 where c is 0, even if p is infinite or NaN there.

    It multiplies a cotangent c by a partial derivative p.
    """


@primitive
def lift(x: Numeric, /, *, to: Any) -> Any:
    """Convert a Python number to a scalar of the library ``to``, as its functions would."""


@primitive
def pow(x: Numeric, p: Numeric, /) -> Any:
    """Compute the power xᵖ."""


square = negative.alike("square", "Compute the square x².")
sqrt = negative.alike("sqrt", "Compute the square root.")
cbrt = negative.alike("cbrt", "Compute the cube root, which is negative for negative x.")
hypot = add.alike("hypot", "Compute the length √(x² + y²), without overflow on the way.")
exp = negative.alike("exp", "Compute the exponential eˣ.")
exp2 = negative.alike("exp2", "Compute the power 2ˣ.")
expm1 = negative.alike("expm1", "eˣ - 1, exact to the last digits also near 0.")
log = negative.alike("log", "Compute the natural logarithm.")
log1p = negative.alike("log1p", "log(1 + x), exact to the last digits also near 0.")
log2 = negative.alike("log2", "Compute the logarithm to base 2.")
log10 = negative.alike("log10", "Compute the logarithm to base 10.")
logaddexp = add.alike("logaddexp", "log(eˣ + eʸ), without overflow on the way.")
logaddexp2 = add.alike(
    "logaddexp2", "Compute the logarithm to base 2 of 2ˣ + 2ʸ, without overflow on the way."
)
logaddexp_share = add.alike(
    "logaddexp_share", "Compute the share eˣ / (eˣ + eʸ), which is the slope of `logaddexp` in x."
)
conj = negative.alike("conj", "Compute the complex conjugate; of real x, x itself.")
real = negative.alike("real", "Return the real part; of real x, x itself.")
imag = negative.alike("imag", "Return the imaginary part; of real x, zero.")


@primitive
def real_if_close(x: Numeric, /, *, tol: float = 100) -> Any:
    """Return the real part if all imaginary parts are below tol; tol > 1 is in units of epsilon."""


@primitive
def complex_outside(x: Numeric, /, *, low: float, high: float) -> Any:
    """Return x, converted to a complex dtype if a real element is outside an interval."""


# ---------------------------------------------------------------------------------- angles, Bessel


@primitive
def unwrap(x: Numeric, period: Numeric, /, *, axis: int = -1, discont: float | None = None) -> Any:
    """Add multiples of the period to x, so that neighbours differ by at most half of it.

    Jumps smaller than ``discont`` stay; by default it is half the period.
    """


@primitive
def bessel_i(x: Numeric, /, *, order: int) -> Any:
    """Compute the modified Bessel function of the first kind Iₙ of integer order; I₋ₙ = Iₙ."""

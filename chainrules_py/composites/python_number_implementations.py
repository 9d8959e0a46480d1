"""Operations on Python's own numbers.

Python computes a program's operators, and raises where it does (`ZeroDivisionError`). The
operations return the value of IEEE 754, infinity or NaN, where ``math`` raises, so that a rule can
compute 1 / x at zero.
"""

import cmath
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from chainrules_py import ops as v
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.values.dispatch_types import Array

Real = int | float
Number = int | float | complex
Function = Callable[..., Any]

INF, NAN = math.inf, math.nan
NOWHERE = complex(NAN, NAN)


def _implement(operation: Primitive[..., Any], function: Function, kind: Any = Number) -> None:
    operation.implement(function, types=(kind,) * len(operation.operands))


# ------------------------------------------------------------------------- computed by operators


def power(x: complex, p: complex) -> Any:
    """Compute x ** p, with infinity for negative powers of zero and for overflow."""
    try:
        return x**p
    except (ZeroDivisionError, OverflowError):
        if isinstance(x, complex) or isinstance(p, complex):
            return NOWHERE
        is_negative = x < 0 or (x == 0 and math.copysign(1.0, x) < 0)
        return -INF if is_negative and p % 2 == 1 else INF


def quotient(x: complex, y: complex) -> Any:
    """Compute x / y, with infinity or NaN for y = 0."""
    try:
        return x / y
    except ZeroDivisionError:
        if isinstance(x, complex) or isinstance(y, complex):
            return NOWHERE
        return NAN if x == 0 or x != x else math.copysign(INF, x) * math.copysign(1.0, y)


def floor_quotient(x: float, y: float) -> Any:
    """Compute x // y, with infinity or NaN for y = 0."""
    return x // y if y else quotient(x, y)


def remainder(x: float, y: float) -> Any:
    """Compute x % y, with NaN for y = 0."""
    return x % y if y else NAN


def share_of_exponentials(x: float, y: float) -> float:
    """Compute exp(x) / (exp(x) + exp(y)) from the quotient of the lesser by the greater."""
    part = math.exp(-abs(x - y))
    return (part if x < y else 1.0) / (1.0 + part)


def choice(condition: complex, x: complex, y: complex) -> Any:
    """Return x if the condition holds, else y, promoted to their common type."""
    chosen, other = (x, y) if condition else (y, x)
    return chosen if type(chosen) is type(other) else chosen + type(other)(0)


Table = tuple[tuple[Primitive[..., Any], Function], ...]

OF_NUMBERS: Table = (
    (v.add, operator.add),
    (v.subtract, operator.sub),
    (v.multiply, operator.mul),
    (v.divide, quotient),
    (v.negative, operator.neg),
    (v.positive, operator.pos),
    (v.reciprocal, lambda x: quotient(1, x)),
    (v.strong_multiply, lambda c, p: c * p if c else c * 0),
    (v.pow, power),
    (v.square, lambda x: x * x),
    (v.abs, operator.abs),
    (v.conj, lambda x: x.conjugate()),
    (v.real, lambda x: x.real),
    (v.imag, lambda x: x.imag),
    (v.equal, operator.eq),
    (v.not_equal, operator.ne),
    (v.logical_and, lambda x, y: bool(x) and bool(y)),
    (v.logical_or, lambda x, y: bool(x) or bool(y)),
    (v.logical_xor, lambda x, y: bool(x) is not bool(y)),
    (v.logical_not, operator.not_),
    (v.isfinite, cmath.isfinite),
    (v.isinf, cmath.isinf),
    (v.isnan, cmath.isnan),
    (v.where, choice),
    (v.sinc, lambda x: v.sin(math.pi * x) / (math.pi * x) if x else 1.0),
)
OF_REALS: Table = (
    (v.floor_divide, floor_quotient),
    (v.remainder, remainder),
    (v.divmod, lambda x, y: (floor_quotient(x, y), remainder(x, y))),
    (v.fmod, lambda x, y: NAN if math.isinf(x) or y == 0 else math.fmod(x, y)),
    (v.modf, math.modf),
    (v.frexp, math.frexp),
    (v.ldexp, math.ldexp),
    (v.hypot, math.hypot),
    (v.atan2, math.atan2),
    (v.round_decimals, lambda x, *, decimals: round(x, decimals)),  # Python's are exact
    (v.tie_share, lambda z, x, y: (x == z) * (2 - (y == z)) / 2),
    (v.heaviside, lambda x, h: h if x == 0 else NAN if x != x else float(x > 0)),
    (v.less, operator.lt),
    (v.less_equal, operator.le),
    (v.greater, operator.gt),
    (v.greater_equal, operator.ge),
    (v.maximum, lambda x, y: x if x >= y or x != x else y),
    (v.minimum, lambda x, y: x if x <= y or x != x else y),
    (v.fmax, lambda x, y: x if x >= y or y != y else y),
    (v.fmin, lambda x, y: x if x <= y or y != y else y),
    (v.clip_below, lambda x, lo: lo if x < lo or lo != lo else x),
    (v.clip_above, lambda x, hi: hi if x > hi or hi != hi else x),
    (v.clip, lambda x, lo, hi: v.clip_above(v.clip_below(x, lo), hi)),
    (v.sign, lambda x: x if x != x else type(x)((x > 0) - (x < 0))),
    (v.signbit, lambda x: math.copysign(1.0, x) < 0),
    (v.copysign, math.copysign),
    (v.nextafter, math.nextafter),
    (v.spacing, lambda x: math.copysign(math.ulp(x), x) if math.isfinite(x) else NAN),
    # The greater number, plus the contribution of the lesser.
    (
        v.logaddexp,
        lambda x, y: x + math.log(2) if x == y else max(x, y) + math.log1p(math.exp(-abs(x - y))),
    ),
    (
        v.logaddexp2,
        lambda x, y: (
            x + 1.0 if x == y else max(x, y) + math.log1p(2.0 ** -abs(x - y)) / math.log(2)
        ),
    ),
    (v.logaddexp_share, share_of_exponentials),
    (v.bitwise_and, operator.and_),
    (v.bitwise_or, operator.or_),
    (v.bitwise_xor, operator.xor),
    (v.bitwise_invert, operator.invert),
    (v.bitwise_left_shift, operator.lshift),
    (v.bitwise_right_shift, operator.rshift),
)
for _table, _kind in ((OF_NUMBERS, Number), (OF_REALS, Real)):
    for _operation, _function in _table:
        _implement(_operation, _function, _kind)


_implement(v.sign, lambda x: x / abs(x) if x else x, complex)


# -------------------------------------------------------------------------- computed by functions


def _total(
    function: Function, poles: Mapping[Any, Any], overflow: Function, elsewhere: Any = NAN
) -> Function:
    """Wrap a function of ``math`` or ``cmath`` to return the value of IEEE 754 where it raises."""

    def total(x: Any) -> Any:
        try:
            return function(x)
        except OverflowError:
            return overflow(x)
        except (ValueError, ZeroDivisionError):
            return poles.get(x, elsewhere)

    return total


def expm1_complex(x: complex) -> complex:
    """eˣ - 1 = (expm1(a) cos b - 2 sin²(b/2)) + i eᵃ sin b, for x = a + ib."""
    a, b = x.real, x.imag
    return complex(
        math.expm1(a) * math.cos(b) - 2 * math.sin(b / 2) ** 2, math.exp(a) * math.sin(b)
    )


def log1p_complex(x: complex) -> complex:
    """log(1 + x) = log1p(a(2 + a) + b²) / 2 + i arg(1 + x), for x = a + ib."""
    a, b = x.real, x.imag
    return complex(math.log1p(a * (2 + a) + b * b) / 2, math.atan2(b, 1 + a))


_infinity: Function = lambda _: INF
_signed_infinity: Function = lambda x: math.copysign(INF, x)


for _operation, _of_real, _poles, _overflow, _of_complex, _complex_poles in (
    (v.sqrt, math.sqrt, {}, _infinity, cmath.sqrt, {}),
    (v.cbrt, math.cbrt, {}, _signed_infinity, None, {}),
    (v.exp, math.exp, {}, _infinity, cmath.exp, {}),
    (v.exp2, math.exp2, {}, _infinity, lambda x: cmath.exp(math.log(2) * x), {}),
    (v.expm1, math.expm1, {}, _infinity, expm1_complex, {}),
    (v.log, math.log, {0: -INF}, _infinity, cmath.log, {0: -INF}),
    (v.log1p, math.log1p, {-1: -INF}, _infinity, log1p_complex, {-1: -INF}),
    (v.log2, math.log2, {0: -INF}, _infinity, lambda x: cmath.log(x) / math.log(2), {0: -INF}),
    (v.log10, math.log10, {0: -INF}, _infinity, cmath.log10, {0: -INF}),
    (v.sin, math.sin, {}, _infinity, cmath.sin, {}),
    (v.cos, math.cos, {}, _infinity, cmath.cos, {}),
    (v.tan, math.tan, {}, _infinity, cmath.tan, {}),
    (v.asin, math.asin, {}, _infinity, cmath.asin, {}),
    (v.acos, math.acos, {}, _infinity, cmath.acos, {}),
    (v.atan, math.atan, {}, _infinity, cmath.atan, {}),
    (v.sinh, math.sinh, {}, _signed_infinity, cmath.sinh, {}),
    (v.cosh, math.cosh, {}, _infinity, cmath.cosh, {}),
    (v.tanh, math.tanh, {}, _infinity, cmath.tanh, {}),
    (v.asinh, math.asinh, {}, _signed_infinity, cmath.asinh, {}),
    (v.acosh, math.acosh, {}, _infinity, cmath.acosh, {}),
    (v.atanh, math.atanh, {1: INF, -1: -INF}, _infinity, cmath.atanh, {1: INF, -1: -INF}),
    (v.deg2rad, math.radians, {}, _infinity, None, {}),
    (v.rad2deg, math.degrees, {}, _infinity, None, {}),
):
    _implement(_operation, _total(_of_real, _poles, _overflow), Real)
    if _of_complex is not None:
        nowhere = lambda _: NOWHERE
        _implement(_operation, _total(_of_complex, _complex_poles, nowhere, NOWHERE), complex)


def _rounding(function: Function) -> Function:
    """Wrap a rounding function so that floats stay floats, and zeros keep their sign."""

    def of_real(x: float) -> float:
        return math.copysign(function(x), x) if type(x) is float and math.isfinite(x) else x

    return of_real


for _operation, _function in (
    (v.floor, math.floor),
    (v.ceil, math.ceil),
    (v.trunc, math.trunc),
    (v.round, round),
):
    _implement(_operation, _rounding(_function), Real)


# ------------------------------------------------------------------------- conversion


# Indexing a 0-d array gives its scalar. Arrays and scalars of a library are returned unchanged.
_implement(v.lift, lambda x, *, to: to.asarray(x)[()])
_implement(v.lift, lambda x, *, to: x, Array)
# The dtype of Python's numbers is None, which leaves them unchanged; their types convert them.
_implement(v.astype, lambda x, *, dtype: x if dtype is None else dtype(x))


@v.full_like.implement
def full_like_number(
    x: int | float | complex, *, shape: tuple[int, ...], fill: Any, dtype: Any = None
) -> Any:
    """Return the number to fill with; a number has only the shape ()."""
    if shape != ():
        raise TypeError(f"no array of shape {shape} is made like a number; make it like an array")
    return fill

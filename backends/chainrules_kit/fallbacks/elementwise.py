"""Elementwise operations for libraries without a function of the name."""

from __future__ import annotations

import math
from typing import Any

from chainrules_py import ops as v
from chainrules_py.extend import kind_of, namespace, type_info
from chainrules_py.ops.linalg import resolution

v.exp2.fallback(lambda x: v.pow(2.0, x))
v.deg2rad.fallback(lambda x: x * (math.pi / 180))
v.rad2deg.fallback(lambda x: x * (180 / math.pi))
v.divmod.fallback(lambda x, y: (v.floor_divide(x, y), v.remainder(x, y)))
# `maximum` and `minimum` of the operands that are not NaN.
v.fmax.fallback(lambda x, y: _extreme(v.maximum, x, y))
v.fmin.fallback(lambda x, y: _extreme(v.minimum, x, y))


@v.strong_multiply.fallback
def strong_multiply_standard(c: Any, p: Any) -> Any:
    """Multiply, then replace the product by 0 where c is 0."""
    product = v.multiply(c, p)
    gone = v.equal(c, 0)
    if type(gone) is bool:  # c is a Python number
        return v.zeros_like(product) if gone else product
    return v.where(gone, v.zeros_like(product), product)


# ---------------------------------------------------------------------- powers and logarithms


@v.cbrt.fallback
def cbrt_standard(x: Any) -> Any:
    """Compute the cube root as a power, and its last digits by one step of Newton's method."""
    size = v.abs(x)
    regular = v.logical_and(v.greater(size, 0), v.isfinite(size))
    y = v.pow(v.where(regular, size, 1.0), 1 / 3)
    y = y - (y - v.where(regular, size, 1.0) / (y * y)) / 3
    return v.copysign(v.where(regular, y, size), x)


@v.logaddexp2.fallback
def logaddexp2_standard(x: Any, y: Any) -> Any:
    """Compute the result from the larger operand and the difference."""
    most, apart = v.maximum(x, y), v.abs(v.subtract(x, y))
    apart = v.where(v.equal(x, y), 0.0, apart)  # for infinities of one sign
    return v.add(most, v.log1p(v.pow(2.0, -apart)) / math.log(2))


@v.logaddexp_share.fallback
def logaddexp_share_standard(x: Any, y: Any) -> Any:
    """Compute from exponentials of at most 1; with a logarithm it takes fifteen times as long."""
    d = x - y
    return v.exp(v.minimum(d, 0.0)) / (1.0 + v.exp(-v.abs(d)))


@v.sinc.fallback
def sinc_standard(x: Any) -> Any:
    """Compute sin(πx) / πx."""
    angle = math.pi * v.where(v.equal(x, 0), 1.0, x)
    return v.where(v.equal(x, 0), 1.0, v.sin(angle) / angle)


# ---------------------------------------------------------------------- parts of numbers


@v.fmod.fallback
def fmod_standard(x: Any, y: Any) -> Any:
    """Compute the remainder of the absolute values, with the sign of x."""
    x, y = _array(x, y), _array(y, x)
    rest = v.remainder(v.abs(x), v.abs(y))
    if kind_of(rest) == "int":
        return v.where(v.less(x, 0), -rest, rest)
    return v.copysign(v.where(v.isinf(y), v.abs(x), rest), x)


@v.modf.fallback
def modf_standard(x: Any) -> Any:
    """Split x into its fraction and integer part; the fraction of infinity is zero."""
    whole = v.trunc(x)
    rest = v.where(v.isinf(x), 0.0, x - v.where(v.isinf(x), 0.0, whole))
    return v.copysign(rest, x), whole


@v.frexp.fallback
def frexp_standard(x: Any) -> Any:
    """Find the exponent by a logarithm, which may be off by one at the powers of two."""
    size = v.abs(x)
    odd = v.logical_or(v.equal(size, 0), v.logical_not(v.isfinite(size)))
    size = v.where(odd, 0.5, size)
    n = v.floor(v.log2(size)) + 1.0
    m = _scaled(size, -n)
    n = n + v.astype(v.greater_equal(m, 1.0), dtype=x.dtype)
    n = n - v.astype(v.less(m, 0.5), dtype=x.dtype)
    m = v.where(odd, x, v.copysign(_scaled(size, -n), x))
    return m, v.astype(v.where(odd, 0.0, n), dtype=namespace(x).int32)


@v.ldexp.fallback
def ldexp_standard(x: Any, n: Any) -> Any:
    """Multiply by a power of two in two halves, because the whole power may overflow."""
    like = x if type_info(type(x)).is_array else n
    dtype = x.dtype if hasattr(x, "dtype") else namespace(like).float64
    return _scaled(x, v.astype(n, dtype=dtype) if hasattr(n, "dtype") else float(n))


def _scaled(x: Any, n: Any) -> Any:
    half = v.floor(n / 2)
    return x * v.pow(2.0, half) * v.pow(2.0, n - half)


@v.spacing.fallback
def spacing_standard(x: Any) -> Any:
    """Compute the distance to the next number away from 0."""
    size = v.abs(x)
    return v.copysign(v.nextafter(size, v.full_like(x, shape=x.shape, fill=math.inf)) - size, x)


@v.round_decimals.fallback
def round_decimals_standard(x: Any, *, decimals: int) -> Any:
    """Round x to a multiple of a power of ten."""
    if kind_of(x) == "int":
        return x if decimals >= 0 else 10**-decimals * v.floor_divide(_to_even(x, -decimals), 1)
    if decimals >= 0:
        return v.round(x * 10.0**decimals) / 10.0**decimals
    return v.round(x / 10.0**-decimals) * 10.0**-decimals


def _to_even(x: Any, power: int) -> Any:
    """Divide integers by a power of ten, rounded to the nearest, with ties to even."""
    unit = 10**power
    whole, rest = v.floor_divide(x, unit), v.remainder(x, unit) * 2
    middle = v.logical_and(v.equal(rest, unit), v.equal(v.remainder(whole, 2), 1))
    return whole + v.where(v.logical_or(v.greater(rest, unit), middle), 1, 0)


# ---------------------------------------------------------------------- choosing


def _extreme(of: Any, x: Any, y: Any) -> Any:
    x, y = _array(x, y), _array(y, x)
    either = v.where(v.not_equal(y, y), x, of(x, y))
    return v.where(v.not_equal(x, x), y, either)


def _array(x: Any, other: Any) -> Any:
    """Convert a Python number to an array like the other operand."""
    return x if type_info(type(x)).is_array else v.add(v.zeros_like(other), x)


@v.heaviside.fallback
def heaviside_standard(x: Any, h: Any) -> Any:
    """Return 0, h or 1; NaN for NaN."""
    x, h = _array(x, h), _array(h, x)
    side = v.where(v.less(x, 0), v.zeros_like(x), v.ones_like(x))
    return v.where(v.equal(x, 0), h, v.where(v.isnan(x), x, side))


@v.choose.fallback
def choose_standard(a: Any, *choices: Any) -> Any:
    """Select from one choice after the other; indices are not checked."""
    y = choices[0]
    for number, choice in enumerate(choices[1:], start=1):
        y = v.where(v.equal(a, number), choice, y)
    return v.add(y, v.zeros_like(v.where(v.equal(a, 0), y, y)))


@v.nan_to_num.fallback
def nan_to_num_standard(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    """Replace NaN and infinities by three numbers; for complex x, in both parts."""
    if kind_of(x) == "int":
        return x
    if kind_of(x) == "complex":
        parts = [
            nan_to_num_standard(part, *[v.real(n) for n in (nan, posinf, neginf)])
            for part in (v.real(x), v.imag(x))
        ]
        return parts[0] + 1j * v.astype(parts[1], dtype=x.dtype)
    y = v.where(v.isnan(x), nan, x)
    y = v.where(v.equal(x, math.inf), posinf, y)
    y = v.where(v.equal(x, -math.inf), neginf, y)
    return v.astype(y, dtype=x.dtype)


# ---------------------------------------------------------------------- real or complex

# The kind of the result depends on values: these two wait for a device.


@v.real_if_close.fallback
def real_if_close_standard(x: Any, *, tol: float = 100) -> Any:
    """Return the real part if all imaginary parts are negligible."""
    if kind_of(x) != "complex":
        return x
    limit = tol * resolution(x) if tol > 1 else tol
    return v.real(x) if bool(v.all(v.less(v.abs(v.imag(x)), limit))) else x


@v.complex_outside.fallback
def complex_outside_standard(x: Any, *, low: float, high: float) -> Any:
    """Convert to single complex precision from single, and to double from any other."""
    kind = kind_of(x)
    if kind == "complex" or not bool(v.any(v.logical_or(v.less(x, low), v.greater(x, high)))):
        return x
    xp = namespace(x)
    single = kind == "real" and resolution(x) > 1e-10
    return v.astype(x, dtype=xp.complex64 if single else xp.complex128)


@v.unwrap.fallback
def unwrap_standard(x: Any, period: Any, *, axis: int = -1, discont: float | None = None) -> Any:
    """Add up the jumps without multiples of the period."""
    jumps = v.diff(x, axis=axis)
    half = period / 2
    rest = v.remainder(jumps + half, period) - half
    rest = v.where(v.logical_and(v.equal(rest, -half), v.greater(jumps, 0)), half + 0.0, rest)
    smaller = v.less(v.abs(jumps), half if discont is None else discont)
    fixes = v.where(smaller, v.zeros_like(rest), v.subtract(rest, jumps))
    fixes = v.cumulative_sum(fixes, axis=axis, include_initial=True)
    return v.add(x, fixes)


@v.bessel_i.fallback
def bessel_i_standard(x: Any, *, order: int) -> Any:
    """Compute from ratios of neighbours, starting where they vanish, and eˣ = I₀ + 2 Σ I_k.

    r_k = I_k / I_{k-1} = x / (2k + x r_{k+1}): W. Gautschi, Computational Aspects of Three-Term
    Recurrence Relations, SIAM Review 9 (1967). The first k depends on the largest x.
    """
    size, order = v.abs(x), abs(order)
    largest = min(float(v.max(size)) if math.prod(size.shape) else 0.0, 700.0)
    far = order + 20 + int(9 * math.sqrt(largest))
    ratio, total = v.zeros_like(size), v.zeros_like(size)
    at_order = v.ones_like(size)
    for k in range(far, 0, -1):
        ratio = size / (2 * k + size * ratio)
        total = ratio * (1 + total)  # (I_k + I_{k+1} + ...) / I_{k-1}
        if k <= order:
            at_order = at_order * ratio
    y = v.exp(size) / (1 + 2 * total) * at_order
    return v.where(v.less(x, 0), -y, y) if order % 2 else y


# ---------------------------------------------------------------------- integers

_STEPS = 92
"""Number of Euclid's steps that suffices for integers of 64 bits (largest Fibonacci number)."""


@v.gcd.fallback
def gcd_standard(x: Any, y: Any) -> Any:
    """Run Euclid's algorithm the same number of steps for all elements."""
    a, b = v.abs(x), v.abs(y)
    for _ in range(_STEPS):
        done = v.equal(b, 0)
        rest = v.remainder(a, v.where(done, 1, b))
        a, b = v.where(done, a, b), v.where(done, b, rest)
    return a


@v.lcm.fallback
def lcm_standard(x: Any, y: Any) -> Any:
    """Divide the product by the greatest common divisor; return 0 for two zeros."""
    common = v.gcd(x, y)
    none = v.equal(common, 0)
    return v.where(none, 0, v.abs(v.floor_divide(x, v.where(none, 1, common)) * y))


@v.bitwise_count.fallback
def bitwise_count_standard(x: Any) -> Any:
    """Count bit by bit."""
    size, total = v.abs(x), v.zeros_like(x)
    for place in range(namespace(x).iinfo(x.dtype).bits - 1):
        total = total + v.bitwise_and(v.bitwise_right_shift(size, place), 1)
    return v.astype(total, dtype=namespace(x).uint8)

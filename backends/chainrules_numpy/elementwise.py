"""NumPy implementations of elementwise operations that it has no function for; cheap spellings."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from chainrules_numpy.broadcasting import vdot
from chainrules_numpy.without_warnings import quietly
from chainrules_py import Scalar
from chainrules_py import ops as v

# The stubs of these functions know fewer calls than the functions take.
_np: Any = np


@v.strong_multiply.implement
def strong_multiply_numpy(c: np.ndarray | Scalar, p: np.ndarray | Scalar) -> Any:
    """Multiply; where p is not finite, with 0 for the products with 0.

    np.vdot is the cheapest question whether all of p is finite: one pass, no temporary, no
    warnings. Where it overflows, the long way gives the same product. A number is asked first.
    """
    if (type(c) is float or type(c) is int) and c and math.isfinite(c):
        return c * p
    if math.isfinite(p if type(p) is float else vdot(p, p).real):
        return c * p
    product = quietly(np.multiply, c, p)
    return np.where(np.equal(c, 0), product.dtype.type(0), product)[()]


_equal, _and = np.equal, np.logical_and
_count: Any = getattr(np.count_nonzero, "_implementation", np.count_nonzero)


@v.tie_share.implement
def tie_share_numpy(
    z: np.ndarray | np.generic, x: np.ndarray | Scalar, y: np.ndarray | Scalar
) -> Any:
    """Compute the share by one comparison, and a second one to find ties, which are rare."""
    first = _equal(x, z)
    tied = _and(first, _equal(y, z))
    share = first.astype(z.dtype)
    return share - tied * share.dtype.type(0.5) if _count(tied) else share


@v.logaddexp_share.implement
def logaddexp_share_numpy(x: np.generic | Scalar, y: np.generic | Scalar) -> Any:
    """Compute the share of numbers by exponentials of at most 1, as it is of arrays."""
    d = np.subtract(x, y)
    return np.exp(np.minimum(d, 0)) / (1 + np.exp(-np.abs(d)))


# The operations give infinity and NaN without a warning, as they do for Python's numbers: rules
# call them, and a program is warned of what it computes itself. Its np.divide, / and ** are not
# these.


@v.divide.implement
def divide_numpy(x: np.ndarray | Scalar, y: np.ndarray | Scalar) -> Any:
    """np.divide, silent."""
    # To be silent costs 1 us, as much as four divisions of a small array.
    if isinstance(y, np.ndarray):
        if y.size < 2000 and np.count_nonzero(y) == y.size:
            return np.divide(x, y)
    elif y:
        return np.divide(x, y)
    return quietly(np.divide, x, y)


@v.pow.implement
def pow_numpy(x: np.ndarray | Scalar, p: np.ndarray | Scalar) -> Any:
    """Compute the power by the operator, cheap for -1, 0, 1/2, 1 and 2; without warnings."""
    if type(p) is float and p >= 0 and p.is_integer():  # of any x
        return x**p
    return quietly(operator.pow, x, p)


@v.log.implement
def log_numpy(x: np.ndarray | np.generic) -> Any:
    """np.log, silent."""
    return quietly(np.log, x)


@v.conj.implement
def conj_numpy(x: np.ndarray | np.generic) -> Any:
    """np.conj copies real arrays."""
    return x.conj() if x.dtype.kind == "c" else x


@v.real.implement
def real_numpy(x: np.ndarray | np.generic) -> Any:
    """Return the view of the real part."""
    return np.real(x) if x.dtype.kind == "c" else x


@v.imag.implement
def imag_numpy(x: np.ndarray | np.generic) -> Any:
    """Return the view of the imaginary part."""
    return np.imag(x)


@v.where.implement
def where_numpy(
    condition: np.ndarray | Scalar, x: np.ndarray | Scalar, y: np.ndarray | Scalar
) -> Any:
    """np.where makes 0-d arrays of scalars."""
    chosen = np.where(condition, x, y)
    return chosen if chosen.ndim else chosen[()]


@v.clip_below.implement
def clip_below_numpy(x: np.ndarray | Scalar, lo: np.ndarray | Scalar) -> Any:
    """np.clip with one bound."""
    return np.clip(x, lo, None)


@v.clip_above.implement
def clip_above_numpy(x: np.ndarray | Scalar, hi: np.ndarray | Scalar) -> Any:
    """np.clip with one bound."""
    return np.clip(x, None, hi)


@v.round_decimals.implement
def round_decimals_numpy(x: np.ndarray | np.generic, *, decimals: int) -> Any:
    """np.round."""
    return x.round(decimals)


@v.choose.implement
def choose_numpy(a: np.ndarray | Scalar, *choices: np.ndarray | Scalar) -> Any:
    """np.choose takes a sequence."""
    return _np.choose(a, choices)


@v.choose.implement
def choose_numbers(a: Scalar, *choices: Scalar) -> Any:
    """Numbers alone are NumPy's: those of other libraries take them beside their arrays."""
    return _np.choose(a, choices)


v.clip_below.implement(clip_below_numpy, types=(Scalar, Scalar))
v.clip_above.implement(clip_above_numpy, types=(Scalar, Scalar))


@v.nan_to_num.implement
def nan_to_num_numpy(
    x: np.ndarray | np.generic,
    nan: np.ndarray | Scalar,
    posinf: np.ndarray | Scalar,
    neginf: np.ndarray | Scalar,
) -> Any:
    """np.nan_to_num takes them by name."""
    return _np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


@v.cumulative_max.implement
def cumulative_max_numpy(x: np.ndarray, *, axis: int) -> Any:
    """Compute cumulative maxima by the method of the ufunc."""
    return np.maximum.accumulate(x, axis)


@v.cumulative_min.implement
def cumulative_min_numpy(x: np.ndarray, *, axis: int) -> Any:
    """Compute cumulative minima by the method of the ufunc."""
    return np.minimum.accumulate(x, axis)


@v.unwrap.implement
def unwrap_numpy(
    x: np.ndarray, period: np.ndarray | Scalar, *, axis: int = -1, discont: float | None = None
) -> Any:
    """np.unwrap takes the period by name."""
    return _np.unwrap(x, discont, axis, period=period)


@v.complex_outside.implement
def complex_outside_numpy(x: np.ndarray | np.generic, *, low: float, high: float) -> Any:
    """Make x complex if need be, as np.lib.scimath does; of single precision where x fits in it."""
    if x.dtype.kind == "c" or not np.any(_np.less(x, low) | _np.greater(x, high)):
        return x
    return x.astype(np.complex64 if x.dtype.char in "fbBhH" else np.complex128)


@v.bessel_i.implement
def bessel_i_numpy(x: np.ndarray | np.generic, *, order: int) -> Any:
    """I₀ by np.i0, times the ratios of neighbours, from far up where they vanish.

    r_k = I_k / I_{k-1} = x / (2k + x r_{k+1}): W. Gautschi, Computational Aspects of Three-Term
    Recurrence Relations, SIAM Review 9 (1967). Far is where the product of r_k² is below epsilon.
    """
    y, order = _np.i0(x), abs(order)
    if order == 0:
        return y
    x = np.clip(x, -1e3, 1e3, dtype=y.dtype)  # beyond, I₀ is infinite
    far = order + 20 + int(9 * math.sqrt(np.fmax.reduce(np.abs(x), axis=None, initial=0.0)))
    ratio = np.zeros_like(x)
    for k in range(far, 0, -1):
        ratio = x / (2 * k + x * ratio)
        if k <= order:
            y = y * ratio
    return y

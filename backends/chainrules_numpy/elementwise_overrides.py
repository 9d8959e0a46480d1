"""NumPy implementations of elementwise operations that NumPy lacks, or with less overhead."""

from __future__ import annotations

import cmath
import math
import operator
from typing import Any

import numpy as np

from chainrules_numpy.broadcast_sums import vdot
from chainrules_numpy.without_warnings import quietly
from chainrules_py import Scalar
from chainrules_py import ops as v

# The stubs of these functions omit some signatures.
_np: Any = np


@v.strong_multiply.implement
def strong_multiply_numpy(c: np.ndarray | Scalar, p: np.ndarray | Scalar) -> Any:
    """Multiply; where p is not finite, products with 0 are 0.

    np.vdot is the cheapest test whether all of p is finite: one pass, no temporary, no warnings. If
    it overflows, the general code gives the same product. Numbers are tested first.
    """
    if (type(c) is float or type(c) is int) and c and math.isfinite(c):
        return c * p
    if cmath.isfinite(p) if isinstance(p, (float, complex)) else math.isfinite(vdot(p, p).real):
        return c * p
    product = quietly(np.multiply, c, p)
    return np.where(np.equal(c, 0), product.dtype.type(0), product)[()]


_equal, _and = np.equal, np.logical_and
_count: Any = getattr(np.count_nonzero, "_implementation", np.count_nonzero)


@v.tie_share.implement
def tie_share_numpy(
    z: np.ndarray | np.generic, x: np.ndarray | Scalar, y: np.ndarray | Scalar
) -> Any:
    """Compute the share by one comparison, and ties, which are rare, by a second one."""
    first = _equal(x, z)
    tied = _and(first, _equal(y, z))
    share = first.astype(z.dtype)
    return share - tied * share.dtype.type(0.5) if _count(tied) else share


@v.logaddexp_share.implement
def logaddexp_share_numpy(x: np.generic | Scalar, y: np.generic | Scalar) -> Any:
    """Compute the share of numbers by exponentials of at most 1, as for arrays."""
    d = np.subtract(x, y)
    return np.exp(np.minimum(d, 0)) / (1 + np.exp(-np.abs(d)))


# These operations return infinity and NaN without a warning, as for Python numbers: rules call
# them, and a program is only warned of its own computations. Its np.divide, / and ** do not run
# these.


@v.divide.implement
def divide_numpy(x: np.ndarray | Scalar, y: np.ndarray | Scalar) -> Any:
    """Compute np.divide without warnings."""
    # Suppressing warnings costs 1 us, as much as four divisions of a small array.
    if isinstance(y, np.ndarray):
        if y.size < 2000 and _count(y) == y.size:
            return np.divide(x, y)
    elif y:
        return x / y if type(x) is type(y) else np.divide(x, y)
    return quietly(np.divide, x, y)


@v.pow.implement
def pow_numpy(x: np.ndarray | Scalar, p: np.ndarray | Scalar) -> Any:
    """Compute the power by the operator, cheap for -1, 0, 1/2, 1 and 2; without warnings."""
    if type(p) is float and p >= 0 and p.is_integer():  # for any x
        return x**p
    return quietly(operator.pow, x, p)


@v.log.implement
def log_numpy(x: np.ndarray | np.generic) -> Any:
    """Compute np.log without warnings."""
    return quietly(np.log, x)


@v.conj.implement
def conj_numpy(x: np.ndarray | np.generic) -> Any:
    """Conjugate; np.conj copies real arrays, and takes a quarter of a scalar's method."""
    return np.conjugate(x) if x.dtype.kind == "c" else x


@v.real.implement
def real_numpy(x: np.ndarray | np.generic) -> Any:
    """Return a view of the real part."""
    return x.real if x.dtype.kind == "c" else x  # pyright: ignore[reportAttributeAccessIssue]


@v.imag.implement
def imag_numpy(x: np.ndarray | np.generic) -> Any:
    """Return the imaginary part."""
    return x.imag  # pyright: ignore[reportAttributeAccessIssue]


@v.where.implement
def where_numpy(
    condition: np.ndarray | Scalar, x: np.ndarray | Scalar, y: np.ndarray | Scalar
) -> Any:
    """Choose by np.where, which makes 0-d arrays of scalars."""
    chosen = np.where(condition, x, y)
    return chosen if chosen.ndim else chosen[()]


@v.clip_below.implement
def clip_below_numpy(x: np.ndarray | Scalar, lo: np.ndarray | Scalar) -> Any:
    """Clip with a lower bound only."""
    return np.clip(x, lo, None)


@v.clip_above.implement
def clip_above_numpy(x: np.ndarray | Scalar, hi: np.ndarray | Scalar) -> Any:
    """Clip with an upper bound only."""
    return np.clip(x, None, hi)


@v.round_decimals.implement
def round_decimals_numpy(x: np.ndarray | np.generic, *, decimals: int) -> Any:
    """Round to decimals by the array's method."""
    return x.round(decimals)


@v.choose.implement
def choose_numpy(a: np.ndarray | Scalar, *choices: np.ndarray | Scalar) -> Any:
    """Choose by np.choose, which takes a sequence."""
    return _np.choose(a, choices)


# The result of numbers is NumPy's.
v.choose.implement(choose_numpy, types=(Scalar, Scalar))
v.clip_below.implement(clip_below_numpy, types=(Scalar, Scalar))
v.clip_above.implement(clip_above_numpy, types=(Scalar, Scalar))


@v.nan_to_num.implement
def nan_to_num_numpy(
    x: np.ndarray | np.generic,
    nan: np.ndarray | Scalar,
    posinf: np.ndarray | Scalar,
    neginf: np.ndarray | Scalar,
) -> Any:
    """Call np.nan_to_num, which takes the replacements by name."""
    return _np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


v.cumulative_max.implement(np.maximum.accumulate, types=(np.ndarray,))
v.cumulative_min.implement(np.minimum.accumulate, types=(np.ndarray,))


@v.unwrap.implement
def unwrap_numpy(
    x: np.ndarray, period: np.ndarray | Scalar, *, axis: int = -1, discont: float | None = None
) -> Any:
    """Call np.unwrap, which takes the period by name."""
    return _np.unwrap(x, discont, axis, period=period)


@v.complex_outside.implement
def complex_outside_numpy(x: np.ndarray | np.generic, *, low: float, high: float) -> Any:
    """Convert x to complex if values are outside, as np.lib.scimath does."""
    if x.dtype.kind == "c" or not np.any(_np.less(x, low) | _np.greater(x, high)):
        return x
    return x.astype(np.complex64 if x.dtype.char in "fbBhH" else np.complex128)


@v.bessel_i.implement
def bessel_i_numpy(x: np.ndarray | np.generic, *, order: int) -> Any:
    """Compute I₀ by np.i0, times ratios of neighbours, by recurrence from where they vanish.

    r_k = I_k / I_{k-1} = x / (2k + x r_{k+1}): W. Gautschi, Computational Aspects of Three-Term
    Recurrence Relations, SIAM Review 9 (1967). The start is where the product of r_k² is below
    epsilon.
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

"""How NumPy computes the elementwise words that it has no function for, and the cheap spellings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules_py import NotDifferentiableError, Numeric, Scalar
from chainrules_py import vocabulary as v
from chainrules_py.composites.elementwise import bounded
from chainrules_py.project import kind_of

__all__: list[str] = []


@v.strong_multiply.implement
def strong_multiply_numpy(c: np.ndarray | Scalar, p: np.ndarray | Scalar) -> Any:
    """Multiply; where p is not finite, with 0 for the products with 0.

    np.vdot is the cheapest question whether all of p is finite: one pass, no temporary, no
    warnings. Where it overflows, the long way gives the same product.
    """
    if math.isfinite(np.vdot(p, p).real):
        return c * p
    with np.errstate(invalid="ignore"):
        product = np.multiply(c, p)
    return np.where(np.equal(c, 0), product.dtype.type(0), product)[()]


# The words give infinity and NaN without a warning, as they do for Python's numbers: rules call
# them, and a program is warned of what it computes itself. Its np.divide, / and ** are not these.


@v.divide.implement
def divide_numpy(x: np.ndarray | Scalar, y: np.ndarray | Scalar) -> Any:
    """np.divide, silent."""
    # errstate costs 1 us, as much as four divisions of a small array.
    if type(y) is np.ndarray:
        if y.size < 1000 and np.count_nonzero(y) == y.size:
            return np.divide(x, y)
    elif y:
        return np.divide(x, y)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.divide(x, y)


@v.pow.implement
def pow_numpy(x: np.ndarray | Scalar, p: np.ndarray | Scalar) -> Any:
    """The operator, which knows cheap ways for the exponents -1, 0, 1/2, 1 and 2; silent."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return x**p


@v.log.implement
def log_numpy(x: np.ndarray | np.generic) -> Any:
    """np.log, silent."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(x)


@v.conj.implement
def conj_numpy(x: np.ndarray | np.generic) -> Any:
    """np.conj copies real arrays."""
    return x.conj() if x.dtype.kind == "c" else x


@v.real.implement
def real_numpy(x: np.ndarray | np.generic) -> Any:
    """The view of the real part."""
    return np.real(x) if x.dtype.kind == "c" else x


@v.imag.implement
def imag_numpy(x: np.ndarray | np.generic) -> Any:
    """The view of the imaginary part."""
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


# -------------------------------------------------------- calls that words do not take as they are


def clip_call(
    a: Numeric,
    a_min: Numeric | None = None,
    a_max: Numeric | None = None,
    *,
    min: Numeric | None = None,
    max: Numeric | None = None,
) -> Any:
    """np.clip, whose bounds have two names."""
    if min is not None or max is not None:
        if a_min is not None or a_max is not None:
            msg = "clip() takes the bounds as a_min and a_max or as min and max, not as both"
            raise ValueError(msg)
        a_min, a_max = min, max
    return bounded(a, a_min, a_max)


def nan_to_num_call(
    x: Numeric,
    copy: bool = True,
    nan: Numeric = 0.0,
    posinf: Numeric | None = None,
    neginf: Numeric | None = None,
) -> Any:
    """np.nan_to_num: a replaced element is constant."""
    if kind_of(x) != "real":
        if kind_of(x) == "complex":
            msg = "nan_to_num() of complex numbers has no derivative here; apply it to both parts"
            raise NotDifferentiableError(msg)
        return v.positive(x)
    limits = np.finfo(x.dtype)  # type: ignore[union-attr]
    highest = limits.max if posinf is None else posinf
    lowest = limits.min if neginf is None else neginf
    infinite = v.isinf(x)
    x = v.where(v.isnan(x), nan, x)
    x = v.where(v.logical_and(infinite, v.greater(x, 0)), highest, x)
    return v.where(v.logical_and(infinite, v.less(x, 0)), lowest, x)

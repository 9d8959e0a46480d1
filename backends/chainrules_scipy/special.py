"""Functions of ``scipy.special`` that make plain arrays of arguments, of traced values too.

The others are ufuncs, and take traced values as they are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import kind_of, moves
from chainrules_scipy import spherical
from chainrules_scipy.rows import (
    array_of,
    attribute,
    in_kind_of,
    readable,
    reject,
    stands_for,
    static,
)

_scipy: Any = scipy.special  # whose stubs know fewer functions than it has

__all__ = [
    "comb",
    "factorial",
    "log_softmax",
    "logsumexp",
    "multigammaln",
    "polygamma",
    "softmax",
]


@stands_for(scipy.special.logsumexp)
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """Compute the logarithm of a sum of exponentials."""
    a, axis = array_of(a), static(axis)
    a = a if a.ndim else v.reshape(a, shape=(1,))
    if b is None and not return_sign:
        return v.logsumexp(a, axis=axis, keepdims=bool(keepdims))
    b = array_of(1.0 if b is None else b)
    known, zero = readable(a), readable(b) == 0
    # What a weight of 0 leaves out may be infinite, or larger than all others.
    largest = np.where(zero | ~np.isfinite(known.real), -np.inf, known.real)
    largest = np.max(largest, axis=axis, keepdims=True, initial=-np.inf)
    largest = np.where(np.isfinite(largest), largest, 0).astype(known.real.dtype)
    # Where the weights are constant, exponents of 0 are left out; else the slope in b is of them.
    left_out = zero & ~np.isfinite(known) if moves(b) else zero
    largest = array_of(largest)
    a = v.where(left_out, largest, a)
    terms = v.strong_multiply(b, v.exp(a - largest))
    total = v.sum(terms, axis=axis, keepdims=True)
    size = v.abs(total)
    sign = v.sign(total) if kind_of(total) == "real" else total / v.where(size == 0, 1, size)
    if return_sign:
        y = v.log(size) + largest
    else:
        y = v.log(v.where(sign < 0, math.nan, total) if kind_of(sign) == "real" else total)
        y = y + largest
    y, sign = (y, sign) if keepdims else (v.squeeze(y, axis=axis), v.squeeze(sign, axis=axis))
    return (y, sign) if return_sign else y


@stands_for(scipy.special.softmax)
def softmax(x: Any, axis: Any = None) -> Any:
    """Divide exponentials by their sum."""
    x = array_of(x)
    return v.softmax(x, axis=static(axis) if x.ndim else None)


@stands_for(scipy.special.log_softmax)
def log_softmax(x: Any, axis: Any = None) -> Any:
    """Compute the logarithm of `softmax`."""
    x = array_of(x)
    return v.log_softmax(x, axis=static(axis) if x.ndim else None)


@stands_for(scipy.special.polygamma)
def polygamma(n: Any, x: Any) -> Any:
    """Compute a derivative of the digamma function."""
    y = v.polygamma(array_of(n, floating=False), array_of(x))
    return in_kind_of(y, np.zeros(()))


@stands_for(scipy.special.factorial)
def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """Compute Γ(n + 1)."""
    if exact:
        reject(
            "factorial(exact=True) is of whole numbers, and has no derivative; leave exact out",
            UnsupportedKeywordError,
        )
    n = array_of(n)
    if extend == "complex":
        return v.gamma(n + 1)
    return v.where(n < 0, 0, v.gamma(v.where(n < 0, 0, n) + 1))


@stands_for(scipy.special.comb)
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """Compute a number of combinations, of k out of N."""
    if exact:
        reject(
            "comb(exact=True) is of whole numbers, and has no derivative; leave exact out",
            UnsupportedKeywordError,
        )
    N, k = array_of(N), array_of(k)
    if repetition:
        return comb(v.add(N, k) - 1, k)
    inside = v.logical_and(
        v.less_equal(k, N), v.logical_and(v.greater_equal(N, 0), v.greater_equal(k, 0))
    )
    return v.where(inside, v.binom(v.where(inside, N, 1), v.where(inside, k, 1)), 0)


@stands_for(_scipy.multigammaln)
def multigammaln(a: Any, d: int) -> Any:
    """Compute the logarithm of the multivariate gamma function."""
    a = array_of(a)
    if d <= 0 or d != int(d):
        reject(f"d is {d}, and has to be a positive whole number", ValueError)
    if np.any(readable(a) <= 0.5 * (d - 1)):
        reject(f"a has to be larger than (d - 1) / 2 = {0.5 * (d - 1)}", ValueError)
    terms = [v.gammaln(a - 0.5 * j) for j in range(int(d))]
    return 0.25 * d * (d - 1) * math.log(math.pi) + sum(terms[1:], terms[0])


def __getattr__(name: str) -> Any:
    table = {} if name[0] == "_" else vars(spherical) | spherical.FOLLOWED
    return attribute(__name__, table, name)

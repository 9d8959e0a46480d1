"""Polynomials, written in operations: vectors of coefficients, the highest power first."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from chainrules_numpy.composites.indexing import trim_zeros
from chainrules_numpy.composites.statistics import is_seen
from chainrules_numpy.keyword_lowerings import numpy_dtype
from chainrules_py import NotDifferentiableError, ignore_derivatives
from chainrules_py import ops as v
from chainrules_py.extend import describe, kind_of, namespace_of, real_numbers, untraced, varies


def _vector(p: Any) -> Any:
    return p if p.ndim else v.reshape(p, shape=(1,))


def _on_one_axis(*coefficients: Any) -> None:
    if any([x.ndim > 1 for x in coefficients]):
        raise NotDifferentiableError("Polynomial must be 1d only: its coefficients are on one axis")


def _aligned(p: Any, q: Any) -> tuple[Any, Any]:
    """Bring two polynomials to one length by leading zeros."""
    p, q = _vector(p), _vector(q)
    n = max(p.shape[0], q.shape[0])

    def longer(a: Any) -> Any:
        missing = n - a.shape[0]
        return v.concat(v.full_like(a, shape=(missing,), fill=0), a) if missing else a

    return longer(p), longer(q)


def polyadd(p: Any, q: Any) -> Any:
    """Add two polynomials."""
    p, q = _aligned(p, q)
    return p + q


def polysub(p: Any, q: Any) -> Any:
    """Subtract one polynomial from another."""
    p, q = _aligned(p, q)
    return p - q


def polymul(p: Any, q: Any) -> Any:
    """Multiply two polynomials, without leading zeros of either."""
    _on_one_axis(p, q)
    return v.convolve(*[_leading(_vector(a)) for a in (p, q)])


def _leading(p: Any) -> Any:
    """Remove leading zeros, except the last coefficient; raise if removed ones are traced.

    Where an engine hides the values, they stay, as in JAX's own polymul.
    """
    if not p.shape[0]:
        return v.full_like(p, shape=(1,), fill=0)  # as NumPy treats an empty polynomial
    if not is_seen(p):
        return p
    kept = trim_zeros(p, "f")
    kept = kept if kept.shape[0] else v.index(p, slice(-1, None))
    if kept.shape != p.shape and varies(p):
        raise NotDifferentiableError(
            f"polymul leaves out coefficients of {describe(p)} in front that are zero, and with "
            "them their derivatives; write np.convolve(p, q), which leaves out none"
        )
    return kept


def polydiv(p: Any, q: Any) -> tuple[Any, Any]:
    """Return the quotient, and the remainder without leading elements of up to 1e-8."""
    _on_one_axis(p, q)
    p, q = _vector(p) + 0.0, _vector(q) + 0.0
    m, n = p.shape[0] - 1, q.shape[0] - 1
    scale = 1.0 / v.index(q, 0)
    rest = v.astype(p, dtype=(v.index(p, 0) + v.index(q, 0)).dtype)
    quotient = []
    for k in range(m - n + 1):
        head = slice(k, k + n + 1)
        quotient.append(scale * v.index(rest, k))
        parts = v.index(rest, slice(k)), v.index(rest, head) - quotient[-1] * q
        rest = v.concat(*parts, v.index(rest, slice(k + n + 1, None)))
    plain, start = untraced(rest), 0
    while abs(plain[start]) <= 1e-8 and start < plain.shape[0] - 1:
        start += 1
    whole = v.stack(*quotient) if quotient else v.full_like(rest, shape=(1,), fill=0)
    return whole, v.index(rest, slice(start, None))


def polyder(p: Any, m: int = 1) -> Any:
    """Compute the m-th derivative of a polynomial."""
    _on_one_axis(p)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    for _ in range(m):
        n = p.shape[0] - 1
        p = v.index(p, slice(n)) * v.arange_like(p, start=n, stop=0, step=-1)
    return p


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """Integrate a polynomial m times with these constants, that of the first integral first."""
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = None if k is None else _vector(k)
    if constants is not None and constants.shape[0] != 1 and constants.shape[0] < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(m):
        n = p.shape[0]
        y = v.divide(p, v.arange_like(p, start=n, stop=0, step=-1))
        if constants is None:
            last = v.full_like(y, shape=(1,), fill=0)
        else:
            last = v.index(constants, slice(i, i + 1) if constants.shape[0] > 1 else slice(0, 1))
        p = v.concat(y, last)
    return p


def polyval(p: Any, x: Any) -> Any:
    """Evaluate a polynomial at each element of x; a matrix has one polynomial per column."""
    if p.ndim == 1:
        return v.polyval(p, x)
    coefficients = [v.index(p, i) for i in range(p.shape[0])]
    return functools.reduce(lambda y, c: y * x + c, coefficients, v.zeros_like(x))


def poly(zeros: Any) -> Any:
    """Compute the monic polynomial with these zeros, or with a matrix's eigenvalues."""
    zeros = _vector(zeros)
    if zeros.ndim == 1:  # the dtype that they would have as eigenvalues
        zeros = v.astype(zeros, dtype=np.dtype(np.mintypecode(numpy_dtype(zeros).char)))
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] > 0:
        if zeros.shape[0] <= _DIGITS_STAY:
            moving = _characteristic(zeros)
            known = poly(v.eigvals(ignore_derivatives(zeros)))
            return known + (moving - ignore_derivatives(moving))
        zeros = v.eigvals(zeros)
    elif zeros.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if zeros.shape[0] == 0:
        return 1.0
    one, nought = v.full_like(zeros, shape=(1,), fill=1), v.full_like(zeros, shape=(1,), fill=0)
    rest = v.index(zeros, slice(0))  # the leading 1 apart: 0 times an infinite zero is NaN
    for i in range(zeros.shape[0]):
        zero = v.index(zeros, slice(i, i + 1))
        rest = v.concat(rest, nought) - v.concat(zero, zero * rest)
    y = v.concat(one, rest)
    paired = kind_of(zeros) == "complex" and _come_in_pairs(untraced(zeros))
    return v.real(y) if paired else y


_DIGITS_STAY = 6
"""Largest number of rows for which coefficients keep 13 digits; for 12 rows they keep 7."""


def _characteristic(a: Any) -> Any:
    """Compute a matrix's characteristic polynomial by products alone (Faddeev and Le Verrier).

    Its derivative is correct also at equal eigenvalues, which have no derivative.
    """
    m = eye = v.eye_like(a, rows=a.shape[0])
    found = [v.full_like(a, shape=(), fill=1)]
    for k in range(1, a.shape[0] + 1):
        product = v.matmul(a, m)
        found.append(v.trace(product) * (-1 / k))
        m = product + found[-1] * eye
    return v.stack(*found)


def _come_in_pairs(zeros: Any) -> bool:
    """Return whether the conjugates of these numbers are the same numbers."""
    return bool(v.all(v.equal(v.sort(zeros), v.sort(v.conj(zeros)))))


def vander(x: Any, columns: int | None = None, increasing: bool = False) -> Any:
    """Return a matrix with the powers of each element of a vector in a row."""
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    return v.vander(x, columns=x.shape[0] if columns is None else columns, increasing=increasing)


# ------------------------------------------------------------------------------------ least squares


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool | str = False,
) -> Any:
    """Fit the polynomial with the least weighted sum of squared distances to the points."""
    if not x.shape[0]:
        raise TypeError("expected non-empty vector for x")
    columns = deg + 1
    x, y = x + 0.0, y + 0.0
    limit: Any = rcond
    if rcond is None:
        limit = x.shape[0] * namespace_of(type(x)).finfo(x.dtype).eps
    A, b = v.vander(x, columns=columns), y
    if w is not None:
        w = w + 0.0
        rows = v.reshape(w, shape=(-1, 1))
        A, b = A * rows, b * (rows if y.ndim == 2 else w)
    scale = v.sqrt(v.sum(A * A, axis=0))
    A = A / scale
    c, residuals, rank, s = v.lstsq(A, b, rcond=float(limit))
    c = v.matrix_transpose(v.matrix_transpose(c) / scale) if y.ndim == 2 else c / scale
    if full:
        return c, residuals, rank, s, limit
    if not cov:
        return c
    V = v.inv(v.matmul(v.matrix_transpose(A), A)) / v.outer(scale, scale)
    factor: Any = 1
    if cov != "unscaled":
        if x.shape[0] <= columns:
            raise ValueError(
                "the number of data points must exceed order to scale the covariance matrix"
            )
        factor = residuals / (x.shape[0] - columns)
    return c, (V if y.ndim == 1 else v.expand_dims(V, axis=-1)) * factor


# ------------------------------------------------------------- ascending powers, several variables


def polyval_at(c: Any, *points: Any) -> Any:
    """Evaluate a polynomial in several variables at points; c has an axis for each variable.

    The coefficients begin with that of the zeroth power.
    """
    if any(x.shape != points[0].shape for x in points):
        raise ValueError(
            "x, y, z are incompatible" if len(points) == 3 else "x, y are incompatible"
        )
    c = ascending(points[0], c, outer=True)
    for x in points[1:]:
        c = ascending(x, c, outer=False)
    return c


def polygrid(c: Any, *axes: Any) -> Any:
    """Evaluate a polynomial in several variables on the grid with these coordinates."""
    for x in axes:
        c = ascending(x, c, outer=True)
    return c


def ascending(x: Any, c: Any, *, outer: bool) -> Any:
    """Evaluate a polynomial along the first axis of c; its other axes come first or meet x's."""
    c = real_numbers(_vector(c))
    if outer and x.ndim:
        c = v.reshape(c, shape=(*c.shape, *(1,) * x.ndim))
    coefficients = [v.index(c, i) for i in reversed(range(c.shape[0]))]
    return functools.reduce(lambda y, a: a + y * x, coefficients[1:], coefficients[0] + x * 0)

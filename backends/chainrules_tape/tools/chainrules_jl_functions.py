"""Functions of ChainRules.jl that are more than one expression of NumPy.

They accept arrays, numbers and traced values. docs/features.md says what to write for each
function, file by file of ChainRules.jl.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chainrules_py import NotDifferentiableError
from chainrules_py.extend import describe
from chainrules_py.ops import round, where
from chainrules_py.ops.higher_order import scan


def sinpi(x: Any) -> Any:
    """Compute sin(π x), exact where x is an integer or a half-integer.

    Examples
    --------
    >>> float(sinpi(1.0)), float(sinpi(0.5))
    (0.0, 1.0)
    """
    r = x - 2.0 * round(x / 2.0)
    # The branches are equal as functions: derivatives of all orders agree at their ends.
    return np.sin(np.pi * where(r > 0.5, 1.0 - r, where(r < -0.5, -1.0 - r, r)))


def cospi(x: Any) -> Any:
    """Compute cos(π x), exact where x is an integer or a half-integer."""
    r = x - 2.0 * round(x / 2.0)
    return np.sin(np.pi * where(r < 0.0, 0.5 + r, 0.5 - r))


def tanpi(x: Any) -> Any:
    """Compute tan(π x)."""
    return sinpi(x) / cospi(x)


def sind(x: Any) -> Any:
    """Compute the sine of degrees, exact at multiples of 90.

    Examples
    --------
    >>> float(sind(180.0)), float(cosd(90.0))
    (0.0, 0.0)
    """
    return sinpi(x / 180.0)


def cosd(x: Any) -> Any:
    """Compute the cosine of degrees, exact at multiples of 90."""
    return cospi(x / 180.0)


def evalpoly(x: Any, coefficients: Sequence[Any]) -> Any:
    """Evaluate a polynomial by Horner's scheme; coefficients are those of 1, x, x², ...

    Examples
    --------
    >>> evalpoly(2.0, (1.0, 0.0, 3.0))
    13.0
    """
    y = coefficients[-1]
    for k in range(len(coefficients) - 2, -1, -1):
        y = y * x + coefficients[k]
    return y


def foldl(f: Callable[[Any, Any], Any], xs: Any, initial: Any) -> Any:
    """Combine slices from the left: f(... f(f(initial, xs[0]), xs[1]) ...)."""
    return scan(lambda carry, x: (f(carry, x), None), initial, xs)[0]


def accumulate(f: Callable[[Any, Any], Any], xs: Any, initial: Any) -> Any:
    """Return all intermediate results of `foldl`, stacked."""

    def step(carry: Any, x: Any) -> Any:
        y = f(carry, x)
        return y, y

    return scan(step, initial, xs)[1]


def symmetric(a: Any, lower: bool = False) -> Any:
    """Return the symmetric matrix with one triangle of a; the other triangle is ignored."""
    triangle = np.tril(a) if lower else np.triu(a)
    rest = np.tril(a, -1) if lower else np.triu(a, 1)
    return triangle + np.swapaxes(rest, -1, -2)


def hermitian(a: Any, lower: bool = False) -> Any:
    """Return the Hermitian matrix with one triangle of a; the diagonal counts as real."""
    rest = np.tril(a, -1) if lower else np.triu(a, 1)
    on = np.real(np.diagonal(a, axis1=-2, axis2=-1))
    return rest + np.conj(np.swapaxes(rest, -1, -2)) + on[..., None] * np.eye(a.shape[-1])


def triangular(a: Any, lower: bool = False, unit: bool = False) -> Any:
    """Return one triangle of a matrix, with ones on its diagonal if ``unit`` is true."""
    if unit:
        return (np.tril(a, -1) if lower else np.triu(a, 1)) + np.eye(a.shape[-1])
    return np.tril(a) if lower else np.triu(a)


def logdet(a: Any) -> Any:
    """Return the logarithm of a determinant, which has to be positive.

    Raises
    ------
    NotDifferentiableError
        If it is not positive: `numpy.linalg.slogdet` returns the sign as well.
    """
    sign, found = np.linalg.slogdet(a)
    if not np.all(sign > 0):
        raise NotDifferentiableError(
            f"logdet takes a matrix with a positive determinant, not {describe(a)}; see slogdet"
        )
    return found

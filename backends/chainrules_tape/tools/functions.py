"""Functions of ChainRules.jl, written with NumPy functions that have derivatives.

They accept arrays, numbers and traced values. docs/features.md lists the counterpart of each
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


def sincos(x: Any) -> tuple[Any, Any]:
    """Compute sine and cosine."""
    return np.sin(x), np.cos(x)


def sincospi(x: Any) -> tuple[Any, Any]:
    """Compute sin(π x) and cos(π x)."""
    return sinpi(x), cospi(x)


def sincosd(x: Any) -> tuple[Any, Any]:
    """Compute sine and cosine of degrees."""
    return sind(x), cosd(x)


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


def tand(x: Any) -> Any:
    """Compute the tangent of degrees."""
    return tanpi(x / 180.0)


def sec(x: Any) -> Any:
    """Compute 1 / cos(x)."""
    return 1.0 / np.cos(x)


def csc(x: Any) -> Any:
    """Compute 1 / sin(x)."""
    return 1.0 / np.sin(x)


def cot(x: Any) -> Any:
    """Compute 1 / tan(x)."""
    return 1.0 / np.tan(x)


def secd(x: Any) -> Any:
    """Compute the secant of degrees."""
    return 1.0 / cosd(x)


def cscd(x: Any) -> Any:
    """Compute the cosecant of degrees."""
    return 1.0 / sind(x)


def cotd(x: Any) -> Any:
    """Compute the cotangent of degrees."""
    return cosd(x) / sind(x)


def sech(x: Any) -> Any:
    """Compute 1 / cosh(x)."""
    return 1.0 / np.cosh(x)


def csch(x: Any) -> Any:
    """Compute 1 / sinh(x)."""
    return 1.0 / np.sinh(x)


def coth(x: Any) -> Any:
    """Compute 1 / tanh(x)."""
    return 1.0 / np.tanh(x)


def asec(x: Any) -> Any:
    """Compute the inverse of the secant."""
    return np.arccos(1.0 / x)


def acsc(x: Any) -> Any:
    """Compute the inverse of the cosecant."""
    return np.arcsin(1.0 / x)


def acot(x: Any) -> Any:
    """Compute the inverse of the cotangent, between -π/2 and π/2."""
    return np.arctan(1.0 / x)


def asech(x: Any) -> Any:
    """Compute the inverse of the hyperbolic secant."""
    return np.arccosh(1.0 / x)


def acsch(x: Any) -> Any:
    """Compute the inverse of the hyperbolic cosecant."""
    return np.arcsinh(1.0 / x)


def acoth(x: Any) -> Any:
    """Compute the inverse of the hyperbolic cotangent."""
    return np.arctanh(1.0 / x)


def asind(x: Any) -> Any:
    """Compute the inverse of the sine, in degrees."""
    return np.rad2deg(np.arcsin(x))


def acosd(x: Any) -> Any:
    """Compute the inverse of the cosine, in degrees."""
    return np.rad2deg(np.arccos(x))


def atand(x: Any) -> Any:
    """Compute the inverse of the tangent, in degrees."""
    return np.rad2deg(np.arctan(x))


def cis(x: Any) -> Any:
    """Compute exp(i x)."""
    return np.exp(1j * x)


def cispi(x: Any) -> Any:
    """Compute exp(i π x), exact where x is an integer or a half-integer."""
    return cospi(x) + 1j * sinpi(x)


def fma(x: Any, y: Any, z: Any) -> Any:
    """Compute x y + z, rounded after each step."""
    return x * y + z


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


def findmax(x: Any) -> tuple[Any, Any]:
    """Return the largest element and its first index in the flattened array."""
    flat = np.ravel(x)
    place = np.argmax(flat)
    return flat[place], place


def findmin(x: Any) -> tuple[Any, Any]:
    """Return the smallest element and its first index in the flattened array."""
    flat = np.ravel(x)
    place = np.argmin(flat)
    return flat[place], place


def foldl(f: Callable[[Any, Any], Any], xs: Any, initial: Any) -> Any:
    """Combine slices from the left: f(... f(f(initial, xs[0]), xs[1]) ...)."""
    return scan(lambda carry, x: (f(carry, x), None), initial, xs)[0]


def accumulate(f: Callable[[Any, Any], Any], xs: Any, initial: Any) -> Any:
    """Return all intermediate results of `foldl`, stacked."""

    def step(carry: Any, x: Any) -> Any:
        y = f(carry, x)
        return y, y

    return scan(step, initial, xs)[1]


def partialsort(x: Any, k: int) -> Any:
    """Return the element at index k of the sorted array, which has one axis."""
    return np.sort(x)[k]


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


def uniform_scaling(c: Any, n: int) -> Any:
    """Return c times the identity."""
    return c * np.eye(n)


def logdet(a: Any) -> Any:
    """Return the logarithm of a determinant, which has to be positive.

    Raises
    ------
    NotDifferentiableError
        If it is not positive: `numpy.linalg.slogdet` returns the sign as well.
    """
    sign, found = np.linalg.slogdet(a)
    if not np.all(sign > 0):
        msg = f"logdet takes a matrix with a positive determinant, not {describe(a)}; see slogdet"
        raise NotDifferentiableError(msg)
    return found


def nrm2(x: Any) -> Any:
    """Return the Euclidean norm of a vector."""
    return np.linalg.norm(x)


def asum(x: Any) -> Any:
    """Return the sum of the absolute values of real and imaginary parts."""
    return np.sum(np.abs(np.real(x)) + np.abs(np.imag(x)))


def axpy(a: Any, x: Any, y: Any) -> Any:
    """Return a x + y."""
    return a * x + y


def gemv(alpha: Any, a: Any, x: Any, beta: Any = 0.0, y: Any = 0.0, trans: bool = False) -> Any:
    """Return α op(A) x + β y."""
    return alpha * ((np.swapaxes(a, -1, -2) if trans else a) @ x) + beta * y


def gemm(
    alpha: Any,
    a: Any,
    b: Any,
    beta: Any = 0.0,
    c: Any = 0.0,
    trans_a: bool = False,
    trans_b: bool = False,
) -> Any:
    """Return α op(A) op(B) + β C."""
    a = np.swapaxes(a, -1, -2) if trans_a else a
    b = np.swapaxes(b, -1, -2) if trans_b else b
    return alpha * (a @ b) + beta * c

"""Functions of ``scipy.special`` that convert arguments to plain arrays, for traced values too.

SciPy's ufuncs, which take traced values as they are, are found here as well.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as native

from chainrules_py import UnsupportedKeywordError, scalar_rule
from chainrules_py import ops as v
from chainrules_py.extend import kind_of, moves, untraced
from chainrules_scipy.composites_and_operand_conversions import (
    anchored,
    array_of,
    attribute,
    in_kind_of,
    in_precision_of,
    operations,
    readable,
    reject,
    stands_for,
    static,
)
from chainrules_scipy.implementations import of_numbers, operation_of
from chainrules_scipy.installation import place
from chainrules_scipy.source_copies import follow_all, with_shortcuts

__all__ = [
    "logsumexp",
    "multigammaln",
    "polygamma",
]

if not isinstance(native.betainc, np.ufunc):  # SciPy's array-API dispatch hides the ufuncs
    import chainrules_scipy.ufunc_rules  # noqa: F401  # pyright: ignore[reportUnusedImport]
with_shortcuts(native.roots_gegenbauer, native.roots_jacobi)
_UFUNCS = {name: f for name, f in vars(native).items() if isinstance(f, np.ufunc)}
FOLLOWED: dict[str, Any] = _UFUNCS | follow_all(
    native,
    *("genlaguerre", "roots_gegenbauer", "roots_genlaguerre", "roots_jacobi", "roots_sh_jacobi"),
)


_state: Any = scalar_rule  # partials may name operands freely


def _spherical(name: str, below: int, above: int) -> Any:
    """Make a function with (2n + 1) f′ = below n f at n - 1, + above (n + 1) f at n + 1.

    DLMF 10.51.2 and 10.51.5; nothing is divided by x, which may be 0.
    """
    theirs = getattr(native, name)
    value = of_numbers(operation_of(name, "n", "x"), lambda n, x: theirs(n, x, False))
    slope = of_numbers(operation_of(f"{name}_slope", "n", "x"), lambda n, x: theirs(n, x, True))

    def second(_y: Any, n: Any, x: Any) -> Any:
        return (below * n * slope(np.maximum(n - 1, 0), x) + above * (n + 1) * slope(n + 1, x)) / (
            2 * n + 1
        )

    _state(value, lambda _y, _n, _x: 0.0, lambda _y, n, x: slope(n, x), singular=True)
    _state(slope, lambda _y, _n, _x: 0.0, second, singular=True)

    def function(n: Any, z: Any, derivative: bool = False) -> Any:
        return (slope if derivative else value)(np.asarray(readable(n), int), array_of(z))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Compute ``scipy.special.{name}``, in its argument."
    return stands_for(theirs)(function)


spherical_jn, spherical_yn = (_spherical(f"spherical_{f}n", 1, -1) for f in "jy")
spherical_in, spherical_kn = _spherical("spherical_in", 1, 1), _spherical("spherical_kn", -1, -1)


def _ways(count: Callable[..., Any], N: Any, k: Any) -> Any:
    """Count the ways to take k of N, which are 0 outside of 0 <= k <= N."""
    some = v.logical_and(k <= N, v.logical_and(N >= 0, k >= 0))
    return v.where(some, count(v.where(some, N, 1), v.where(some, k, 1)), 0)


def _placed(function: Any) -> Any:
    """Put a function under SciPy's name; its option for derivatives is refused (a decorator)."""
    theirs = getattr(native, function.__name__)

    @functools.wraps(function)
    def placed(*args: Any, diff_n: int = 0, **options: Any) -> Any:
        if diff_n:
            reject(
                "diff_n is not for traced values: differentiate the function",
                UnsupportedKeywordError,
            )
        return function(*args, **options)

    return place(theirs, in_precision_of(theirs)(placed))


@_placed
def legendre_p(n: Any, z: Any) -> Any:
    """Compute a Legendre polynomial, as ``scipy.special.legendre_p``, in its argument."""
    return native.eval_legendre(n, array_of(z))[None]


@_placed
def legendre_p_all(n: int, z: Any) -> Any:
    """Compute all Legendre polynomials up to a degree."""
    return v.stack(*[native.eval_legendre(k, array_of(z)) for k in range(n + 1)])[None]


def _legendre(name: str, order: int = 0) -> Any:
    """Declare the operation for a SciPy function, or for one of its first two derivatives."""
    theirs = getattr(native, name)

    def compute(n: Any, m: Any, norm: Any, x: Any) -> Any:
        options = {"norm": bool(np.all(norm))} if name == "assoc_legendre_p" else {}
        return theirs(n, m, x, diff_n=order, **options)[order]

    operation = of_numbers(operation_of(f"{name}_{order}", "n", "m", "norm", "x"), compute)
    if order < 2:
        following = _legendre(name, order + 1)
        flat = lambda _y, _n, _m, _norm, _x: 0.0
        slope = lambda _y, n, m, norm, x: following(n, m, norm, x)
        _state(operation, flat, flat, flat, slope, singular=True)
    return operation


_ASSOCIATED, _SPHERICAL = _legendre("assoc_legendre_p"), _legendre("sph_legendre_p")


@_placed
def assoc_legendre_p(n: int, m: int, z: Any, *, branch_cut: int = 2, norm: bool = False) -> Any:
    """Compute an associated Legendre polynomial, in its argument, up to two derivatives."""
    if branch_cut != 2 or kind_of(array_of(z)) == "complex":
        reject(
            "assoc_legendre_p with complex numbers has no derivative here", UnsupportedKeywordError
        )
    return _ASSOCIATED(int(n), int(m), int(norm), array_of(z))[None]


@_placed
def sph_legendre_p(n: int, m: int, theta: Any) -> Any:
    """Compute a spherical Legendre polynomial, in its argument, up to two derivatives."""
    return _SPHERICAL(int(n), int(m), 0, array_of(theta))[None]


@_placed
def sph_harm_y(n: int, m: int, theta: Any, phi: Any) -> Any:
    """Compute a spherical harmonic, in both angles."""
    (polar,) = sph_legendre_p(n, m, theta)
    return polar * v.exp(1j * m * array_of(phi))


@stands_for(native.logsumexp)
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """Compute the logarithm of a sum of exponentials."""
    a, axis = array_of(a), static(axis)
    a = a if a.ndim else v.reshape(a, shape=(1,))
    if b is None and not return_sign:
        return v.logsumexp(a, axis=axis, keepdims=bool(keepdims))
    b = array_of(1.0 if b is None else b)
    a = a + v.zeros_like(untraced(b))  # in the precision of both
    zero, real = v.equal(untraced(b), 0), untraced(a).real
    infinite = v.logical_not(v.isfinite(untraced(a)))
    # An exponent with a weight of 0 may be infinite, or larger than all others. The shift cancels,
    # so no derivative flows through it; without exponents it is 0.
    shift: Any = v.where(v.logical_or(zero, infinite), -math.inf, real)
    shift = (v.sum if 0 in shift.shape else v.max)(shift, axis=axis, keepdims=True)
    shift = v.where(v.isfinite(shift), shift, 0)
    # With constant weights, exponents with weight 0 are left out; else the slope in b needs them.
    left_out = v.logical_and(infinite, v.not_equal(real, -math.inf)) if moves(b) else True
    a = v.where(v.logical_and(zero, left_out), math.inf if moves(b) else shift, a)
    total = v.sum(v.strong_multiply(b, v.exp(a - shift)), axis=axis, keepdims=True)
    size = v.abs(total)
    sign = v.sign(total) if kind_of(total) == "real" else total / v.where(size == 0, 1, size)
    if not return_sign:
        size = v.where(sign < 0, math.nan, total) if kind_of(sign) == "real" else total
    y = v.log(size) + shift
    y, sign = (y, sign) if keepdims else (v.sum(y, axis=axis), v.sum(sign, axis=axis))
    return (y, sign) if return_sign else y


@stands_for(native.polygamma)
def polygamma(n: Any, x: Any) -> Any:
    """Compute a derivative of the digamma function."""
    return in_kind_of(v.polygamma(array_of(n, floating=False), array_of(x)), np.zeros(()))


@stands_for(native.multigammaln, arrays="a")  # pyright: ignore[reportAttributeAccessIssue]
def multigammaln(a: Any, d: int) -> Any:
    """Compute the logarithm of the multivariate gamma function."""
    native.multigammaln(readable(a), d)  # pyright: ignore[reportAttributeAccessIssue] (raises)
    terms = [v.gammaln(a - 0.5 * j) for j in range(int(d))]
    return 0.25 * d * (d - 1) * math.log(math.pi) + sum(terms[1:], terms[0])


FOLLOWED |= operations(
    native,
    arrays="N k n",
    without="exact",
    perm=lambda N, k: _ways(lambda n, k: native.poch(n - k + 1, k), N, k),
    comb=lambda N, k, repetition: _ways(v.binom, N + k - 1 if repetition else N, k),
    factorial=lambda n, extend: (
        v.gamma(n + 1)
        if extend == "complex"
        else v.where(n < 0, 0, v.gamma(v.where(n < 0, 0, n) + 1))
    ),
) | operations(
    native,
    arrays="x",
    diric=lambda x, n: anchored(  # without the quotient, which is 0 / 0 at each turn: 18.5.2
        native.diric(readable(x), readable(n)),
        native.eval_chebyu(np.asarray(readable(n), int) - 1, v.cos(0.5 * x))
        / np.asarray(readable(n)),
    ),
    softmax=lambda x, axis: v.softmax(x, axis=static(axis) if x.ndim else None),
    log_softmax=lambda x, axis: v.log_softmax(x, axis=static(axis) if x.ndim else None),
)
__getattr__ = functools.partial(attribute, __name__, FOLLOWED)

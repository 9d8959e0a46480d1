"""Spherical Bessel functions, Legendre functions and kin, in their arguments."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import scipy.special as native

from chainrules_py import UnsupportedKeywordError, primitive, scalar_rule
from chainrules_py import vocabulary as v
from chainrules_py.extend import kind_of
from chainrules_scipy.following import follow_all, with_shortcuts
from chainrules_scipy.implementations import of_numbers
from chainrules_scipy.installing import place
from chainrules_scipy.precision import in_precision_of
from chainrules_scipy.rows import array_of, readable, reject, stands_for

with_shortcuts(native, "roots_gegenbauer", "roots_jacobi")
FOLLOWED: dict[str, Any] = follow_all(
    native,
    *("diric", "genlaguerre", "roots_gegenbauer", "roots_genlaguerre", "roots_jacobi"),
    "roots_sh_jacobi",
)


def _of_degree(n: Any, x: Any, /) -> Any:
    """n."""


def _of_degree_and_order(n: Any, m: Any, norm: Any, x: Any, /) -> Any:
    """n."""


def _word(function: Callable[..., Any], name: str, base: Any = _of_degree) -> Any:
    """Declare a word of whole numbers and a place."""
    copy: Any = FunctionType(base.__code__, globals(), name)
    copy.__doc__ = f"Compute ``scipy.special.{name}``, or a derivative of it."
    made: Any = primitive(copy)
    of_numbers(made, function)
    return made


def _spherical(name: str, sign: float) -> Any:
    """Make a function with the equation x² y″ + 2x y′ + (sign x² - n (n + 1)) y = 0: 10.47.1."""
    theirs = getattr(native, name)
    value = _word(lambda n, x: theirs(n, x, False), name)
    slope = _word(lambda n, x: theirs(n, x, True), f"{name}_slope")

    def second(y: Any, n: Any, x: Any) -> Any:
        return (n * (n + 1) / (x * x) - sign) * value(n, x) - 2 * y / x

    state: Any = scalar_rule  # partials may call operands as they like
    state(value, lambda _y, _n, _x: 0.0, lambda _y, n, x: slope(n, x), singular=True)
    state(slope, lambda _y, _n, _x: 0.0, second, singular=True)

    def function(n: Any, z: Any, derivative: bool = False) -> Any:
        return (slope if derivative else value)(np.asarray(readable(n), int), array_of(z))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Compute ``scipy.special.{name}``, in its argument."
    return stands_for(theirs)(function)


spherical_jn, spherical_yn = _spherical("spherical_jn", 1.0), _spherical("spherical_yn", 1.0)
spherical_in, spherical_kn = _spherical("spherical_in", -1.0), _spherical("spherical_kn", -1.0)


@stands_for(native.perm)
def perm(N: Any, k: Any, exact: bool = False) -> Any:
    """Count arrangements, as ``scipy.special.perm``, by Pochhammer's symbol."""
    if exact:
        reject("perm(exact=True) counts, and has no derivative", UnsupportedKeywordError)
    n, k = array_of(N), array_of(k)
    known = native.perm(readable(n), readable(k))
    return v.where(known == 0, known, native.poch(n - k + 1, k))


def _no_differences(diff_n: int) -> None:
    if diff_n:
        reject(
            "diff_n is not for traced values: differentiate the function", UnsupportedKeywordError
        )


def legendre_p(n: Any, z: Any, *, diff_n: int = 0) -> Any:
    """Compute a Legendre polynomial, as ``scipy.special.legendre_p``, in its argument."""
    _no_differences(diff_n)
    return native.eval_legendre(n, array_of(z))[None]


def legendre_p_all(n: int, z: Any, *, diff_n: int = 0) -> Any:
    """Compute all Legendre polynomials up to a degree."""
    _no_differences(diff_n)
    return v.stack(*[native.eval_legendre(k, array_of(z)) for k in range(n + 1)])[None]


def _legendre(name: str) -> Any:
    """Declare words that are SciPy's function and its first two derivatives."""
    theirs = getattr(native, name)

    def at(level: int) -> Any:
        def compute(n: Any, m: Any, norm: Any, x: Any) -> Any:
            options = {"norm": bool(np.all(norm))} if name == "assoc_legendre_p" else {}
            return theirs(n, m, x, diff_n=level, **options)[level]

        return _word(compute, f"{name}_{level}", _of_degree_and_order)

    words = [at(level) for level in range(3)]
    for word, following in itertools.pairwise(words):
        _rises(word, following)
    return words[0]


def _rises(word: Any, following: Any) -> None:
    """State that the derivative of a word is another one."""
    state: Any = scalar_rule
    state(
        word,
        lambda _y, _n, _m, _norm, _x: 0.0,
        lambda _y, _n, _m, _norm, _x: 0.0,
        lambda _y, _n, _m, _norm, _x: 0.0,
        lambda _y, n, m, norm, x: following(n, m, norm, x),
    )


_ASSOCIATED, _SPHERICAL = _legendre("assoc_legendre_p"), _legendre("sph_legendre_p")


def assoc_legendre_p(
    n: int, m: int, z: Any, *, branch_cut: int = 2, norm: bool = False, diff_n: int = 0
) -> Any:
    """Compute an associated Legendre polynomial, in its argument, up to two derivatives."""
    _no_differences(diff_n)
    if branch_cut != 2 or kind_of(array_of(z)) == "complex":
        reject(
            "assoc_legendre_p with complex numbers has no derivative here", UnsupportedKeywordError
        )
    return _ASSOCIATED(int(n), int(m), int(norm), array_of(z))[None]


def sph_legendre_p(n: int, m: int, theta: Any, *, diff_n: int = 0) -> Any:
    """Compute a spherical Legendre polynomial, in its argument, up to two derivatives."""
    _no_differences(diff_n)
    return _SPHERICAL(int(n), int(m), 0, array_of(theta))[None]


def sph_harm_y(n: int, m: int, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Compute a spherical harmonic, in both angles."""
    (polar,) = sph_legendre_p(n, m, theta, diff_n=diff_n)
    return polar * v.exp(1j * m * array_of(phi))


for _function in (legendre_p, legendre_p_all, assoc_legendre_p, sph_legendre_p, sph_harm_y):
    if hasattr(native, _function.__name__):
        _theirs = getattr(native, _function.__name__)
        place(_theirs, in_precision_of(_theirs)(_function))

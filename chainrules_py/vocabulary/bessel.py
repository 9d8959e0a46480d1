"""Words for Bessel functions, elliptic and other integrals, hypergeometric functions.

Named as in SciPy, and called with the same operands in the same order.
"""

from __future__ import annotations

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.arrays import Numeric

__all__ = [
    "ellipe",
    "ellipk",
    "ellipkm1",
    "exp1",
    "expi",
    "fresnel",
    "hyp0f1",
    "hyp1f1",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "iv",
    "ive",
    "j0",
    "j1",
    "jv",
    "k0",
    "k0e",
    "k1",
    "k1e",
    "kv",
    "kve",
    "lambertw",
    "sici",
    "spence",
    "y0",
    "y1",
    "yv",
    "zeta",
]


# ---------------------------------------------------------------------------------- Bessel


@primitive
def j0(x: Numeric, /) -> Any:
    """Compute the Bessel function of the first kind J₀."""


@primitive
def j1(x: Numeric, /) -> Any:
    """Compute the Bessel function of the first kind J₁."""


@primitive
def jv(v: Numeric, x: Numeric, /) -> Any:
    """Compute the Bessel function of the first kind of order v."""


@primitive
def y0(x: Numeric, /) -> Any:
    """Compute the Bessel function of the second kind Y₀."""


@primitive
def y1(x: Numeric, /) -> Any:
    """Compute the Bessel function of the second kind Y₁."""


@primitive
def yv(v: Numeric, x: Numeric, /) -> Any:
    """Compute the Bessel function of the second kind of order v."""


@primitive
def i0(x: Numeric, /) -> Any:
    """Compute the modified Bessel function of the first kind I₀."""


@primitive
def i1(x: Numeric, /) -> Any:
    """Compute the modified Bessel function of the first kind I₁."""


@primitive
def iv(v: Numeric, x: Numeric, /) -> Any:
    """Compute the modified Bessel function of the first kind of order v."""


@primitive
def i0e(x: Numeric, /) -> Any:
    """exp(-|x|) I₀(x)."""


@primitive
def i1e(x: Numeric, /) -> Any:
    """exp(-|x|) I₁(x)."""


@primitive
def ive(v: Numeric, x: Numeric, /) -> Any:
    """exp(-|Re x|) times `iv`."""


@primitive
def k0(x: Numeric, /) -> Any:
    """Compute the modified Bessel function of the second kind K₀."""


@primitive
def k1(x: Numeric, /) -> Any:
    """Compute the modified Bessel function of the second kind K₁."""


@primitive
def kv(v: Numeric, x: Numeric, /) -> Any:
    """Compute the modified Bessel function of the second kind of order v."""


@primitive
def k0e(x: Numeric, /) -> Any:
    """exp(x) K₀(x)."""


@primitive
def k1e(x: Numeric, /) -> Any:
    """exp(x) K₁(x)."""


@primitive
def kve(v: Numeric, x: Numeric, /) -> Any:
    """exp(x) times `kv`."""


# ---------------------------------------------------------------------------------- integrals


@primitive
def ellipk(m: Numeric, /) -> Any:
    """Compute the complete elliptic integral of the first kind K(m), of the parameter m = k²."""


@primitive
def ellipkm1(p: Numeric, /) -> Any:
    """K(1 - p), exact also near p = 0."""


@primitive
def ellipe(m: Numeric, /) -> Any:
    """Compute the complete elliptic integral of the second kind E(m), of the parameter m = k²."""


@primitive
def expi(x: Numeric, /) -> Any:
    """Compute the exponential integral Ei, of exp(t) / t from minus infinity to x."""


@primitive
def exp1(x: Numeric, /) -> Any:
    """Compute the exponential integral E₁, of exp(-t) / t from x to infinity."""


@primitive
def sici(x: Numeric, /) -> tuple[Any, Any]:  # type: ignore[empty-body]
    """Integrate sin(t) / t from 0 to x, and cos(t) / t from infinity to x."""


@primitive
def fresnel(x: Numeric, /) -> tuple[Any, Any]:  # type: ignore[empty-body]
    """Integrate sin(π t²/2) and cos(π t²/2) from 0 to x."""


@primitive
def spence(x: Numeric, /) -> Any:
    """Compute the dilogarithm of 1 - x: the integral of log(t) / (1 - t) from 1 to x."""


# ---------------------------------------------------------------------------------- others


@primitive
def zeta(x: Numeric, q: Numeric, /) -> Any:
    """Compute the Hurwitz zeta function, the sum of (n + q)^(-x) over n = 0, 1, ..."""


@primitive
def lambertw(x: Numeric, k: Numeric, /) -> Any:
    """Find the w with w exp(w) = x, on the branch k; it is complex."""


@primitive
def hyp0f1(v: Numeric, x: Numeric, /) -> Any:
    """Compute the hypergeometric function ₀F₁(; v; x)."""


@primitive
def hyp1f1(a: Numeric, b: Numeric, x: Numeric, /) -> Any:
    """Kummer's function ₁F₁(a; b; x)."""


@primitive
def hyp2f1(a: Numeric, b: Numeric, c: Numeric, x: Numeric, /) -> Any:
    """Gauss's hypergeometric function ₂F₁(a, b; c; x)."""

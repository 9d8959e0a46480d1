"""Operations for Bessel functions, elliptic and other integrals, hypergeometric functions.

They have SciPy's names, and the same operands in the same order.
"""

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Numeric

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


j1 = j0.alike("j1", "Compute the Bessel function of the first kind J₁.")


@primitive
def jv(v: Numeric, x: Numeric, /) -> Any:
    """Compute the Bessel function of the first kind of order v."""


y0 = j0.alike("y0", "Compute the Bessel function of the second kind Y₀.")
y1 = j0.alike("y1", "Compute the Bessel function of the second kind Y₁.")
yv = jv.alike("yv", "Compute the Bessel function of the second kind of order v.")
i0 = j0.alike("i0", "Compute the modified Bessel function of the first kind I₀.")
i1 = j0.alike("i1", "Compute the modified Bessel function of the first kind I₁.")
iv = jv.alike("iv", "Compute the modified Bessel function of the first kind of order v.")
i0e = j0.alike("i0e", "exp(-|x|) I₀(x).")
i1e = j0.alike("i1e", "exp(-|x|) I₁(x).")
ive = jv.alike("ive", "exp(-|Re x|) times `iv`.")
k0 = j0.alike("k0", "Compute the modified Bessel function of the second kind K₀.")
k1 = j0.alike("k1", "Compute the modified Bessel function of the second kind K₁.")
kv = jv.alike("kv", "Compute the modified Bessel function of the second kind of order v.")
k0e = j0.alike("k0e", "exp(x) K₀(x).")
k1e = j0.alike("k1e", "exp(x) K₁(x).")
kve = jv.alike("kve", "exp(x) times `kv`.")


# ---------------------------------------------------------------------------------- integrals


@primitive
def ellipk(m: Numeric, /) -> Any:
    """Compute the complete elliptic integral of the first kind K(m), of the parameter m = k²."""


@primitive
def ellipkm1(p: Numeric, /) -> Any:
    """Compute K(1 - p), exactly also near p = 0."""


ellipe = ellipk.alike(
    "ellipe",
    "Compute the complete elliptic integral of the second kind E(m), of the parameter m = k².",
)
expi = j0.alike(
    "expi", "Compute the exponential integral Ei, of exp(t) / t from minus infinity to x."
)
exp1 = j0.alike("exp1", "Compute the exponential integral E₁, of exp(-t) / t from x to infinity.")


@primitive
def sici(x: Numeric, /) -> tuple[Any, Any]:  # type: ignore[empty-body]
    """Integrate sin(t) / t from 0 to x, and cos(t) / t from infinity to x."""


fresnel = sici.alike("fresnel", "Integrate sin(π t²/2) and cos(π t²/2) from 0 to x.")


spence = j0.alike(
    "spence", "Compute the dilogarithm of 1 - x: the integral of log(t) / (1 - t) from 1 to x."
)


# ---------------------------------------------------------------------------------- others


@primitive
def zeta(x: Numeric, q: Numeric, /) -> Any:
    """Compute the Hurwitz zeta function, the sum of (n + q)^(-x) over n = 0, 1, ..."""


@primitive
def lambertw(x: Numeric, k: Numeric, /) -> Any:
    """Find the w with w exp(w) = x, on the branch k; it is complex."""


hyp0f1 = jv.alike("hyp0f1", "Compute the hypergeometric function ₀F₁(; v; x).")


@primitive
def hyp1f1(a: Numeric, b: Numeric, x: Numeric, /) -> Any:
    """Compute Kummer's function ₁F₁(a; b; x)."""


@primitive
def hyp2f1(a: Numeric, b: Numeric, c: Numeric, x: Numeric, /) -> Any:
    """Compute Gauss's hypergeometric function ₂F₁(a, b; c; x)."""

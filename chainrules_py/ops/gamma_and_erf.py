"""Operations for the gamma function and related functions, and for error functions.

They have SciPy's names, and the same operands in the same order.
"""

from typing import Any

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Numeric

__all__ = [
    "beta",
    "betainc",
    "betaln",
    "binom",
    "dawsn",
    "digamma",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfi",
    "erfinv",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "log_ndtr",
    "loggamma",
    "ndtr",
    "ndtri",
    "owens_t",
    "polygamma",
    "rgamma",
    "wofz",
]


# ---------------------------------------------------------------------------------- gamma


@primitive
def gamma(x: Numeric, /) -> Any:
    """Compute the gamma function Γ(x)."""


gammaln = gamma.alike("gammaln", "log |Γ(x)| of real x.")
loggamma = gamma.alike(
    "loggamma",
    "Compute the branch of log Γ(x) that is continuous but for a cut along the negative axis.",
)
gammasgn = gamma.alike("gammasgn", "Return the sign of Γ(x).")
rgamma = gamma.alike("rgamma", "1 / Γ(x), which has no poles.")
digamma = gamma.alike("digamma", "ψ(x) = Γ′(x) / Γ(x).")


@primitive
def polygamma(n: Numeric, x: Numeric, /) -> Any:
    """Compute the n-th derivative of the digamma function ψ; n is an integer."""


@primitive
def beta(a: Numeric, b: Numeric, /) -> Any:
    """Compute the beta function B(a, b) = Γ(a) Γ(b) / Γ(a + b)."""


betaln = beta.alike("betaln", "log |B(a, b)|.")


@primitive
def gammainc(a: Numeric, x: Numeric, /) -> Any:
    """Compute P(a, x), the fraction of the integral of Γ(a) from 0 to x."""


gammaincc = gammainc.alike("gammaincc", "Q(a, x) = 1 - P(a, x).")


@primitive
def betainc(a: Numeric, b: Numeric, x: Numeric, /) -> Any:
    """Compute I_x(a, b), the fraction of the integral of B(a, b) from 0 to x."""


@primitive
def binom(n: Numeric, k: Numeric, /) -> Any:
    """Compute the binomial coefficient Γ(n + 1) / (Γ(k + 1) Γ(n - k + 1))."""


# ---------------------------------------------------------------------------------- errors


erf = gamma.alike(
    "erf", "Compute the error function, 2/√π times the integral of exp(-t²) from 0 to x."
)
erfc = gamma.alike("erfc", "1 - erf(x).")
erfcx = gamma.alike("erfcx", "exp(x²) erfc(x).")
erfi = gamma.alike("erfi", "-i erf(ix).")
erfinv = gamma.alike("erfinv", "Find the number with error function x.")
erfcinv = gamma.alike("erfcinv", "Find the number whose error function is 1 - x.")
dawsn = gamma.alike(
    "dawsn", "Dawson's integral: exp(-x²) times the integral of exp(t²) from 0 to x."
)
wofz = gamma.alike("wofz", "Compute the Faddeeva function exp(-x²) erfc(-ix), which is complex.")
ndtr = gamma.alike("ndtr", "Compute the share of the standard normal distribution that is below x.")
log_ndtr = gamma.alike("log_ndtr", "Compute the logarithm of `ndtr`.")


@primitive
def ndtri(p: Numeric, /) -> Any:
    """Compute the quantile of the standard normal distribution at probability p."""


@primitive
def owens_t(h: Numeric, a: Numeric, /) -> Any:
    """Compute Owen's T: the probability of X > h and 0 < Y < a X, for standard normal X and Y."""

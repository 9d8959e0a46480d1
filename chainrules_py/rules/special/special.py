"""Rules of the gamma function and its kin, and of error functions.

Source: NIST Digital Library of Mathematical Functions, whose equations are cited by number.

A difference that loses its digits far out is replaced there by the first terms of its series.
"""

import math

from chainrules_py.registry.pens import non_differentiable, scalar_rule
from chainrules_py.rules.special.densities import beta_density, gamma_density
from chainrules_py.rules.special.orders import of_order, unstated
from chainrules_py.rules.special.quadrature import betainc_shape, gammainc_shape
from chainrules_py.vocabulary import (
    beta,
    betainc,
    betaln,
    binom,
    cos,
    dawsn,
    digamma,
    divide,
    erf,
    erfc,
    erfcinv,
    erfcx,
    erfi,
    erfinv,
    exp,
    gamma,
    gammainc,
    gammaincc,
    gammaln,
    gammasgn,
    imag,
    log_ndtr,
    loggamma,
    logical_and,
    logical_or,
    ndtr,
    ndtri,
    owens_t,
    polygamma,
    real,
    rgamma,
    sin,
    square,
    where,
    wofz,
)

ROOT_PI = math.sqrt(math.pi)
ROOT_2 = math.sqrt(2)


def series(coefficients, x):
    """Σ cₖ xᵏ."""
    total = 0.0
    for c in reversed(coefficients):
        total = total * x + c
    return total


# ---------------------------------------------------------------------------------- gamma

# Γ′ = Γ ψ, and so on: 5.2.2.
scalar_rule(gamma, lambda y, x: y * digamma(x), singular=True, complex="holomorphic")
scalar_rule(gammaln, lambda _y, x: digamma(x), singular=True)
scalar_rule(loggamma, lambda _y, x: digamma(x), singular=True, complex="holomorphic")
non_differentiable(gammasgn)


def rgamma_slope(y, x):
    """-ψ(x) / Γ(x); in the left half, where ψ has poles, of sin(πx) Γ(1 - x) / π: 5.5.3."""
    left = real(x) < 0.5
    z = where(left, 1 - x, 1)
    mirrored = gamma(z) * (cos(math.pi * x) - sin(math.pi * x) / math.pi * digamma(z))
    return where(left, mirrored, -digamma(where(left, 1, x)) * y)


scalar_rule(rgamma, rgamma_slope, complex="holomorphic")
scalar_rule(digamma, lambda _y, x: polygamma(1, x), singular=True)
of_order(polygamma, lambda _y, n, x: polygamma(n + 1, x), unstated)
scalar_rule(
    beta,
    lambda y, a, b: y * (digamma(a) - digamma(a + b)),
    lambda y, a, b: y * (digamma(b) - digamma(a + b)),
    singular=True,
)
scalar_rule(
    betaln,
    lambda _y, a, b: digamma(a) - digamma(a + b),
    lambda _y, a, b: digamma(b) - digamma(a + b),
    singular=True,
)


scalar_rule(
    gammainc,
    lambda _y, a, x: gammainc_shape(a, x),
    lambda _y, a, x: gamma_density(a, x),
    singular=True,
)
scalar_rule(
    gammaincc,
    lambda _y, a, x: -gammainc_shape(a, x),
    lambda _y, a, x: -gamma_density(a, x),
    singular=True,
)


scalar_rule(
    betainc,
    lambda _y, a, b, x: betainc_shape(a, b, x, 0),
    lambda _y, a, b, x: betainc_shape(a, b, x, 1),
    lambda _y, a, b, x: beta_density(a, b, x),
    singular=True,
)


def binom_slope(y, n, k, in_n):
    """Differentiate Γ(n + 1) / (Γ(k + 1) Γ(n - k + 1)); by 1/Γ where ψ may have poles."""
    poles = logical_or(k < -0.5, n - k < -0.5)
    a, b = where(poles, 0, n - k) + 1, where(poles, 0, n if in_n else k) + 1
    regular = y * (digamma(b) - digamma(a) if in_n else digamma(a) - digamma(b))
    large = logical_and(poles, n > -1)
    beyond = binom_slope_beyond(where(large, n, 1), where(large, k, 3), in_n)
    poles = logical_and(poles, n <= -1)
    n, k = where(poles, n, 1), where(poles, k, 1)
    p, q, r = gamma(n + 1), rgamma(k + 1), rgamma(n - k + 1)
    r_dot = rgamma_slope(r, n - k + 1)
    if in_n:
        near = p * q * (digamma(n + 1) * r + r_dot)
    else:
        near = p * (rgamma_slope(q, k + 1) * r - q * r_dot)
    return where(large, beyond, where(poles, near, regular))


def binom_slope_beyond(n, k, in_n):
    """Differentiate B(n + 1, k - n) sin(π(k - n)) / π, which it is for k > n > -1."""
    left = k < n / 2
    k = where(left, n - k, k)
    w = k - n
    b, s, c = exp(betaln(n + 1, w)), sin(math.pi * w) / math.pi, cos(math.pi * w)
    in_k = b * ((digamma(w) - digamma(k + 1)) * s + c)
    if not in_n:
        return where(left, -in_k, in_k)
    return b * ((digamma(n + 1) - digamma(w)) * s - c) + where(left, in_k, 0)


scalar_rule(
    binom,
    lambda y, n, k: binom_slope(y, n, k, True),
    lambda y, n, k: binom_slope(y, n, k, False),
    singular=True,
)


# ---------------------------------------------------------------------------------- errors


def far(x):
    """Where the first terms of series in 1 / (2x²) give all digits: right and left."""
    return square(real(x)) - square(imag(x)) > 625


def tail(x, sign):
    """Σ (2k + 1)!! (sign / 2x²)ᵏ / (2x²)."""
    z = divide(0.5, x * x)
    odd = [math.prod(range(1, 2 * k + 2, 2)) * sign**k for k in range(9)]
    return z * series(odd, z)


def erfcx_slope(y, x):
    """2x y - 2/√π: 7.10.1, and 7.12.1 far out."""
    away = logical_and(far(x), real(x) > 0)
    near = 2 * x * y - 2 / ROOT_PI
    return where(away, -2 / ROOT_PI * tail(where(away, x, 30), -1), near)


def dawsn_slope(y, x):
    """1 - 2x y: 7.5.1 and 7.10.1, and 7.12.1 far out."""
    away = far(x)
    return where(away, -tail(where(away, x, 30), 1), 1 - 2 * x * y)


def mills(y, x):
    """Divide the density of the standard normal distribution by its share below x."""
    left = real(x) < 0
    z = where(left, x, 0)
    right = exp(-0.5 * square(where(left, 0, x)) - where(left, 0, y))
    below = math.sqrt(2 / math.pi) / erfcx(-z / ROOT_2)
    return where(left, below, right / math.sqrt(2 * math.pi))


def normal(x):
    return exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


scalar_rule(erf, lambda _y, x: 2 / ROOT_PI * exp(-x * x), complex="holomorphic")  # 7.2.1
scalar_rule(erfc, lambda _y, x: -2 / ROOT_PI * exp(-x * x), complex="holomorphic")
scalar_rule(erfi, lambda _y, x: 2 / ROOT_PI * exp(x * x), complex="holomorphic")
scalar_rule(erfcx, erfcx_slope, complex="holomorphic")
scalar_rule(dawsn, dawsn_slope, complex="holomorphic")
scalar_rule(wofz, lambda y, x: 2j / ROOT_PI - 2 * x * y, complex="holomorphic")  # 7.10.1
scalar_rule(erfinv, lambda y, _x: ROOT_PI / 2 * exp(y * y), singular=True)
scalar_rule(erfcinv, lambda y, _x: -ROOT_PI / 2 * exp(y * y), singular=True)
scalar_rule(ndtr, lambda _y, x: normal(x), complex="holomorphic")
scalar_rule(log_ndtr, mills, complex="holomorphic")
scalar_rule(ndtri, lambda y, _p: math.sqrt(2 * math.pi) * exp(0.5 * y * y), singular=True)
# D. B. Owen, Tables for Computing Bivariate Normal Probabilities (1956), (2.3).
scalar_rule(
    owens_t,
    lambda _y, h, a: -0.5 * normal(h) * erf(a * h / ROOT_2),
    lambda _y, h, a: exp(-0.5 * h * h * (1 + a * a)) / (2 * math.pi * (1 + a * a)),
)

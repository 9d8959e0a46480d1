"""Rules of the gamma function and related functions, and of error functions.

Source: NIST Digital Library of Mathematical Functions, whose equations are cited by number.

A difference that cancels for large arguments is replaced there by the first terms of its series.
"""

import math
from typing import Any

from chainrules_py import ops as v
from chainrules_py.registry.constructors import non_differentiable, scalar_rule, scalar_rules
from chainrules_py.rules.special.gamma_beta_densities import beta_density, gamma_density
from chainrules_py.rules.special.orders import of_order, unstated
from chainrules_py.rules.special.quadrature import betainc_shape, gammainc_shape

ROOT_PI, ROOT_2 = math.sqrt(math.pi), math.sqrt(2)


def series(coefficients, x):
    """Evaluate Σ cₖ xᵏ."""
    total = 0.0
    for c in reversed(coefficients):
        total = total * x + c
    return total


# ---------------------------------------------------------------------------------- gamma

non_differentiable(v.gammasgn)


def rgamma_slope(y, x):
    """-ψ(x) / Γ(x); in the left half, where ψ has poles, from sin(πx) Γ(1 - x) / π: 5.5.3."""
    left = v.real(x) < 0.5
    z = v.where(left, 1 - x, 1)
    mirrored = v.gamma(z) * (v.cos(math.pi * x) - v.sin(math.pi * x) / math.pi * v.digamma(z))
    return v.where(left, mirrored, -v.digamma(v.where(left, 1, x)) * y)


def digamma_rise(a: Any, h: Any) -> Any:
    """ψ(a + h) - ψ(a); far to the right from the terms of 5.11.2, none of which cancels."""
    far = v.minimum(a, a + h) > 64
    b, step = v.where(far, a, 64), v.where(far, h, 1)
    log, terms = v.log1p(step / b), ((2, 1 / 12), (4, -1 / 120), (6, 1 / 252))
    series = log + step / (2 * b * (b + step)) - sum(c * v.expm1(-k * log) / b**k for k, c in terms)
    near, end = v.where(far, 1, a), v.where(far, 1, a + h)
    return v.where(far, series, v.digamma(end) - v.digamma(near))


of_order(v.polygamma, lambda _y, n, x: v.polygamma(n + 1, x), unstated)


def binom_slope(y, n, k, in_n):
    """Differentiate Γ(n + 1) / (Γ(k + 1) Γ(n - k + 1)); with 1/Γ where ψ may have poles."""
    poles = v.logical_or(k < -0.5, n - k < -0.5)
    a, step = v.where(poles, 0, n - k) + 1, v.where(poles, 0, k if in_n else 2 * k - n)
    regular = (y if in_n else -y) * digamma_rise(a, step)
    large = v.logical_and(poles, n > -1)
    beyond = binom_slope_beyond(v.where(large, n, 1), v.where(large, k, 3), in_n)
    poles = v.logical_and(poles, n <= -1)
    n, k = v.where(poles, n, 1), v.where(poles, k, 1)
    p, q, r = v.gamma(n + 1), v.rgamma(k + 1), v.rgamma(n - k + 1)
    r_dot = rgamma_slope(r, n - k + 1)
    near = (
        p * q * (v.digamma(n + 1) * r + r_dot)
        if in_n
        else p * (rgamma_slope(q, k + 1) * r - q * r_dot)
    )
    return v.where(large, beyond, v.where(poles, near, regular))


def binom_slope_beyond(n, k, in_n):
    """Differentiate the coefficient as B(n + 1, k - n) sin(π(k - n)) / π, for k > n > -1."""
    left = k < n / 2
    k = v.where(left, n - k, k)
    w = k - n
    b, s, c = v.exp(v.betaln(n + 1, w)), v.sin(math.pi * w) / math.pi, v.cos(math.pi * w)
    in_k = b * ((v.digamma(w) - v.digamma(k + 1)) * s + c)
    if not in_n:
        return v.where(left, -in_k, in_k)
    return b * ((v.digamma(n + 1) - v.digamma(w)) * s - c) + v.where(left, in_k, 0)


# ---------------------------------------------------------------------------------- errors


def far(x):
    """Find where the first terms of a series in 1 / (2x²) suffice: far to the right and left."""
    return v.square(v.real(x)) - v.square(v.imag(x)) > 144


def tail(x, sign):
    """Compute Σ (2k + 1)!! (sign / 2x²)ᵏ / (2x²)."""
    z = v.divide(v.divide(0.5, x), x)
    return z * series([math.prod(range(1, 2 * k + 2, 2)) * sign**k for k in range(12)], z)


def erfcx_slope(y, x):
    """2x y - 2/√π: 7.10.1, and 7.12.1 for large x."""
    away = v.logical_and(far(x), v.real(x) > 0)
    return v.where(away, -2 / ROOT_PI * tail(v.where(away, x, 30), -1), 2 * x * y - 2 / ROOT_PI)


def dawsn_slope(y, x):
    """1 - 2x y: 7.5.1 and 7.10.1, and 7.12.1 for large x."""
    away = far(x)
    return v.where(away, -tail(v.where(away, x, 30), 1), 1 - 2 * x * y)


def wofz_slope(y, x):
    """2i/√π - 2x y: 7.10.1, and 7.12.1 for large x where exp(-x²) is small."""
    away = v.logical_or(far(x), v.logical_and(v.imag(x) >= 0, v.abs(x) > 12))
    return 2j / ROOT_PI * v.where(away, -tail(v.where(away, x, 30), 1), 1 + 1j * ROOT_PI * x * y)


def mills(y, x):
    """Divide the density of the standard normal distribution by its probability below x."""
    left = v.real(x) < 0
    z = v.where(left, x, 0)
    right = v.exp(-0.5 * v.square(v.where(left, 0, x)) - v.where(left, 0, y))
    below = math.sqrt(2 / math.pi) / v.erfcx(-z / ROOT_2)
    return v.where(left, below, right / math.sqrt(2 * math.pi))


def normal(x):
    return v.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


# ------------------------------------------------------------------------------- formulas

scalar_rules(
    (v.gammaln, lambda _y, x: v.digamma(x)),
    (v.digamma, lambda _y, x: v.polygamma(1, x)),
    (v.beta, lambda y, a, b: -y * digamma_rise(a, b), lambda y, a, b: -y * digamma_rise(b, a)),
    (v.betaln, lambda _y, a, b: -digamma_rise(a, b), lambda _y, a, b: -digamma_rise(b, a)),
    (v.gammainc, lambda _y, a, x: gammainc_shape(a, x), lambda _y, a, x: gamma_density(a, x)),
    (v.gammaincc, lambda _y, a, x: -gammainc_shape(a, x), lambda _y, a, x: -gamma_density(a, x)),
    (
        v.betainc,
        lambda _y, a, b, x: betainc_shape(a, b, x, 0),
        lambda _y, a, b, x: betainc_shape(a, b, x, 1),
        lambda _y, a, b, x: beta_density(a, b, x),
    ),
    (
        v.binom,
        lambda y, n, k: binom_slope(y, n, k, True),
        lambda y, n, k: binom_slope(y, n, k, False),
    ),
    (v.erfinv, lambda y, _x: ROOT_PI / 2 * v.exp(y * y)),
    (v.erfcinv, lambda y, _x: -ROOT_PI / 2 * v.exp(y * y)),
    (v.ndtri, lambda y, _p: math.sqrt(2 * math.pi) * v.exp(0.5 * y * y)),
    singular=True,
)

scalar_rules(
    (v.rgamma, rgamma_slope),
    (v.erf, lambda _y, x: 2 / ROOT_PI * v.exp(-x * x)),  # 7.2.1
    (v.erfc, lambda _y, x: -2 / ROOT_PI * v.exp(-x * x)),
    (v.erfi, lambda _y, x: 2 / ROOT_PI * v.exp(x * x)),
    (v.erfcx, erfcx_slope),
    (v.dawsn, dawsn_slope),
    (v.wofz, wofz_slope),
    (v.ndtr, lambda _y, x: normal(x)),
    (v.log_ndtr, mills),
    complex="holomorphic",
)

scalar_rules(
    (v.gamma, lambda y, x: y * v.digamma(x)),
    (v.loggamma, lambda _y, x: v.digamma(x)),
    singular=True,
    complex="holomorphic",
)

# D. B. Owen, Tables for Computing Bivariate Normal Probabilities (1956), (2.3).
scalar_rule(
    v.owens_t,
    lambda _y, h, a: -0.5 * normal(h) * v.erf(a * h / ROOT_2),
    lambda _y, h, a: v.exp(-0.5 * h * h * (1 + a * a)) / (2 * math.pi * (1 + a * a)),
)

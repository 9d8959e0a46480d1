"""Rules of the gamma function and its kin, and of error functions.

Source: NIST Digital Library of Mathematical Functions, whose equations are cited by number.

A difference that loses its digits far out is replaced there by the first terms of its series.
"""

import math
from typing import Any

from chainrules_py.errors import NotDifferentiableError, describe
from chainrules_py.registry.pens import non_differentiable, rule, scalar_rule
from chainrules_py.rules.special.quadrature import betainc_shape, gammainc_shape
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.zeros import NoTangent
from chainrules_py.vocabulary import (
    astype,
    beta,
    betainc,
    betaln,
    binom,
    conj,
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
    strong_multiply,
    where,
    wofz,
    xlog1py,
    xlogy,
)

ROOT_PI = math.sqrt(math.pi)
ROOT_2 = math.sqrt(2)


def series(coefficients, x):
    """Σ cₖ xᵏ."""
    total = 0.0
    for c in reversed(coefficients):
        total = total * x + c
    return total


# ------------------------------------------------------------------------ operands held fixed


def unstated(word, place, x):
    """Make the map of an operand that a word has no derivative in here; counts have none at all."""
    if kind_of(x) in ("int", "bool"):
        return NoTangent()
    return LinearMap(refuse, refuse, word, place, x)


def refuse(t, word, place, x):
    name = word.operands[place]
    msg = (
        f"{word.__name__} has no derivative in its operand {name} here, which is {describe(x)}; "
        f"hold it fixed with ignore_derivatives({name}), or say with wanted= that its cotangent "
        f"is not"
    )
    raise NotDifferentiableError(msg)


def varied(word, place, *xs):
    """Make the map of a parameter that no formula differentiates in; counts have none at all."""
    if kind_of(xs[place]) in ("int", "bool"):
        return NoTangent()
    return LinearMap(times, times_conj, around, word, place, *xs)


def around(word: Any, place: int, *xs: Any) -> Any:
    """Differentiate by values on both sides, to eighth and sixth order: NaN where these differ."""
    sides = [
        [
            word(*[x + d if i == place else x for i, x in enumerate(xs)])
            for d in (k * WIDTH, -k * WIDTH)
        ]
        for k in (1, 2, 3, 4)
    ]
    steps = [up - down for up, down in sides]
    eighth, sixth = [
        sum(
            (c / WIDTH * d for c, d in zip(form[1:], steps[1:], strict=False)),
            form[0] / WIDTH * steps[0],
        )
        for form in FORMS
    ]
    size = abs(eighth) + abs(sides[0][0]) + abs(sides[0][1])
    return where(abs(eighth - sixth) <= 1e-6 * size, eighth, math.nan)


WIDTH = 0.02
FORMS = ((4 / 5, -1 / 5, 4 / 105, -1 / 280), (3 / 4, -3 / 20, 1 / 60))
"""Weights of differences: B. Fornberg, Mathematics of Computation 51 (1988) 699."""


def of_order(word, slope, fixed=varied):
    """State dy = slope(y, n, x) dx, and in an order n the derivative by values around it."""

    def of_order_rule(n, x):
        y = word(n, x)
        in_order = varied(word, 0, n, x) if fixed is varied else fixed(word, 0, n)
        return y, (in_order, LinearMap(times, times_conj, slope, y, n, x))

    rule(word, batched="broadcast")(of_order_rule)


def floating(n, x):
    """Convert an array of whole numbers to one that arithmetic with x takes."""
    if kind_of(n) != "int" or not (hasattr(n, "dtype") and hasattr(x, "dtype")):
        return n
    return astype(n, dtype=real(x).dtype)


def times(t, slope, *at):
    return strong_multiply(t, slope(*at))


def times_conj(t, slope, *at):
    return strong_multiply(t, conj(slope(*at)))


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


def gamma_density(a, x):
    """x^(a - 1) exp(-x) / Γ(a): 8.8.13."""
    return exp(xlogy(a - 1, x) - x - gammaln(a))


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


def beta_density(a, b, x):
    """x^(a - 1) (1 - x)^(b - 1) / B(a, b): 8.17.1."""
    return exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b))


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

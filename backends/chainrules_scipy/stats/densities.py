"""Logarithms of densities, in NumPy's functions, where SciPy's own formula takes no traced values.

Each takes the standardised value and the shapes as SciPy has them. The formulas are those of the
distributions' pages in SciPy's documentation, in logarithms, and smooth where a shape passes a
value at which they have the form 0 / 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sc

from chainrules_scipy.rows import asked, truths
from chainrules_scipy.ufuncs.distributions import kolmogorov_slope

_LOG_ROOT = 0.5 * math.log(2 * math.pi)

LOG_DENSITIES: dict[str, Callable[..., Any]] = {}


def _density(f: Callable[..., Any]) -> Callable[..., Any]:
    LOG_DENSITIES[f.__name__] = f
    return f


def chosen(condition: Any, f: Callable[..., Any], g: Callable[..., Any], *operands: Any) -> Any:
    """Compute f where a condition holds and g elsewhere, neither where the other one is."""
    condition = truths(condition)
    if condition.all():
        return f(*operands)
    if not condition.any():
        return g(*operands)
    inside = [np.where(condition, x, _some(x, condition)) for x in operands]
    outside = [np.where(condition, _some(x, ~condition), x) for x in operands]
    return np.where(condition, f(*inside), g(*outside))


def _some(x: Any, where: Any) -> Any:
    """One element of x for which a condition holds, as a constant."""
    known = np.broadcast_to(asked(x), np.broadcast_shapes(np.shape(x), where.shape))
    return known[np.broadcast_to(where, known.shape)][0]


def ratio_log1p(u: Any) -> Any:
    """log(1 + u) / u, which is 1 - u/2 + u²/3 - ... at 0."""
    return chosen(
        abs(asked(u)) < 1e-3,
        lambda u: 1 - u * (1 / 2 - u * (1 / 3 - u * (1 / 4 - u * (1 / 5 - u * (1 / 6 - u / 7))))),
        lambda u: np.log1p(u) / u,
        u,
    )


def _normal(x: Any) -> Any:
    return -x * x / 2 - _LOG_ROOT


def _of_positive(f: Callable[..., Any]) -> Callable[..., Any]:
    """Density 0 at 0, where the formula has logarithms that cancel."""

    def density(x: Any, *shapes: Any) -> Any:
        return chosen(asked(x) > 0, f, lambda x, *s: -np.inf + 0 * x, x, *shapes)

    density.__name__ = f.__name__
    return density


@_density
def burr(x: Any, c: Any, d: Any) -> Any:
    powers = chosen(
        asked(x) == 0,
        lambda x, c: np.log1p(x**c),
        lambda x, c: np.logaddexp(0, c * np.log(x)),
        x,
        c,
    )
    return np.log(c * d) + sc.xlogy(c * d - 1, x) - (d + 1) * powers


@_density
def exponnorm(x: Any, K: Any) -> Any:
    """SciPy's two forms, of which the second cancels where the first is taken."""
    u = (1 / asked(K) - asked(x)) / math.sqrt(2)
    return chosen(
        (u >= 0) & (asked(K) < 1),
        lambda x, K: np.log(sc.erfcx((1 / K - x) / math.sqrt(2)) / (2 * K)) - x * x / 2,
        lambda x, K: (0.5 / K - x) / K + sc.log_ndtr(x - 1 / K) - np.log(K),
        x,
        K,
    )


@_density
def crystalball(x: Any, beta: Any, m: Any) -> Any:
    tail = m / beta / (m - 1) * np.exp(-beta * beta / 2)
    norm = np.log(tail + math.sqrt(2 * math.pi) * sc.ndtr(beta))
    return (
        chosen(
            asked(x) > -asked(beta),
            lambda x, beta, m: -x * x / 2,
            lambda x, beta, m: (
                m * np.log(m / beta) - beta * beta / 2 - m * np.log(m / beta - beta - x)
            ),
            x,
            beta,
            m,
        )
        - norm
    )


@_density
@_of_positive
def dpareto_lognorm(x: Any, u: Any, s: Any, a: Any, b: Any) -> Any:
    z = (np.log(x) - u) / s
    mills = [sc.log_ndtr(-t) + t * t / 2 + _LOG_ROOT for t in (a * s - z, b * s + z)]
    return np.log(a * b / (a + b)) - np.log(x) + _normal(z) + np.logaddexp(*mills)


@_density
def genextreme(x: Any, c: Any) -> Any:
    t = x * ratio_log1p(-c * x)
    return -np.exp(-t) - t - np.log1p(-c * x)


@_density
def genhalflogistic(x: Any, c: Any) -> Any:
    t = -x * ratio_log1p(-c * x)
    return math.log(2) + t - np.log1p(-c * x) - 2 * np.log1p(np.exp(t))


@_density
def genhyperbolic(x: Any, p: Any, a: Any, b: Any) -> Any:
    g, r = np.sqrt((a - b) * (a + b)), np.hypot(1, x)
    norm = p * np.log(g) - (p - 0.5) * np.log(a) - _LOG_ROOT - _log_kv(p, g)
    return norm + b * x + _log_kv(p - 0.5, a * r) + (p - 0.5) * np.log(r)


def _log_kv(p: Any, x: Any) -> Any:
    return np.log(sc.kve(p, x)) - x


@_density
def kappa4(x: Any, h: Any, k: Any) -> Any:
    t = x * ratio_log1p(-k * x)
    u = np.exp(-t)
    return -t - np.log1p(-k * x) - (1 - h) * u * ratio_log1p(-h * u)


def _pearson3(x: Any, skew: Any) -> Any:
    beta = 2 / skew
    alpha = beta * beta
    y = beta * x + alpha
    return np.log(abs(beta)) + sc.xlogy(alpha - 1, y) - y - sc.gammaln(alpha)


def _student(x: Any, df: Any) -> Any:
    return -np.log(df) / 2 - sc.betaln(0.5, df / 2) - (df + 1) / 2 * np.log1p(x * x / df)


@_density
def trapezoid(x: Any, c: Any, d: Any) -> Any:
    height = np.log(2 / (d - c + 1))
    return height + chosen(
        asked(x) < asked(c),
        lambda x, c, d: np.log(x / c),
        lambda x, c, d: chosen(
            asked(x) <= asked(d),
            lambda x, d: 0 * x,
            lambda x, d: np.log((1 - x) / (1 - d)),
            x,
            d,
        ),
        x,
        c,
        d,
    )


def _log_mass(a: Any, b: Any) -> Any:
    """log(Φ(b) - Φ(a)), on the side where both are small."""
    right = asked(a) > 0
    low, high = np.where(right, -b, a), np.where(right, -a, b)
    tall, short = sc.log_ndtr(high), sc.log_ndtr(low)
    return tall + np.log1p(-np.exp(short - tall))


@_density
def ncx2(x: Any, df: Any, nc: Any) -> Any:
    order, r, s = 0.5 * df - 1, np.sqrt(nc * x), np.sqrt(x) - np.sqrt(nc)
    tilt = sc.xlogy(0.5 * order, x / nc) - s * s / 2
    return tilt - math.log(2) + np.log(sc.ive(order, r))


LOG_DENSITIES |= {
    "cauchy": lambda x: -math.log(math.pi) - np.log1p(x * x),
    "fisk": lambda x, c: burr(x, c, 1.0),
    "cosine": lambda x: np.log1p(np.cos(x)) - math.log(2 * math.pi),
    "genpareto": lambda x, c: -(c + 1) * x * ratio_log1p(c * x),
    "gengamma": lambda x, a, c: np.log(abs(c)) + sc.xlogy(c * a - 1, x) - x**c - sc.gammaln(a),
    "geninvgauss": _of_positive(
        lambda x, p, b: (p - 1) * np.log(x) - b * (x + 1 / x) / 2 - math.log(2) - _log_kv(p, b)
    ),
    "lognorm": _of_positive(lambda x, s: _normal(np.log(x) / s) - np.log(s * x)),
    "gibrat": lambda x: LOG_DENSITIES["lognorm"](x, 1.0),
    "pearson3": lambda x, skew: chosen(
        abs(asked(skew)) < 1e-5,
        lambda x, skew: _normal(x) + skew * (x**3 - 3 * x) / 6,
        _pearson3,
        x,
        skew,
    ),
    "recipinvgauss": _of_positive(
        lambda x, mu: -((1 - mu * x) ** 2) / (2 * x * mu * mu) - np.log(x) / 2 - _LOG_ROOT
    ),
    "kstwobign": lambda x: np.log(-kolmogorov_slope(x)),
    "skewnorm": lambda x, a: math.log(2) + _normal(x) + sc.log_ndtr(a * x),
    "t": lambda x, df: chosen(np.isinf(asked(df)), lambda x, df: _normal(x), _student, x, df),
    "triang": lambda x, c: trapezoid(x, c, c),
    "truncnorm": lambda x, a, b: _normal(x) - _log_mass(a, b),
    "truncpareto": lambda x, b, c: np.log(b / -np.expm1(-b * np.log(c))) - (b + 1) * np.log(x),
}

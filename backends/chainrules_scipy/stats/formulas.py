"""Formulas of distributions, where SciPy's own take no traced values.

Each takes the standardised value, or a whole number, and the shapes as SciPy has them. The formulas
are those of the distributions' pages in SciPy's documentation, densities in logarithms, and smooth
where a shape passes a value at which they have the form 0 / 0. Where there is no distribution
function, the density is integrated from the nearer end of the support.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sc

from chainrules_py import vocabulary as v
from chainrules_py.extend import WIDE, half_line
from chainrules_scipy.rows import asked, readable, truths
from chainrules_scipy.ufuncs.distributions import kolmogorov_slope

_Formula = Callable[..., Any]
_LOG_ROOT = 0.5 * math.log(2 * math.pi)


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


def _of_positive(f: _Formula) -> _Formula:
    """Density 0 at 0, where the formula has logarithms that cancel."""
    return lambda x, *shapes: chosen(asked(x) > 0, f, lambda x, *_: -np.inf + 0 * x, x, *shapes)


def pieces(low: _Formula, middle: _Formula, high: _Formula) -> _Formula:
    """Make a function of x and two shapes, between which a trapezoid is flat."""
    return lambda x, c, d: chosen(
        asked(x) < asked(c),
        low,
        lambda x, c, d: chosen(asked(x) <= asked(d), middle, high, x, c, d),
        x,
        c,
        d,
    )


def _crystalball(x: Any, beta: Any, m: Any) -> Any:
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


def _dpareto_lognorm(x: Any, u: Any, s: Any, a: Any, b: Any) -> Any:
    z = (np.log(x) - u) / s
    mills = [sc.log_ndtr(-t) + t * t / 2 + _LOG_ROOT for t in (a * s - z, b * s + z)]
    return np.log(a * b / (a + b)) - np.log(x) + _normal(z) + np.logaddexp(*mills)


def _genextreme(x: Any, c: Any) -> Any:
    t = x * ratio_log1p(-c * x)
    return -np.exp(-t) - t - np.log1p(-c * x)


def _genhalflogistic(x: Any, c: Any) -> Any:
    t = -x * ratio_log1p(-c * x)
    return math.log(2) + t - np.log1p(-c * x) - 2 * np.log1p(np.exp(t))


def _genhyperbolic(x: Any, p: Any, a: Any, b: Any) -> Any:
    g, r = np.sqrt((a - b) * (a + b)), np.hypot(1, x)
    norm = p * np.log(g) - (p - 0.5) * np.log(a) - _LOG_ROOT - _log_kv(p, g)
    return norm + b * x + _log_kv(p - 0.5, a * r) + (p - 0.5) * np.log(r)


def _log_kv(p: Any, x: Any) -> Any:
    return np.log(sc.kve(p, x)) - x


def _kappa4(x: Any, h: Any, k: Any) -> Any:
    t = x * ratio_log1p(-k * x)
    u = np.exp(-t)
    return -t - np.log1p(-k * x) - (1 - h) * u * ratio_log1p(-h * u)


def _pearson3(x: Any, skew: Any) -> Any:
    beta = 2 / skew
    alpha = beta * beta
    y = beta * x + alpha
    return np.log(abs(beta)) + sc.xlogy(alpha - 1, y) - y - sc.gammaln(alpha)


def _log_mass(a: Any, b: Any) -> Any:
    """log(Φ(b) - Φ(a)), on the side where both are small."""
    right = asked(a) > 0
    low, high = np.where(right, -b, a), np.where(right, -a, b)
    tall, short = sc.log_ndtr(high), sc.log_ndtr(low)
    return tall + np.log1p(-np.exp(short - tall))


def _ncx2(x: Any, df: Any, nc: Any) -> Any:
    order, r, s = 0.5 * df - 1, np.sqrt(nc * x), np.sqrt(x) - np.sqrt(nc)
    tilt = sc.xlogy(0.5 * order, x / nc) - s * s / 2
    return tilt - math.log(2) + np.log(sc.ive(order, r))


def _student(x: Any, df: Any) -> Any:
    return -np.log(df) / 2 - sc.betaln(0.5, df / 2) - (df + 1) / 2 * np.log1p(x * x / df)


LOG_DENSITIES: dict[str, _Formula] = {
    "burr": lambda x, c, d: (
        np.log(c * d)
        + sc.xlogy(c * d - 1, x)
        - (d + 1)
        * chosen(
            asked(x) == 0,
            lambda x, c: np.log1p(x**c),
            lambda x, c: np.logaddexp(0, c * np.log(x)),
            x,
            c,
        )
    ),
    "crystalball": _crystalball,
    "dpareto_lognorm": _of_positive(_dpareto_lognorm),
    # SciPy's two forms, of which the second cancels where the first is taken.
    "exponnorm": lambda x, K: chosen(
        ((1 / asked(K) - asked(x)) / math.sqrt(2) >= 0) & (asked(K) < 1),
        lambda x, K: np.log(sc.erfcx((1 / K - x) / math.sqrt(2)) / (2 * K)) - x * x / 2,
        lambda x, K: (0.5 / K - x) / K + sc.log_ndtr(x - 1 / K) - np.log(K),
        x,
        K,
    ),
    "genextreme": _genextreme,
    "genhalflogistic": _genhalflogistic,
    "genhyperbolic": _genhyperbolic,
    "kappa4": _kappa4,
    "ncx2": _ncx2,
    "trapezoid": lambda x, c, d: (
        np.log(2 / (d - c + 1))
        + pieces(
            lambda x, c, _: np.log(x / c),
            lambda x, _c, _d: 0 * x,
            lambda x, _, d: np.log((1 - x) / (1 - d)),
        )(x, c, d)
    ),
    "cauchy": lambda x: -math.log(math.pi) - np.log1p(x * x),
    "fisk": lambda x, c: LOG_DENSITIES["burr"](x, c, 1.0),
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
    "triang": lambda x, c: LOG_DENSITIES["trapezoid"](x, c, c),
    "truncnorm": lambda x, a, b: _normal(x) - _log_mass(a, b),
    "truncpareto": lambda x, b, c: np.log(b / -np.expm1(-b * np.log(c))) - (b + 1) * np.log(x),
}


def _crystalball_below(x: Any, beta: Any, m: Any) -> Any:
    edge = np.exp(-beta * beta / 2)
    tail = m / beta / (m - 1) * edge
    root = math.sqrt(2 * math.pi)
    body = chosen(
        asked(x) > -asked(beta),
        lambda x, beta, m: tail + root * (sc.ndtr(x) - sc.ndtr(-beta)),
        lambda x, beta, m: (
            edge * m / beta / (m - 1) * ((m / beta - beta - x) * beta / m) ** (1 - m)
        ),
        x,
        beta,
        m,
    )
    return body / (tail + root * sc.ndtr(beta))


def _pearson3_below(x: Any, skew: Any) -> Any:
    beta = 2 / skew
    alpha = beta * beta
    return chosen(asked(skew) > 0, sc.gammainc, sc.gammaincc, alpha, beta * x + alpha)


def _truncnorm_below(x: Any, a: Any, b: Any) -> Any:
    right = asked(a) > 0
    low, high, at = np.where(right, -b, a), np.where(right, -a, b), np.where(right, -x, x)
    part = (sc.ndtr(at) - sc.ndtr(low)) / (sc.ndtr(high) - sc.ndtr(low))
    return np.where(right, 1 - part, part)


def _gennorm_below(x: Any, beta: Any) -> Any:
    """By the incomplete gamma function of ``abs(x) ** beta``; in the middle by the density."""
    middle = asked(x) == 0
    there = chosen(
        ~middle,
        lambda x, beta: 0.5 * np.sign(asked(x)) * sc.gammainc(1 / beta, abs(x) ** beta),
        lambda x, beta: x / (2 * sc.gamma(1 + 1 / beta)),
        x,
        beta,
    )
    return 0.5 + there


def _kappa4_below(x: Any, h: Any, k: Any) -> Any:
    u = np.exp(-x * ratio_log1p(-k * x))
    return np.exp(-u * ratio_log1p(-h * u))


CUMULATIVE: dict[str, _Formula] = {
    "crystalball": _crystalball_below,
    "exponnorm": lambda x, K: sc.ndtr(x) - K * np.exp(LOG_DENSITIES["exponnorm"](x, K)),
    "gennorm": _gennorm_below,
    "kappa4": _kappa4_below,
    "trapezoid": lambda x, c, d: (
        2
        / (d - c + 1)
        * pieces(
            lambda x, c, _: x * x / (2 * c),
            lambda x, c, _: x - c / 2,
            lambda x, c, d: (1 + d - c) / 2 - (1 - x) ** 2 / (2 * (1 - d)),
        )(x, c, d)
    ),
    "truncnorm": _truncnorm_below,
    "wrapcauchy": lambda x, c: chosen(
        asked(x) <= math.pi,
        lambda x, r: np.arctan(r * np.tan(x / 2)) / math.pi,
        lambda x, r: 1 - np.arctan(r * np.tan((2 * math.pi - x) / 2)) / math.pi,
        x,
        (1 + c) / (1 - c),
    ),
    "cosine": lambda x: (math.pi + x + np.sin(x)) / (2 * math.pi),
    "genextreme": lambda x, c: np.exp(-np.exp(-x * ratio_log1p(-c * x))),
    "genhalflogistic": lambda x, c: np.tanh(0.5 * x * ratio_log1p(-c * x)),
    "loggamma": lambda x, c: sc.gammainc(c, np.exp(x)),
    "pearson3": lambda x, skew: chosen(
        abs(asked(skew)) < 1e-5,
        lambda x, s: (
            sc.ndtr(x) - s * (x * x - 1) * np.exp(-x * x / 2) / (6 * math.sqrt(2 * math.pi))
        ),
        _pearson3_below,
        x,
        skew,
    ),
    "skewnorm": lambda x, a: sc.ndtr(x) - 2 * sc.owens_t(x, a),
    "triang": lambda x, c: CUMULATIVE["trapezoid"](x, c, c),
    "truncpareto": lambda x, b, c: np.expm1(-b * np.log(x)) / np.expm1(-b * np.log(c)),
    "betaprime": lambda x, a, b: chosen(
        asked(x) <= 1,
        lambda x, a, b: sc.betainc(a, b, x / (1 + x)),
        lambda x, a, b: sc.betaincc(b, a, 1 / (1 + x)),
        x,
        a,
        b,
    ),
    "ncx2": sc.chndtr,
    "dgamma": lambda x, a: chosen(
        asked(x) > 0,
        lambda x, a: 0.5 + 0.5 * sc.gammainc(a, x),
        lambda x, a: 0.5 * sc.gammaincc(a, -x),
        x,
        a,
    ),
    "kstwobign": lambda x: 1 - sc.kolmogorov(x),
}


INTEGRATED = frozenset(
    {"dpareto_lognorm", "gausshyper", "genhyperbolic", "geninvgauss", "norminvgauss"}
    | {"vonmises", "vonmises_line"}
)
"""Distributions whose density is integrated."""


def integrated(density: Any, ends: Any, below: Any, width: Any, z: Any, *shapes: Any) -> Any:
    """Integrate a density up to z, or minus that from z on, whichever is the smaller part.

    Parameters
    ----------
    density : callable
        Of the value and the shapes.
    ends : tuple of two arrays
        Those of the support.
    below : array of bool
        Where the part below is the smaller one.
    width : array
        About how wide the distribution is.
    z, *shapes : array
        Where, and of which one.
    """

    def part(side: int, z: Any, low: Any, high: Any, width: Any, *shapes: Any) -> Any:
        end = (low, high)[side > 0]
        if np.all(np.isinf(end)):
            return half_line(lambda u: density(z + side * u, *shapes), width, WIDE)
        reach = abs(end - z)
        return half_line(
            lambda u: density(end - side * reach * np.exp(-u), *shapes) * reach * np.exp(-u),
            1.0,
            WIDE,
        )

    return chosen(
        below,
        lambda *at: part(-1, *at),
        lambda *at: -part(1, *at),
        z,
        *ends,
        width,
        *shapes,
    )


def _skellam(k: Any, mu1: Any, mu2: Any) -> Any:
    """By the modified Bessel function of a whole order."""
    k = readable(k)
    gap, root = np.sqrt(mu1) - np.sqrt(mu2), 2 * np.sqrt(mu1 * mu2)
    return k / 2 * (np.log(mu1) - np.log(mu2)) - gap * gap + np.log(sc.ive(abs(k), root))


def _zipfian(k: Any, a: Any, n: Any) -> Any:
    """By the sum of the powers of the first n numbers."""
    n = np.asarray(readable(n))
    numbers = np.arange(1, int(np.max(n)) + 1)
    powers = v.expand_dims(-a, axis=-1) * np.log(numbers)
    powers = np.where(numbers <= n[..., None], powers, -np.inf)
    return -a * np.log(readable(k)) - v.logsumexp(powers, axis=-1)


def _nchypergeom_fisher(k: Any, M: Any, n: Any, N: Any, odds: Any) -> Any:
    """By binomial coefficients, which are constant, and powers of the odds."""
    of, kinds, drawn = (np.asarray(readable(x)) for x in (M, n, N))

    def ways(k: Any, of: Any, kinds: Any, drawn: Any) -> Any:
        """Return the logarithm of in how many ways k come of their kind."""
        some = [
            sc.gammaln(all_ + 1) - sc.gammaln(part + 1) - sc.gammaln(all_ - part + 1)
            for all_, part in ((kinds, k), (of - kinds, drawn - k))
        ]
        return some[0] + some[1]

    numbers = np.arange(int(np.max(drawn)) + 1)
    wide = [x[..., None] for x in (of, kinds, drawn)]
    possible = (numbers >= wide[2] - wide[0] + wide[1]) & (numbers <= np.minimum(*wide[1:]))
    known = np.where(possible, ways(np.where(possible, numbers, wide[1] * 0), *wide), -np.inf)
    log = np.log(odds)
    k = readable(k)
    total = v.logsumexp(known + numbers * v.expand_dims(log, axis=-1), axis=-1)
    return ways(k, of, kinds, drawn) + k * log - total


LOG_PROBABILITIES: dict[str, _Formula] = {
    "skellam": _skellam,
    "zipfian": _zipfian,
    "nchypergeom_fisher": _nchypergeom_fisher,
}

"""Formulas of distributions whose SciPy versions do not take traced values.

Each takes the standardised value, or an integer, and the shapes as in SciPy. The formulas are those
of the distributions' pages in SciPy's documentation, densities in logarithms, and smooth where a
shape passes a value at which they have the form 0 / 0. Where there is no formula for the
distribution function, the density is integrated from the nearer end of the support.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sc

from chainrules_py import ops as v
from chainrules_py import primitive, scalar_rule
from chainrules_py.extend import WIDE, half_line, untraced
from chainrules_scipy.composites_and_operand_conversions import asked, readable, truths

_Formula = Callable[..., Any]
_LOG_ROOT = 0.5 * math.log(2 * math.pi)


def chosen(condition: Any, f: Callable[..., Any], g: Callable[..., Any], *operands: Any) -> Any:
    """Compute f where a condition holds and g elsewhere, each at its own elements only."""
    condition = truths(condition)
    if condition.all():
        return f(*operands)
    if not condition.any():
        return g(*operands)
    inside = [np.where(condition, x, _some(x, condition)) for x in operands]
    outside = [np.where(condition, _some(x, ~condition), x) for x in operands]
    return np.where(condition, f(*inside), g(*outside))


def _some(x: Any, where: Any) -> Any:
    """Return one element of x at which a condition holds, as a constant."""
    known = np.broadcast_to(asked(x), np.broadcast_shapes(np.shape(x), where.shape))
    return known[np.broadcast_to(where, known.shape)][0]


def log_of(y: Any) -> Any:
    """Compute log(y) by a quotient near 1, as second derivatives of log(y) have 1 / y² in them."""
    at = untraced(y)
    # The least constant is one whose reciprocal is finite.
    size = v.maximum(v.where((at > 0) & (at < math.inf), at, 1.0), 1e-300)
    return v.log(y / size) + v.log(size)


def ratio_log1p(u: Any) -> Any:
    """Compute log(1 + u) / u, which is 1 - u/2 + u²/3 - ... at 0."""
    return chosen(
        abs(asked(u)) < 1e-3,
        lambda u: 1 - u * (1 / 2 - u * (1 / 3 - u * (1 / 4 - u * (1 / 5 - u * (1 / 6 - u / 7))))),
        lambda u: np.log1p(u) / u,
        u,
    )


def _from_0(scaled: _Formula, function: _Formula) -> _Formula:
    """Return exp(-x) times a function, of x >= 0 alone: ``scaled`` has the kink of abs(x) at 0."""
    return lambda x: chosen(asked(x) == 0, lambda x: function(x) * np.exp(-x), scaled, x)


def gap_log1p(u: Any) -> Any:
    """Compute (u - log(1 + u)) / u², which is 1/2 - u/3 + u²/4 - ... at 0."""
    return chosen(
        abs(asked(u)) < 0.1,
        lambda u: sum((-u) ** k / (k + 2) for k in range(16)),
        lambda u: (u - np.log1p(u)) / (u * u),
        u,
    )


i0e, i1e = _from_0(sc.i0e, sc.i0), _from_0(sc.i1e, sc.i1)


def _kstwobign(x: Any) -> Any:
    from chainrules_scipy.ufunc_rules import kolmogorov_slope  # whose rules nothing else here needs

    return np.log(-kolmogorov_slope(x))


def _normal(x: Any) -> Any:
    return -x * x / 2 - _LOG_ROOT


def _of_positive(f: _Formula) -> _Formula:
    """Make the density 0 at 0, where the formula has logarithms that cancel."""
    return lambda x, *shapes: chosen(asked(x) > 0, f, lambda x, *_: -np.inf + 0 * x, x, *shapes)


def pieces(low: _Formula, middle: _Formula, high: _Formula) -> _Formula:
    """Return a function of x and two shapes, as a trapezoid, which is flat between them."""
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
    return chosen(
        asked(x) > -asked(beta),
        lambda x, beta, m: -x * x / 2,
        lambda x, beta, m: m * np.log(m / beta) - beta * beta / 2 - m * np.log(m / beta - beta - x),
        x,
        beta,
        m,
    ) - np.log(tail + math.sqrt(2 * math.pi) * sc.ndtr(beta))


def _dpareto_lognorm(x: Any, u: Any, s: Any, a: Any, b: Any) -> Any:
    z = (np.log(x) - u) / s
    mills = [sc.log_ndtr(-t) + t * t / 2 + _LOG_ROOT for t in (a * s - z, b * s + z)]
    return np.log(a * b / (a + b)) - np.log(x) + _normal(z) + np.logaddexp(*mills)


def _genhyperbolic(x: Any, p: Any, a: Any, b: Any) -> Any:
    g, r = np.sqrt((a - b) * (a + b)), np.hypot(1, x)
    return (p * np.log(g) - (p - 0.5) * np.log(a) - _LOG_ROOT - _log_kv(p, g)) + (
        b * x + _log_kv(p - 0.5, a * r) + (p - 0.5) * np.log(r)
    )


def _log_kv(p: Any, x: Any) -> Any:
    return np.log(sc.kve(p, x)) - x


def _pearson3(x: Any, skew: Any) -> Any:
    alpha = 4 / (skew * skew)
    return chosen(
        asked(2 * x / skew + alpha) >= 0,  # SciPy has the support from -inf to inf
        lambda y, alpha: np.log(alpha) / 2 + sc.xlogy(alpha - 1, y) - y - sc.gammaln(alpha),
        lambda y, _: -np.inf + 0 * y,
        2 * x / skew + alpha,
        alpha,
    )


def _pearson3_near_normal(x: Any, skew: Any) -> Any:
    """Compute by Stirling's series, as gamma functions of 4 / skew² would cancel."""
    d = skew / 2
    return (
        chosen(
            asked(d * x) > -1,
            lambda x, u: -x * x * gap_log1p(u) - np.log1p(u),
            lambda x, _: -np.inf + 0 * x,
            x,
            d * x,
        )
        - _LOG_ROOT
        - d**2 * (1 / 12 - d**4 * (1 / 360 - d**4 / 1260))
    )


def _log_mass(a: Any, b: Any) -> Any:
    """Compute log(Φ(b) - Φ(a)), on the side where both are small."""
    right = asked(a) > 0
    low, high = np.where(right, -b, a), np.where(right, -a, b)
    # An infinite limit has no slope.
    tall, short = sc.log_ndtr(high), sc.log_ndtr(np.maximum(low, -1e150))
    return tall + np.log1p(-np.exp(short - tall))


LOG_DENSITIES: dict[str, _Formula] = {
    "arcsine": lambda x: -math.log(math.pi) - (np.log(x) + np.log1p(-x)) / 2,
    "bradford": lambda x, c: -np.log(ratio_log1p(c)) - np.log1p(c * x),
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
    # SciPy's two forms; the second has cancellation where the first is used.
    "exponnorm": lambda x, K: chosen(
        ((1 / asked(K) - asked(x)) / math.sqrt(2) >= 0) & (asked(K) < 1),
        lambda x, K: np.log(sc.erfcx((1 / K - x) / math.sqrt(2)) / (2 * K)) - x * x / 2,
        lambda x, K: (0.5 / K - x) / K + sc.log_ndtr(x - 1 / K) - np.log(K),
        x,
        K,
    ),
    "genextreme": lambda x, c: (
        LOG_DENSITIES["gumbel_r"](x * ratio_log1p(-c * x)) - np.log1p(-c * x)
    ),
    "genhalflogistic": lambda x, c: (
        math.log(2) + LOG_DENSITIES["logistic"](x * ratio_log1p(-c * x)) - np.log1p(-c * x)
    ),
    # SciPy's has abs(x), without a derivative at 0.
    "genlogistic": lambda x, c: np.log(c) + c * sc.log_expit(x) + sc.log_expit(-x),
    "gennorm": lambda x, beta: (
        np.log(beta / 2)
        - sc.gammaln(1 / beta)
        - chosen(
            (asked(x) == 0) & (asked(beta) % 2 == 0),
            lambda x, beta: v.pow(x * x, beta / 2),
            lambda x, beta: v.pow(abs(x), beta),
            x,
            beta,
        )
    ),
    "genhyperbolic": _genhyperbolic,
    "gumbel_r": lambda x: -x - np.exp(-x),
    "hypsecant": lambda x: math.log(2 / math.pi) - np.logaddexp(x, -x),
    "invgamma": _of_positive(lambda x, a: -(a + 1) * np.log(x) - sc.gammaln(a) - 1 / x),
    "johnsonsb": lambda x, a, b: chosen(
        (asked(x) > 0) & (asked(x) < 1),
        lambda x, a, b: log_of(b / (x * (1 - x)) * np.exp(_normal(a + b * sc.logit(x)))),
        lambda x, *_: -np.inf + 0 * x,
        x,
        a,
        b,
    ),
    "kappa4": lambda x, h, k: (
        (1 - h) * LOG_CUMULATIVE["kappa4.logcdf"](x, h, k)
        - x * ratio_log1p(-k * x)
        - np.log1p(-k * x)
    ),
    "loglaplace": lambda x, c: np.log(c / 2) + sc.xlogy(np.where(asked(x) < 1, c, -c) - 1, x),
    "ncx2": lambda x, df, nc: chosen(
        asked(x) > 0,
        lambda x, df, nc: (
            sc.xlogy(0.25 * df - 0.5, x / nc)
            - (np.sqrt(x) - np.sqrt(nc)) ** 2 / 2
            - math.log(2)
            + np.log(sc.ive(0.5 * df - 1, np.sqrt(nc * x)))
        ),
        lambda x, df, nc: (  # two terms of the series 10.25.2 of the Bessel function
            sc.xlogy(0.5 * df - 1, x)
            + ((nc / df - 1) * x - nc - df * math.log(2)) / 2
            - sc.gammaln(0.5 * df)
        ),
        x,
        df,
        nc,
    ),
    "trapezoid": lambda x, c, d: (
        np.log(2 / (d - c + 1))
        + pieces(
            lambda x, c, _: np.log(x) - np.log(c),
            lambda x, _c, _d: 0 * x,
            lambda x, _, d: np.log1p(-x) - np.log1p(-d),
        )(x, c, d)
    ),
    "cauchy": lambda x: -math.log(math.pi) - np.log1p(x * x),
    "exponweib": lambda x, a, c: (
        np.log(a * c) + (a - 1) * np.log(sc.exprel(-(x**c))) + sc.xlogy(a * c - 1, x) - x**c
    ),
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
        abs(asked(skew)) < 0.3, _pearson3_near_normal, _pearson3, x, skew
    ),
    "recipinvgauss": _of_positive(
        lambda x, mu: -((1 - mu * x) ** 2) / (2 * x * mu * mu) - np.log(x) / 2 - _LOG_ROOT
    ),
    "kstwobign": _kstwobign,
    # SciPy's is -abs(x) - 2 log1p(exp(-abs(x))), without a second derivative at 0.
    "logistic": lambda x: sc.log_expit(x) + sc.log_expit(-x),
    "rice": lambda x, b: np.log(x) + log_of(np.exp(-(x - b) * (x - b) / 2) * i0e(x * b)),
    "skewnorm": lambda x, a: math.log(2) + _normal(x) + sc.log_ndtr(a * x),
    "t": lambda x, df: chosen(
        np.isinf(asked(df)),
        lambda x, df: _normal(x),
        lambda x, df: (
            -np.log(df) / 2 - sc.betaln(0.5, df / 2) - (df + 1) / 2 * np.log1p(x * x / df)
        ),
        x,
        df,
    ),
    "triang": lambda x, c: LOG_DENSITIES["trapezoid"](x, c, c),
    "truncnorm": lambda x, a, b: _normal(x) - _log_mass(a, b),
    "vonmises": lambda x, k: k * sc.cosm1(x) - np.log(2 * np.pi) - np.log(i0e(k)),
    "vonmises_line": lambda x, k: LOG_DENSITIES["vonmises"](x, k),  # noqa: PLW0108
    "truncpareto": lambda x, b, c: (
        -np.log(np.log(c) * sc.exprel(-b * np.log(c))) - (b + 1) * np.log(x)
    ),
}


def _crystalball_below(x: Any, beta: Any, m: Any) -> Any:
    edge, root = np.exp(-beta * beta / 2), math.sqrt(2 * math.pi)
    tail = m / beta / (m - 1) * edge
    return chosen(
        asked(x) > -asked(beta),
        lambda x, beta, m: tail + root * (sc.ndtr(x) - sc.ndtr(-beta)),
        lambda x, beta, m: (
            edge * m / beta / (m - 1) * ((m / beta - beta - x) * beta / m) ** (1 - m)
        ),
        x,
        beta,
        m,
    ) / (tail + root * sc.ndtr(beta))


def _pearson3_below(x: Any, skew: Any) -> Any:
    alpha = 4 / (skew * skew)
    return chosen(
        asked(2 * x / skew + alpha) > 0,
        lambda y, alpha, skew: chosen(asked(skew) > 0, sc.gammainc, sc.gammaincc, alpha, y),
        _nothing,
        2 * x / skew + alpha,
        alpha,
        skew,
    )


@primitive
def _skewnorm_below(x: Any, a: Any, /) -> Any:
    """Compute by Owen's function; the derivative of this difference cancels on the left."""
    return v.ndtr(x) - 2 * v.owens_t(x, a)


scalar_rule(
    _skewnorm_below,
    lambda _y, x, a: 2 * v.exp(_normal(x) + v.log_ndtr(a * x)),
    lambda _y, x, a: -v.exp(-0.5 * x * x * (1 + a * a)) / (math.pi * (1 + a * a)),
)


CUMULATIVE: dict[str, _Formula] = {
    "bradford": lambda x, c: x * ratio_log1p(c * x) / ratio_log1p(c),
    "crystalball": _crystalball_below,
    "exponnorm": lambda x, K: sc.ndtr(x) - K * np.exp(LOG_DENSITIES["exponnorm"](x, K)),
    # At 0 by the density.
    "gennorm": lambda x, beta: (
        0.5
        + chosen(
            asked(x) != 0,
            lambda x, beta: 0.5 * np.sign(asked(x)) * sc.gammainc(1 / beta, abs(x) ** beta),
            lambda x, beta: x / (2 * sc.gamma(1 + 1 / beta)),
            x,
            beta,
        )
    ),
    "trapezoid": lambda x, c, d: (
        2
        / (d - c + 1)
        * pieces(
            lambda x, c, _: x * x / (2 * c),
            lambda x, c, _: x - c / 2,
            lambda x, c, d: (1 + d - c) / 2 - (1 - x) ** 2 / (2 * (1 - d)),
        )(x, c, d)
    ),
    "truncnorm": lambda x, a, b: np.exp(_log_mass(a, x) - _log_mass(a, b)),
    "wrapcauchy": lambda x, c: (
        x / (2 * math.pi) + np.arctan(c * np.sin(x) / (1 - c * np.cos(x))) / math.pi
    ),
    "cosine": lambda x: (math.pi + x + np.sin(x)) / (2 * math.pi),
    "genhalflogistic": lambda x, c: np.tanh(0.5 * x * ratio_log1p(-c * x)),
    "hypsecant": lambda x: (
        2
        / math.pi
        * chosen(asked(x) < 0, lambda x: np.arctan(np.exp(x)), lambda x: -np.arctan(np.exp(-x)), x)
    ),
    "logistic": sc.expit,
    "loggamma": lambda x, c: chosen(
        asked(x) < -40,  # where exp(x) has few digits, or none
        lambda x, c: np.exp(c * x - sc.gammaln(c + 1)),
        lambda x, c: sc.gammainc(c, np.exp(np.minimum(x, 700.0))),
        x,
        c,
    ),
    "lognorm": lambda x, s: sc.ndtr(np.log(x) / s),
    "moyal": lambda x: sc.erfc(np.exp(-np.maximum(x, -1400.0) / 2) / math.sqrt(2)),
    "norm": sc.ndtr,
    "pearson3": lambda x, skew: chosen(
        abs(asked(skew)) < 0.3,
        lambda x, skew: integrated(
            lambda *at: np.exp(_pearson3_near_normal(*at)),
            (-math.inf, math.inf),
            asked(x) < -np.sign(asked(skew)),  # towards the finite end, from near it alone
            3.0,
            x,
            skew,
        ),
        _pearson3_below,
        x,
        skew,
    ),
    "semicircular": lambda x: chosen(
        asked(x) < 0,
        lambda x: sc.betainc(1.5, 1.5, (1 + x) / 2),
        lambda x: -sc.betainc(1.5, 1.5, (1 - x) / 2),
        x,
    ),
    "skewnorm": _skewnorm_below,
    "triang": lambda x, c: CUMULATIVE["trapezoid"](x, c, c),
    "truncpareto": lambda x, b, c: (
        (np.log(x) * sc.exprel(-b * np.log(x))) / (np.log(c) * sc.exprel(-b * np.log(c)))
    ),
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


def _kappa4_log(x: Any, h: Any, k: Any) -> Any:
    u = np.exp(-x * ratio_log1p(-k * x))
    return -u * ratio_log1p(-h * u)


def _invgauss_log(x: Any, mu: Any, side: int) -> Any:
    root = np.sqrt(x)
    first = sc.log_ndtr(side * (x / mu - 1) / root)
    second = 2 / mu + sc.log_ndtr(-(x / mu + 1) / root)
    return first + np.log1p(side * np.exp(second - first))


# Logarithms where the logarithm of the probability underflows, or has no digits left.
LOG_CUMULATIVE: dict[str, _Formula] = {
    "burr.logcdf": lambda x, c, d: -d * np.logaddexp(0, -c * np.log(x)),
    "burr12.logsf": lambda x, c, d: -d * np.logaddexp(0, c * np.log(x)),
    "expon.logsf": lambda x: -x,
    "exponpow.logsf": lambda x, b: -np.expm1(x**b),
    "exponweib.logcdf": lambda x, a, c: (
        a
        * chosen(
            asked(x) < 1,
            lambda x, c: np.log(-np.expm1(-(x**c))),
            lambda x, c: np.log1p(-np.exp(-(x**c))),
            x,
            c,
        )
    ),
    "fisk.logcdf": lambda x, c: -np.logaddexp(0, -c * np.log(x)),
    "genextreme.logcdf": lambda x, c: -np.exp(-x * ratio_log1p(-c * x)),
    "genlogistic.logcdf": lambda x, c: c * sc.log_expit(x),
    "genpareto.logsf": lambda x, c: -x * ratio_log1p(c * x),
    "geom.logsf": lambda k, p: k * np.log1p(-p),
    "gompertz.logsf": lambda x, c: -c * np.expm1(x),
    "gumbel_l.logsf": lambda x: -np.exp(x),
    "gumbel_r.logcdf": lambda x: -np.exp(-x),
    "invgauss.logcdf": lambda x, mu: _invgauss_log(x, mu, 1),
    "invgauss.logsf": lambda x, mu: _invgauss_log(x, mu, -1),
    "kappa3.logcdf": lambda x, a: -np.log1p(a * x**-a) / a,
    "kappa4.logcdf": _kappa4_log,
    "laplace.logcdf": lambda x: LOG_CUMULATIVE["laplace_asymmetric.logsf"](-x, 1.0),
    "laplace.logsf": lambda x: LOG_CUMULATIVE["laplace_asymmetric.logsf"](x, 1.0),
    "laplace_asymmetric.logcdf": lambda x, k: LOG_CUMULATIVE["laplace_asymmetric.logsf"](-x, 1 / k),
    "laplace_asymmetric.logsf": lambda x, k: chosen(
        asked(x) > 0,
        lambda x, k: -k * x - np.log1p(k * k),
        lambda x, k: np.log1p(-np.exp(x / k) / (1 + 1 / (k * k))),
        x,
        k,
    ),
    "logistic.logcdf": sc.log_expit,
    "logistic.logsf": lambda x: sc.log_expit(-x),
    "lognorm.logcdf": lambda x, s: sc.log_ndtr(np.log(x) / s),
    "lognorm.logsf": lambda x, s: sc.log_ndtr(-np.log(x) / s),
    "lomax.logsf": lambda x, c: -c * np.log1p(x),
    "mielke.logcdf": lambda x, k, s: -k / s * np.logaddexp(0, -s * np.log(x)),
    "norm.logcdf": sc.log_ndtr,
    "norm.logsf": lambda x: sc.log_ndtr(-x),
    "planck.logsf": lambda k, a: -(k + 1) * a,
    "powerlaw.logcdf": lambda x, a: a * np.log(x),
    "powerlognorm.logsf": lambda x, c, s: c * sc.log_ndtr(-np.log(x) / s),
    "powernorm.logsf": lambda x, c: c * sc.log_ndtr(-x),
    "rayleigh.logsf": lambda x: -x * x / 2,
    "wald.logcdf": lambda x: _invgauss_log(x, 1.0, 1),
    "wald.logsf": lambda x: _invgauss_log(x, 1.0, -1),
    "weibull_max.logcdf": lambda x, c: -((-x) ** c),
    "weibull_min.logsf": lambda x, c: -(x**c),
}


# Distributions whose density is integrated.
INTEGRATED = frozenset(
    {"dpareto_lognorm", "gausshyper", "genhyperbolic", "geninvgauss", "norminvgauss"}
    | {"vonmises", "vonmises_line"}
)


def integrated(density: Any, ends: Any, below: Any, width: Any, z: Any, *shapes: Any) -> Any:
    """Integrate a density up to z, or return minus the integral from z on if that is smaller.

    Parameters
    ----------
    density : callable
        Function of the value and the shapes.
    ends : tuple of two arrays
        The ends of the support.
    below : array of bool
        Where the part below z is the smaller one.
    width : array
        The approximate width of the distribution.
    z, *shapes : array
        The value and the shapes.
    """

    def part(side: int, z: Any, low: Any, high: Any, width: Any, *shapes: Any) -> Any:
        end = (low, high)[side > 0]
        if np.all(np.isinf(end)):
            return half_line(lambda u: density(z + side * u, *shapes), width, WIDE)
        reach = side * (end - z)  # not abs, which has a kink where z is the end
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


# Ends of the support, where SciPy has them of plain numbers; an infinite one may be any number.
ENDS: dict[str, _Formula] = {
    "kappa4": lambda h, k: (
        chosen(
            asked(h) > 0,
            lambda h, k: np.log(h) * sc.exprel(-k * np.log(h)),
            lambda _, k: 1 / k,
            h,
            k,
        ),
        chosen(asked(k) > 0, lambda k: 1 / k, lambda k: 0 * k, k),
    ),
}


def _skellam(k: Any, mu1: Any, mu2: Any) -> Any:
    """Compute by the modified Bessel function of an integer order."""
    k = readable(k)
    gap, root = np.sqrt(mu1) - np.sqrt(mu2), 2 * np.sqrt(mu1 * mu2)
    return k / 2 * (np.log(mu1) - np.log(mu2)) - gap * gap + np.log(sc.ive(abs(k), root))


def _zipfian(k: Any, a: Any, n: Any) -> Any:
    """Compute by the sum of the powers of the first n integers."""
    n = np.asarray(readable(n))
    numbers = np.arange(1, int(np.max(n)) + 1)
    powers = np.where(
        numbers <= n[..., None], v.expand_dims(-a, axis=-1) * np.log(numbers), -np.inf
    )
    return -a * np.log(readable(k)) - v.logsumexp(powers, axis=-1)


def _nchypergeom_fisher(k: Any, M: Any, n: Any, N: Any, odds: Any) -> Any:
    """Compute by binomial coefficients, which are constant, and powers of the odds."""
    of, kinds, drawn = (np.asarray(readable(x)) for x in (M, n, N))
    # The logarithm of the number of ways to draw k of their kind.
    ways: _Formula = lambda k, of, kinds, drawn: _ways(kinds, k) + _ways(of - kinds, drawn - k)
    numbers = np.arange(int(np.max(drawn)) + 1)
    wide = [x[..., None] for x in (of, kinds, drawn)]
    possible = (numbers >= wide[2] - wide[0] + wide[1]) & (numbers <= np.minimum(*wide[1:]))
    known = np.where(possible, ways(np.where(possible, numbers, wide[1] * 0), *wide), -np.inf)
    log, k = np.log(odds), readable(k)
    total = v.logsumexp(known + numbers * v.expand_dims(log, axis=-1), axis=-1)
    return ways(k, of, kinds, drawn) + k * log - total


LOG_PROBABILITIES: dict[str, _Formula] = {
    "skellam": _skellam,
    "zipfian": _zipfian,
    "nchypergeom_fisher": _nchypergeom_fisher,
}


# -------- densities and probabilities that are powers of the distance to an end: x^p exp(r)

# At an end the logarithm is minus infinity, and the derivative of its exponential is 0 times
# infinity; near the end, it is a difference of large numbers. There, powers are computed, which
# have derivatives of every order; elsewhere exponentials of logarithms, whose range is wider. Where
# a density is 0 and no power is known, its derivative is unknown too: infinite or NaN.

Powers = tuple[tuple[tuple[Any, Any], ...], Callable[[], Any]]
_NEAR = 0.01
_MODERATE = 30.0  # a logarithm beyond which another factor may underflow
_LOG_2 = math.log(2)

# Distributions that vanish at an end with all derivatives, as exp(-1 / x).
FLAT = frozenset(
    {"alpha", "fatiguelife", "genextreme", "geninvgauss", "gibrat", "invgamma", "invgauss"}
    | {"invweibull", "johnsonsb", "kstwobign", "levy", "levy_l", "lognorm", "powerlognorm"}
    | {"recipinvgauss", "wald"}
)


def exponential(
    name: str,
    logarithm: Callable[..., Any],
    x: Any,
    *shapes: Any,
    scaled: bool = False,
    at_end: Any = False,
) -> Any:
    """Compute the exponential of a logarithm, by powers near the ends where these are known.

    With ``scaled``, the first shape is a scale, by which the density is divided.
    """
    by_log = functools.partial(by_logarithm, logarithm, at_end if name not in FLAT else False)
    if name not in POWERS:
        return by_log(x, *shapes)
    form, own = POWERS[name], slice(scaled, None)

    def by_powers(x: Any, *shapes: Any) -> Any:
        powers, rest = form(x, *shapes[own])
        factors = [v.pow(b, p) for b, p in powers]
        y = v.strong_multiply(functools.reduce(v.multiply, factors), _exp(rest()))
        return y / shapes[0] if scaled else y

    powers, of_rest = form(*map(asked, (x, *shapes[own])))
    if not any(b.size and b.min() < _NEAR for b, _ in powers):
        return by_log(x, *shapes)
    with np.errstate(all="ignore"):
        least, rest = functools.reduce(np.minimum, [b for b, _ in powers]), of_rest()
    near = (least < _NEAR) & (np.abs(rest) < _MODERATE) | (least == 0) & (rest > -math.inf)
    flat = truths((least == 0) & ~(rest > -math.inf))
    if not flat.any():
        return chosen(near, by_powers, by_log, x, *shapes)
    again = functools.partial(exponential, name, logarithm, scaled=scaled, at_end=at_end)
    return chosen(flat, _nothing, again, x, *shapes)


def by_logarithm(logarithm: Callable[..., Any], at_end: Any, x: Any, *shapes: Any) -> Any:
    """Compute exp(f(x)): a constant where that underflows, except where x is at an end."""
    with np.errstate(all="ignore"):
        none = ~(asked(logarithm(*map(asked, (x, *shapes)))) > -math.inf)
    y = chosen(~none | truths(at_end), lambda *xs: v.exp(logarithm(*xs)), _nothing, x, *shapes)
    # A root has no derivative at 0, except in operands that y does not depend on.
    at_root = none & at_end
    return v.where(at_root, v.sqrt(v.where(at_root, y, 1.0)), y) if at_root.any() else y


def _exp(rest: Any) -> Any:
    """Compute the exponential without overflow: where it would, the power beside it is 0."""
    return v.exp(v.minimum(rest, 700.0))


def _nothing(x: Any, *_: Any) -> Any:
    return 0 * x


def product(log: Any, logarithm: Callable[[Any], Any], x: Any, p: Any, axis: int) -> Any:
    """Compute exp(log), by Π x^p and the rest of the logarithm where some x are small."""
    known, exponents = asked(x), asked(p)
    small = truths((known < _NEAR) & (exponents > 0))
    if not small.any():
        return v.exp(log)
    if np.any(np.abs(asked(logarithm(np.where(small, 1.0, known)))) > _MODERATE):
        small &= known == 0
    rest = _exp(logarithm(v.where(small, 1.0, x)))
    y = v.strong_multiply(v.prod(v.pow(v.where(small, x, 1.0), p), axis=axis), rest)
    return v.where(np.isfinite(asked(log)) | (asked(y) == 0), y, np.exp(asked(log)))


_SLOPES = pieces(
    lambda x, c, _: x / c, lambda x, _c, _d: 1 + 0 * x, lambda x, _, d: (1 - x) / (1 - d)
)


def _ways(n: Any, k: Any) -> Any:
    return sc.gammaln(n + 1) - (sc.gammaln(k + 1) + sc.gammaln(n - k + 1))


def _with(powers: Powers, more: Callable[[Any], Any]) -> Powers:
    """Return powers with another logarithm of the other factor, computed from the present one."""
    return powers[0], lambda: more(powers[1]())


# Bases with their exponents, and a function that returns the logarithm of the other factor.
POWERS: dict[str, Callable[..., Powers]] = {
    # Discrete distributions.
    "binom": lambda k, n, p: (((p, k), (1 - p, n - k)), lambda: _ways(n, k)),
    "bernoulli": lambda k, p: POWERS["binom"](k, 1.0, p),
    "nbinom": lambda k, n, p: (
        ((p, n), (1 - p, k)),
        lambda: -sc.betaln(n, k + 1) - np.log(n + k),
    ),
    "poisson": lambda k, mu: (((mu, k),), lambda: -sc.gammaln(k + 1) - mu),
    "geom": lambda k, p: (((p, 1.0), (1 - p, k - 1)), lambda: 0 * p),
    # Continuous distributions.
    "gamma": lambda x, a: (((x, a - 1),), lambda: -x - sc.gammaln(a)),
    "erlang": lambda x, a: POWERS["gamma"](x, a),  # noqa: PLW0108 - the table is being made
    "dgamma": lambda x, a: _with(POWERS["gamma"](abs(x), a), lambda rest: rest - _LOG_2),
    "arcsine": lambda x: POWERS["beta"](x, 0.5, 0.5),
    "beta": lambda x, a, b: (((x, a - 1), (1 - x, b - 1)), lambda: -sc.betaln(a, b)),
    "gausshyper": lambda x, a, b, c, z: _with(
        POWERS["beta"](x, a, b),
        lambda rest: rest - np.log(sc.hyp2f1(c, a, a + b, -z)) - c * np.log1p(z * x),
    ),
    "rdist": lambda x, c: (
        ((0.5 + x / 2, c / 2 - 1), (0.5 - x / 2, c / 2 - 1)),
        lambda: -_LOG_2 - sc.betaln(c / 2, c / 2),
    ),
    "chi2": lambda x, df: (
        ((x, df / 2 - 1),),
        lambda: -x / 2 - sc.gammaln(df / 2) - df / 2 * _LOG_2,
    ),
    "ncx2": lambda x, df, nc: _with(
        POWERS["chi2"](x, df),
        lambda rest: rest - nc / 2 + np.log(sc.hyp0f1(df / 2, nc * x / 4)),
    ),
    "weibull_min": lambda x, c: (((x, c - 1),), lambda: np.log(c) - x**c),
    "weibull_max": lambda x, c: POWERS["weibull_min"](-x, c),
    "dweibull": lambda x, c: _with(POWERS["weibull_min"](abs(x), c), lambda rest: rest - _LOG_2),
    "exponweib": lambda x, a, c: (
        ((x, a * c - 1),),
        lambda: np.log(a * c) + (a - 1) * np.log(sc.exprel(-(x**c))) - x**c,
    ),
    "exponpow": lambda x, b: (
        ((x, b - 1),),
        lambda: 1 + np.log(b) + x**b - np.exp(x**b),
    ),
    "f": lambda x, n, m: (
        ((x, n / 2 - 1),),
        lambda: (
            n / 2 * np.log(n / m) - (n / 2 + m / 2) * np.log1p(n / m * x) - sc.betaln(n / 2, m / 2)
        ),
    ),
    "burr": lambda x, c, d: (
        ((x, c * d - 1),),
        lambda: np.log(c * d) - (d + 1) * np.log1p(x**c),
    ),
    "fisk": lambda x, c: POWERS["burr"](x, c, 1.0),
    "argus": lambda x, chi: (
        ((x, 1.0), (1 + x, 0.5), (1 - x, 0.5)),
        lambda: (
            math.log(2)
            - 0.5 * math.log(2 * math.pi)
            + (3 * np.log(chi) - np.log(sc.gammainc(1.5, chi * chi / 2)))
            - chi * chi / 2 * (1 - x * x)
        ),
    ),
    "trapezoid": lambda x, c, d: (
        ((_SLOPES(x, c, d), 1.0),),
        lambda: np.log(2 / (d - c + 1)) + 0 * x,
    ),
    "triang": lambda x, c: POWERS["trapezoid"](x, c, c),
    "semicircular": lambda x: (((1 + x, 0.5), (1 - x, 0.5)), lambda: math.log(2 / math.pi) + 0 * x),
    "chi": lambda x, df: (
        ((x, df - 1),),
        lambda: (1 - df / 2) * _LOG_2 - sc.gammaln(df / 2) - x * x / 2,
    ),
    "rayleigh": lambda x: (((x, 1.0),), lambda: -x * x / 2),
    "maxwell": lambda x: (((x, 2.0),), lambda: 0.5 * math.log(2 / math.pi) - x * x / 2),
    "nakagami": lambda x, nu: (
        ((x, 2 * nu - 1),),
        lambda: _LOG_2 + nu * np.log(nu) - sc.gammaln(nu) - nu * x * x,
    ),
    "rice": lambda x, b: (((x, 1.0),), lambda: np.log(i0e(x * b)) - (x - b) * (x - b) / 2),
    "gengamma": lambda x, a, c: (((x, c * a - 1),), lambda: np.log(abs(c)) - x**c - sc.gammaln(a)),
    "powerlaw": lambda x, a: (((x, a - 1),), lambda: np.log(a) + 0 * x),
    "betaprime": lambda x, a, b: (((x, a - 1),), lambda: -(a + b) * np.log1p(x) - sc.betaln(a, b)),
    "burr12": lambda x, c, d: (((x, c - 1),), lambda: np.log(c * d) - (d + 1) * np.log1p(x**c)),
    "mielke": lambda x, k, s: (((x, k - 1),), lambda: np.log(k) - (1 + k / s) * np.log1p(x**s)),
    # For values below 1, where the ends are.
    "loglaplace": lambda x, c: (((x, c - 1),), lambda: np.log(c / 2) + 0 * x),
    "cosine": lambda x: (((1 + np.cos(x), 1.0),), lambda: -math.log(2 * math.pi) + 0 * x),
}

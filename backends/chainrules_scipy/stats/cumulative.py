"""Distribution functions, where SciPy's own formula takes no traced values.

Each takes the standardised value and the shapes as SciPy has them. Where there is no form, the
density is integrated from the nearer end of the support.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sc

from chainrules_py.extend import WIDE, half_line
from chainrules_scipy.rows import asked
from chainrules_scipy.stats import densities
from chainrules_scipy.stats.densities import chosen, ratio_log1p

CUMULATIVE: dict[str, Callable[..., Any]] = {}
INTEGRATED = frozenset(
    {"dpareto_lognorm", "gausshyper", "genhyperbolic", "geninvgauss", "norminvgauss"}
    | {"vonmises", "vonmises_line"}
)
"""Distributions whose density is integrated."""


def _cumulative(f: Callable[..., Any]) -> Callable[..., Any]:
    CUMULATIVE[f.__name__] = f
    return f


@_cumulative
def crystalball(x: Any, beta: Any, m: Any) -> Any:
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


@_cumulative
def exponnorm(x: Any, K: Any) -> Any:
    return sc.ndtr(x) - K * np.exp(densities.exponnorm(x, K))


@_cumulative
def kappa4(x: Any, h: Any, k: Any) -> Any:
    u = np.exp(-x * ratio_log1p(-k * x))
    return np.exp(-u * ratio_log1p(-h * u))


def _pearson3(x: Any, skew: Any) -> Any:
    beta = 2 / skew
    alpha = beta * beta
    return chosen(asked(skew) > 0, sc.gammainc, sc.gammaincc, alpha, beta * x + alpha)


@_cumulative
def trapezoid(x: Any, c: Any, d: Any) -> Any:
    height = 2 / (d - c + 1)
    return height * chosen(
        asked(x) < asked(c),
        lambda x, c, d: x * x / (2 * c),
        lambda x, c, d: chosen(
            asked(x) <= asked(d),
            lambda x, c, d: x - c / 2,
            lambda x, c, d: (1 + d - c) / 2 - (1 - x) ** 2 / (2 * (1 - d)),
            x,
            c,
            d,
        ),
        x,
        c,
        d,
    )


@_cumulative
def truncnorm(x: Any, a: Any, b: Any) -> Any:
    right = asked(a) > 0
    low, high, at = np.where(right, -b, a), np.where(right, -a, b), np.where(right, -x, x)
    part = (sc.ndtr(at) - sc.ndtr(low)) / (sc.ndtr(high) - sc.ndtr(low))
    return np.where(right, 1 - part, part)


@_cumulative
def wrapcauchy(x: Any, c: Any) -> Any:
    ratio = (1 + c) / (1 - c)
    return chosen(
        asked(x) <= math.pi,
        lambda x, r: np.arctan(r * np.tan(x / 2)) / math.pi,
        lambda x, r: 1 - np.arctan(r * np.tan((2 * math.pi - x) / 2)) / math.pi,
        x,
        ratio,
    )


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


@_cumulative
def gennorm(x: Any, beta: Any) -> Any:
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


CUMULATIVE |= {
    "cosine": lambda x: (math.pi + x + np.sin(x)) / (2 * math.pi),
    "genextreme": lambda x, c: np.exp(-np.exp(-x * ratio_log1p(-c * x))),
    "genhalflogistic": lambda x, c: np.tanh(0.5 * x * ratio_log1p(-c * x)),
    "loggamma": lambda x, c: sc.gammainc(c, np.exp(x)),
    "pearson3": lambda x, skew: chosen(
        abs(asked(skew)) < 1e-5,
        lambda x, s: (
            sc.ndtr(x) - s * (x * x - 1) * np.exp(-x * x / 2) / (6 * math.sqrt(2 * math.pi))
        ),
        _pearson3,
        x,
        skew,
    ),
    "skewnorm": lambda x, a: sc.ndtr(x) - 2 * sc.owens_t(x, a),
    "triang": lambda x, c: trapezoid(x, c, c),
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

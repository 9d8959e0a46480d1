"""Densities and probabilities that are powers of the distance to an end: x^p exp(r).

At such an end the logarithm is minus infinity, and the derivative of its exponential 0 times
infinity; beside it, a difference of large numbers. There they are computed as powers, which have
derivatives of every order. Elsewhere they stay exponentials of logarithms, whose range is wider.
Where a density is 0 and no power is known, its derivative is not known either: infinite or NaN.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sc

from chainrules_py import vocabulary as v
from chainrules_scipy.rows import asked, truths
from chainrules_scipy.stats.formulas import chosen, pieces

Powers = tuple[tuple[tuple[Any, Any], ...], Callable[[], Any]]
_NEAR = 0.01
_MODERATE = 30.0  # a logarithm, beyond which another factor may be too small for a number
_LOG_2 = math.log(2)

FLAT = frozenset(
    {"alpha", "fatiguelife", "genextreme", "geninvgauss", "gibrat", "invgamma", "invgauss"}
    | {"invweibull", "johnsonsb", "kstwobign", "levy", "levy_l", "lognorm", "powerlognorm"}
    | {"recipinvgauss", "wald"}
)
"""Distributions that vanish at an end with all derivatives, as exp(-1 / x) does."""


def exponential(
    name: str, logarithm: Callable[..., Any], x: Any, *shapes: Any, scaled: bool = False
) -> Any:
    """Compute the exponential of a logarithm, by powers near the ends where these are known.

    The first of the shapes may be a scale, by which it is divided.
    """
    if name not in POWERS:
        if name not in FLAT:
            return _by_logarithm(logarithm, x, *shapes)
        flat = _vanishes(logarithm, x, *shapes)
        return chosen(flat, _nothing, functools.partial(_by_logarithm, logarithm), x, *shapes)
    form, own = POWERS[name], slice(scaled, None)

    def by_powers(x: Any, *shapes: Any) -> Any:
        powers, rest = form(x, *shapes[own])
        factors = [v.pow(b, p) for b, p in powers]
        y = v.strong_multiply(functools.reduce(v.multiply, factors), _exp(rest()))
        return y / shapes[0] if scaled else y

    powers, of_rest = form(*map(asked, (x, *shapes[own])))
    if not any(b.size and b.min() < _NEAR for b, _ in powers):
        return _by_logarithm(logarithm, x, *shapes)
    with np.errstate(all="ignore"):
        least, rest = functools.reduce(np.minimum, [b for b, _ in powers]), of_rest()
    near = least < _NEAR
    near = near & (np.abs(rest) < _MODERATE) | (least == 0) & (rest > -math.inf)
    flat = truths((least == 0) & ~(rest > -math.inf))
    others = functools.partial(_by_logarithm, logarithm)
    if not flat.any():
        return chosen(near, by_powers, others, x, *shapes)
    again = functools.partial(exponential, name, logarithm, scaled=scaled)
    return chosen(flat, _nothing, again, x, *shapes)


def _vanishes(logarithm: Callable[..., Any], *xs: Any) -> Any:
    """Tell where the logarithm is minus infinity, or has infinities that cancel."""
    with np.errstate(all="ignore"):
        return ~(asked(logarithm(*map(asked, xs))) > -math.inf)


def _by_logarithm(logarithm: Callable[..., Any], x: Any, *shapes: Any) -> Any:
    """Compute exp(f(x)); where that is 0 at an end, its slope is not that of an exponential."""
    y = v.exp(logarithm(x, *shapes))
    if (asked(y) > 0).all():
        return y
    none = _vanishes(logarithm, x, *shapes)
    # A root has no derivative at 0, but for what y does not move with.
    return v.where(none, v.sqrt(v.where(none, y, 1.0)), y)


def _exp(rest: Any) -> Any:
    """Stay among numbers: beside what is beyond them is a power that is 0, of a large exponent."""
    return v.exp(v.minimum(rest, 700.0))


def _nothing(x: Any, *_: Any) -> Any:
    return 0 * x


def product(log: Any, logarithm: Callable[[Any], Any], x: Any, p: Any, axis: int) -> Any:
    """Compute exp(log), where some x are small by Π x^p and what is left of the logarithm."""
    known, exponents = asked(x), asked(p)
    small = truths((known < _NEAR) & (exponents > 0))
    if not small.any():
        return v.exp(log)
    if np.any(np.abs(asked(logarithm(np.where(small, 1.0, known)))) > _MODERATE):
        small &= known == 0
    rest = _exp(logarithm(v.where(small, 1.0, x)))
    y = v.strong_multiply(v.prod(v.pow(v.where(small, x, 1.0), p), axis=axis), rest)
    inside = np.isfinite(asked(log)) | (asked(y) == 0)
    return v.where(inside, y, np.exp(asked(log)))


_SLOPES = pieces(
    lambda x, c, _: x / c, lambda x, _c, _d: 1 + 0 * x, lambda x, _, d: (1 - x) / (1 - d)
)


def _ways(n: Any, k: Any) -> Any:
    return sc.gammaln(n + 1) - (sc.gammaln(k + 1) + sc.gammaln(n - k + 1))


def _with(powers: Powers, more: Callable[[Any], Any]) -> Powers:
    """Return powers with another logarithm of the other factor, made of the one there was."""
    return powers[0], lambda: more(powers[1]())


POWERS: dict[str, Callable[..., Powers]] = {
    # Discrete ones.
    "binom": lambda k, n, p: (((p, k), (1 - p, n - k)), lambda: _ways(n, k)),
    "bernoulli": lambda k, p: POWERS["binom"](k, 1.0, p),
    "nbinom": lambda k, n, p: (
        ((p, n), (1 - p, k)),
        lambda: sc.gammaln(n + k) - sc.gammaln(k + 1) - sc.gammaln(n),
    ),
    "poisson": lambda k, mu: (((mu, k),), lambda: -sc.gammaln(k + 1) - mu),
    "geom": lambda k, p: (((p, 1.0), (1 - p, k - 1)), lambda: 0 * p),
    # Continuous ones.
    "gamma": lambda x, a: (((x, a - 1),), lambda: -x - sc.gammaln(a)),
    "erlang": lambda x, a: POWERS["gamma"](x, a),  # noqa: PLW0108 - the table is being made
    "dgamma": lambda x, a: _with(POWERS["gamma"](abs(x), a), lambda rest: rest - _LOG_2),
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
    "rice": lambda x, b: (((x, 1.0),), lambda: np.log(sc.i0e(x * b)) - (x - b) * (x - b) / 2),
    "gengamma": lambda x, a, c: (((x, c * a - 1),), lambda: np.log(abs(c)) - x**c - sc.gammaln(a)),
    "powerlaw": lambda x, a: (((x, a - 1),), lambda: np.log(a) + 0 * x),
    "betaprime": lambda x, a, b: (((x, a - 1),), lambda: -(a + b) * np.log1p(x) - sc.betaln(a, b)),
    "burr12": lambda x, c, d: (((x, c - 1),), lambda: np.log(c * d) - (d + 1) * np.log1p(x**c)),
    "mielke": lambda x, k, s: (((x, k - 1),), lambda: np.log(k) - (1 + k / s) * np.log1p(x**s)),
    # Below 1, where the ends are.
    "loglaplace": lambda x, c: (((x, c - 1),), lambda: np.log(c / 2) + 0 * x),
    "cosine": lambda x: (((1 + np.cos(x), 1.0),), lambda: -math.log(2 * math.pi) + 0 * x),
}
"""Bases, their exponents, and what computes the logarithm of the other factor."""

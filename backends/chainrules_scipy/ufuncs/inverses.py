"""Distribution functions of series, and inverses that SciPy searches, by their equations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from chainrules_py import vocabulary as v
from chainrules_py.extend import default_engine
from chainrules_scipy.rows import anchored, array_of, nested, readable
from chainrules_scipy.ufuncs.declared import composite
from chainrules_scipy.ufuncs.distributions import chndtr, fdtr

_MOST = 1e6  # the largest mean of which a distribution is summed; beyond it there is no derivative


def _terms(mean: Any) -> Any:
    """Return the numbers at which a Poisson distribution has weights that count."""
    known = readable(mean)
    most = float(np.max(np.where(known <= _MOST, known, 0.0), initial=0.0))
    return np.arange(math.ceil(most + 12 * math.sqrt(most) + 40.0))


def _poisson(j: Any, mean: Any, shift: Any = 0.0) -> Any:
    """exp(-m) mʲ / Γ(j + 1 + shift), at m = 0 by powers."""
    mean = mean * v.where(readable(mean) > _MOST, math.nan, 1.0)
    none = readable(mean) == 0
    far, near = v.where(none, 1.0, mean), v.where(none, mean, 0.0)
    weight = v.exp(v.xlogy(j, far) - far - v.gammaln(j + 1 + shift))
    first = v.exp(-near) * v.pow(near, j) * scipy.special.rgamma(j + 1 + shift)
    return v.where(none, first, weight)


def _columns(*xs: Any) -> list[Any]:
    return [v.expand_dims(array_of(x), axis=-1) for x in xs]


@composite("ncfdtr")
def ncfdtr(dfn: Any, dfd: Any, nc: Any, f: Any) -> Any:
    """Mix distribution functions of F by Poisson's weights: R. Butler & M. Paolella (1999)."""
    known = scipy.special.ncfdtr(*map(readable, (dfn, dfd, nc, f)))
    n, d, c, x = _columns(dfn, dfd, nc, f)
    j = _terms(0.5 * c)
    at = v.strong_multiply(x, n / (n * x + d))
    return anchored(
        known,
        v.sum(_poisson(j, 0.5 * c) * v.betainc(0.5 * n + j, 0.5 * d + 0 * j, at + 0 * j), axis=-1),
    )


@composite("nctdtr")
def nctdtr(df: Any, nc: Any, t: Any) -> Any:
    """Sum beta distributions by Poisson's weights: R. Lenth, AS 243 (1989)."""
    known = scipy.special.nctdtr(*map(readable, (df, nc, t)))
    d, c, x = _columns(df, nc, t)
    left = readable(x) < 0
    # At t = 0, where t² hides the slope, that of the density there.
    logs = v.gammaln(0.5 * d + 0.5) - v.gammaln(0.5 * d) - 0.5 * (c * c + v.log(math.pi * d))
    there = v.squeeze(v.where(readable(x) == 0, x, 0.0) * v.exp(logs), axis=-1)
    c = v.where(left, -c, c)
    m, at, j = (
        0.5 * c * c,
        v.strong_multiply(x * x, 1 / (x * x + d)),
        _terms(0.5 * readable(c) ** 2),
    )
    even = _poisson(j, m) * v.betainc(j + 0.5 + 0 * at, 0.5 * d + 0 * j, at + 0 * j)
    odd = (
        c
        / math.sqrt(2)
        * _poisson(j, m, 0.5)
        * v.betainc(j + 1.0 + 0 * at, 0.5 * d + 0 * j, at + 0 * j)
    )
    right = v.squeeze(v.ndtr(-c), axis=-1) + 0.5 * v.sum(even + odd, axis=-1)
    return anchored(known, v.where(left[..., 0], -right, right) + there)


_OWN = {"bdtrik": (1,), "bdtrin": (0,)}
"""The count that a count has for an end, where any operand may happen to be as large."""


def _solved(name: str, xs: tuple[Any, ...], equation: Callable[..., Any]) -> Any:
    """Solve equation(y, *xs) = 0 where SciPy did, by steps that each bring one order more."""
    plain = tuple(map(readable, xs))
    y0 = getattr(scipy.special, name)(*plain)
    y = array_of(y0)
    shape = np.shape(y0)
    slope = default_engine().jvp(
        lambda z: equation(z, *plain), (np.asarray(y0, float),), (np.ones(shape),)
    )[1]
    rest = equation(np.asarray(y0, float), *plain)
    # SciPy's search ends where no value fulfils the equation: a constant, or an operand. What it
    # finds of `ncfdtr` is right to a percent.
    held = (np.abs(rest) > 1e-2) | (np.abs(rest) > abs(slope) * (1e-2 * np.abs(y0) + 1e-8))
    held |= np.isnan(rest) & np.isfinite(y0)
    order = max(map(nested, xs), default=0)
    slope = np.where((slope == 0) | (np.isinf(slope) & (order > 1)), math.nan, slope)
    for _ in range(order):
        y = y - v.where(held, 0.0, equation(y, *xs) / slope)
    for x, at in [(xs[i], plain[i]) for i in _OWN.get(name, range(len(xs)))]:
        own = held & (np.abs(y0 - at) < 1e-8) & (y0 > 1e-6)
        y = v.where(own, y + (x - at), y) if own.any() else y
    return y


_EQUATIONS: dict[str, tuple[str, Callable[..., Any]]] = {
    "bdtrik": ("p n pr", lambda y, p, n, pr: v.betainc(n - y, y + 1, 1 - pr) - p),
    "bdtrin": ("k p pr", lambda y, k, p, pr: v.betainc(y - k, k + 1, 1 - pr) - p),
    "nbdtrik": ("y n p", lambda k, y, n, p: v.betainc(n, k + 1, p) - y),
    "nbdtrin": ("k y p", lambda n, k, y, p: v.betainc(n, k + 1, p) - y),
    "pdtrik": ("p m", lambda k, p, m: v.gammaincc(k + 1, m) - p),
    "fdtridfd": ("dfn p x", lambda d, dfn, p, x: fdtr(dfn, d, x) - p),
    "chndtridf": ("x p nc", lambda d, x, p, nc: chndtr(x, d, nc) - p),
    "ncfdtri": ("dfn dfd nc p", lambda f, n, d, c, p: ncfdtr(n, d, c, f) - p),
    "ncfdtridfd": ("dfn p nc f", lambda d, n, p, c, f: ncfdtr(n, d, c, f) - p),
    "ncfdtridfn": ("p dfd nc f", lambda n, p, d, c, f: ncfdtr(n, d, c, f) - p),
    "ncfdtrinc": ("dfn dfd p f", lambda c, n, d, p, f: ncfdtr(n, d, c, f) - p),
    "nctdtrit": ("df nc p", lambda t, df, nc, p: nctdtr(df, nc, t) - p),
    "nctdtridf": ("p nc t", lambda df, p, nc, t: nctdtr(df, nc, t) - p),
    "nctdtrinc": ("df p t", lambda nc, df, p, t: nctdtr(df, nc, t) - p),
}
_OF: dict[int, Callable[[Any, Any], Any]] = {
    2: lambda name, f: lambda a, b: _solved(name, (a, b), f),
    3: lambda name, f: lambda a, b, c: _solved(name, (a, b, c), f),
    4: lambda name, f: lambda a, b, c, d: _solved(name, (a, b, c, d), f),
}
for _name, (_operands, _equation) in _EQUATIONS.items():
    if hasattr(scipy.special, _name):
        composite(_name)(_OF[len(_operands.split())](_name, _equation))

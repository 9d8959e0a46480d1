"""Calls of the distributions of ``scipy.stats``: every one, frozen or not, and no distribution."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.stats

from tests.libraries.scipy.options.judge import Call

DISCRETE: dict[str, tuple[Any, ...]] = {
    "bernoulli": (0.3,),
    "betabinom": (5, 2.3, 0.63),
    "betanbinom": (5, 9.3, 1.0),
    "binom": (5, 0.4),
    "boltzmann": (1.4, 19),
    "dlaplace": (0.8,),
    "geom": (0.5,),
    "hypergeom": (30, 12, 6),
    "logser": (0.6,),
    "nbinom": (0.4, 0.4),
    "nchypergeom_fisher": (140, 80, 60, 0.5),
    "nchypergeom_wallenius": (140, 80, 60, 0.5),
    "nhypergeom": (30, 12, 6),
    "planck": (0.51,),
    "poisson": (0.6,),
    "poisson_binom": ([0.1, 0.6, 0.7, 0.8],),
    "randint": (7, 31),
    "skellam": (15.2, 8.7),
    "yulesimon": (11.3,),
    "zipf": (6.6,),
    "zipfian": (1.2, 20),
}
"""Shapes, of which those that are floats are differentiated."""
CONTINUOUS: dict[str, tuple[float, ...]] = {}
_SLOW = {"levy_stable", "studentized_range", "genhyperbolic", "gausshyper", "norminvgauss"}


def _names() -> None:
    from scipy.stats import _distr_params

    for name, shapes in _distr_params.distcont:
        if isinstance(name, str) and name not in _SLOW:
            CONTINUOUS.setdefault(name, tuple(map(float, shapes)))


_names()
OF_VALUES = ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf")
OF_PROBABILITIES = ("ppf", "isf")
PARAMETERS: dict[str, Any] = {
    "mean": lambda d, *q: d.mean(*q),
    "var": lambda d, *q: d.var(*q),
    "std": lambda d, *q: d.std(*q),
    "stats": lambda d, *q: [m for m in d.stats(*q, moments="mvsk") if np.isfinite(m)],
    "entropy": lambda d, *q: d.entropy(*q),
    "median": lambda d, *q: d.median(*q),
    "interval": lambda d, *q: d.interval(0.6, *q),
    "moment": lambda d, *q: d.moment(2, *q),
    "support": lambda d, *q: [end for end in d.support(*q) if np.isfinite(end)],
}


def _at(dist: Any, shapes: tuple[float, ...]) -> Any:
    return np.float64(0.7 * dist.ppf(0.3, *shapes) + 0.3 * dist.ppf(0.6, *shapes))


def _method(name: str, method: str, is_frozen: bool = False) -> Any:
    """Return a call of a method of the value, shapes, place and scale."""

    def call(x: Any, *q: Any) -> Any:
        dist = getattr(scipy.stats, name)
        if is_frozen:
            return getattr(dist(*q), method)(x)
        return getattr(dist, method)(x, *q)

    return call


def scales() -> Iterator[Call]:
    """Go through scales and shapes of distributions, and of which there are none."""
    for (name, shapes), scale in itertools.product(
        CONTINUOUS.items(), (1.3, 0.0, -1.3, np.nan, np.inf)
    ):
        if name == "nct" and scale == np.inf:
            continue  # the slope of its distribution function at 0 is not known: 0 times NaN
        dist = getattr(scipy.stats, name)
        x = _at(dist, shapes)
        for method in (*OF_VALUES, *OF_PROBABILITIES):
            at = np.float64(0.3) if method in OF_PROBABILITIES else x * 1.3 + 0.2
            operands = (at, *map(np.float64, shapes), np.float64(0.2), np.float64(scale))
            yield Call(
                f"{name}.{method} scale {scale}",
                _method(name, method),
                operands,
                tolerance=1e-8,
            )
        if shapes and scale == 1.3:
            for method in (*OF_VALUES, *OF_PROBABILITIES):
                at = np.float64(0.3) if method in OF_PROBABILITIES else x
                operands = (at, *map(np.float64, [-9.7] * len(shapes)))
                yield Call(f"{name}.{method} no shape", _method(name, method), operands)


def frozen() -> Iterator[Call]:
    """Go through distributions that were frozen before, and that are frozen of traced numbers."""
    for name, shapes in CONTINUOUS.items():
        dist = getattr(scipy.stats, name)
        x = _at(dist, shapes) * 1.3 + 0.2
        whole = (*map(np.float64, shapes), np.float64(0.2), np.float64(1.3))
        before = dist(*map(float, whole))
        for method in (*OF_VALUES, *OF_PROBABILITIES):
            at = np.float64(0.3) if method in OF_PROBABILITIES else x
            call = _method(name, method, is_frozen=True)
            yield Call(f"{name}(...).{method}", call, (at, *whole), tolerance=1e-8)
            yield Call(
                f"{name} before .{method}",
                lambda z, m=method, d=before: getattr(d, m)(z),
                (at,),
                tolerance=1e-8,
            )
        for what, f in PARAMETERS.items():
            for cold in (False, True):
                yield Call(
                    f"{name}{'(...)' if cold else ''}.{what}",
                    lambda *q, n=name, f=f, cold=cold: (
                        f(getattr(scipy.stats, n)(*q)) if cold else f(getattr(scipy.stats, n), *q)
                    ),
                    whole,
                    tolerance=1e-7,
                )


_NUMBERS = ("pmf", "logpmf", "cdf", "sf", "logcdf", "logsf")


def discrete() -> Iterator[Call]:
    """Go through discrete distributions, at numbers of the support and beside it."""
    for name, shapes in DISCRETE.items():
        dist = getattr(scipy.stats, name)
        moving = [isinstance(s, float) for s in shapes]
        operands = tuple(np.float64(s) for s in shapes if isinstance(s, float))
        if not operands:
            continue

        def filled(q: Any, shapes: Any = shapes, moving: Any = moving) -> Any:
            rest = iter(q)
            return [next(rest) if m else s for s, m in zip(shapes, moving, strict=True)]

        places: Any = [dist.ppf(p, *shapes) for p in (0.05, 0.5, 0.95)]
        for method, (i, k), cold in itertools.product(
            _NUMBERS, enumerate((*places, places[0] - 7, places[1] + 0.5)), (False, True)
        ):
            yield Call(
                f"{name}{'(...)' if cold else ''}.{method} {i}",
                lambda *q, n=name, m=method, k=k, cold=cold, filled=filled: (
                    getattr(getattr(scipy.stats, n)(*filled(q), loc=1), m)(k + 1)
                    if cold
                    else getattr(getattr(scipy.stats, n), m)(k, *filled(q))
                ),
                operands,
                tolerance=1e-8,
            )
        for what, f in PARAMETERS.items():
            if what in ("support", "median", "interval"):
                continue
            for cold in (False, True):
                yield Call(
                    f"{name}{'(...)' if cold else ''}.{what}",
                    lambda *q, n=name, f=f, cold=cold, filled=filled: (
                        f(getattr(scipy.stats, n)(*filled(q)))
                        if cold
                        else f(getattr(scipy.stats, n), *filled(q))
                    ),
                    operands,
                    tolerance=1e-7,
                )


ALL = (scales, frozen, discrete)

"""Probabilities of discrete distributions, where SciPy's own formula takes no traced values.

Each takes whole numbers and the shapes as SciPy has them. What is a sum over the support is summed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sc

from chainrules_py import vocabulary as v
from chainrules_scipy.rows import readable

LOG_PROBABILITIES: dict[str, Callable[..., Any]] = {}


def _probability(f: Callable[..., Any]) -> Callable[..., Any]:
    LOG_PROBABILITIES[f.__name__] = f
    return f


@_probability
def skellam(k: Any, mu1: Any, mu2: Any) -> Any:
    """By the modified Bessel function of a whole order."""
    k = readable(k)
    gap, root = np.sqrt(mu1) - np.sqrt(mu2), 2 * np.sqrt(mu1 * mu2)
    return k / 2 * (np.log(mu1) - np.log(mu2)) - gap * gap + np.log(sc.ive(abs(k), root))


@_probability
def zipfian(k: Any, a: Any, n: Any) -> Any:
    """By the sum of the powers of the first n numbers."""
    n = np.asarray(readable(n))
    numbers = np.arange(1, int(np.max(n)) + 1)
    powers = v.expand_dims(-a, axis=-1) * np.log(numbers)
    powers = np.where(numbers <= n[..., None], powers, -np.inf)
    return -a * np.log(readable(k)) - v.logsumexp(powers, axis=-1)


@_probability
def nchypergeom_fisher(k: Any, M: Any, n: Any, N: Any, odds: Any) -> Any:
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

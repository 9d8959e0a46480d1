"""``scipy.stats`` for traced values; distributions are modules as well, as in autograd."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import scipy.stats
from scipy.special import gammaln

from chainrules_scipy import stats as _ours


class MultivariateNormal:
    """The normal distribution of vectors, along the last axis."""

    def logpdf(self, x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
        """Return the logarithm of the density.

        Examples
        --------
        >>> from chainrules_autograd import grad
        >>> grad(lambda m: multivariate_normal.logpdf(np.ones(2), m, np.eye(2)))(np.zeros(2))
        array([1., 1.])
        """
        x = x if mean is None else x - mean
        n = np.shape(x)[-1] if np.ndim(x) else 1
        x = np.reshape(x, (*np.shape(x)[:-1], n))
        cov = cov * np.eye(n) if np.ndim(cov) == 0 else np.diag(cov) if np.ndim(cov) == 1 else cov
        if allow_singular:
            values, vectors = np.linalg.eigh(cov)
            kept = np.asarray(abs(values) > 1e6 * np.finfo(float).eps * np.max(abs(values)))
            squares = (x @ vectors)[..., kept] ** 2 / values[kept]
            log_det, n = np.sum(np.log(values[kept])), int(np.sum(kept))
        else:
            factor = np.linalg.cholesky(cov)
            squares = np.linalg.solve(factor, np.reshape(x, (-1, n)).T) ** 2
            squares = np.reshape(squares.T, np.shape(x))
            log_det = 2.0 * np.sum(np.log(np.diagonal(factor)))
        return -0.5 * (n * np.log(2 * np.pi) + log_det + np.sum(squares, axis=-1))

    def pdf(self, x: Any, mean: Any = None, cov: Any = 1.0, allow_singular: bool = False) -> Any:
        """Return the density."""
        return np.exp(self.logpdf(x, mean, cov, allow_singular))

    def entropy(self, mean: Any = None, cov: Any = 1.0) -> Any:
        """Return the entropy."""
        cov = np.reshape(cov, (1, 1)) if np.ndim(cov) == 0 else cov
        return 0.5 * np.linalg.slogdet(2 * np.pi * math.e * cov)[1]

    def __getattr__(self, name: str) -> Any:
        return getattr(scipy.stats.multivariate_normal, name)


class Dirichlet:
    """The Dirichlet distribution, for one point of the simplex."""

    def logpdf(self, x: Any, alpha: Any) -> Any:
        """Return the logarithm of the density."""
        norm = np.sum(gammaln(alpha)) - gammaln(np.sum(alpha))
        return np.sum((alpha - 1.0) * np.log(x)) - norm

    def pdf(self, x: Any, alpha: Any) -> Any:
        """Return the density."""
        return np.exp(self.logpdf(x, alpha))

    def __getattr__(self, name: str) -> Any:
        return getattr(scipy.stats.dirichlet, name)


multivariate_normal, dirichlet = MultivariateNormal(), Dirichlet()

for _name in ("beta", "chi2", "gamma", "norm", "poisson", "t"):
    sys.modules[f"{__name__}.{_name}"] = getattr(_ours, _name)
for _name in ("dirichlet", "multivariate_normal"):
    sys.modules[f"{__name__}.{_name}"] = globals()[_name]


def __getattr__(name: str) -> Any:
    return getattr(_ours, name)

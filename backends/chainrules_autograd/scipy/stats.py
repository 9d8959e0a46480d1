"""``scipy.stats`` for traced values; distributions are modules as well, as in autograd."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from chainrules_scipy import stats as _ours


class MultivariateNormal:
    """The normal distribution of vectors, along the last axis.

    Examples
    --------
    >>> from chainrules_autograd import grad
    >>> grad(lambda m: multivariate_normal.logpdf(np.ones(2), m, np.eye(2)))(np.zeros(2))
    array([1., 1.])
    """

    def entropy(self, mean: Any = None, cov: Any = 1.0) -> Any:
        """Return the entropy; its gradient in a covariance is symmetric, as autograd's is."""
        cov = np.reshape(cov, (1, 1)) if np.ndim(cov) == 0 else cov
        return 0.5 * np.linalg.slogdet(2 * np.pi * math.e * cov)[1]

    def __getattr__(self, name: str) -> Any:
        return getattr(_ours.multivariate_normal, name)


multivariate_normal = MultivariateNormal()

for _name in ("beta", "chi2", "dirichlet", "gamma", "norm", "poisson", "t"):
    sys.modules[f"{__name__}.{_name}"] = getattr(_ours, _name)
sys.modules[f"{__name__}.multivariate_normal"] = multivariate_normal  # type: ignore[assignment]


def __getattr__(name: str) -> Any:
    return getattr(_ours, name)

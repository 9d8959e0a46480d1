"""Statistics of samples of ``scipy.stats``: SciPy's own text is followed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.stats as native
from scipy.stats import contingency

from chainrules_py import register_structure
from chainrules_py import vocabulary as v
from chainrules_py.extend import advise, varies
from chainrules_scipy._private import private
from chainrules_scipy.following import (
    follow,
    follow_all,
    follow_class,
    followed,
    instead_of,
    numpy_with,
    with_shortcut,
    with_shortcuts,
)
from chainrules_scipy.rows import array_of, constant, readable, reject, stands_for


def _fields(x: Any) -> list[tuple[Any, Any]]:
    return [*enumerate(x), *vars(x).items()]


def _rebuilt(x: Any, values: Sequence[Any]) -> Any:
    new = tuple.__new__(type(x), values[: len(x)])
    vars(new).update(zip(vars(x), values[len(x) :], strict=True))
    return new


for _name in (
    *("AndersonResult", "KstestResult", "LinregressResult", "PearsonRResultBase"),
    *("SignificanceResult", "TtestResultBase"),
):
    if private(_name) is not None:  # one that SciPy does not have is no result either
        register_structure(private(_name), _fields, _rebuilt, hollow=True)


def _power(x: Any, lmbda: Any, xp: Any = None) -> Any:
    """Transform as Yeo and Johnson do: SciPy's text has no derivative at the powers 0 and 2."""
    above, (up, down) = readable(x) >= 0, (lmbda, 2 - lmbda)
    right = v.boxcox1p(v.where(above, x, 0.0), up)
    return v.where(above, right, -v.boxcox1p(v.where(above, 0.0, -x), down))


instead_of(private("_yeojohnson_transform"), _power)


def _variance(x: Any, *, correction: Any = 0, nan_policy: str = "propagate", **how: Any) -> Any:
    """Compute a variance: where SciPy's text omits NaN, it multiplies NaN by 0."""
    if nan_policy != "omit":
        theirs = followed(private("_xp_var"))
        return theirs(x, correction=correction, nan_policy=nan_policy, **how)
    axis, keepdims = how.get("axis"), how.get("keepdims", False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of too few numbers, as SciPy
        return np.nanvar(x, axis=axis, ddof=correction, keepdims=keepdims)


def _log_likelihood(x: Any, *, lmb: Any, axis: int = 0, keepdims: bool = False, **_: Any) -> Any:
    """Compute that of Yeo and Johnson: SciPy's text has no derivative at the number 0."""
    x = array_of(x)
    above = readable(x) >= 0
    logs = v.where(above, v.log1p(v.where(above, x, 0.0)), -v.log1p(v.where(above, 0.0, -x)))
    spread = v.log(v.var(_power(x, lmb), axis=axis, keepdims=keepdims))
    return (lmb - 1) * v.sum(logs, axis=axis, keepdims=keepdims) - x.shape[axis] / 2 * spread


instead_of(private("_yeojohnson_llf"), _log_likelihood)
instead_of(private("_xp_var"), _variance)
with_shortcuts(native, "iqr")
with_shortcut("scipy.stats.power_divergence", private("_power_divergence"))
FOLLOWED: dict[str, Any] = follow_all(
    native,
    *("alexandergovern", "bartlett", "boxcox", "chisquare"),
    *("circmean", "circstd", "circvar", "combine_pvalues", "cramervonmises", "describe"),
    *("differential_entropy", "directional_stats", "entropy", "f_oneway", "fligner", "gmean"),
    *("gstd", "gzscore", "hmean", "iqr", "jarque_bera", "kendalltau", "kstat", "kstatvar"),
    *(
        "boxcox_normmax",
        "yeojohnson_normmax",
        "kurtosis",
        "kurtosistest",
        "levene",
        "lmoment",
        "median_abs_deviation",
        "mode",
        "moment",
    ),
    *("mood", "normaltest", "obrientransform", "pearsonr", "pmean", "pointbiserialr"),
    *("power_divergence", "quantile", "rankdata", "scoreatpercentile", "sem", "sigmaclip", "skew"),
    *("skewtest", "spearmanr", "theilslopes", "tmax", "tmean", "tmin", "trim1", "trim_mean"),
    *("trimboth", "tsem", "tstd", "ttest_1samp", "ttest_ind", "ttest_ind_from_stats", "ttest_rel"),
    *(
        "energy_distance",
        "tvar",
        "variation",
        "wasserstein_distance",
        "yeojohnson",
        "yeojohnson_llf",
        "zmap",
        "zscore",
    ),
) | follow_all(contingency, "chi2_contingency")


for _name in (
    *("ansari", "brunnermunzel", "friedmanchisquare", "kruskal", "ks_2samp", "mannwhitneyu"),
    *("median_test", "percentileofscore", "ranksums", "somersd", "weightedtau", "wilcoxon"),
    "cramervonmises_2samp",
):
    FOLLOWED[_name] = constant(getattr(native, _name))


class _Covariance:
    """``np.cov``, whose elements are read one by one."""

    def __init__(self, matrix: Any) -> None:
        self.flat = [matrix[i, j] for i in (0, 1) for j in (0, 1)]


FOLLOWED["linregress"] = follow(
    native.linregress, np=numpy_with(cov=lambda *xs, **how: _Covariance(np.cov(*xs, **how)))
)


_pmean = FOLLOWED["pmean"]


@stands_for(native.pmean)
def pmean(a: Any, p: Any, **how: Any) -> Any:
    """Compute a mean of powers, as ``scipy.stats.pmean``, in the numbers and the weights."""
    if varies(p):
        reject("pmean has no derivative in the power; write np.mean(a**p)**(1 / p)")
    return _pmean(a, p, **how)


FOLLOWED["pmean"] = pmean


@stands_for(native.boxcox_llf)
def boxcox_llf(
    lmb: Any, data: Any, *, axis: int = 0, keepdims: bool = False, nan_policy: str = "propagate"
) -> Any:
    """Compute a log-likelihood: as ``scipy.stats.boxcox_llf``, also at the power 0."""
    x = array_of(data)
    logs = v.log(x)
    # The variance of powers is that of powers around 1, times a power: it has its digits so.
    size = np.mean(readable(logs), axis=axis, keepdims=True)
    y = v.boxcox(x / np.exp(size), lmb)
    spread = v.log(v.var(y, axis=axis, keepdims=keepdims))
    spread = spread + 2 * lmb * (size if keepdims else np.squeeze(size, axis))
    known = (lmb - 1) * v.sum(logs, axis=axis, keepdims=keepdims)
    return known - x.shape[axis] / 2 * spread


FOLLOWED["boxcox_llf"] = boxcox_llf


class _Kernel:
    """Sums of Gaussian kernels, as SciPy's compiled loops have them."""

    def __init__(self, is_log: bool) -> None:
        self.is_log = is_log

    def __getitem__(self, _: Any) -> Any:
        return self

    def __call__(self, points: Any, weights: Any, at: Any, factor: Any, _: Any) -> Any:
        white = [v.solve_triangular(factor, array_of(x).T).T for x in (points, at)]
        apart = np.sum((white[1][:, None] - white[0]) ** 2, axis=-1)
        scale = np.sum(np.log(np.diag(factor))) + 0.5 * factor.shape[0] * np.log(2 * np.pi)
        logs = v.logsumexp(np.log(weights[:, 0]) - 0.5 * apart, axis=1) - scale
        return (logs if self.is_log else np.exp(logs))[:, None]


gaussian_kde = follow_class(
    native.gaussian_kde,
    *("evaluate", "__call__", "pdf", "logpdf", "integrate_box_1d", "integrate_gaussian"),
    gaussian_kernel_estimate=_Kernel(False),
    gaussian_kernel_estimate_log=_Kernel(True),
    _get_output_dtype=lambda *_: (None, None),
)
advise(
    native.gaussian_kde.__init__,
    "use gaussian_kde, which takes the same, by 'from chainrules_scipy.stats import gaussian_kde'",
)

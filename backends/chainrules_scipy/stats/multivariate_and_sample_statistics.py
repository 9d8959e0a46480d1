"""Multivariate distributions, and statistics of samples, which follow SciPy's own source."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.special as sc
import scipy.stats as native
from scipy.stats import contingency

from chainrules_py import NotDifferentiableError
from chainrules_py import ops as v
from chainrules_py.extend import advise, varies
from chainrules_scipy._private import private
from chainrules_scipy.composites_and_operand_conversions import (
    adjoint,
    anchored,
    array_of,
    constant,
    in_kind_of,
    readable,
    refused,
    reject,
    stands_for,
)
from chainrules_scipy.installation import choose, joined_call, taken_from
from chainrules_scipy.source_copies import (
    follow_all,
    follow_class,
    followed,
    instead_of,
    numpy_with,
    of_followed,
    register_result,
    with_shortcuts,
)
from chainrules_scipy.special import multigammaln
from chainrules_scipy.stats.distributions import pmf
from chainrules_scipy.stats.formulas import i0e, i1e, product

_PSD = private("_PSD")


class _Definite:
    """SciPy's ``_PSD`` by Cholesky, which has derivatives at equal eigenvalues as well."""

    eps = 0.0

    def __init__(self, M: Any, *args: Any, **options: Any) -> None:
        m = array_of(M)  # of which one triangle is read
        try:
            factor = v.cholesky(m)
        except np.linalg.LinAlgError:
            if varies(m) or _PSD is None:
                raise NotDifferentiableError(
                    "the derivative of a singular covariance; it is taken where it is definite"
                ) from None
            known = _PSD(readable(m), *args, **options)
            self.pinv, self.eps = known.pinv, known.eps
            vars(self).update(vars(known))
            return
        self._M, self.rank = m, m.shape[-1]
        self.U = adjoint(v.solve_triangular(factor, np.eye(self.rank)))
        self.log_pdet = 2 * v.sum(v.log(v.diagonal(factor)))
        self.pinv, self.V = self.U @ adjoint(self.U), np.zeros((self.rank, 0))

    def _support_mask(self, x: Any) -> Any:
        return np.linalg.norm(readable(x) @ self.V, axis=-1) < (self.eps if self.V.size else np.inf)


def _invwishart(_: Any, x: Any, dim: int, df: Any, log_det_scale: Any, C: Any) -> Any:
    """Compute the logarithm of the density of x, whose last axis indexes the matrices."""
    factors = [v.cholesky(x[..., i]) for i in range(x.shape[-1])]
    log_det = v.stack(*[2 * v.sum(v.log(v.diagonal(f))) for f in factors])
    traces = v.stack(*[v.sum(v.solve_triangular(f, C) ** 2) for f in factors])
    known = 0.5 * df * (log_det_scale - dim * np.log(2)) - multigammaln(0.5 * df, dim)
    return known - 0.5 * (df + dim + 1) * log_det - 0.5 * traces


def _counts(_: Any, n: Any, p: Any) -> tuple[Any, Any, Any]:
    """Return the parameters of ``multinomial``; the last probability is 1 minus the others.

    SciPy keeps the given one if the sum is 1 up to rounding; its derivative is that of the others'
    complement there. Elsewhere, SciPy before 1.18 corrects it, and later versions return NaN.
    """
    p = array_of(p)
    n, known, is_wrong = native.multinomial._process_parameters(n, readable(p))
    last = anchored(known[..., -1], 1 - v.sum(p[..., :-1], axis=-1))
    return n, v.concat(p[..., :-1], v.expand_dims(last, axis=-1), axis=-1), is_wrong


def _multinomial(self: Any, x: Any, n: Any, p: Any) -> Any:
    """Compute the probability of counts, by powers where one of p is small."""
    log = self.logpmf(x, n, p)
    n, p, _ = self._process_parameters(n, p)
    counts = np.asarray(readable(x), int)
    whole = np.broadcast_shapes(np.shape(p), counts.shape)
    p, counts = v.broadcast_to(p, shape=whole), np.broadcast_to(counts, whole)
    return product(log, lambda p: self._logpmf(counts, n, p), p, counts * 1.0, -1)


def _dirichlet(self: Any, x: Any, alpha: Any) -> Any:
    """Compute the density of proportions, by powers where one of them is small."""
    log = self.logpdf(x, alpha)
    x, alpha = array_of(x), array_of(alpha)
    if x.shape[0] != alpha.shape[0]:
        x = v.concat(x, v.expand_dims(1 - v.sum(x, axis=0), axis=0), axis=0)
    powers = v.reshape(alpha - 1, shape=(-1, *(1,) * (x.ndim - 1)))
    return product(log, lambda x: self._logpdf(x, alpha), x, powers, 0)


class Multivariate:
    """A multivariate SciPy distribution whose methods take traced values.

    Parameters
    ----------
    native : object
        SciPy's distribution, or one of its frozen ones.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> normal = Multivariate(native.multivariate_normal)
    >>> print(grad(lambda x: normal.logpdf(x, [0.0, 0.0]))(np.array([1.0, 2.0])))
    [-1. -2.]
    """

    def __init__(self, native: Any) -> None:
        self.native = native

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.native, name)
        if not callable(found) or name[0] == "_":
            return found

        def method(*args: Any, **options: Any) -> Any:
            args, options = joined_call(args, options)
            ours = getattr(of_followed(self.native), name)
            return choose(found, ours, args, options)(*args, **options)

        return functools.wraps(found)(method)

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Fix the parameters."""
        args, options = joined_call(args, options)
        # A covariance may hold plain numbers only.
        if choose(self.native, of_followed, args, options) is of_followed or any(
            isinstance(x, native.Covariance) for x in (*args, *options.values())
        ):
            return of_followed(self.native)(*args, **options)
        return Multivariate(self.native(*args, **options))


if private("CovViaPSD") is not None:
    follow_class(private("CovViaPSD"))
follow_class(type(native.invwishart), "pdf", "logpdf", "mean", "var", _logpdf=_invwishart)
follow_class(type(native.invwishart(2, np.eye(2))), "pdf", "logpdf", "mean", "var")
OF: dict[str, tuple[str, ...]] = {
    "multivariate_normal": ("pdf", "logpdf", "cdf", "logcdf", "entropy"),
    "multivariate_t": ("pdf", "logpdf", "entropy"),
    "matrix_normal": ("pdf", "logpdf", "entropy"),
    "dirichlet": ("pdf", "logpdf", "entropy", "mean", "var"),
    "wishart": ("pdf", "logpdf", "entropy", "mean", "var"),
    "multinomial": ("pmf", "logpmf", "entropy"),
    "dirichlet_multinomial": ("pmf", "logpmf", "mean", "var"),
    "vonmises_fisher": ("pdf", "logpdf", "entropy"),
    "normal_inverse_gamma": ("pdf", "logpdf"),
    "matrix_t": ("pdf", "logpdf"),
}
_MORE: dict[str, dict[str, Any]] = {
    "multinomial": {
        "_process_parameters": _counts,
        "pmf": _multinomial,
        "binom": type("binom", (), {"pmf": functools.partial(pmf, native.binom)}),
    },
    "dirichlet": {"pdf": _dirichlet},
    "multivariate_normal": {
        "_process_parameters_Covariance": lambda self, mean, cov: self._process_parameters(
            mean, cov.covariance
        ),
        "_qauto": lambda _, cov, low, high, *rest, **how: (
            # An infinite limit would meet slopes of 0.
            (sc.ndtr(high / cov**0.5) - sc.ndtr(np.maximum(low, -1e100) / cov**0.5),)
            if len(cov) == 1
            else reject(
                "multivariate_normal.cdf in two or more dimensions has no derivative here: "
                "integrate the density by quad or nquad of chainrules_scipy.integrate"
            )
        ),
    },
}
_DEFINITE: dict[str, Any] = {
    "_PSD": _Definite,
    "_checkresult": lambda _, y, is_bad, bad: in_kind_of(
        v.where(np.asarray(is_bad), bad, y), np.zeros(())
    ),
}
for _name, _methods in OF.items():
    _instance: Any = getattr(native, _name)
    follow_class(type(_instance), *_methods, **_DEFINITE, **_MORE.get(_name, {}))
    for _method in _methods:
        advise(
            getattr(type(_instance), _method),
            f"use {_name} after 'from chainrules_scipy.stats import {_name}'",
        )
    _frozen = getattr(sys.modules[type(_instance).__module__], f"{_name}_frozen", None)
    if _frozen is not None:
        follow_class(_frozen, *(m for m in _methods if hasattr(_frozen, m)), _PSD=_Definite)


# -------- statistics of samples of ``scipy.stats``: SciPy's own source is followed


for _name in (
    *("AndersonResult", "KstestResult", "LinregressResult", "PearsonRResultBase"),
    *("SignificanceResult", "TtestResultBase"),
):
    if private(_name) is not None:  # a version of SciPy may lack it
        register_result(private(_name))


def _power(x: Any, lmbda: Any, xp: Any = None) -> Any:
    """Transform as Yeo and Johnson: SciPy's source has no derivative at the powers 0 and 2."""
    above, (up, down) = readable(x) >= 0, (lmbda, 2 - lmbda)
    return v.where(
        above,
        v.boxcox1p(v.where(above, x, 0.0), up),
        -v.boxcox1p(v.where(above, 0.0, -x), down),
    )


instead_of(private("_yeojohnson_transform"), _power)


def _variance(
    x: Any,
    *,
    correction: Any = 0,
    nan_policy: str = "propagate",
    compute: Any = np.nanvar,
    **how: Any,
) -> Any:
    """Compute a variance, or its root; where SciPy's source omits NaN, it multiplies NaN by 0."""
    if varies(correction):  # SciPy's source leaves it out where it is 0
        n = np.sum(~np.isnan(readable(x)), how.get("axis"), keepdims=how.get("keepdims", False))
        biased = _variance(x, nan_policy=nan_policy, **how)
        y = biased * (n / np.where(n > readable(correction), n - correction, np.nan))
        return y if compute is np.nanvar else y**0.5
    if nan_policy != "omit":
        return followed(private("_xp_var"))(x, correction=correction, nan_policy=nan_policy, **how)
    of: dict[str, Any] = {"axis": how.get("axis"), "keepdims": how.get("keepdims", False)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # for too few numbers, as SciPy
        return compute(x, ddof=correction, **of)


def _deviation(
    of_mean: bool,
    a: Any,
    limits: Any = None,
    inclusive: Any = (True, True),
    axis: Any = 0,
    ddof: Any = 1,
) -> Any:
    """Compute ``tstd``, or ``tsem``; where all numbers are equal, its derivative is 0."""
    kept, _ = followed(private("_put_val_to_limits"))(a, limits, inclusive, xp=np)
    y = _variance(kept, correction=ddof, nan_policy="omit", compute=np.nanstd, axis=axis)
    return y / np.sum(~np.isnan(readable(kept)), axis) ** 0.5 if of_mean else y


def _of_quantile(*given: Any) -> Any:
    """Prepare a quantile; SciPy's source leaves out the points whose weight is 0."""
    if varies(given[-1]) and not np.all(readable(given[-1])):  # the weights
        reject("quantile has no derivative in weights that are 0; leave these points out")
    return followed(private("_quantile_iv"))(*given)


def _log_likelihood(x: Any, *, lmb: Any, axis: int = 0) -> Any:
    """Compute that of Yeo and Johnson: SciPy's source has no derivative where x is 0."""
    x = array_of(x)
    above = readable(x) >= 0
    logs = v.where(above, v.log1p(v.where(above, x, 0.0)), -v.log1p(v.where(above, 0.0, -x)))
    spread = v.log(v.var(_power(x, lmb), axis=axis))
    return (lmb - 1) * v.sum(logs, axis=axis) - x.shape[axis] / 2 * spread


def _log_likelihood_of_powers(x: Any, *, lmb: Any, axis: int = 0) -> Any:
    """Compute that of Box and Cox: SciPy's source has another formula at the power 0."""
    x = array_of(x)
    logs = v.log(x)
    # The variance of powers is computed around 1 and scaled by a power, which keeps its digits.
    size = np.mean(readable(logs), axis=axis, keepdims=True)
    spread = v.log(v.var(v.boxcox(x / np.exp(size), lmb), axis=axis))
    spread = spread + 2 * lmb * np.squeeze(size, axis)
    return (lmb - 1) * v.sum(logs, axis=axis) - x.shape[axis] / 2 * spread


# SciPy's decorators leave out NaN before.
instead_of(inspect.unwrap(private("_yeojohnson_llf")), _log_likelihood)
instead_of(inspect.unwrap(private("_boxcox_llf")), _log_likelihood_of_powers)
instead_of(sc.i0e, i0e)
instead_of(sc.i1e, i1e)
instead_of(private("_xp_var"), _variance)
instead_of(private("_var"), lambda x, axis=0, ddof=0, **_: _variance(x, axis=axis, correction=ddof))
instead_of(private("_quantile_iv"), _of_quantile)
if private("_put_val_to_limits") is not None:
    instead_of(inspect.unwrap(native.tstd), functools.partial(_deviation, False))
    instead_of(inspect.unwrap(native.tsem), functools.partial(_deviation, True))
instead_of(  # of the matrix of ``np.cov`` the elements are read one by one
    inspect.unwrap(native.linregress),
    followed(
        inspect.unwrap(native.linregress),
        np=numpy_with(cov=lambda *xs, **how: SimpleNamespace(flat=np.cov(*xs, **how).ravel())),
    ),
)
with_shortcuts(native.iqr, private("_power_divergence") or native.power_divergence)
FOLLOWED: dict[str, Any] = follow_all(
    native,
    *("alexandergovern", "bartlett", "boxcox", "boxcox_llf", "chisquare"),
    *("circmean", "circstd", "circvar", "combine_pvalues", "cramervonmises", "describe"),
    *("differential_entropy", "directional_stats", "entropy", "f_oneway", "fligner", "gmean"),
    *("gstd", "gzscore", "hmean", "iqr", "jarque_bera", "kendalltau", "ks_2samp", "kstat"),
    *(
        "boxcox_normmax",
        "yeojohnson_normmax",
        "kstatvar",
        "kurtosis",
        "kurtosistest",
        "levene",
        "linregress",
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
)
FOLLOWED |= follow_all(contingency, "chi2_contingency") | {
    name: constant(getattr(native, name))
    for name in (
        *("ansari", "brunnermunzel", "friedmanchisquare", "kruskal", "mannwhitneyu"),
        *("median_test", "percentileofscore", "ranksums", "somersd", "weightedtau", "wilcoxon"),
        *("bws_test", "cramervonmises_2samp", "page_trend_test"),
    )
}


_pmean = FOLLOWED["pmean"]


@stands_for(native.pmean)
def pmean(a: Any, p: Any, **how: Any) -> Any:
    """Compute a power mean, as ``scipy.stats.pmean``, in the numbers and the weights."""
    if varies(p):
        reject("pmean has no derivative in the power; write np.mean(a**p)**(1 / p)")
    return _pmean(a, p, **how)


FOLLOWED["pmean"] = pmean


def _log_kernels(points: Any, weights: Any, at: Any, factor: Any, _: Any) -> Any:
    """Compute the logarithm of a sum of Gaussian kernels, as SciPy's compiled loop."""
    white = [v.solve_triangular(factor, array_of(x).T).T for x in (points, at)]
    apart = np.sum((white[1][:, None] - white[0]) ** 2, axis=-1)
    scale = np.sum(np.log(np.diag(factor))) + 0.5 * factor.shape[0] * np.log(2 * np.pi)
    logs = v.logsumexp(np.log(weights[:, 0]) - 0.5 * apart, axis=1) - scale
    return logs[:, None]


gaussian_kde = follow_class(
    native.gaussian_kde,
    *("evaluate", "__call__", "pdf", "logpdf", "integrate_box_1d", "integrate_gaussian"),
    # SciPy indexes its loops by the precision.
    gaussian_kernel_estimate=defaultdict(lambda: lambda *xs: np.exp(_log_kernels(*xs))),
    gaussian_kernel_estimate_log=defaultdict(lambda: _log_kernels),
    _get_output_dtype=lambda *_: (None, None),
)
advise(native.gaussian_kde.__init__, taken_from(native.gaussian_kde))
refused(
    native,
    {
        "false_discovery_control": "write np.clip(np.minimum.accumulate((q * len(q) / "
        "np.arange(1, len(q) + 1))[::-1]), 0, 1)[::-1], with q = np.sort(ps)",
        "siegelslopes": "write np.median(np.stack([np.median((y[x != a] - b) / (x[x != a] - a)) "
        "for a, b in zip(x, y)])) for the slope, or theilslopes(y, x)",
        "shapiro": "write jarque_bera(x), whose statistic has one",
    },
)

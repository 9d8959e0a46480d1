"""Calls of ``scipy.stats``."""

from __future__ import annotations

import numpy as np
import scipy.stats as native

from tests.libraries.scipy.samples.common import definite, draw, sample

X, Y, P = draw(12), draw(12, seed=1), abs(draw(12, seed=2)) + 0.3
G = draw(6, 3)
COV = definite(3)
ONE = np.array(1.2)

for _name in ("describe",):
    sample(f"stats.{_name}", X, call=lambda f, x: f(x).kurtosis)
for _name in (
    "skew",
    "kurtosis",
    "zscore",
    "sem",
    "iqr",
    "gstd",
    "median_abs_deviation",
    "tmean",
    "tvar",
    "tstd",
    "tsem",
    "tmin",
    "tmax",
    "circmean",
    "circvar",
    "circstd",
    "differential_entropy",
    "kstat",
    "kstatvar",
    "expectile",
):
    sample(f"stats.{_name}", P if _name == "gstd" else X)
sample("stats.skew", G, call=lambda f, g: f(g, axis=None, bias=False))
sample("stats.kurtosis", G, call=lambda f, g: f(g, axis=1, fisher=False, bias=False))
sample("stats.moment", X, call=lambda f, x: f(x, order=3))
sample("stats.lmoment", X, call=lambda f, x: f(x))
for _name in ("gmean", "hmean", "entropy", "variation", "gzscore"):
    sample(f"stats.{_name}", P)
sample("stats.gmean", P, abs(Y), call=lambda f, p, w: f(p, weights=w))
sample("stats.pmean", P, call=lambda f, p: f(p, 3))
sample("stats.entropy", P, abs(Y), call=lambda f, p, q: f(p, q, base=2))
sample("stats.zmap", X, Y)
sample("stats.trim_mean", X, call=lambda f, x: f(x, 0.2))
sample("stats.trimboth", X, call=lambda f, x: np.sort(f(x, 0.2)))
sample("stats.trim1", X, call=lambda f, x: np.sort(f(x, 0.2)))
sample("stats.sigmaclip", X, call=lambda f, x: f(x, 2, 2)[0])
sample("stats.quantile", X, np.array([0.3, 0.6]))
sample("stats.scoreatpercentile", X, call=lambda f, x: f(x, 30))
sample("stats.obrientransform", X, Y, call=lambda f, x, y: f(x, y)[0])
sample("stats.mode", X, call=lambda f, x: f(x).mode)
sample("stats.boxcox", P, ONE)
sample("stats.boxcox", P, call=lambda f, p: f(p)[0], step=1e-4)
sample("stats.boxcox_llf", ONE, P)
sample("stats.yeojohnson", X, ONE)
sample("stats.yeojohnson", X, call=lambda f, p: f(p)[0], step=1e-4)
sample("stats.yeojohnson_llf", ONE, X)
sample("stats.boxcox_normmax", P, call=lambda f, p: f(p, method="mle"), step=1e-4)
sample("stats.yeojohnson_normmax", X, step=1e-4)
for _name in (
    "pearsonr",
    "linregress",
    "ttest_ind",
    "ttest_rel",
    "bartlett",
    "levene",
    "fligner",
    "f_oneway",
    "pointbiserialr",
    "ansari",
    "mood",
    "siegelslopes",
    "theilslopes",
    "weightedtau",
    "kendalltau",
    "spearmanr",
):
    sample(f"stats.{_name}", X, Y, call=lambda f, x, y: f(x, y)[0])
for _name in ("pearsonr", "ttest_ind", "ttest_rel", "f_oneway", "bartlett"):
    sample(f"stats.{_name}", X, Y, call=lambda f, x, y: f(x, y).pvalue)
for _part in ("intercept", "stderr", "rvalue", "pvalue", "intercept_stderr"):
    sample("stats.linregress", X, Y, call=lambda f, x, y, part=_part: getattr(f(x, y), part))
sample("stats.ttest_ind", X, Y, call=lambda f, x, y: f(x, y, equal_var=False).statistic)
sample("stats.ttest_1samp", X, ONE, call=lambda f, x, m: f(x, m).statistic)
sample("stats.ttest_ind_from_stats", ONE, ONE, call=lambda f, m, s: f(m, s, 10, 0.3, 1.1, 12)[0])
for _name in ("jarque_bera", "skewtest", "kurtosistest", "normaltest", "shapiro"):
    sample(f"stats.{_name}", draw(24), call=lambda f, x: f(x)[0])
sample("stats.anderson", X, call=lambda f, x: f(x, method="interpolate").statistic)
sample("stats.chisquare", P, call=lambda f, p: f(p)[0])
sample("stats.power_divergence", P, call=lambda f, p: f(p, lambda_="log-likelihood")[0])
sample("stats.chi2_contingency", P, call=lambda f, p: f(np.reshape(p, (3, 4)))[0])
sample("stats.combine_pvalues", np.array([0.2, 0.4, 0.3]), call=lambda f, p: f(p)[0])
sample(
    "stats.combine_pvalues", np.array([0.2, 0.4, 0.3]), call=lambda f, p: f(p, method="stouffer")[1]
)
sample("stats.alexandergovern", X, Y, call=lambda f, x, y: f(x, y).statistic)
sample("stats.cramervonmises", X, call=lambda f, x: f(x, native.norm.cdf).statistic)
for _name in ("kstest", "ks_1samp"):
    sample(f"stats.{_name}", X, call=lambda f, x: f(x, native.norm.cdf)[0])
sample("stats.wasserstein_distance", X, Y)
sample("stats.energy_distance", X, Y)
sample("stats.directional_stats", G, call=lambda f, g: f(g).mean_direction)
sample("stats.binned_statistic", X, Y, call=lambda f, x, y: f(x, y, "mean", bins=3)[0])
sample("stats.cumfreq", X, call=lambda f, x: f(x)[0])
sample("stats.ecdf", X, call=lambda f, x: f(x).cdf.quantiles)
sample("stats.probplot", X, call=lambda f, x: f(x)[1][0])
sample("stats.gaussian_kde", X, np.array([0.3, 1.0]), call=lambda f, x, at: f(x)(at))
sample(
    "stats.gaussian_kde",
    X,
    np.array([0.3, 1.0]),
    call=lambda f, x, at: f(x, bw_method=0.4).logpdf(at),
)
sample(
    "stats.gaussian_kde",
    G,
    draw(3, 2),
    P[:3],
    call=lambda f, x, at, w: f(x.T, weights=np.concatenate([w, w]), bw_method="silverman").evaluate(
        at
    ),
)
sample("stats.rankdata", X)
sample("stats.ppcc_max", P)
sample("stats.bayes_mvs", X, call=lambda f, x: f(x)[0][0])

for _name in ("logpdf", "pdf"):
    sample(
        "stats.multivariate_normal",
        draw(3),
        draw(3, seed=1),
        COV,
        call=lambda f, x, m, c, n=_name: getattr(f, n)(x, m, c),
    )
    sample(
        "stats.multivariate_t",
        draw(3),
        draw(3, seed=1),
        COV,
        call=lambda f, x, m, c, n=_name: getattr(f, n)(x, m, c, df=4.0),
    )
    sample(
        "stats.dirichlet",
        P[:3],
        call=lambda f, a, n=_name: getattr(f, n)(np.array([0.2, 0.3, 0.5]), a),
    )
    sample(
        "stats.wishart", COV, definite(3, 1), call=lambda f, x, s, n=_name: getattr(f, n)(x, 5.0, s)
    )
    sample(
        "stats.invwishart",
        COV,
        definite(3, 1),
        call=lambda f, x, s, n=_name: getattr(f, n)(x, 5.0, s),
    )
    sample(
        "stats.matrix_normal",
        draw(3, 2),
        COV,
        call=lambda f, x, c, n=_name: getattr(f, n)(x, np.zeros((3, 2)), c, np.eye(2)),
    )
    sample(
        "stats.vonmises_fisher",
        P[:3],
        call=lambda f, m, n=_name: getattr(f, n)(
            np.array([0.0, 0.6, 0.8]), m / np.sqrt((m * m).sum()), 2.0
        ),
    )
sample(
    "stats.multivariate_normal",
    draw(3),
    draw(3, seed=1),
    COV,
    call=lambda f, x, m, c: f(m, c).logpdf(x),
)
sample("stats.multivariate_normal", COV, call=lambda f, c: f.entropy(np.zeros(3), c))
sample("stats.multinomial", P[:3], call=lambda f, p: f.logpmf([1, 2, 3], 6, p / p.sum()))
sample("stats.dirichlet_multinomial", P[:3], call=lambda f, a: f.logpmf([1, 2, 3], a, 6))
sample("stats.norm", X, ONE, ONE + 1, call=lambda f, x, m, s: f(m, s).logpdf(x))
sample("stats.norm", X, call=lambda f, x: np.stack(f.fit(x)))
sample("stats.expon", P, call=lambda f, x: f.fit(x, floc=0)[1])
sample("stats.gamma", P, call=lambda f, x: np.stack(f.fit(x, floc=0)), step=1e-3)
sample("stats.norm", ONE, ONE, call=lambda f, m, s: f.entropy(m, s))
sample("stats.norm", ONE, ONE, call=lambda f, m, s: f.mean(m, s) + f.var(m, s) + f.std(m, s))
sample("stats.gamma", ONE, ONE, call=lambda f, a, s: f.stats(a, scale=s)[1])
sample("stats.norm", ONE, ONE, call=lambda f, m, s: np.stack(f.interval(0.9, m, s)))
sample("stats.norm", ONE, ONE, call=lambda f, m, s: f.expect(lambda x: x**2, loc=m, scale=s))
sample("stats.norm", ONE, ONE, call=lambda f, m, s: f.rvs(m, s, size=3, random_state=0))
sample("stats.norm", ONE, ONE, call=lambda f, m, s: f.moment(3, m, s))
sample("stats.norm", X, ONE, call=lambda f, x, s: f.nnlf((0.0, s), x))
sample("stats.poisson", ONE, call=lambda f, m: f.logpmf(np.arange(4), m))
sample("stats.poisson", ONE, call=lambda f, m: f.cdf(np.arange(4), m))
sample("stats.binom", np.array(0.3), call=lambda f, p: f.pmf(np.arange(4), 5, p))
sample("stats.binom", np.array(0.3), call=lambda f, p: f.logcdf(np.arange(4), 5, p))
sample("stats.nbinom", np.array(2.3), np.array(0.3), call=lambda f, n, p: f.sf(np.arange(4), n, p))
sample("stats.geom", np.array(0.3), call=lambda f, p: f.logpmf(np.arange(1, 4), p))
sample(
    "stats.betabinom",
    np.array(2.3),
    np.array(0.7),
    call=lambda f, a, b: f.logpmf(np.arange(4), 5, a, b),
)
sample("stats.Normal", X, ONE, call=lambda f, x, s: f(mu=0.0, sigma=s).logpdf(x))
sample(
    "stats.Mixture",
    X,
    ONE,
    call=lambda f, x, s: f([native.Normal(mu=0.0, sigma=1.0)], weights=[1.0]).logpdf(x),
)
sample("stats.order_statistic", X, call=lambda f, x: f(native.Normal(), r=1, n=3).pdf(x))
sample(
    "stats.rv_histogram",
    X,
    call=lambda f, x: f((np.array([1.0, 2, 3]), np.array([-3.0, 0, 1, 3]))).pdf(x),
)
for _dist in sorted(vars(native)):
    _native = getattr(native, _dist)
    if isinstance(_native, native.rv_continuous) and _dist != "erlang":
        _x = np.asarray(_native.ppf(0.3, *dict(native._distr_params.distcont).get(_dist, ())))
        _args = [np.array(float(a)) for a in dict(native._distr_params.distcont).get(_dist, ())]
        for _name in ("logpdf", "cdf"):
            sample(
                f"stats.{_dist}", _x, *_args, call=lambda f, x, *a, n=_name: getattr(f, n)(x, *a)
            )

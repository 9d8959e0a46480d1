"""Calls of what is seldom called, in all modules."""

from __future__ import annotations

import numpy as np
import scipy.interpolate
import scipy.sparse
import scipy.spatial.transform
import scipy.stats as native

from tests.libraries.scipy.samples.common import definite, draw, sample, symmetric

U = np.array([0.2, 0.4, 0.7])
P = abs(draw(5)) + 0.3
THETA, PHI = np.linspace(0.3, 2.8, 8), np.linspace(0.1, 6.0, 9)

# special
for n in ("chebyc", "chebys", "hermitenorm", "sh_chebyt", "sh_chebyu", "sh_legendre"):
    sample(f"special.{n}", U, call=lambda f, x: f(3)(x))
for n in ("gegenbauer", "genlaguerre"):
    sample(f"special.{n}", U, call=lambda f, x: f(3, 0.5)(x))
    sample(f"special.{n}", np.array(0.6), call=lambda f, a: f(3, a)(0.4))
sample("special.jacobi", U, call=lambda f, x: f(3, 0.5, 1.2)(x))
sample("special.jacobi", np.array(0.5), np.array(1.2), call=lambda f, a, b: f(3, a, b)(0.4))
sample("special.sh_jacobi", U, call=lambda f, x: f(3, 2.5, 1.2)(x))
sample("special.roots_gegenbauer", np.array(0.6), call=lambda f, a: f(3, a)[0])
sample("special.cg_roots", np.array(0.6), call=lambda f, a: f(3, a)[0])
sample("special.j_roots", np.array(0.6), np.array(1.1), call=lambda f, a, b: f(3, a, b)[0])
sample("special.la_roots", np.array(0.6), call=lambda f, a: f(3, a)[1])
sample("special.js_roots", np.array(2.6), np.array(1.1), call=lambda f, a, b: f(3, a, b)[0])
sample("special.roots_sh_jacobi", np.array(2.6), np.array(1.1), call=lambda f, a, b: f(3, a, b)[0])
sample("special.ellip_harm_2", np.array(9.0), call=lambda f, s: f(5.0, 8.0, 1, 1, s))
sample("special.ellip_normal", np.array(5.0), np.array(8.0), call=lambda f, a, b: f(a, b, 1, 1))
sample("special.lmbda", np.float64(0.7), call=lambda f, x: f(2, x))
sample("special.lqn", np.array(0.7), call=lambda f, x: f(2, x))
sample("special.lqmn", np.array(0.7), call=lambda f, x: f(1, 2, x))
sample("special.mathieu_even_coef", np.float64(0.7), call=lambda f, x: f(2, x))
sample("special.mathieu_odd_coef", np.float64(0.7), call=lambda f, x: f(2, x))
sample("special.obl_cv_seq", np.float64(0.7), call=lambda f, x: f(1, 3, x))
sample("special.pro_cv_seq", np.float64(0.7), call=lambda f, x: f(1, 3, x))
for n in ("pbdv_seq", "pbvv_seq"):
    sample(f"special.{n}", np.float64(0.7), call=lambda f, x: f(1.5, x))
sample("special.pbdn_seq", np.float64(0.7), call=lambda f, x: f(2, x))
for n in ("riccati_jn", "riccati_yn"):
    sample(f"special.{n}", np.float64(0.7), call=lambda f, x: f(2, x))

# fft
sample("fft.fhtoffset", np.array(0.3), np.array(0.2), call=lambda f, d, b: f(d, 0.5, bias=b))

# signal
b, a = np.array([0.2, 0.3]), np.array([1.0, -0.5, 0.2])
A = np.array([[-0.5, 0.2], [0.1, -0.3]])
B = np.array([[1.0], [0.5]])
C = np.array([[1.0, 0.3]])
D = np.array([[0.1]])
sample(
    "signal.StateSpace", A, B, C, D, call=lambda f, *q: f(*q).output(np.ones(4), np.arange(4.0))[1]
)
sample("signal.StateSpace", A, B, C, D, call=lambda f, *q: f(*q).A)
sample("signal.TransferFunction", b, a, call=lambda f, b, a: f(b, a).freqresp([0.5, 1.0])[1])
sample(
    "signal.ZerosPolesGain",
    np.array([0.3]),
    np.array([-0.5, -0.2]),
    np.array(1.5),
    call=lambda f, z, p, k: f(z, p, k).freqresp([0.5, 1.0])[1],
)
sample("signal.lti", b, a, call=lambda f, b, a: f(b, a).freqresp([0.5, 1.0])[1])
sample("signal.dlti", b, a, call=lambda f, b, a: f(b, a, dt=0.1).freqresp([0.5, 1.0])[1])
sample("signal.abcd_normalize", A, B, C, D)
sample("signal.dbode", b, a, call=lambda f, b, a: f((b, a, 0.1), w=[0.3, 0.8])[1])
sample("signal.dfreqresp", b, a, call=lambda f, b, a: f((b, a, 0.1), w=[0.3, 0.8])[1])
sample("signal.dimpulse", b, a, call=lambda f, b, a: f((b, a, 0.1), n=5)[1][0])
sample("signal.dstep", b, a, call=lambda f, b, a: f((b, a, 0.1), n=5)[1][0])
for n in ("cheb1ap",):
    sample(f"signal.{n}", np.array(1.2), call=lambda f, r: f(3, r)[1])
sample("signal.cheb2ap", np.array(20.0), call=lambda f, r: f(3, r)[1])
sample("signal.ellipap", np.array(1.2), np.array(20.0), call=lambda f, r, s: f(3, r, s)[1])
sample(
    "signal.ellip",
    np.array(1.2),
    np.array(20.0),
    np.array(0.3),
    call=lambda f, r, s, w: f(3, r, s, w),
)
sample(
    "signal.iirdesign",
    np.array(0.2),
    np.array(0.5),
    call=lambda f, w, x: f(w, x, 1.0, 20.0, ftype="butter"),
)
sample("signal.closest_STFT_dual_window", P, call=lambda f, w: f(w, 2)[0])
sample("signal.czt_points", np.array([0.9, 0.2]), call=lambda f, w: f(4, w=w[0] + 1j * w[1]))
sample("signal.firwin_2d", np.array(0.4), call=lambda f, c: f((5, 5), ("hamming", "hamming"), fc=c))
sample("signal.gammatone", np.array(0.3), call=lambda f, w: f(w, "iir"))
sample("signal.gammatone", np.array(0.3), call=lambda f, w: f(w, "fir"))
sample("signal.iircomb", np.array(0.25), np.array(20.0), call=lambda f, w, q: f(0.25, q))
sample(
    "signal.invresz",
    np.array([0.5, 1.2]),
    np.array([0.3, -0.4]),
    call=lambda f, r, p: f(r, p, [0.1]),
)
sample("signal.kaiser_atten", np.array(0.2), call=lambda f, w: f(21, w))
sample("signal.kaiser_beta", np.array(45.0))
sample("signal.kaiser_beta", np.array(60.0))
sample("signal.kaiserord", np.array(45.0), call=lambda f, r: f(r, 0.2)[1])
sample("signal.residuez", b, a, call=lambda f, b, a: f(b, a))
sample("signal.ss2zpk", A, B, C, D, call=lambda f, *q: f(*q)[1])
sample("signal.zpk2ss", np.array([0.3]), np.array([-0.5, -0.2]), np.array(1.5))
sample("signal.unique_roots", np.array([0.3, 1.2]), call=lambda f, r: f(r)[0])
sample("signal.remez", np.array(0.1), call=lambda f, w: f(9, [0, w, 0.3, 0.5], [1, 0]))
sample(
    "signal.band_stop_obj",
    np.array(0.3),
    call=lambda f, w: f(w, 0, np.array([0.2, 0.6]), np.array([0.3, 0.5]), 1.0, 20.0, "butter"),
)
sample("signal.buttord", np.array(0.2), call=lambda f, w: f(w, 0.5, 1.0, 20.0)[1])
sample("signal.cheb1ord", np.array(0.2), call=lambda f, w: f(w, 0.5, 1.0, 20.0)[1])
sample("signal.cheb2ord", np.array(0.2), call=lambda f, w: f(w, 0.5, 1.0, 20.0)[1])
sample("signal.ellipord", np.array(0.2), call=lambda f, w: f(w, 0.5, 1.0, 20.0)[1])
sample("signal.findfreqs", b, a, call=lambda f, b, a: f(b, a, 5))


def _doubled(i, o):
    o[...] = i[1:-1] * 2 + i[:-2]


sample("ndimage.generic_filter1d", draw(5), call=lambda f, x: f(x, _doubled, 3))

# interpolate
xs = np.linspace(0, 1, 9)
gx, gy = [q.ravel() for q in np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 1, 5))]
Z = draw(25)
sample("interpolate.AAA", np.exp(xs), call=lambda f, y: f(xs, y)(0.33))
sample(
    "interpolate.LSQBivariateSpline",
    Z,
    call=lambda f, z: f(gx, gy, z, [0.5], [0.5], kx=2, ky=2)(0.3, 0.4),
)
sample(
    "interpolate.SmoothBivariateSpline",
    Z,
    call=lambda f, z: f(gx, gy, z, kx=2, ky=2, s=0)(0.3, 0.4),
)
sample(
    "interpolate.RectSphereBivariateSpline",
    draw(8, 9),
    call=lambda f, r: f(THETA, PHI, r)(0.7, 1.2),
)
sample(
    "interpolate.approximate_taylor_polynomial",
    np.array(0.7),
    call=lambda f, p: f(lambda x: np.exp(p * x), 0.2, 2, 0.5).coeffs,
)
_tck = scipy.interpolate.bisplrep(gx, gy, Z, kx=2, ky=2, s=0)
sample("interpolate.bisplev", np.array(0.3), np.array(0.4), call=lambda f, x, y: f(x, y, _tck))
sample(
    "interpolate.bisplev",
    np.array(_tck[2]),
    call=lambda f, c: f(0.3, 0.4, [_tck[0], _tck[1], c, 2, 2]),
)
sample("interpolate.bisplrep", Z, call=lambda f, z: f(gx, gy, z, kx=2, ky=2, s=0)[2])
_t = scipy.interpolate.splrep(xs, np.sin(6 * xs))
sample("interpolate.insert", np.array(_t[1]), call=lambda f, c: f(0.42, (_t[0], c, 3))[1])

# optimize
sample(
    "optimize.fmin_cobyla",
    np.array(0.7),
    call=lambda f, p: f(lambda z: (z[0] - p) ** 2 + z[0] ** 2, [0.1], [], rhoend=1e-9),
    step=1e-3,
)
sample(
    "optimize.fmin_ncg",
    np.array(0.7),
    call=lambda f, p: f(
        lambda z: (z[0] - p) ** 2 + z[0] ** 2,
        [0.1],
        lambda z: np.stack([2 * (z[0] - p) + 2 * z[0]]),
        disp=0,
    ),
)

# spatial
sample(
    "spatial.HalfspaceIntersection",
    np.array([-1.0, -0.9, 0, 0]),
    call=lambda f, q: f(
        np.stack(
            [
                np.array([1.0, 0, 0]) + q[0] * np.array([0, 0, 1]),
                np.array([0, 1.0, 0]) + q[1] * np.array([0, 0, 1]),
                np.array([-1.0, 0, 0]) + q[2] * np.array([0, 0, 1.0]),
                np.array([0, -1.0, 0]) + q[3] * np.array([0, 0, 1.0]),
            ]
        ),
        np.array([0.4, 0.4]),
    ).intersections.sum(),
)
pts = draw(6, 2)
sample("spatial.cKDTree", draw(2), call=lambda f, q: f(pts).query(q)[0])
R = np.array([[0.1, 0.2, 0.3], [0.2, 0.1, -0.3], [0.5, 0.1, 0.2]])
sample(
    "spatial.transform.RotationSpline",
    R,
    call=lambda f, r: f([0.0, 1, 2], scipy.spatial.transform.Rotation.from_rotvec(r))(
        0.7
    ).as_rotvec(),
)
sample("spatial.transform.RigidTransform", draw(3), call=lambda f, x: f(np.eye(4)).apply(x))
sample(
    "spatial.transform.RigidTransform",
    draw(3),
    call=lambda f, x: f.from_translation(x).apply([1.0, 2, 3]),
)

# sparse
M = np.where(abs(draw(4, 4)) > 0.5, draw(4, 4), 0.0)
M4 = M
for n in ("bsr_matrix", "dia_matrix", "dok_array", "dok_matrix", "lil_array", "lil_matrix"):
    sample(f"sparse.{n}", M, call=lambda f, m: f(m) @ np.ones(4))
sample(
    "sparse.swapaxes",
    np.array([1.0, 2, 3]),
    call=lambda f, d: (
        f(scipy.sparse.coo_array((d, ([0, 1, 2], [2, 0, 1])), shape=(3, 3)), 0, 1) @ np.arange(3.0)
    ),
)
sample(
    "sparse.permute_dims",
    np.array([1.0, 2, 3]),
    call=lambda f, d: (
        f(scipy.sparse.coo_array((d, ([0, 1, 2], [2, 0, 1])), shape=(3, 3)), (1, 0))
        @ np.arange(3.0)
    ),
)
sample(
    "sparse.expand_dims",
    np.array([1.0, 2, 3]),
    call=lambda f, d: (
        f(scipy.sparse.coo_array((d, ([0, 1, 2],)), shape=(3,)), axis=0) @ np.arange(3.0)
    ),
)
K = definite(4)
sample(
    "sparse.linalg.SuperLU",
    draw(4),
    call=lambda f, b: scipy.sparse.linalg.splu(scipy.sparse.csc_array(K)).solve(b),
)
sample(
    "sparse.linalg.lobpcg",
    definite(12),
    call=lambda f, k: f(
        symmetric(k), np.linspace(0, 1, 12)[:, None] ** [[0, 1]], maxiter=400, tol=1e-12
    )[0],
    step=1e-4,
)
sample(
    "sparse.linalg.funm_multiply_krylov", definite(4), draw(4), call=lambda f, k, x: f(np.exp, k, x)
)

# stats
for n in ("Logistic",):
    sample(f"stats.{n}", np.array(0.4), call=lambda f, x: f().logpdf(x))
sample("stats.Uniform", np.array(0.4), call=lambda f, b: f(a=0.0, b=1.0 + b).entropy())
sample("stats.Binomial", np.array(0.4), call=lambda f, p: f(n=5, p=p).logpmf(2))
for n, k, q in [
    ("bernoulli", 1, (0.3,)),
    ("betanbinom", 2, (3, 1.5, 2.5)),
    ("boltzmann", 2, (0.7, 6)),
    ("dlaplace", 2, (0.8,)),
    ("logser", 2, (0.6,)),
    ("planck", 2, (0.5,)),
    ("skellam", 2, (3.0, 4.0)),
    ("yulesimon", 3, (2.5,)),
    ("zipf", 2, (2.5,)),
    ("zipfian", 2, (1.5, 6)),
    ("nchypergeom_fisher", 2, (14, 6, 5, 0.8)),
    ("nchypergeom_wallenius", 2, (14, 6, 5, 0.8)),
    ("poisson_binom", 2, None),
]:
    if n == "poisson_binom":
        sample("stats.poisson_binom", np.array([0.2, 0.5, 0.7]), call=lambda f, p: f.logpmf(2, p))
        continue
    idx = [i for i, x in enumerate(q) if type(x) is float]

    def call(f, *z, k=k, q=q, idx=idx):
        a = list(q)
        for i, x in zip(idx, z, strict=False):
            a[i] = x
        return f.logpmf(k, *a)

    sample(f"stats.{n}", *[np.array(q[i]) for i in idx], call=call)
sample(
    "stats.erlang",
    np.array([1.3, 0.4]),
    np.array(2.0),
    call=lambda f, x, s: f.logpdf(x, 2, scale=s),
)
sample(
    "stats.matrix_t",
    draw(2, 2),
    call=lambda f, x: f.logpdf(x, df=5, row_spread=np.eye(2), col_spread=np.eye(2)),
)
sample(
    "stats.normal_inverse_gamma",
    np.array(0.4),
    np.array(1.2),
    call=lambda f, x, s: f.logpdf(x, s, mu=0.1, lmbda=1.2, a=3.0, b=1.5),
)
sample(
    "stats.multivariate_hypergeom", np.array(1.0), call=lambda f, x: x * f.logpmf([2, 1], [4, 3], 3)
)
sample("stats.relfreq", draw(5), call=lambda f, x: f(x, 3).lowerlimit)
sample("stats.boxcox_normplot", abs(draw(6)) + 0.5, call=lambda f, x: f(x, -1, 1, N=3)[1])
sample("stats.yeojohnson_normplot", draw(6), call=lambda f, x: f(x, -1, 1, N=3)[1])
sample("stats.ppcc_plot", draw(6), call=lambda f, x: f(x, 0.1, 0.4, N=3)[1])
sample("stats.mvsdist", draw(6), call=lambda f, x: f(x)[0].mean())
sample("stats.false_discovery_control", np.array([0.01, 0.04, 0.2, 0.5]))
sample(
    "stats.Covariance",
    np.array([1.0, 2.0]),
    call=lambda f, d: f.from_diagonal(d).whiten(np.array([0.4, 0.3])),
)
sample("stats.wasserstein_distance_nd", draw(3, 2), draw(3, 2, seed=2))
sample("stats.chatterjeexi", draw(6), draw(6, seed=2), call=lambda f, x, y: f(x, y).statistic)
for n in (
    "brunnermunzel",
    "kruskal",
    "ks_2samp",
    "mannwhitneyu",
    "ranksums",
    "cramervonmises_2samp",
    "epps_singleton_2samp",
):
    sample(f"stats.{n}", draw(8), draw(8, seed=2), call=lambda f, x, y: f(x, y).statistic)
sample("stats.tukey_hsd", draw(8), draw(8, seed=2), call=lambda f, x, y: f(x, y).statistic)
sample("stats.wilcoxon", draw(8), draw(8, seed=2), call=lambda f, x, y: f(x, y).statistic)
sample(
    "stats.rv_continuous",
    np.array(0.4),
    call=lambda f, x: type(
        "g", (f,), {"_pdf": lambda self, x: np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)}
    )(name="g").logpdf(x),
)
sample(
    "stats.rv_discrete",
    np.array(0.4),
    call=lambda f, p: f(values=([1, 2], [0.3, 0.7])).expect(lambda k: p * k),
)
sample("stats.CensoredData", draw(5), call=lambda f, x: native.norm.fit(f(x))[0])
sample("stats.dunnett", draw(8), draw(8, seed=2), call=lambda f, x, y: f(x, control=y).statistic)
sample(
    "stats.binned_statistic_2d",
    draw(6),
    call=lambda f, x: f(
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], x, "mean", bins=2
    ).statistic[0, 0],
)
sample("stats.make_distribution", np.array(0.4), call=lambda f, x: f(native.norm)().logpdf(x))
sample("stats.truncate", np.array(0.4), call=lambda f, x: f(native.Normal(), 0.0, 2.0).logpdf(x))
sample(
    "stats.sobol_indices",
    np.array(0.4),
    call=lambda f, p: (
        f(
            func=lambda x: x[0] * p + x[1],
            n=64,
            dists=[native.uniform()] * 2,
            rng=np.random.default_rng(0),
        ).first_order
    ),
)
sample(
    "stats.bootstrap",
    draw(6),
    call=lambda f, x: f((x,), np.mean, n_resamples=9, rng=np.random.default_rng(0)).standard_error,
)
sample(
    "stats.permutation_test",
    draw(6),
    draw(6, seed=1),
    call=lambda f, x, y: (
        f(
            (x, y),
            lambda a, b, axis=-1: np.mean(a, axis) - np.mean(b, axis),
            n_resamples=9,
            rng=np.random.default_rng(0),
        ).statistic
    ),
)
sample("stats.spearmanrho", draw(6), draw(6, seed=1), call=lambda f, x, y: f(x, y).statistic)

"""Calls as people write them: with options, callables in lists, and objects' methods."""

from __future__ import annotations

import numpy as np
import scipy.signal as native

from tests.libraries.scipy.samples.common import definite, draw, sample

X, IMAGE, KERNEL, TAPS = draw(32), draw(8, 9), draw(3, 3), draw(5)
B, A = native.butter(3, 0.3)
AT = np.array([[1.3, 2.2, -1.4], [0.7, 3.1, 9.2]])

# signal
for _mode in ("full", "same", "valid"):
    for _how in ({"boundary": "symm"}, {"boundary": "wrap"}, {"fillvalue": 2.0}):
        for _name in ("convolve2d", "correlate2d"):
            sample(
                f"signal.{_name}",
                IMAGE,
                KERNEL,
                call=lambda f, x, k, m=_mode, h=_how: f(x, k, m, **h),
            )
for _mode in ("line", "symmetric", "reflect", "antisymmetric", "edge", "wrap", "smooth"):
    sample("signal.upfirdn", TAPS, X, call=lambda f, h, x, m=_mode: f(h, x, 2, 3, mode=m))
sample("signal.resample_poly", X, call=lambda f, x: f(x, 3, 2, padtype="line"))
sample("signal.filtfilt", B, A, X, call=lambda f, b, a, x: f(b, a, x, method="gust"))
sample("signal.filtfilt", X, call=lambda f, x: f(B, A, x, method="gust", irlen=10))
sample("signal.savgol_filter", np.array(0.3), call=lambda f, d: f(X, 5, 2, deriv=1, delta=d))
sample("signal.savgol_filter", X, call=lambda f, x: f(x, 5, 2, mode="constant", cval=1.0))
sample("signal.sepfir2d", IMAGE, draw(3), draw(5), call=lambda f, x, h, k: f(x, h, k))
sample("signal.bessel", np.array(0.3), call=lambda f, w: f(3, w))
sample("signal.gammatone", np.array(2.0), call=lambda f, w: f(w, "iir", fs=16.0))
DEN, NUM, T = np.array([1.0, 0.2, 0.3]), np.array([1.0, 0.4]), np.linspace(0.0, 2.0, 9)
for _name in ("dimpulse", "dstep"):
    sample(f"signal.{_name}", DEN, call=lambda f, a: f(([1.0], a, 0.1), n=5)[1])
for _name in ("dfreqresp", "dbode"):
    sample(
        f"signal.{_name}", NUM, DEN, call=lambda f, b, a: f((b, a, 0.1), w=np.array([0.5, 1.0]))[1]
    )
sample("signal.lti", DEN + 1, call=lambda f, a: f([1.0], a).step(T=T)[1])
sample("signal.lti", DEN + 1, call=lambda f, a: f([1.0], a).output(np.sin(T), T)[1])
sample("signal.TransferFunction", DEN, call=lambda f, a: f([1.0], a).freqresp(w=[0.5, 1.0])[1])
sample("signal.TransferFunction", DEN, call=lambda f, a: f([1.0], a, dt=0.1).impulse(n=5)[1])
sample("signal.dlti", DEN, call=lambda f, a: f([1.0], a, dt=0.1).step(n=5)[1])
sample("signal.ZerosPolesGain", draw(2) / 4, call=lambda f, p: f([0.1], p, 2.0).bode(w=[0.5])[1])
sample(
    "signal.StateSpace",
    draw(2, 2),
    call=lambda f, a: f(a, draw(2, 1), draw(1, 2), draw(1, 1)).impulse(T=T)[1],
)
PEAKS = native.find_peaks(X)[0]
sample("signal.find_peaks", X, call=lambda f, x: x[f(x, height=0.0)[0]])
sample("signal.find_peaks", X, call=lambda f, x: f(x, height=-1.0)[1]["peak_heights"])
sample("signal.find_peaks", X, call=lambda f, x: f(x, threshold=0.0)[1]["left_thresholds"])
sample("signal.find_peaks", X, call=lambda f, x: f(x, prominence=0.0, width=0.1)[1]["widths"])
sample("signal.peak_prominences", X, call=lambda f, x: f(x, PEAKS)[0])
sample("signal.peak_widths", X, call=lambda f, x: f(x, PEAKS)[0])
sample("signal.argrelmax", X, call=lambda f, x: x[f(x)[0]])
sample("signal.argrelmin", X, call=lambda f, x: x[f(x)[0]])
sample("signal.argrelextrema", X, call=lambda f, x: x[f(x, np.greater)[0]])

# ndimage
for _mode in ("wrap", "grid-constant"):
    for _order in (1, 3):
        sample(
            "ndimage.map_coordinates",
            IMAGE,
            AT,
            call=lambda f, x, c, m=_mode, o=_order: f(x, c, order=o, mode=m),
        )
    sample("ndimage.shift", IMAGE, call=lambda f, x, m=_mode: f(x, (0.5, -0.3), mode=m))
    sample("ndimage.rotate", IMAGE, call=lambda f, x, m=_mode: f(x, 20.0, mode=m, cval=0.4))
for _mode in ("nearest", "grid-constant"):
    sample("ndimage.zoom", IMAGE, call=lambda f, x, m=_mode: f(x, 1.5, mode=m, grid_mode=True))
sample("ndimage.maximum_position", IMAGE, call=lambda f, x: x[f(x)])
sample("ndimage.minimum_position", IMAGE, call=lambda f, x: x[f(x)])
sample("ndimage.label", IMAGE, call=lambda f, x: f(x)[1] * x)

# linalg
M, P = draw(4, 4), definite(4)
sample("linalg.cho_factor", draw(4, 4), call=lambda f, a: f(a @ a.T + np.eye(4))[0])
sample("linalg.eigvals", M, P)
sample("linalg.eig", M, P, call=lambda f, a, b: f(a, b)[0])
sample("linalg.eig", M, P, call=lambda f, a, b: [abs(y) for y in f(a, b, left=True)])
sample("linalg.eig", M, call=lambda f, a: abs(f(a, left=True, right=False)[1]))
sample("linalg.bandwidth", M, call=lambda f, a: sum(f(np.triu(a))) * a)
sample("linalg.issymmetric", M, call=lambda f, a: f(a @ a.T) * a)
sample("linalg.ishermitian", M, call=lambda f, a: f(a @ a.T) * a)

# interpolate
KNOTS = np.array([0.0, 0.8, 1.7, 2.5, 3.9, 5.0])
VALUES, Q = np.sin(KNOTS) + 0.1 * draw(6), np.array([0.3, 1.1, 2.2, 4.4])
sample(
    "interpolate.CubicSpline", np.array(0.5), call=lambda f, a: f(KNOTS, VALUES).integrate(a, 3.0)
)
sample(
    "interpolate.make_interp_spline",
    VALUES,
    call=lambda f, y: f(KNOTS, y, bc_type=([(2, 0.3)], [(1, 0.1)]))(Q),
)
for _kind in ("nearest", "nearest-up", "previous", "next", "zero"):
    sample("interpolate.interp1d", VALUES, Q, call=lambda f, y, q, k=_kind: f(KNOTS, y, kind=k)(q))
sample(
    "interpolate.interp1d",
    VALUES,
    call=lambda f, y: f(KNOTS, y, bounds_error=False, fill_value=(y[0], y[-1]))([-1.0, 2.0, 7.0]),
)
GX, GY = np.linspace(0.0, 1.0, 6), np.linspace(0.0, 2.0, 7)
GRID, POINTS = draw(6, 7), np.array([[0.23, 0.57], [0.71, 1.3], [0.5, 1.9]])
for _method in ("cubic", "quintic", "pchip"):
    sample(
        "interpolate.RegularGridInterpolator",
        POINTS,
        call=lambda f, q, m=_method: f((GX, GY), GRID, method=m)(q),
    )
    sample(
        "interpolate.RegularGridInterpolator",
        GRID,
        call=lambda f, z, m=_method: f((GX[::-1], GY), z, method=m)(POINTS),
    )
PLACES, HEIGHTS = np.random.default_rng(0).uniform(size=(12, 2)), draw(12)
sample(
    "interpolate.RBFInterpolator",
    HEIGHTS,
    np.array([[0.4, 0.5], [0.55, 0.4]]),
    call=lambda f, z, q: f(PLACES, z, smoothing=0.1, neighbors=8)(q),
)

# integrate
K = np.array(0.7)
QUAD = "integrate.quad"
sample(QUAD, K, call=lambda f, k: f(lambda t: np.exp(-((t - k) ** 2)), -1, 1)[0])
sample(QUAD, K, call=lambda f, k: f(lambda t: np.exp(1j * k * t), 0, 1, complex_func=True)[0])
for _ends in ((0.0, np.inf), (-np.inf, np.inf), (-np.inf, 0.5)):
    sample(
        "integrate.quad_vec",
        np.array([1.0, 2.0]),
        call=lambda f, k, e=_ends: f(lambda t: np.exp(-k * t * t), *e)[0],
    )


def _hit(t, y):
    return y[0] - 0.5


def _hit_and_stop(t, y):
    return y[0] - 0.5


_hit_and_stop.terminal = True
IVP = "integrate.solve_ivp"
FINE = {"rtol": 1e-9, "atol": 1e-10}
sample(
    IVP, K, call=lambda f, k: f(lambda t, y: -k * y, (0, 5), [1.0], events=_hit, **FINE).t_events[0]
)
sample(
    IVP,
    K,
    call=lambda f, k: f(lambda t, y: -k * y, (0, 5), [1.0], events=[_hit_and_stop], **FINE).t[-1],
)
sample(
    IVP,
    K,
    call=lambda f, k: f(
        lambda t, y: [-k * y[0], k * y[0]], (0, 5), [1.0, 0.0], events=_hit, **FINE
    ).y_events[0],
)
TABLE = np.array([0.3, 0.5, 0.2, 0.4])
TIMES = np.linspace(0.0, 2.5, 5)
TIGHT = {"hmax": 0.01, "rtol": 1e-10, "atol": 1e-10}
sample(
    "integrate.odeint",
    K,
    call=lambda f, k: f(lambda y, t: -k * y * TABLE[int(t)], [1.0], TIMES, **TIGHT),
    step=1e-3,
)
sample(
    "integrate.odeint",
    TABLE,
    call=lambda f, k: f(lambda y, t: -k[int(t)] * y, [1.0], TIMES, **TIGHT),
    step=1e-3,
)
sample(
    "integrate.odeint",
    K,
    call=lambda f, k: f(lambda y, t: -k * y, [1.0], TIMES, full_output=True)[0],
)

# optimize
PAIR = np.array([1.2, 0.7])


def _system(z, p):
    return [z[0] + 0.5 * (z[0] - z[1]) ** 3 - p[0], 0.5 * (z[1] - z[0]) ** 3 + z[1] - p[1]]


def _slopes(z, p):
    d = 1.5 * (z[0] - z[1]) ** 2
    return np.array([[1 + d, -d], [-d, 1 + d]])


sample("optimize.root", PAIR, call=lambda f, p: f(_system, [0.0, 0.0], args=(p,)).x)
sample("optimize.root", PAIR, call=lambda f, p: f(_system, [0.0, 0.0], args=(p,), jac=_slopes).x)
sample("optimize.fsolve", PAIR, call=lambda f, p: f(_system, [0, 0], args=(p,)))
sample(
    "optimize.fsolve",
    PAIR,
    call=lambda f, p: f(_system, [0, 0], args=(p,), fprime=_slopes, full_output=True)[0],
)
sample(
    "optimize.root_scalar",
    K,
    call=lambda f, p: (
        f(lambda z, p: z**3 - p, x0=1.0, fprime=lambda z, p: 3 * z**2, args=(p,)).root
    ),
)
sample(
    "optimize.minimize",
    PAIR,
    call=lambda f, p: (
        f(
            lambda z: (p[0] - z[0]) ** 2 + (z[1] - p[1] * z[0]) ** 2,
            [1.0, 1.0],
            jac=lambda z: np.array(
                [-2 * (p[0] - z[0]) - 2 * p[1] * (z[1] - p[1] * z[0]), 2 * (z[1] - p[1] * z[0])]
            ),
        ).x
    ),
    step=1e-4,
)
DECAY_T = np.linspace(0.0, 2.0, 9)
DECAY = 2 * np.exp(-0.7 * DECAY_T) + 0.05 * draw(9)
for _how in (
    {"method": "trf", "ftol": 1e-12, "xtol": 1e-12, "gtol": 1e-12},
    {"xtol": 1e-12},
    {"jac": lambda t, a, b: np.stack([np.exp(-b * t), -a * t * np.exp(-b * t)], 1)},
    {"full_output": True, "ftol": 1e-12},
    {"sigma": definite(9)},
):
    sample(
        "optimize.curve_fit",
        DECAY,
        call=lambda f, y, h=_how: f(
            lambda t, a, b: a * np.exp(-b * t), DECAY_T, y, [2.0, 1.0], **h
        )[0],
        step=1e-4,
    )
sample("optimize.linear_sum_assignment", abs(draw(3, 3)), call=lambda f, c: c[f(c)])

# sparse
NUMBERS = draw(5)
WHERE = (np.array([0, 0, 1, 2, 2]), np.array([0, 2, 2, 0, 1]))
CSR = "sparse.csr_array"
for _call in (
    lambda a: a.power(2).toarray(),
    lambda a: (a**3).toarray(),
    lambda a: abs(a).sum(),
    lambda a: a.trace(),
    lambda a: a.max(),
    lambda a: a.min(),
    lambda a: a.astype(float).tocoo().data,
    lambda a: a.sin().toarray(),
    lambda a: a.expm1().toarray(),
    lambda a: a.reshape((9, 1)).toarray(),
):
    sample(CSR, NUMBERS, call=lambda f, x, c=_call: c(f((x, WHERE), shape=(3, 3))))
for _name in ("lil_array", "dok_array", "lil_matrix", "dok_matrix"):
    sample(f"sparse.{_name}", M, call=lambda f, a: f(a) @ NUMBERS[:4])

# spatial
PEOPLE, OTHERS = draw(5, 3), draw(4, 3)
sample(
    "spatial.distance.cdist",
    PEOPLE,
    OTHERS,
    call=lambda f, a, b: f(a, b, lambda u, v: np.sum((u - v) ** 2)),
)
sample("spatial.KDTree", PEOPLE, OTHERS, call=lambda f, a, b: f(a).query(b, k=2)[0])

# stats
for _name, _shapes in (
    ("t", [5.0]),
    ("weibull_min", [1.6]),
    ("pareto", [5.0]),
    ("beta", [2.0, 3.0]),
):
    for _method in ("mean", "var", "entropy"):
        sample(
            f"stats.{_name}",
            np.array([*_shapes, 1.3]),
            call=lambda f, s, m=_method: getattr(f(*list(s[:-1]), scale=s[-1]), m)(),
        )
sample("stats.norm", PAIR, call=lambda f, s: f.expect(lambda x: x**2, loc=s[0], scale=s[1]))
sample("stats.gamma", K + 1, call=lambda f, a: f.expect(np.log1p, args=(a,)))
sample("stats.multinomial", abs(draw(3)), call=lambda f, p: f.logpmf([1, 2, 3], 6, p / np.sum(p)))
sample("stats.gennorm", np.array(0.0), call=lambda f, x: f.cdf(x, 1.5))
for _name in ("wasserstein_distance", "energy_distance"):
    sample(f"stats.{_name}", draw(12), draw(9))
    sample(f"stats.{_name}", draw(4), call=lambda f, x: f(x, draw(3), [1.0, 2.0, 3.0, 1.0]))
for _name in ("ks_2samp", "mannwhitneyu", "ranksums", "kruskal"):
    sample(f"stats.{_name}", draw(12), call=lambda f, x: f(x, draw(9)).statistic * x)

# special
SUPPORT = np.array([0.1, 0.6, 0.9])
sample("special.tklmbda", SUPPORT, np.array([0.3, 1.4, 2.7]))

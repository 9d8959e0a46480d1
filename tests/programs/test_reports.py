"""Programs as in public reports of other engines: derivatives at hard points.

Each is a function of one number or vector, a point, the gradient, and the Hessian (None where the
function has none). The truth is written in closed form, or taken from fifty digits.
"""

import math
import warnings

import mpmath as mp
import numpy as np
import pytest
import scipy.interpolate as si
import scipy.linalg as sl
import scipy.spatial.distance as sd
import scipy.special as sc
import scipy.stats as st
from scipy.spatial.transform import Rotation, Slerp

import chainrules_scipy
from chainrules_compile import RecordingWarning, compile
from chainrules_py import DegeneracyWarning
from chainrules_tape import grad, hessian, jvp

nan, inf, pi = math.nan, math.inf, math.pi
I2, I3, I4 = np.eye(2), np.eye(3), np.eye(4)
W = np.array([[1.0, 2.0], [3.0, 4.0]])
TURN = np.array([[0, 0, 0, 1], [0, 0, -1, 0], [0, -1, 0, 0], [1, 0, 0, 0.0]])
"""The second derivative of the determinant of two rows."""


def of_matrix(f, rows=2):
    return lambda x: f(x.reshape(rows, -1))


def slopes(f, x):
    """Return the first and second derivatives of an mpmath function."""
    with mp.workdps(60):
        return [float(mp.diff(f, x, k)) for k in (1, 2)]


def anticommuted(w):
    """The Hessian of sum(w * (A @ A)) / 2, of A's elements."""
    units = np.eye(4).reshape(4, 2, 2)
    return np.array([[np.sum(w * (a @ b + b @ a)) / 2 for b in units] for a in units])


def of_minors(x):
    """The Hessian of a determinant of three rows, by differences, which are exact for it."""
    det = lambda d: np.linalg.det((x + d).reshape(3, 3))
    e = np.eye(9)
    return np.array(
        [[(det(a + b) - det(a - b) - det(b - a) + det(-a - b)) / 4 for b in e] for a in e]
    )


def masked_softmax(x):
    mask = np.array([[True, True], [False, False]])
    e = np.exp(np.where(mask, x.reshape(2, 2), -inf))
    return np.sum(np.where(mask, e / np.sum(e, axis=1, keepdims=True), 0.0)[:, 0])


def shifted_softmax(x):
    z = np.where([True, True, False], x, -inf)
    e = np.exp(z - np.max(z))
    return (e / np.sum(e))[0]


def safe_distances(x):
    d = (x[:, None] - x[None, :]) ** 2
    return np.sum(np.where(d > 0, np.sqrt(np.where(d > 0, d, 1.0)), 0.0))


def added_at(x):
    y = 0 * x
    np.add.at(y, np.array([0, 0]), x)
    return np.sum(y**2)


def rebuilt(a):
    u, s, vh = np.linalg.svd(a)
    return np.sum(((u * s) @ vh) ** 2)


def log_trace(a):
    w, v = np.linalg.eigh((a + a.T) / 2)
    return np.trace((v * np.log(w)) @ v.T)


MASKS = {
    "where sqrt": (
        lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)),
        [0.0, 4.0],
        [0, 0.25],
        [[0, 0], [0, -1 / 32]],
    ),
    "where div": (
        lambda x: np.sum(np.where(x != 0, 1 / x, 0.0)),
        [0.0, 2.0],
        [0, -0.25],
        [[0, 0], [0, 0.25]],
    ),
    "where log tail": (
        lambda x: np.sum(np.where(x > 0, x * np.log(x), 0.0)),
        [0.0, 1.0],
        [0, 1],
        [[0, 0], [0, 1]],
    ),
    "distances by a double where": (safe_distances, [0.0, 1.0, 3.0], [-4, 0, 4], np.zeros((3, 3))),
    "nanmean all-NaN column": (
        lambda a: np.nansum(np.nanmean(np.array([[1.0, nan], [3.0, nan]]) * a, axis=0)),
        [1.0, 1.0],
        [2, 0],
        np.zeros((2, 2)),
    ),
    "nanvar gap": (lambda a: np.nanvar(np.array([1.0, nan, 3.0]) * a), 2.0, 4.0, 2.0),
    "nanprod": (
        lambda x: np.nanprod(np.array([1.0, nan, 1.0]) * x),
        [2.0, 1.0, 0.0],
        [0, 0, 2],
        [[0, 0, 1], [0, 0, 0], [1, 0, 0]],
    ),
    "nanmax": (
        lambda x: np.nanmax(np.array([1.0, nan, 1.0]) * x),
        [2.0, 9.0, 1.0],
        [1, 0, 0],
        np.zeros((3, 3)),
    ),
    "nancumsum": (
        lambda x: np.sum(np.nancumsum(np.array([1.0, nan, 1.0]) * x)),
        [2.0, 9.0, 1.0],
        [3, 0, 1],
        np.zeros((3, 3)),
    ),
    "softmax with a row of masks": (
        masked_softmax,
        [0.0, 0.0, 1.0, 2.0],
        [0.25, -0.25, 0, 0],
        np.zeros((4, 4)),
    ),
    "softmax of a mask, shifted": (
        shifted_softmax,
        [0.0, 0.0, 9.0],
        [0.25, -0.25, 0],
        np.zeros((3, 3)),
    ),
    "attention mask -inf": (
        lambda x: (lambda z: sc.softmax(z, axis=-1)[0])(x + np.array([0, 0, -inf])),
        [0.0, 0.0, 5.0],
        [0.25, -0.25, 0],
        np.zeros((3, 3)),
    ),
    "logsumexp -inf": (
        lambda x: sc.logsumexp(np.where([False, True, True], x, -inf)),
        [3.0, 0.0, 0.0],
        [0, 0.5, 0.5],
        [[0, 0, 0], [0, 0.25, -0.25], [0, -0.25, 0.25]],
    ),
    "logsumexp -inf const": (
        lambda x: sc.logsumexp(x + np.array([-inf, 0, 0])),
        [3.0, 0.0, 0.0],
        [0, 0.5, 0.5],
        [[0, 0, 0], [0, 0.25, -0.25], [0, -0.25, 0.25]],
    ),
    "logsumexp b 0": (
        lambda x: sc.logsumexp(x, b=np.array([1.0, 0.0])),
        [-1000.0, 0.0],
        [1, 0],
        np.zeros((2, 2)),
    ),
    "logaddexp -inf": (lambda x: np.logaddexp(-inf, x), 2.0, 1.0, 0.0),
    "logaddexp.reduce -inf": (
        lambda x: np.logaddexp.reduce(np.where([False, True, True], x, -inf)),
        [3.0, 0.0, 0.0],
        [0, 0.5, 0.5],
        [[0, 0, 0], [0, 0.25, -0.25], [0, -0.25, 0.25]],
    ),
    "one-hot cross entropy at prob 0": (
        lambda x: np.sum(sc.xlogy(np.array([0.0, 1.0]), x)),
        [0.0, 0.5],
        [0, 2],
        [[0, 0], [0, -4]],
    ),
    "xlog1py w 0": (
        lambda x: np.sum(sc.xlog1py(np.array([0.0, 1.0]), x)),
        [-1.0, 0.5],
        [0, 1 / 1.5],
        [[0, 0], [0, -1 / 2.25]],
    ),
    "rel_entr 0 weight": (
        lambda q: np.sum(sc.rel_entr(np.array([0.0, 1.0]), q)),
        [0.5, 0.5],
        [0, -2],
        [[0, 0], [0, 4]],
    ),
    "kl_div 0 weight": (
        lambda q: np.sum(sc.kl_div(np.array([0.0, 1.0]), q)),
        [0.5, 0.5],
        [1, -1],
        [[0, 0], [0, 4]],
    ),
}
KINKS = {
    "max ties": (lambda x: np.max(x) * 2, [1.0, 3.0, 3.0], [0, 1, 1], np.zeros((3, 3))),
    "max ties squared": (lambda x: np.max(x, axis=0) ** 2, [1.0, 3.0], [0, 6], [[0, 0], [0, 2]]),
    "sort ties squared": (lambda x: np.sum(np.sort(x) ** 2), [3.0, 3.0, 1.0], [6, 6, 2], 2 * I3),
    "median even": (
        lambda x: np.median(x) ** 2,
        [10.0, 1.0, 3.0, 2.0],
        [0, 0, 2.5, 2.5],
        [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]],
    ),
    "quantile 1": (
        lambda x: np.quantile(x, 1.0) ** 2,
        [3.0, 1.0, 2.0],
        [6, 0, 0],
        np.diag([2.0, 0, 0]),
    ),
    "quantile 0": (
        lambda x: np.quantile(x, 0.0) ** 2,
        [3.0, 1.0, 2.0],
        [0, 2, 0],
        np.diag([0, 2.0, 0]),
    ),
    "percentile at element": (
        lambda x: np.percentile(x, 50) ** 2,
        [3.0, 1.0, 2.0],
        [0, 0, 4],
        np.diag([0, 0, 2.0]),
    ),
    "clip at bound": (lambda x: np.sum(np.clip(x, 0, 1) ** 2), [1.0, 0.5], [2, 1], None),
    "interp at knots": (
        lambda f: np.sum(np.interp([0.0, 1.0, 5.0], [0.0, 1.0, 2.0], f)),
        [1.0, 2.0, 3.0],
        [1, 1, 1],
        np.zeros((3, 3)),
    ),
    "interp outside": (
        lambda x: np.sum(np.interp(x, [0.0, 1.0], [1.0, 3.0])),
        [-1.0, 0.5, 2.0],
        [0, 2, 0],
        np.zeros((3, 3)),
    ),
    "piecewise": (
        lambda x: np.sum(np.piecewise(x, [x < 0, x >= 0], [lambda t: t**2, lambda t: np.exp(t)])),
        [-2.0, 0.0],
        [-4, 1],
        [[2, 0], [0, 1]],
    ),
    "select": (
        lambda x: np.sum(np.select([x < 0, x > 0], [np.sqrt(-x), np.sqrt(x)], 0.0)),
        [-4.0, 4.0, 0.0],
        [-0.25, 0.25, 0],
        np.diag([-1 / 32, -1 / 32, 0]),
    ),
    "pseudo_huber 0": (lambda x: sc.pseudo_huber(2.0, x), 0.0, 0.0, 1.0),
    "huber inside": (lambda x: sc.huber(2.0, x), 0.0, 0.0, 1.0),
    "x|x|": (lambda x: x * abs(x), 3.0, 6.0, 2.0),
    "abs cubed at 0": (lambda x: abs(x) ** 3, 0.0, 0.0, 0.0),
    "remainder": (lambda x: np.remainder(x, 3.0) ** 2, 4.5, 3.0, 2.0),
    "maximum.accumulate": (
        lambda x: np.sum(np.maximum.accumulate(x) ** 2),
        [1.0, 3.0, 2.0],
        [2, 12, 0],
        np.diag([2.0, 4, 0]),
    ),
}
LENGTHS = {
    "norm axis zero row": (
        of_matrix(lambda X: np.sum(np.linalg.norm(X, axis=1))),
        [0.0, 0, 3, 4],
        [0, 0, 0.6, 0.8],
        None,
    ),
    "norm away": (
        lambda x: np.linalg.norm(x),
        [3.0, 4.0],
        [0.6, 0.8],
        np.array([[16, -12], [-12, 9]]) / 125,
    ),
    "norm sq": (lambda x: np.sum(x * x), [0.0, 0.0], [0, 0], 2 * I2),
    "norm**2 at 0": (lambda x: np.linalg.norm(x) ** 2, [0.0, 0.0], [0, 0], 2 * I2),
    "norm inf tie": (lambda x: np.linalg.norm(x, inf), [3.0, -3.0], [0.5, -0.5], np.zeros((2, 2))),
    "norm 1 at 0": (lambda x: np.linalg.norm(x, 1), [0.0, -3.0], [0, -1], np.zeros((2, 2))),
    "norm 4": (lambda x: np.linalg.norm(x, 4) ** 4, [0.0, 2.0], [0, 32], [[0, 0], [0, 48]]),
    "norm 4 at 0": (lambda x: np.linalg.norm(x, 4), [0.0, 0.0], [0, 0], None),
    "nuclear at I": (
        of_matrix(lambda A: np.linalg.norm(A, "nuc")),
        [1.0, 0, 0, 1],
        [1, 0, 0, 1],
        [[0, 0, 0, 0], [0, 0.5, -0.5, 0], [0, -0.5, 0.5, 0], [0, 0, 0, 0]],
    ),
    "spectral distinct": (
        of_matrix(lambda A: np.linalg.norm(A, 2)),
        [2.0, 0, 0, 1],
        [1, 0, 0, 0],
        [[0, 0, 0, 0], [0, 2 / 3, 1 / 3, 0], [0, 1 / 3, 2 / 3, 0], [0, 0, 0, 0]],
    ),
    "Frobenius by svd at 2I": (
        of_matrix(lambda A: np.sum(np.linalg.svd(A)[1] ** 2)),
        [2.0, 0, 0, 2],
        [4, 0, 0, 4],
        2 * np.eye(4),
    ),
    "reconstruct svd": (of_matrix(rebuilt), [2.0, 0, 0, 2], [4, 0, 0, 4], 2 * np.eye(4)),
    "hypot far": (
        lambda x: np.hypot(x[0], x[1]),
        [3e200, 4e200],
        [0.6, 0.8],
        np.array([[16, -12], [-12, 9]]) / 125e200,
    ),
    "hypot tiny": (
        lambda x: np.hypot(x[0], x[1]),
        [3e-200, 4e-200],
        [0.6, 0.8],
        np.array([[16, -12], [-12, 9]]) / 125e-200,
    ),
    "norm far": (
        lambda x: np.linalg.norm(x),
        [3e100, 4e100],
        [0.6, 0.8],
        np.array([[16, -12], [-12, 9]]) / 125e100,
    ),
    "std constants": (lambda x: np.std(x), [1.0, 1, 1], [0, 0, 0], None),
    "var ddof": (lambda x: np.var(x, ddof=1), [1.0, 1, 1], [0, 0, 0], I3 - 1 / 3),
    "var": (lambda x: np.var(x), [1.0, 2.0], [-0.5, 0.5], [[0.5, -0.5], [-0.5, 0.5]]),
    "corrcoef of constants, masked": (
        lambda x: np.nan_to_num(np.corrcoef(x, np.ones(3))[0, 1]),
        [1.0, 2.0, 4.0],
        [0, 0, 0],
        np.zeros((3, 3)),
    ),
    "cov": (
        lambda x: np.cov(x, np.array([1.0, 2.0, 4.0]))[0, 1],
        [1.0, 1.0, 1.0],
        (np.array([1, 2, 4]) - 7 / 3) / 2,
        np.zeros((3, 3)),
    ),
    "layer norm": (
        lambda x: ((x - np.mean(x)) / np.sqrt(np.var(x) + 1e-2))[0],
        [1.0, 1.0],
        [5, -5],
        np.zeros((2, 2)),
    ),
    "cdist diagonal": (
        of_matrix(lambda X: np.sum(sd.cdist(X, X)), 2),
        [0.0, 0, 3, 4],
        [-1.2, -1.6, 1.2, 1.6],
        None,
    ),
    "cdist sqeuclidean": (
        of_matrix(lambda X: np.sum(sd.cdist(X, X, "sqeuclidean")), 2),
        [0.0, 0, 3, 4],
        [-12, -16, 12, 16],
        4 * np.kron([[1, -1], [-1, 1]], I2),
    ),
    "pdist equal points": (
        of_matrix(lambda X: np.sum(sd.pdist(X)), 3),
        [0.0, 0, 3, 4, 3, 4],
        [-1.2, -1.6, 0.6, 0.8, 0.6, 0.8],
        None,
    ),
    "euclidean, one coordinate equal": (
        lambda x: sd.euclidean(x, np.array([1.0, 2.0])),
        [1.0, 4.0],
        [0, 1],
        [[0.5, 0], [0, 0]],
    ),
    "cdist, one coordinate equal": (
        lambda x: sd.cdist(x[None], [[1.0, 2.0]])[0, 0],
        [1.0, 4.0],
        [0, 1],
        [[0.5, 0], [0, 0]],
    ),
    "minkowski with weights": (
        lambda x: sd.minkowski(x, np.array([1.0, 2.0]), 2, np.array([3.0, 1.0])),
        [1.0, 4.0],
        [0, 1],
        [[1.5, 0], [0, 0]],
    ),
    "Gaussian kernels at a node": (
        lambda x: si.RBFInterpolator(
            [[0.0], [1.0]], [1.0, 0.0], kernel="gaussian", epsilon=1.0, degree=-1
        )(x[None])[0],
        [0.0],
        [-2 * math.exp(-2) / (1 - math.exp(-2))],
        [[-2 * (1 + math.exp(-2)) / (1 - math.exp(-2))]],
    ),
    "cosine distance": (
        lambda x: sd.cosine(x, np.array([1.0, 1.0])),
        [1.0, 1.0],
        [0, 0],
        [[0.25, -0.25], [-0.25, 0.25]],
    ),
    "complex abs 0": (lambda x: np.sum(np.abs(x[:1] + 1j * x[1:])), [0.0, 0.0], [0, 0], None),
    "power spectrum of constant": (
        lambda x: np.sum(np.abs(np.fft.fft(x)) ** 2),
        [1.0, 1.0, 1.0],
        [6, 6, 6],
        6 * I3,
    ),
    "power spectrum, re im": (
        lambda x: np.sum(np.fft.fft(x).real ** 2 + np.fft.fft(x).imag ** 2),
        [1.0, 1.0, 1.0],
        [6, 6, 6],
        6 * I3,
    ),
    "power spectrum, conj": (
        lambda x: np.vdot(np.fft.rfft(x), np.fft.rfft(x)).real,
        [1.0, 1.0],
        [4, 4],
        4 * I2,
    ),
    "irfft rfft": (
        lambda x: np.sum(np.fft.irfft(np.fft.rfft(x), 3) ** 3),
        [1.0, 2.0, 0.0],
        [3, 12, 0],
        np.diag([6.0, 12, 0]),
    ),
    "angle on the cut": (
        lambda x: np.angle(x[0] + 1j * x[1]),
        [-1.0, 0.0],
        [0, -1],
        [[0, -1], [-1, 0]],
    ),
    "arctan2 axis": (lambda x: np.arctan2(x[0], x[1]), [1.0, 0.0], [0, -1], [[0, 1], [1, 0]]),
    "arctan2 masked origin": (
        lambda x: np.where(x[0] ** 2 + x[1] ** 2 > 0, np.arctan2(x[0], x[1]), 0.0),
        [0.0, 0.0],
        [0, 0],
        np.zeros((2, 2)),
    ),
}
POWERS = {
    "x**arange at 0": (lambda x: np.sum(x ** np.arange(4)), 0.0, 1.0, 2.0),
    "x**arange float at 0": (lambda x: np.sum(x ** np.arange(4.0)), 0.0, 1.0, 2.0),
    "vander 0": (lambda x: np.sum(np.vander(x, 4) @ np.array([1.0, 2, 3, 4])), [0.0], [3], [[4]]),
    "polyval 0": (lambda x: np.polyval([1.0, 2, 3, 4], x), 0.0, 3.0, 4.0),
    "polyval coef": (lambda c: np.polyval(c, 0.0) ** 2, [1.0, 2.0], [0, 4], [[0, 0], [0, 2]]),
    "x**2.0 neg": (lambda x: x**2.0, -3.0, -6.0, 2.0),
    "neg**exponent in x": (
        lambda x: np.sum(np.array([-2.0, 3.0]) ** 2 * x ** np.array([2.0, 3.0])),
        [-1.0, -1.0],
        [-8, 27],
        [[8, 0], [0, -54]],
    ),
    "0**y, y>0": (lambda y: 0.0**y, 2.0, 0.0, 0.0),
    "x**2.5 at 0": (lambda x: x**2.5, 0.0, 0.0, 0.0),
    "x**y both at 0": (lambda x: x[0] ** x[1], [0.0, 3.0], [0, 0], [[0, 0], [0, 0]]),
    "x**y, y=1 at x=0": (lambda x: x[0] ** x[1], [0.0, 2.0], [0, 0], [[2, 0], [0, 0]]),
    "float_power": (lambda x: np.float_power(x, 3), -2.0, 12.0, -12.0),
    "cumprod zero": (
        lambda x: np.sum(np.cumprod(x)),
        [2.0, 0.0, 3.0],
        [1, 8, 0],
        [[0, 4, 0], [4, 0, 2], [0, 2, 0]],
    ),
    "cumprod two zeros": (
        lambda x: np.sum(np.cumprod(x)),
        [0.0, 0.0, 3.0],
        [1, 0, 0],
        [[0, 4, 0], [4, 0, 0], [0, 0, 0]],
    ),
    "prod zero": (
        lambda x: np.prod(x),
        [2.0, 0.0, 3.0],
        [0, 6, 0],
        [[0, 3, 0], [3, 0, 2], [0, 2, 0]],
    ),
    "prod two zeros": (
        lambda x: np.prod(x),
        [0.0, 0.0, 3.0],
        [0, 0, 0],
        [[0, 3, 0], [3, 0, 0], [0, 0, 0]],
    ),
    "multiply.reduce": (
        lambda x: np.multiply.reduce(x),
        [0.0, 0.0, 3.0],
        [0, 0, 0],
        [[0, 3, 0], [3, 0, 0], [0, 0, 0]],
    ),
    "geometric mean": (
        lambda x: np.exp(np.mean(np.log(x))),
        [1.0, 4.0],
        [1.0, 0.25],
        [[-0.5, 0.125], [0.125, -1 / 32]],
    ),
    "gmean": (lambda x: st.gmean(x), [1.0, 4.0], [1.0, 0.25], [[-0.5, 0.125], [0.125, -1 / 32]]),
    "x/inf": (lambda x: np.sum(x / np.array([inf, 2.0])), [1.0, 1.0], [0, 0.5], np.zeros((2, 2))),
    "1/(1+x**-2)": (lambda x: 1 / (1 + x**-2.0), 1.0, 0.5, -0.5),
    "cbrt neg": (lambda x: np.cbrt(x), -8.0, 1 / 12, 2 / 9 / 32),
}
MATRICES = {
    "det rank 1": (of_matrix(np.linalg.det), [1.0, 2, 2, 4], [4, -2, -2, 1], TURN),
    "det zeros": (of_matrix(np.linalg.det), [0.0, 0, 0, 0], [0, 0, 0, 0], TURN),
    "sl.det zeros": (of_matrix(lambda A: sl.det(A)), [0.0, 0, 0, 0], [0, 0, 0, 0], TURN),
    "det 3x3 rank 1": (
        of_matrix(np.linalg.det, 3),
        np.diag([2.0, 0, 0]).ravel(),
        np.zeros(9),
        of_minors(np.diag([2.0, 0, 0]).ravel()),
    ),
    "det 3x3 ones": (of_matrix(np.linalg.det, 3), np.ones(9), np.zeros(9), of_minors(np.ones(9))),
    "slogdet negative": (
        of_matrix(lambda A: np.linalg.slogdet(A)[1]),
        [0.0, 1, 1, 0],
        [0, 1, 1, 0],
        [[0, 0, 0, -1], [0, -1, 0, 0], [0, 0, -1, 0], [-1, 0, 0, 0]],
    ),
    "trace inv": (
        of_matrix(lambda A: np.trace(np.linalg.inv(A))),
        [1.0, 0, 0, 1],
        [-1, 0, 0, -1],
        [[2, 0, 0, 0], [0, 0, 2, 0], [0, 2, 0, 0], [0, 0, 0, 2]],
    ),
    "sum eigvalsh^2 at I": (
        of_matrix(lambda A: np.sum(np.linalg.eigvalsh((A + A.T) / 2) ** 2)),
        [1.0, 0, 0, 1],
        [2, 0, 0, 2],
        [[2, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 2]],
    ),
    "logm by eigh at I": (
        of_matrix(log_trace),
        [1.0, 0, 0, 1],
        [1, 0, 0, 1],
        [[-1, 0, 0, 0], [0, -0.5, -0.5, 0], [0, -0.5, -0.5, 0], [0, 0, 0, -1]],
    ),
    "trace A^2 by eig, complex pair": (
        of_matrix(lambda A: np.sum(np.linalg.eigvals(A) ** 2).real),
        [0.0, -1, 1, 0],
        [0, 2, -2, 0],
        [[2, 0, 0, 0], [0, 0, 2, 0], [0, 2, 0, 0], [0, 0, 0, 2]],
    ),
    "expm zeros": (
        of_matrix(lambda A: np.sum(sl.expm(A) * W)),
        np.zeros(4),
        W.ravel(),
        anticommuted(W),
    ),
    "logm I": (
        of_matrix(lambda A: np.sum(sl.logm(A) * W)),
        np.eye(2).ravel(),
        W.ravel(),
        -anticommuted(W),
    ),
    "sqrtm I": (
        of_matrix(lambda A: np.sum(sl.sqrtm(A) * W)),
        np.eye(2).ravel(),
        W.ravel() / 2,
        -anticommuted(W) / 4,
    ),
    "matrix_power 0 matrix": (
        of_matrix(lambda A: np.sum(np.linalg.matrix_power(A, 2) * W)),
        np.zeros(4),
        np.zeros(4),
        2 * anticommuted(W),
    ),
    "matrix_power -2 at I": (
        of_matrix(lambda A: np.trace(np.linalg.matrix_power(A, -2))),
        np.eye(2).ravel(),
        [-2, 0, 0, -2],
        6 * np.array(I4[[0, 2, 1, 3]]),
    ),
    "pinv rank 1 const rank": (
        of_matrix(lambda A: np.sum(np.linalg.pinv(A)), 2),
        [1.0, 1, 1, 1],
        [-0.25] * 4,
        None,
    ),
    "lstsq wide": (
        of_matrix(lambda A: np.sum(np.linalg.lstsq(A, np.array([2.0]), rcond=None)[0]), 1),
        [1.0, 1.0],
        [-1, -1],
        None,
    ),
    "cholesky logdet": (
        of_matrix(lambda A: 2 * np.sum(np.log(np.diag(np.linalg.cholesky((A + A.T) / 2))))),
        [1.0, 0, 0, 1],
        [1, 0, 0, 1],
        [[-1, 0, 0, 0], [0, -0.5, -0.5, 0], [0, -0.5, -0.5, 0], [0, 0, 0, -1]],
    ),
    "qr |det|": (
        of_matrix(lambda A: np.prod(np.abs(np.diag(np.linalg.qr(A)[1])))),
        [2.0, 0, 0, 1],
        [1, 0, 0, 2],
        TURN,
    ),
    "polar of I": (
        of_matrix(lambda A: np.trace(sl.polar(A)[1])),
        [1.0, 0, 0, 1],
        [1, 0, 0, 1],
        [[0, 0, 0, 0], [0, 0.5, -0.5, 0], [0, -0.5, 0.5, 0], [0, 0, 0, 0]],
    ),
    "einsum diag": (
        of_matrix(lambda A: np.einsum("ii->", A) ** 2),
        [1.0, 2, 3, 4],
        [10, 0, 0, 10],
        [[2, 0, 0, 2], [0] * 4, [0] * 4, [2, 0, 0, 2]],
    ),
    "einsum cubed": (
        lambda x: np.einsum("i,i,i->", x, x, x),
        [0.0, 2.0],
        [0, 12],
        [[0, 0], [0, 12]],
    ),
    "repeated index write": (added_at, [1.0, 2.0], [6, 6], [[2, 2], [2, 2]]),
    "take repeated": (
        lambda x: np.sum(x[np.array([0, 0, 1])] ** 2),
        [1.0, 2.0],
        [4, 4],
        [[4, 0], [0, 2]],
    ),
}
ROTATIONS = {
    "rotvec trace": (
        lambda w: np.trace(Rotation.from_rotvec(w).as_matrix()),
        np.zeros(3),
        np.zeros(3),
        -2 * I3,
    ),
    "rotvec apply": (
        lambda w: Rotation.from_rotvec(w).apply([1.0, 0, 0])[0],
        np.zeros(3),
        np.zeros(3),
        np.diag([0, -1.0, -1]),
    ),
    "rotvec round trip": (
        lambda w: np.sum(Rotation.from_rotvec(w).as_rotvec() * np.array([1.0, 2, 3])),
        np.zeros(3),
        [1, 2, 3],
        np.zeros((3, 3)),
    ),
    "magnitude^2": (
        lambda w: Rotation.from_rotvec(w).magnitude() ** 2,
        np.zeros(3),
        np.zeros(3),
        2 * I3,
    ),
    "quaternion w": (
        lambda w: Rotation.from_rotvec(w).as_quat()[3],
        np.zeros(3),
        np.zeros(3),
        -I3 / 4,
    ),
    "slerp of equal": (
        lambda w: np.sum(
            Slerp([0.0, 1.0], Rotation.from_rotvec([np.zeros(3), w]))(0.5).as_rotvec()
            * np.array([1.0, 2, 3])
        ),
        np.zeros(3),
        [0.5, 1, 1.5],
        np.zeros((3, 3)),
    ),
    "euler": (
        lambda w: Rotation.from_euler("xyz", w).as_matrix()[0, 0],
        np.zeros(3),
        np.zeros(3),
        np.diag([0, -1.0, -1]),
    ),
}
SPECIAL = {
    "expit -800": (lambda x: sc.expit(x), -800.0, 0.0, 0.0),
    "log_expit -800": (lambda x: sc.log_expit(x), -800.0, 1.0, 0.0),
    "log_expit 40": (lambda x: sc.log_expit(x), 40.0, math.exp(-40), -math.exp(-40)),
    "logaddexp 0 x 40": (lambda x: np.logaddexp(0.0, x), -40.0, math.exp(-40), math.exp(-40)),
    "logaddexp 0 x 800": (lambda x: np.logaddexp(0.0, x), 800.0, 1.0, 0.0),
    "tanh 20": (lambda x: np.tanh(x), 20.0, *slopes(mp.tanh, 20)),
    "erf 6": (lambda x: sc.erf(x), 6.0, 2 / pi**0.5 * math.exp(-36), -24 / pi**0.5 * math.exp(-36)),
    "erfc 20": (
        lambda x: sc.erfc(x),
        20.0,
        -2 / pi**0.5 * math.exp(-400),
        80 / pi**0.5 * math.exp(-400),
    ),
    "log_ndtr -50": (lambda x: sc.log_ndtr(x), -50.0, *slopes(lambda t: mp.log(mp.ncdf(t)), -50)),
    "log_ndtr 10": (lambda x: sc.log_ndtr(x), 10.0, *slopes(lambda t: mp.log(mp.ncdf(t)), 10)),
    "erfcx 30": (lambda x: sc.erfcx(x), 30.0, *slopes(lambda t: mp.exp(t * t) * mp.erfc(t), 30)),
    "expm1 small": (lambda x: np.expm1(x), 1e-20, 1.0, 1.0),
    "log1p tail": (lambda x: np.log1p(np.exp(-x)), 40.0, -math.exp(-40), math.exp(-40)),
    "exprel 0": (lambda x: sc.exprel(x), 0.0, 0.5, 1 / 3),
    "exprel 1e-9": (lambda x: sc.exprel(x), 1e-9, 0.5, 1 / 3),
    "sinc 0": (lambda x: np.sinc(x), 0.0, 0.0, -(pi**2) / 3),
    "sinc tiny": (lambda x: np.sinc(x), 1e-5, -(pi**2) / 3 * 1e-5, -(pi**2) / 3),
    "i0 0": (lambda x: np.i0(x), 0.0, 0.0, 0.5),
    "j0 0": (lambda x: sc.j0(x), 0.0, 0.0, -0.5),
    "j1 0": (lambda x: sc.j1(x), 0.0, 0.5, 0.0),
    "jv1 0": (lambda x: sc.jv(1, x), 0.0, 0.5, 0.0),
    "jv2 0": (lambda x: sc.jv(2, x), 0.0, 0.0, 0.25),
    "iv1 0": (lambda x: sc.iv(1, x), 0.0, 0.5, 0.0),
    "i0e beside 0": (
        lambda x: sc.i0e(x),
        1e-3,
        *slopes(lambda t: mp.exp(-t) * mp.besseli(0, t), 1e-3),
    ),
    "spherical_jn 1 at 0": (lambda x: sc.spherical_jn(1, x), 0.0, 1 / 3, 0.0),
    "spherical_jn 0 at 0": (lambda x: sc.spherical_jn(0, x), 0.0, 0.0, -1 / 3),
    "kv tail": (lambda x: sc.kv(0.5, x), 50.0, *slopes(lambda t: mp.besselk(0.5, t), 50)),
    "betainc 2 3 at 0": (lambda x: sc.betainc(2.0, 3.0, x), 0.0, 0.0, 12.0),
    "betainc 1 3 at 0": (lambda x: sc.betainc(1.0, 3.0, x), 0.0, 3.0, -6.0),
    "betainc 2 1 at 1": (lambda x: sc.betainc(2.0, 1.0, x), 1.0, 2.0, 2.0),
    "gammainc 1 at 0": (lambda x: sc.gammainc(1.0, x), 0.0, 1.0, -1.0),
    "gammainc 2 at 0": (lambda x: sc.gammainc(2.0, x), 0.0, 0.0, 1.0),
    "gammaln 1e-300": (lambda x: sc.gammaln(x), 1e-100, -1e100, 1e200),
    "digamma near 1e8": (lambda x: sc.digamma(x), 1e8, *slopes(mp.digamma, 1e8)),
    "lambertw 0": (lambda x: sc.lambertw(x).real, 0.0, 1.0, -2.0),
    "spence 1": (lambda x: sc.spence(x), 1.0, -1.0, 0.5),
    "ndtri .5": (lambda x: sc.ndtri(x), 0.5, math.sqrt(2 * pi), 0.0),
    "erfinv 0": (lambda x: sc.erfinv(x), 0.0, pi**0.5 / 2, 0.0),
    "boxcox a 0": (lambda a: sc.boxcox(2.0, a), 0.0, math.log(2) ** 2 / 2, math.log(2) ** 3 / 3),
    "boxcox at 0 in x": (lambda x: sc.boxcox(x, 0.0), 2.0, 0.5, -0.25),
    "boxcox1p": (lambda a: sc.boxcox1p(1.0, a), 0.0, math.log(2) ** 2 / 2, math.log(2) ** 3 / 3),
    "hyp2f1 0": (lambda x: sc.hyp2f1(1.0, 2.0, 3.0, x), 0.0, 2 / 3, 1.0),
    "ellipk 0": (lambda m: sc.ellipk(m), 0.0, pi / 8, 9 * pi / 64),
    "zeta": (lambda x: sc.zeta(x), 2.0, *slopes(mp.zeta, 2.0)),
    "arccosh(1+x) sq": (
        lambda x: np.arccosh(x) ** 2,
        2.0,
        2 * math.acosh(2) / math.sqrt(3),
        2 / 3 - 4 * math.acosh(2) / 3 / math.sqrt(3),
    ),
    "arcsin(sin) at 0": (lambda x: np.arcsin(np.sin(x)), 0.0, 1.0, 0.0),
    "arctanh tails": (lambda x: np.arctanh(np.tanh(x)), 1.0, 1.0, 0.0),
    "sqrt(1+x^2) far": (lambda x: np.sqrt(1 + x * x), 1e-9, 1e-9, 1.0),
    "cosh far 1/": (lambda x: 1 / np.cosh(x), 300.0, -2 * math.exp(-300), 2 * math.exp(-300)),
    "gaussian far": (lambda x: np.exp(-(x**2)), 30.0, *slopes(lambda t: mp.exp(-t * t), 30)),
}
DISTRIBUTIONS = {
    "norm.logcdf -40": (
        lambda x: st.norm.logcdf(x),
        -40.0,
        *slopes(lambda t: mp.log(mp.ncdf(t)), -40),
    ),
    "norm.logsf 40": (lambda x: st.norm.logsf(x), 40.0, *slopes(lambda t: mp.log(mp.ncdf(-t)), 40)),
    "poisson.logpmf 0": (lambda m: st.poisson.logpmf(0, m), 0.0, -1.0, 0.0),
    "poisson.pmf 1 at 0": (lambda m: st.poisson.pmf(1, m), 0.0, 1.0, -2.0),
    "binom.logpmf p 0": (lambda q: st.binom.logpmf(0, 3, q), 0.0, -3.0, -3.0),
    "binom.logpmf p 1": (lambda q: st.binom.logpmf(3, 3, q), 1.0, 3.0, -3.0),
    "binom.pmf p 0": (lambda q: st.binom.pmf(1, 3, q), 0.0, 3.0, -12.0),
    "bernoulli.logpmf p 1": (lambda q: st.bernoulli.logpmf(1, q), 1.0, 1.0, -1.0),
    "geom.logpmf p 1": (lambda q: st.geom.logpmf(1, q), 1.0, 1.0, -1.0),
    "beta.pdf 0": (lambda x: st.beta.pdf(x, 2, 3), 0.0, 12.0, -48.0),
    "beta.logpdf a 1 at 0": (lambda x: st.beta.logpdf(x, 1, 3), 0.0, -2.0, -2.0),
    "gamma.pdf 0": (lambda x: st.gamma.pdf(x, 2), 0.0, 1.0, -2.0),
    "gamma.logpdf a 1 at 0": (lambda x: st.gamma.logpdf(x, 1), 0.0, -1.0, 0.0),
    "expon.logpdf 0": (lambda x: st.expon.logpdf(x), 0.0, -1.0, 0.0),
    "expon.cdf 0+": (lambda x: st.expon.cdf(x), 1e-12, 1.0, -1.0),
    "t.logpdf 0": (lambda x: st.t.logpdf(x, 3), 0.0, 0.0, -4 / 3),
    "t df far": (lambda x: st.t.logpdf(x, 1e10), 1.0, -1.0, -1.0),
    "vonmises.logpdf kappa 0": (lambda k: st.vonmises.logpdf(1.0, k), 0.0, math.cos(1), -0.5),
    "entropy with zero": (
        lambda q: st.entropy(np.array([0.0, 1.0]), q),
        [0.5, 0.5],
        [1.0, -1.0],
        [[-1, -1], [-1, 3]],
    ),
    "dirichlet ends": (
        lambda a: st.dirichlet.logpdf([0.5, 0.5], a),
        [1.0, 1.0],
        [0.0 + (sc.digamma(2) - sc.digamma(1)) + math.log(0.5)] * 2,
        np.full((2, 2), float(mp.psi(1, 2))) - float(mp.psi(1, 1)) * I2,
    ),
    "mvn identity cov": (
        of_matrix(lambda C: st.multivariate_normal.logpdf(np.zeros(2), np.zeros(2), C), 2),
        [1.0, 0, 0, 1],
        [-0.5, 0, 0, -0.5],
        None,
    ),
}
OTHERS = {
    "empty sum": (lambda x: np.sum(x[:0]) + x[0] ** 2, [3.0], [6], [[2]]),
    "logical any product": (lambda x: np.sum(x * (x > 0)), [-1.0, 2.0], [0, 1], np.zeros((2, 2))),
    "convolve": (lambda x: np.sum(np.convolve(x, x) ** 1), [0.0, 1.0], [2, 2], [[2, 2], [2, 2]]),
    "trapezoid": (
        lambda x: np.trapezoid(x**2, [0.0, 1.0, 3.0]),
        [0.0, 1.0, 2.0],
        [0, 3, 4],
        np.diag([1.0, 3, 2]),
    ),
    "unwrap": (lambda x: np.sum(np.unwrap(x) ** 2), [0.0, 6.0], [0, 2 * (6 - 2 * pi)], 2 * I2),
    "roll cumsum": (lambda x: np.sum(np.cumsum(x) ** 2), [0.0, 1.0], [2, 2], [[4, 2], [2, 2]]),
}

PROGRAMS = (
    MASKS | KINKS | LENGTHS | POWERS | MATRICES | ROTATIONS | SPECIAL | DISTRIBUTIONS | OTHERS
)
REPORTED = {
    *("magnitude^2", "Frobenius by svd at 2I"),
    *("reconstruct svd", "sum eigvalsh^2 at I", "logm by eigh at I"),
    *("where sqrt", "select", "nuclear at I", "corrcoef of constants, masked"),
}
"""Programs whose second derivative is reported: not found out, or (the last four) not known."""
EVEN = {"norm**2 at 0", "power spectrum of constant"}
"""Even functions of a root that is 0."""
SPLIT = {"Frobenius by svd at 2I", "reconstruct svd", "logm by eigh at I"}
"""Programs that are reported in forward mode, where equal values are split."""
EAGER = {"nanvar gap", "logm I", "spectral distinct", "nuclear at I"}
"""Programs that may run as they are, with a warning that says why."""
NESTINGS = {
    "forward over forward": lambda f, x, d, c: jvp(lambda x: jvp(f, (x,), (d,))[1], (x,), (c,))[1],
    "forward over reverse": lambda f, x, d, c: np.sum(jvp(grad(f), (x,), (d,))[1] * c),
    "reverse over forward": lambda f, x, d, c: np.sum(grad(lambda x: jvp(f, (x,), (d,))[1])(x) * c),
    "reverse over reverse": lambda f, x, d, c: np.sum(
        grad(lambda x: np.sum(grad(f)(x) * d))(x) * c
    ),
}
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture(autouse=True)
def _installed():
    with chainrules_scipy.install():
        yield


def at(name):
    """Return the function, its point, and the rows of the identity."""
    f, x, *_ = PROGRAMS[name]
    return (f, x, [1.0]) if np.isscalar(x) else (f, np.asarray(x, float), list(np.eye(len(x))))


def compiled(f, x, name):
    """Return the result of the recorded program."""
    program = compile(f)
    with warnings.catch_warnings():
        if name in EAGER:
            warnings.simplefilter("ignore", RecordingWarning)
        program(x)
        return program(x)


def check(found, truth):
    truth = np.asarray(truth, float)
    size = np.max(np.abs(truth), initial=0.0)
    np.testing.assert_allclose(
        np.reshape(found, truth.shape),
        truth,
        rtol=1e-7,
        atol=1e-10 * min(1, size) if size else 1e-12,
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name):
    (f, x, basis), slope = at(name), PROGRAMS[name][2]
    check(grad(f)(x), slope)
    check(compiled(grad(f), x, name), slope)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if name in SPLIT else "error", DegeneracyWarning)
        check([jvp(f, (x,), (d,))[1] for d in basis], slope)


@pytest.mark.parametrize("name", [n for n, (*_, bend) in PROGRAMS.items() if bend is not None])
def test_hessians(name):
    (f, x, basis), bend = at(name), PROGRAMS[name][3]
    bend = np.reshape(np.asarray(bend, float), (len(basis), -1))
    if name in REPORTED:
        for way in (hessian(f), lambda x: compiled(hessian(f), x, name)):
            with pytest.warns(DegeneracyWarning):
                way(x)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error", DegeneracyWarning)
        check(hessian(f)(x), bend)
        check(compiled(hessian(f), x, name), bend)
        for modes, way in NESTINGS.items():
            # It pushes the root before it is known what follows.
            known = modes != "forward over forward" or name not in EVEN
            warnings.simplefilter("error" if known else "ignore", DegeneracyWarning)
            check([[way(f, x, d, c) for c in basis[:4]] for d in basis[:4]], bend[:4, :4])

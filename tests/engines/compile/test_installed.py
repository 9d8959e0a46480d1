"""Compiled functions of SciPy's installed ones, without a derivative: the bits that SciPy gives.

Each sample of SciPy's names is recorded at one draw, and called at others, of ordinary numbers and
of infinities, NaN and zeros.
"""

from __future__ import annotations

import importlib
import time
import warnings

import numpy as np
import pytest
from scipy import fft, integrate, linalg, ndimage, optimize, stats
from scipy.spatial import distance

import chainrules_scipy
from chainrules_compile import RecordingError, RecordingWarning, compile
from chainrules_scipy.sparse import bicgstab
from chainrules_tape import grad, value_and_grad
from tests.engines.compile.shadow import alike
from tests.libraries.scipy.samples.common import TAME
from tests.libraries.scipy.samples.judge import samples

EVERYDAY = {
    *("linalg.inv", "linalg.pinv", "linalg.cholesky", "linalg.cho_factor", "linalg.solve_banded"),
    *("linalg.solve_toeplitz", "linalg.lu", "linalg.expm", "signal.detrend", "signal.lfilter"),
    *("signal.convolve", "signal.correlate", "signal.sosfilt", "fft.dct", "fft.dst", "fft.rfft"),
    *("integrate.romb", "ndimage.gaussian_filter", "special.logsumexp", "special.softmax"),
    *("stats.zscore", "stats.pearsonr"),
}
RANDOM = {"linalg.logm", "linalg.fractional_matrix_power"}  # SciPy's estimates of norms draw,
RANDOM |= {"sparse.linalg.onenormest"}  # or begin anywhere
RANDOM |= {"interpolate.insert"}  # whose last elements are what memory held
ALL = [s for of in samples().values() for s in of if s.operands and s.name not in RANDOM]
LONGEST = 4.0
"""How many seconds a sample has for its draws: a slow one has fewer, and none fails by it."""
SOME = [s for s in ALL if s.name in EVERYDAY]
ALONE = [s for s in ALL if s.name != "spatial.distance.squareform"]
"""Without that function of SciPy's, which ends the process on any array of objects."""
BAD = (np.inf, -np.inf, np.nan, -0.0, 0.0)


class Raised(tuple):
    """The class of an error, and its text."""

    __slots__ = ()


def found(f, *xs):
    """Return what a call gives, or what it raises."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f(*xs)
        except Exception as error:
            return Raised((type(error), str(error)))


def bits(y):
    """Return a result as something that is compared to the bit, whatever the signs of its NaN."""
    if isinstance(y, (tuple, list)):
        return type(y), [bits(part) for part in y]
    if not isinstance(y, (np.ndarray, np.generic, float, complex)):
        return y
    x = np.asarray(y)
    if x.dtype.kind in "fc":
        x = np.where(np.isnan(x), np.nan, x)
    return type(y), x.shape, x.dtype, x.tobytes()


def draws(operands, n, bad):
    """Give other operands: some nearby, and each with one number that is bad."""
    rng = np.random.default_rng(0)
    for size in np.geomspace(1e-3, 0.5, n):
        yield [x * (1.0 + size * rng.normal(size=np.shape(x))) for x in operands]
    for k, x in enumerate(operands):
        for number in bad if np.asarray(x).dtype.kind in "fc" else ():
            y = np.array(x)
            y.reshape(-1)[y.size // 2] = number
            yield [y[()] if i == k else z for i, z in enumerate(operands)]


def check(f, operands, n, bad=BAD):
    """Compare what a compiled function gives with what the function does, at many operands."""
    compiled = compile(f)
    with chainrules_scipy.install():
        if isinstance(found(f, *operands), Raised):
            return compiled
        begun = time.process_time()
        for xs in (operands, *draws(operands, n, bad)):
            if time.process_time() - begun > LONGEST:
                break
            have = found(compiled, *xs)
            if isinstance(have, Raised) and "draws random numbers" in have[1]:
                break
            wanted = found(f, *xs)
            assert bits(have) == bits(wanted) or alike(f, xs, {}, have, wanted), xs
    return compiled


def calling(sample):
    """Return a function that calls what stands under a name, and can come to no other sample."""
    home, _, name = sample.name.rpartition(".")
    module, call = importlib.import_module(f"scipy.{home}"), sample.call
    return lambda *xs: call(getattr(module, name), *xs)


@pytest.mark.parametrize("sample", SOME, ids=str)
def test_installed(sample):
    check(calling(sample), sample.operands, 4)


# SciPy's ellip_normal divides by zero in callbacks of its own, which Python reports.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
@pytest.mark.parametrize("sample", ALL, ids=str)
def test_all_installed(sample):
    tame = sample.name.startswith(TAME)
    check(calling(sample), sample.operands, 30, BAD[3:] if tame else BAD)


OWN = {"optimize.minimize"}  # whose derivative is a np.array of somebody's own


def check_without(sample):
    """Compare what a compiled call gives where nothing of ours stands under SciPy's names."""
    f, xs = calling(sample), sample.operands
    wanted, have = found(f, *xs), found(compile(f), *xs)
    if isinstance(have, Raised) and not isinstance(wanted, Raised):
        assert "draws random numbers" in have[1] or sample.name in OWN, have
    elif not isinstance(wanted, Raised):
        assert alike(f, xs, {}, have, wanted)


@pytest.mark.parametrize("sample", ALONE[7::80], ids=str)
def test_where_nothing_is_installed(sample):
    check_without(sample)


@pytest.mark.slow
@pytest.mark.parametrize("sample", ALONE, ids=str)
def test_all_where_nothing_is_installed(sample):
    check_without(sample)


def test_a_function_that_reads_strides_runs_as_it_is():
    """It reads memory by them: what is recorded has none, and the process ended."""
    compiled, x = compile(lambda x: 2.0 * linalg.circulant(x)), np.arange(1.0, 4.0)
    with pytest.warns(RecordingWarning, match=r"reads strides of float64\[5\]; take x.T, x\[::2\]"):
        np.testing.assert_array_equal(compiled(x), 2.0 * linalg.circulant(x))
    np.testing.assert_array_equal(compiled(2.0 * x), 4.0 * linalg.circulant(x))


A, X = np.random.default_rng(1).normal(size=(3, 3)), np.linspace(-1.0, 2.0, 6).reshape(2, 3)
WHOLE = {  # functions whose operations have other last bits, or other numbers beside NaN
    "inverse": (lambda a: linalg.inv(a @ a.T + np.eye(3)), A),
    "factor": (lambda a: linalg.cholesky(a @ a.T + np.eye(3), overwrite_a=True), A),
    "definite": (lambda a: linalg.solve(a @ a.T + np.eye(3), a[0], assume_a="pos"), A),
    "transform": (lambda a: fft.dct(a, norm="ortho"), A),
    "density": (lambda x: np.sum(stats.t.logpdf(x, 3.0)), X),
    "of parameters": (lambda x: stats.norm.logpdf(x, loc=x[0, 0], scale=2.0), X),
    "frozen": (lambda x: stats.gamma(2.5, scale=3.0).cdf(x), X),
    "a matrix": (lambda x: np.sum(stats.norm.logpdf(x)), X),
    "of several": (lambda x: stats.multivariate_normal.logpdf(x, np.zeros(3), np.eye(3)), X),
    "beside a slope": (lambda x: grad(lambda y: np.sum(stats.norm.cdf(x) * y**2))(x), X),
}


@pytest.mark.parametrize("name", WHOLE)
def test_values_are_those_of_scipy(name):
    f, x = WHOLE[name]
    assert check(f, (x,), 20).programs, name


def _reading(write):
    """Return a function of the plain array into which a function of SciPy writes."""

    def f(x):
        out = np.empty(5)
        write(x, out)
        return np.sum(out * x)

    return f


REFUSED = {  # SciPy calls back, or writes into a plain array
    "fsolve": lambda x: optimize.fsolve(lambda t: t**3 - x, x),
    "newton": lambda x: optimize.newton(lambda t: t**3 - x, x),
    "newton of a number": lambda x: optimize.newton(lambda t: t**3 - x[0], x[0]),
    "fixed_point": lambda x: optimize.fixed_point(lambda t: (t + x) / 2.0, x),
    "root": lambda x: optimize.root(lambda t: t**3 - x, x).x,
    "brentq": lambda x: optimize.brentq(lambda t: t**3 - x[0], 0.0, 9.0),
    "minimize": lambda x: optimize.minimize(lambda t: np.sum((t - x) ** 2), x).x,
    "curve_fit": lambda x: optimize.curve_fit(lambda t, a: a * t, np.arange(5.0), x)[0],
    "quad": lambda x: integrate.quad(lambda t: x[0], 0.0, 1.0)[0],
    "quad_vec": lambda x: integrate.quad_vec(lambda t: x, 0.0, 1.0)[0],
    "odeint": lambda x: integrate.odeint(lambda y, t: 0.0 * x, x, np.arange(2.0))[-1],
    "output": _reading(lambda x, out: ndimage.gaussian_filter1d(x, 1.0, output=out)),
    "output by position": _reading(lambda x, out: ndimage.gaussian_filter1d(x, 1.0, -1, 0, out)),
    "out": _reading(lambda x, out: distance.cdist(x[:1, None], x[:, None], out=out[None])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_scipy_calls_back_or_writes_to_is_not_recorded(name):
    """At ones, a program that returned the operand would have given many of these results."""
    f, x = REFUSED[name], np.ones(5)
    with chainrules_scipy.install(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = compile(f)
        for y in (x, 8.0 * x):
            np.testing.assert_array_equal(compiled(y), f(y))
        with pytest.raises(RecordingError, match="is not compiled: call it outside"):
            compile(f, strict=True)(x)


def test_a_slope_is_that_of_the_root_that_scipy_finds():
    f = value_and_grad(lambda p, y: np.sum((p - optimize.fsolve(lambda t: t**3 - y, y)) ** 2))
    with chainrules_scipy.install():
        compiled, p = compile(f), np.array([2.0, 2.0])
        for y in (np.ones(2), np.array([8.0, 27.0])):
            value, slope = compiled(p, y)
            np.testing.assert_allclose(value, np.sum((p - np.cbrt(y)) ** 2))
            np.testing.assert_allclose(slope, 2.0 * (p - np.cbrt(y)), atol=1e-9)


def of_a_variable(law, x):
    return law.logpdf(x)


NAMED = {  # what to write for functions of SciPy that refuse recorded values
    "norm": lambda x: stats.norm.logpdf(x),
    "gamma": lambda x: stats.gamma(2.0).logpdf(x),
    "inv": lambda x: linalg.inv(np.outer(x, x) + np.eye(3)),
    "expm": lambda x: linalg.expm(np.outer(x, x)),
    "minimize": lambda x: optimize.minimize(lambda t: np.sum((t - x) ** 2), x).x,
}


@pytest.mark.parametrize("name", NAMED)
def test_what_scipy_refuses_names_the_function_to_import(name):
    said = rf"scipy in line \d+ of .*\n  .*{name}.*\n  use {name}.* import {name}'$"
    with pytest.raises(RecordingError, match=said):
        compile(NAMED[name], strict=True)(np.array([0.3, 1.2, 0.8]))


def test_what_is_written_for_a_traced_value_alone_is_not_advised():
    f = lambda x: np.sum(of_a_variable(stats.beta(2.0, 3.0), x))
    with pytest.raises(RecordingError, match="scipy in line") as found:
        compile(f, strict=True)(np.array([0.3, 0.2, 0.8]))
    assert "ignore_derivatives" not in str(found.value)


def test_a_function_of_ours_is_not_advised_in_place_of_itself():
    f = lambda x: bicgstab(np.outer(x, x) + np.eye(3), x, rtol=1e-12)[0]
    with pytest.raises(RecordingError, match="\n  bicgstab is not compiled: call it outside"):
        compile(f, strict=True)(np.array([0.3, 0.2, 0.8]))

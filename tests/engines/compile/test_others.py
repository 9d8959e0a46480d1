"""Libraries that make plain arrays of what they are given, in functions that are compiled."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.sparse.linalg
import scipy.spatial
import scipy.special
import scipy.stats

import chainrules_scipy
from chainrules_compile import RecordingError, RecordingWarning, compile
from chainrules_tape import grad, value_and_grad
from tests.engines.compile.shadow import same

pd = pytest.importorskip("pandas")
_SERIES = pd.Series([1.0, 2.0, 4.0], index=[2, 1, 0])


def _of_a_library(x):
    """Numbers of Python's that the library computes itself."""
    return statistics.fmean([x[0], 2.0 * x[1]])


THEIRS = {
    "pandas": lambda x: np.sum(x[1] * _SERIES),
    "pandas, first": lambda x: (_SERIES * x[0] - _SERIES).sum(),
    "stats": lambda x: np.sum(scipy.stats.norm.logpdf(np.arange(3.0), x, 1.0)),
    "masses": lambda x: np.sum(scipy.stats.binom.pmf([1, 2, 3], 5, x / 9.0)),
    "scores": lambda x: scipy.stats.zscore(x)[0],
    "weights": lambda x: scipy.special.logsumexp(x, b=np.arange(1.0, 4.0)),
    "statistics": _of_a_library,
}


@pytest.mark.parametrize("f", THEIRS.values(), ids=list(THEIRS))
def test_what_a_library_makes_plain_runs_as_it_is(f):
    """Nobody is going to write another line in an installed library."""
    compiled, x = compile(f, strict=True), np.array([0.3, 1.2, 0.8])
    said = r"in line \d+ of .* (makes (an array|a float) of|raises)|warnings are made errors"
    with pytest.raises(RecordingError, match=said):
        compiled(x)
    compiled = compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecordingWarning)
        for k in (1.0, 2.0, 1.0):
            assert same(compiled(k * x), f(k * x))


def test_a_gradient_of_what_pandas_computes_is_a_program():
    f = lambda x: np.sum((x[0] + x[1] * _SERIES) ** 2)
    compiled, x = compile(value_and_grad(f)), np.array([0.3, 1.2])
    assert same(compiled(x), value_and_grad(f)(x))
    assert len(compiled.programs) == 1


ARRAYS_OF_OBJECTS = {
    "copy": lambda x: np.sum(np.array(x) ** 2),
    "method of a plain array": lambda x: np.ones(2).dot(x**2),
    "rows": lambda x: np.sum(np.array([x, 2 * x]) ** 2 * x),
    "row": lambda x: np.sum(np.r_[x, 1.0] ** 3),
    "polynomial": lambda x: np.polynomial.polynomial.polyval(2.0, x**2),
    "list": lambda x: np.sum([x, 2 * x * x]),
    "loop": lambda x: sum(v * v * (i[0] + 1) for i, v in np.ndenumerate(x)),
    "matrix": lambda x: np.array([[1.0, 0.0]]).dot(np.outer(x, x)).sum(),
}


@pytest.mark.parametrize("name", ARRAYS_OF_OBJECTS)
def test_a_gradient_of_what_makes_arrays_of_objects_is_a_program(name):
    f = ARRAYS_OF_OBJECTS[name]
    compiled = compile(value_and_grad(f), strict=True)
    for x in (np.array([0.3, 1.2]), np.array([-2.0, 0.0]), np.array([np.inf, 1.0])):
        with np.errstate(invalid="ignore"):
            value, slope = compiled(x)
            np.testing.assert_allclose(value, f(x))
            np.testing.assert_allclose(slope, grad(f)(x))


@pytest.mark.filterwarnings("ignore::chainrules_compile.RecordingWarning")
@pytest.mark.parametrize("target", ["numpy", "c"])
def test_narrow_numbers_in_an_array_are_as_wide_as_the_array(target):
    """They were computed in 32 bits, and widened at the end."""
    x, y = np.array([16777216.0], np.float32), np.array([0.5])
    for f in (
        lambda x, y: np.array([x[0], y[0]]) + 1.0,
        lambda x, y: np.array([x, y]) + 1.0,
        lambda x, y: np.array([x, [0.5]]) * 3.3,
    ):
        found, known = compile(f, target=target)(x, y), f(x, y)
        np.testing.assert_array_equal(found, known)
        assert found.dtype == known.dtype


def _by_nditer(x):
    return sum(np.nditer(x))


def test_what_numpy_refuses_is_written_as_for_a_traced_value():
    with pytest.raises(RecordingError, match=r"NPY_ITER_REFS_OK.*; use np\.ravel\(x\)$"):
        compile(_by_nditer, strict=True)(np.arange(3.0))


def test_so_does_a_gradient_that_others_have_wrapped():
    """SciPy is asked for the value, by what stands for it in the derivative."""
    script = (
        "import numpy as np, scipy.stats as st, warnings, chainrules_scipy\n"
        "from chainrules_compile import compile\n"
        "from chainrules_tape import value_and_grad\n"
        "chainrules_scipy.install()\n"
        "warnings.simplefilter('ignore')\n"
        "x = np.array([0.3, 1.2, 0.8])\n"
        "for f in (lambda x: st.zscore(x)[0], lambda x: st.pearsonr(x, np.arange(3.0))[0],\n"
        "          lambda x: np.sum(st.norm.logpdf(x, 1.0, 2.0)), lambda x: st.skew(x)):\n"
        "    c, g = compile(value_and_grad(f)), value_and_grad(f)\n"
        "    assert all(np.array_equal(a, b) for a, b in zip(c(x), g(x))), f\n"
        "    assert np.array_equal(compile(f)(x), f(x)), f\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


RAISING = {  # for it was given values that are noted: in Python, in Cython, in C
    "qmc_quad": lambda x: scipy.integrate.qmc_quad(
        lambda t: x[0] * t[0], 0.0, 1.0, n_points=8, qrng=scipy.stats.qmc.Halton(1, seed=0)
    )[0],
    "milp": lambda x: scipy.optimize.milp(x, bounds=scipy.optimize.Bounds(0, 1)).fun,
    "ConvexHull": lambda x: scipy.spatial.ConvexHull(np.reshape(x, (4, 2))).volume,
    "cKDTree": lambda x: scipy.spatial.cKDTree(np.eye(4)).query(x[:4])[0],
    "spilu": lambda x: scipy.sparse.linalg.spilu(scipy.sparse.eye(8, format="csc")).solve(x)[0],
    "spdiags": lambda x: scipy.sparse.spdiags(x, 0, 8, 8).toarray(),
    "dok_array": lambda x: scipy.sparse.dok_array(np.reshape(x, (4, 2))).toarray(),
    "linear_sum_assignment": lambda x: scipy.optimize.linear_sum_assignment(np.reshape(x, (4, 2)))[
        1
    ],
    "sepfir2d": lambda x: scipy.signal.sepfir2d(np.reshape(x, (4, 2)), x[:3], x[:3]),
    "brentq": lambda x: scipy.optimize.brentq(lambda t: t**3 - x[1], -9.0, 9.0),
    "riccati_jn": lambda x: scipy.special.riccati_jn(2, x[0])[0],
}


@pytest.mark.parametrize("is_installed", [False, True])
@pytest.mark.parametrize("name", RAISING)
def test_what_raises_in_a_library_runs_as_it_is(name, is_installed):
    f, x = RAISING[name], np.array([0.3, 1.2, 0.8, -0.4, 2.0, 0.1, 0.7, 1.9])
    with chainrules_scipy.install() if is_installed else contextlib.nullcontext():
        compiled = compile(f)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for y in (x, 2.0 * x):
                assert same(compiled(y), f(y))
        assert compiled.programs or "runs as it is" in compiled.explain()


def test_what_raises_without_compile_is_no_reason_to_run_as_it_is():
    compiled = compile(lambda x: scipy.linalg.cholesky(x))
    with chainrules_scipy.install():
        with pytest.raises(np.linalg.LinAlgError):
            compiled(-np.eye(2))
        assert same(compiled(np.eye(2)), np.eye(2))
    assert len(compiled.programs) == 1


def test_what_somebodys_own_function_raises_inside_of_a_library_is_refused():
    """It stands in a line that can be written otherwise."""
    with pytest.raises(RecordingError, match=r"does not become a float|must have different signs"):
        compile(
            lambda x: scipy.optimize.brentq(lambda t: t - np.array([x[0]])[0], -9, 9), strict=True
        )(np.ones(3))


_PERIODS = {
    "period": pd.Period("2020-01", "M"),
    "days": pd.offsets.Day(2),
    "end of the month": pd.offsets.MonthEnd(),
    "frequency": pd.date_range("2020", periods=3, freq="h"),
}


@pytest.mark.parametrize("kind", _PERIODS)
def test_what_makes_another_of_itself_when_it_is_asked(kind):
    """As the base of an offset is an offset: nobody comes to an end of these."""
    held = _PERIODS[kind]
    program = compile(grad(lambda x: np.sum(x * x) * (2.0 if held is not None else 1.0)))
    for _ in range(2):
        np.testing.assert_array_equal(program(np.ones(2)), [4.0, 4.0])
    assert len(program.programs) == 1

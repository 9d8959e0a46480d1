"""Libraries that make plain arrays of what they are given, in functions that are compiled."""

from __future__ import annotations

import statistics
import subprocess
import sys

import numpy as np
import pytest
import scipy.special
import scipy.stats

from chainrules_compile import RecordingError, RecordingWarning, compile
from chainrules_compile.results import same
from chainrules_tape import value_and_grad

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
    compiled, x = compile(f), np.array([0.3, 1.2, 0.8])
    with pytest.warns(RecordingWarning, match=r"in line \d+ of .* makes (an array|a float) of"):
        assert same(compiled(x), f(x))
    assert same(compiled(2.0 * x), f(2.0 * x))
    assert not compiled.programs


def test_a_gradient_of_what_pandas_computes_is_a_program():
    f = lambda x: np.sum((x[0] + x[1] * _SERIES) ** 2)
    compiled, x = compile(value_and_grad(f)), np.array([0.3, 1.2])
    assert same(compiled(x), value_and_grad(f)(x))
    assert len(compiled.programs) == 1


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


def test_a_line_of_ones_own_is_refused():
    """It can be written otherwise."""
    for f in (lambda x: np.array([x[0], x[1]]), lambda x: np.require(x, float), np.asanyarray):
        with pytest.raises(RecordingError, match=r"write np\.stack.*np\.require"):
            compile(lambda x, f=f: np.sum(f(x)))(np.ones(3))

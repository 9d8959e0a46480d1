"""One argument of a function is differentiated, others are constant: compiled, bits are the same.

Whether NumPy's own function computes the value, or operations do, hangs on what is being
differentiated, and not on what is noted. Constants hold NaN, infinities and zeros, which show who
computed it.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile
from chainrules_py import TracerError
from chainrules_tape import grad, vjp
from tests.engines.compile.shadow import same

EDGES = np.linspace(-2.0, 2.0, 6)
N = 20


def _places(x):
    return np.arange(x.size) % 4


FUNCTIONS = {
    "histogram": lambda x, y: np.histogram(x, EDGES, weights=y)[0],
    "histogram, edges": lambda x, y: np.histogram(x, 5, weights=y),
    "histogram, range": lambda x, y: np.histogram(x, 5, (y[5], y[6] + 9.0), weights=y),
    "histogram, density": lambda x, y: np.histogram(x, EDGES, density=True, weights=y)[0],
    "histogram, complex": lambda x, y: np.histogram(x, EDGES, weights=y * (1 + 2j))[0],
    "histogram, single": lambda x, y: np.histogram(x, EDGES, weights=y.astype("f4")),
    "histogram_bin_edges": lambda x, y: np.histogram_bin_edges(x, 5, (y[5], y[6] + 9), weights=y),
    "histogram2d": lambda x, y: np.histogram2d(x, x, 3, weights=y),
    "histogram2d, points": lambda x, y: np.histogram2d(x, np.sin(x), [EDGES, 3], weights=y),
    "histogramdd": lambda x, y: np.histogramdd([x, x], EDGES[[0, 2, 5]][None].repeat(2, 0), None),
    "histogramdd, weights": lambda x, y: np.histogramdd([x, x * x], 2, weights=y, density=True),
    "bincount": lambda x, y: np.bincount(_places(x), weights=y) * x[:4],
    "interp": lambda x, y: np.interp(x, EDGES, y[: EDGES.size]),
    "interp, ends": lambda x, y: np.interp(x, EDGES, x[: EDGES.size], left=y[1], right=y[2]),
    "gradient": lambda x, y: np.gradient(x, np.cumsum(y)),
    "trapezoid": lambda x, y: np.trapezoid(x, y),
    "quantile": lambda x, y: np.quantile(x, 0.3, weights=y**2, method="inverted_cdf"),
    "percentile": lambda x, y: np.percentile(x, 50 + 5 * np.tanh(y[:3])),
    "average": lambda x, y: np.average(x, weights=y, returned=True),
    "cov": lambda x, y: np.cov(x, y),
    "cov, weights": lambda x, y: np.cov(x, aweights=y**2),
    "corrcoef": np.corrcoef,
    "correlate": lambda x, y: np.correlate(x, y, "same"),
    "convolve": lambda x, y: np.convolve(x, y, "full"),
    "polyfit": lambda x, y: np.polyfit(y, x, 2),
    "polyfit, weights": lambda x, y: np.polyfit(np.arange(N), x, 2, w=y),
    "polyval": np.polyval,
    "unique": lambda x, y: np.unique(x * y),
    "searchsorted": lambda x, y: np.searchsorted(EDGES, y) * x,
    "var": lambda x, y: np.var(x, mean=y[:1]),
    "sum": lambda x, y: np.sum(x, initial=y[1], where=y > 0),
    "max": lambda x, y: np.max(x, initial=y[1], where=y > 0),
    "clip": lambda x, y: np.clip(x, y, y + 1),
    "ediff1d": lambda x, y: np.ediff1d(x, y[:2], y[2:4]),
    "select": lambda x, y: np.select([y > 0, y < -1], [x, y], y[0]),
    "nan_to_num": lambda x, y: np.nan_to_num(x * y, nan=y[0]),
}


def _values(f):
    return lambda x, y: vjp(lambda x: f(x, y), x)[0]


def _total(f):
    return lambda x, y: grad(lambda x: sum(np.sum(np.real(z)) for z in _parts(f(x, y))))(x)


def _parts(y):
    return [z for part in y for z in _parts(part)] if isinstance(y, (tuple, list)) else [y]


def _outcome(f, *xs):
    try:
        return f(*xs)
    except (ValueError, TracerError, np.linalg.LinAlgError) as error:
        return type(error)


@pytest.mark.parametrize("form", [_values, _total], ids=["value", "gradient"])
@pytest.mark.parametrize("moved", [0, 1])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_constants_are_summed_as_without_compile(name, moved, form):
    rng = np.random.default_rng(0)
    f = FUNCTIONS[name]
    of = form(f if not moved else lambda y, x: f(x, y))
    compiled = compile(of)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", ".*gives another result", RecordingWarning)
        for turn, number in enumerate((1.0, 2.0, np.nan, np.inf, -np.inf, 1e300, -0.0, 0.5)):
            x, y = rng.standard_normal((2, N))
            y = y if turn > 1 else np.ceil(y) + 3.0  # of which all sums are the same, to the bit
            (y if not moved else x)[3 if turn < 7 else 5] = number
            given = (y, x) if moved else (x, y)
            wanted = _outcome(of, *given)
            if wanted is TracerError:
                return  # what it takes there is a plain number
            assert same(_outcome(compiled, *given), wanted), number


def test_weights_beside_complex_data_are_constant():
    z, y = np.exp(1j * np.arange(5.0)), np.arange(5.0)
    for f in (
        lambda z, y: vjp(lambda z: np.histogram(z, np.arange(4) - 1j, weights=y)[0], z),
        lambda z, y: vjp(lambda z: np.histogram(z, np.arange(4) - 1j)[0], z),
    ):
        of = lambda z, y, f=f: (f(z, y)[0], f(z, y)[1](np.ones(3))[0])
        assert same(compile(of)(z, y), of(z, y))
        np.testing.assert_array_equal(of(z, y)[1], np.zeros(5))

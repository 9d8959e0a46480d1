"""What an array library does not have of NumPy's functions is said in so many words."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from chainrules_py import NotDifferentiableError, UnsupportedKeywordError
from chainrules_tape import grad, jvp, vjp

da = pytest.importorskip("dask.array")
X = np.array([0.3, 0.1, 0.7, 0.2])

CALLS = {
    "unique": lambda x: np.unique(x),
    "unique, axis": lambda x: np.unique(x[:, None], axis=0),
    "unique_values": lambda x: np.unique_values(x),
    "union1d": lambda x: np.union1d(x, x + 1),
    "setdiff1d": lambda x: np.setdiff1d(x, X[:1]),
    "choose": lambda x: np.choose(np.array([0, 1, 0, 1]), [x, 2 * x, x, x]),
    "searchsorted, sorter": lambda x: np.searchsorted(x, 0.2, sorter=np.argsort(X)),
    "histogram2d": lambda x: np.histogram2d(x, x)[1],
    "bincount": lambda x: np.bincount(np.array([0, 1, 1, 0]), x),
}


@pytest.mark.filterwarnings("ignore::FutureWarning")  # Dask's, where it computes by NumPy
@pytest.mark.parametrize("run", [vjp, lambda f, x: jvp(f, (x,), (x,))], ids=["vjp", "jvp"])
@pytest.mark.parametrize("name", CALLS)
def test_what_dask_does_not_compute_is_an_error_of_our_own(name, run):
    """Or a result, where a release of Dask has the function."""
    f, x = CALLS[name], da.from_array(X, chunks=2)
    refused = (NotDifferentiableError, UnsupportedKeywordError)
    with contextlib.suppress(*refused):
        run(f, x)
        return
    with pytest.raises(refused, match=r"(?i)dask"):
        run(f, x)


def test_the_error_names_the_function_and_its_cause():
    said = r"np.unique,.*float64\[4,1\] of dask.*write it"
    with pytest.raises(NotDifferentiableError, match=said):
        vjp(lambda x: np.unique(x[:, None], axis=0), da.from_array(X, chunks=2))


def test_errors_of_the_program_stay_as_they_are():
    def wrong(x):
        return len(3) + np.sum(x)

    x = da.from_array(X, chunks=2)
    with pytest.raises(TypeError, match="has no len"):
        vjp(wrong, x)
    with pytest.raises(TypeError, match="has no len"):
        vjp(lambda x: np.apply_along_axis(wrong, 0, x), X)
    with pytest.raises(AttributeError):
        vjp(lambda x: x.nothing, x)


def test_errors_of_numpy_stay_as_they_are():
    with pytest.raises(TypeError):
        np.unique(X, axis="a")
    with pytest.raises(TypeError):
        grad(lambda x: np.sum(np.unique(x, axis="a")))(X)

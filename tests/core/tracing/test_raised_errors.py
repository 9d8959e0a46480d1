"""What an error says when it leaves a differentiated function, and which frames it shows."""

from __future__ import annotations

import contextlib
import math
import traceback

import numpy as np
import pytest

from chainrules_py import NotDifferentiableError, UnsupportedKeywordError
from chainrules_py.errors import TracerError
from chainrules_tape import grad, jvp, vjp

X = np.array([0.3, 0.1, 0.7, 0.2])


def dask_array():
    return pytest.importorskip("dask.array").from_array(X, chunks=2)


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
    f, x = CALLS[name], dask_array()
    refused = (NotDifferentiableError, UnsupportedKeywordError)
    with contextlib.suppress(*refused):
        run(f, x)
        return
    with pytest.raises(refused, match=r"(?i)dask"):
        run(f, x)


def test_the_error_names_the_function_and_its_cause():
    said = r"np.unique,.*float64\[4,1\] of dask.*write it"
    with pytest.raises(NotDifferentiableError, match=said):
        vjp(lambda x: np.unique(x[:, None], axis=0), dask_array())


def test_errors_of_the_program_stay_as_they_are():
    def wrong(x):
        return len(3) + np.sum(x)

    x = dask_array()
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


# ----------------------------------------------------------------------------- tracebacks


def refused(x):
    return math.sin(x)


def written(x):
    buffer = np.zeros(3)
    buffer[0] = x[0]
    return np.sum(buffer)


def failing(x):
    raise ValueError("the program's own")


def frames(f, x):
    with pytest.raises((TracerError, ValueError)) as caught:
        grad(f)(x)
    found = traceback.extract_tb(caught.value.__traceback__)
    return [frame.name for frame in found if frame.filename != __file__ or frame.name == f.__name__]


@pytest.mark.parametrize(
    "f, x", [(refused, 1.0), (written, np.ones(2)), (failing, 1.0)], ids=lambda x: str(x)[:12]
)
def test_a_traceback_has_the_frames_of_the_program(f, x):
    assert frames(f, x) == [f.__name__]


def test_a_cache_that_missed_is_not_shown():
    with pytest.raises(TypeError) as caught:
        grad(lambda x: np.linalg.matrix_power(x, 2.5)[0, 0])(np.eye(2))
    shown = "".join(traceback.format_exception(caught.value))
    assert "KeyError" not in shown
    assert "matrix_power" in shown


def test_all_frames_are_there_on_demand(monkeypatch):
    monkeypatch.setenv("CHAINRULES_TRACEBACK", "full")
    assert len(frames(refused, 1.0)) > 4


@pytest.mark.parametrize(
    "mistake, error",
    [
        (lambda z, p: z[3] * p[0], IndexError),
        (lambda z, p: None * p[0], TypeError),
        (lambda z, p: z.foo * p[0], AttributeError),
    ],
)
def test_a_mistake_in_what_a_library_calls_is_left_as_it_is(mistake, error):
    optimize = pytest.importorskip("chainrules_scipy.optimize", reason="SciPy is not installed")
    with pytest.raises(error) as raised:
        grad(lambda p: optimize.minimize(lambda z: mistake(z, p), [0.0]).x[0])(X)
    assert not isinstance(raised.value, TracerError)

"""Programs that are called by `ctypes`, where the headers of Python are missing."""

import concurrent.futures
import ctypes

import numpy as np
import pytest

from chainrules_native import calls, compilers, without_headers
from chainrules_tape import grad, value_and_grad
from tests.engines.compile.random_programs import check_compiled, run
from tests.engines.compile.shadow import same
from tests.engines.native.test_native import check, compiled, target_c

pytestmark = pytest.mark.usefixtures("native")
RNG = np.random.default_rng(7)
X, Y = RNG.standard_normal((2, 4, 5))


@pytest.fixture(autouse=True)
def by_ctypes(monkeypatch):
    monkeypatch.setattr(calls, "driver", lambda: without_headers)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x * y + np.sin(x),
        lambda x, y: (x.T @ y, np.sum(x), (x + y).T * 2.0),
        lambda x, y: value_and_grad(lambda x: np.sum(np.exp(x) * y))(x),
        lambda x, y: (np.sum(x) > 0.0, x < y, np.float64(2.0) * np.max(y), (x + y * 1j).real),
        lambda x, y: x[np.array([0, 3, 3])] * y[1:2] + 1.0,
        lambda x, y: (x.T * y.T + 1.0, np.sin(x.T)),
        lambda x, y: np.linalg.inv(x @ x.T + 9.0 * np.eye(4)) @ y,
    ],
)
def test_bits_and_classes_are_those_of_the_function(f):
    check(f, X, Y, whole=False)


def test_numbers_of_all_classes():
    check(lambda x, y: x * y + 1.0, 0.3, 0.7)
    check(lambda x, y: x * y + np.sin(x), np.float64(0.3), np.float32(0.7))
    g, x = compiled(lambda x: x * x + 1.0), np.ones(0)
    assert same(g(x), g(x))
    assert "native" in g.source


def test_arrays_that_are_not_aligned():
    memory = np.zeros(8 * 9 + 1, np.uint8)
    x = memory[1:].view(np.float64)
    x[:] = np.arange(9.0)
    assert not x.flags.aligned
    g = compiled(lambda x: x[::2] * x[:5] + 1.0)
    for _ in range(2):
        assert same(g(x), x[::2] * x[:5] + 1.0)


def test_branches_and_what_python_raises():
    def f(x):
        return x * 2.0 if np.sum(x) > 0 else x - 1.0

    check(f, X)
    g = compiled(lambda x, i: x[i] * 2.0 + 1.0)
    i = np.array([0, 1])
    assert same(g(X, i), X[i] * 2.0 + 1.0)


def test_threads_have_memory_of_their_own():
    f = grad(lambda x: np.sum(np.sin(x) * np.exp(-x * x)))
    xs = [RNG.standard_normal(30_000) for _ in range(4)]
    wanted, g = [f(x) for x in xs], compiled(f)
    g(xs[0])
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda i: same(g(xs[i]), wanted[i]), [0, 1, 2, 3] * 4))


def test_tables_of_ufuncs_are_read_where_numpy_keeps_them(native):
    for ufunc in (np.sin, np.power, np.logaddexp, np.matmul, np.isnan):
        for i in range(ufunc.ntypes):
            assert without_headers.loop_of(ufunc, i) == native.loop_of(ufunc, i)


def test_tables_that_lie_elsewhere_are_refused(monkeypatch):
    class Longer(ctypes.Structure):
        _fields_ = (("first", ctypes.c_void_p), *without_headers._Ufunc._fields_)

    monkeypatch.setattr(without_headers, "_Ufunc", Longer)
    with pytest.raises(compilers.CompilerError, match="not where they are expected"):
        without_headers.loop_of(np.sin, 0)


@pytest.mark.slow
def test_ten_random_programs(monkeypatch):
    target_c(monkeypatch)
    run(check_compiled, 10, 60)

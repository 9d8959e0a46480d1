"""Programs that are called before the module that calls them is compiled."""

import functools
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_compile.c import native_programs
from chainrules_compile.c.ctypes_calls import have
from chainrules_compile.scope import Form
from chainrules_py import ops
from chainrules_tape import grad, value_and_grad
from tests.engines.compile.c.near import near
from tests.engines.compile.random_programs import check_compiled, run

pytestmark = pytest.mark.usefixtures("native")
RNG = np.random.default_rng(3)
X = RNG.standard_normal((4, 6))


@pytest.fixture
def waiting(monkeypatch):
    """Programs as they are until the module is compiled; call it to end that."""

    @functools.cache
    def driver():
        return real()

    real = native_programs.driver
    monkeypatch.setattr(native_programs, "driver", driver)
    monkeypatch.setattr(native_programs, "_scopes", [])
    monkeypatch.setattr(native_programs, "_compiling", [None])
    return driver


def objects(g):
    """Return the classes of what calls C in the programs of a function."""
    named = g.programs[0].scope.data
    return {type(named[name]).__name__ for name in named if name in ("native", "fits")}


def unaligned(x):
    """Return the same numbers at an odd address."""
    memory = np.empty(x.nbytes + 1, np.uint8)
    y = np.ndarray(x.shape, x.dtype, memory, 1, x.strides)
    y[...] = x
    return y


FUNCTIONS = [
    lambda x: np.sin(x) * x + 1.5,
    lambda x: (np.sum(np.exp(x)), x.T @ x, x[::2] * 2.0),
    lambda x: (float(np.sum(x * x)), np.sum(x) > 1e9, np.cumsum(x, axis=0)),
    lambda x: np.hypot(x, 2.0) + np.fmod(x, 0.7) + np.nextafter(x, 1.0),
    value_and_grad(lambda x: np.sum(np.sin(x) * x[0]) + np.vdot(x, x)),
]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_results_are_those_of_the_module(waiting, f):
    g, h = compile(f, target="c"), compile(f, target="c")
    given = [X, X.T, np.asfortranarray(X), unaligned(X), unaligned(X).T, X[:, :0], X.astype("f4")]
    early = [[g(x) for _ in range(2)][1] for x in given]
    assert objects(g) <= {"Waiting"}
    waiting()
    for x, y in zip(given, early, strict=True):
        h(x)
        again = h(x)
        assert near(y, again)
        assert near(y, f(x))
        assert same_kinds(y, again)


def same_kinds(y, z):
    if isinstance(y, tuple):
        return len(y) == len(z) and all(map(same_kinds, y, z))
    strides = getattr(y, "strides", ()) == getattr(z, "strides", ())
    return type(y) is type(z) and strides


def test_the_module_takes_over(waiting):
    f = FUNCTIONS[0]
    g = compile(f, target="c")
    g(X)
    g(X)
    assert objects(g) == {"Waiting"}
    waiting()
    assert near(g(X), f(X))
    assert objects(g) == {"native", "fits"}
    assert near(g(X), f(X))
    assert native_programs._scopes == []


def test_numbers_of_python_and_numpy(waiting):
    def f(x, y, yes):
        return (x * y + 1.0, y * 2.0 - x) if yes else (x, y)

    g = compile(f, target="c")
    for _ in range(2):
        for x in (1.5, np.float64(1.5), np.float32(1.5), X, list(X[0])):
            y = np.float64(2.5) if type(x) is not list else X[0]
            found, wanted = g(x, y, True), f(np.asarray(x) if type(x) is list else x, y, True)
            assert [type(z) for z in found] == [type(z) for z in wanted] or type(x) is list
            assert near(found, wanted)


def test_a_guard_that_fails(waiting):
    def f(x):
        return x * 2.0 + 1.0 if np.sum(x) > 0.0 else x * 3.0 - 1.0

    g = compile(f, target="c")
    for x in (X * X, -X * X, X * X):
        for _ in range(2):
            assert near(g(x), f(x))


def test_a_loop_of_numpy_that_raises(waiting):
    def f(x, n):
        return x**n * 2 + n - x

    g, x = compile(f, target="c"), np.array([2, 3])
    for n in (np.array([3, 2]), np.array([1, 0])):
        assert np.array_equal(g(x, n), f(x, n))
    with pytest.raises(ValueError, match="Integers to negative integer powers"):
        g(x, np.array([1, -1]))


FORMS = [
    Form(X.dtype, X.shape, None),
    Form(X.dtype, X.T.shape, X.T.strides),
    Form(float, (3,), None),
]
GIVEN = [X, X.T, np.asfortranarray(X), X.astype("f4"), X.astype(">f8"), X[0], X.view(np.recarray)]
GIVEN += [
    [1.0, 2.0, 3.0],
    (1.0, 2.0, 3.0),
    [1.0, 2],
    [1.0, 2.0, 3],
    [1.0, 2.0, np.float64(3)],
    None,
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("i", range(len(GIVEN)))
def test_forms_are_told_as_the_module_tells_them(form, i):
    fits = native_programs.fits([form])
    assert fits(GIVEN[i]) is bool(have([form], GIVEN[i]))


@pytest.mark.slow
def test_random_programs(waiting, monkeypatch):
    monkeypatch.setitem(check_compiled.__globals__, "TARGET", "c")
    run(check_compiled, 5, 77)
    assert not waiting.cache_info().currsize


@pytest.mark.slow
def test_an_empty_cache(tmp_path):
    """The first program runs before the module is compiled, whose file the next process finds."""
    text = """
        import numpy as np, os
        from chainrules_compile import compile
        from chainrules_compile.c import native_programs
        def f(x):
            return np.sin(x) * x + 1.5
        g, x = compile(f, target="c"), np.linspace(0.0, 1.0, 7)
        g(x); y = g(x)
        print(type(g.programs[0].scope["native"]).__name__)
        assert np.allclose(y, f(x))
        if pid := os.fork():
            assert os.waitpid(pid, 0)[1] == 0
        else:
            h = compile(lambda x: x * 2.0 + f(x), target="c")
            assert np.allclose(h(x), x * 2.0 + f(x)) and np.allclose(h(x), x * 2.0 + f(x))
            os._exit(0)
        for thread in native_programs._compiling:
            thread.join(60.0)
        assert np.allclose(g(x), f(x))
        print(type(g.programs[0].scope["native"]).__name__)
    """
    env = {**os.environ, "CHAINRULES_C_CACHE": str(tmp_path)}
    said = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", textwrap.dedent(text)],
            env=env,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout.split()
        for _ in range(2)
    ]
    assert said == [["Waiting", "native"], ["native", "native"]]


def test_a_result_that_is_laid_out_in_another_way_at_a_later_call(waiting):
    slope = grad(lambda a: np.sum(ops.expm(a) ** 2))
    a = RNG.standard_normal((2, 2))
    c = compile(slope, target="c")
    for scale in (0.1, 0.1, 1.0, 10.0):
        assert near(c(a * scale), slope(a * scale))

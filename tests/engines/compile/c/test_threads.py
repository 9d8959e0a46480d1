"""Programs on several threads: the bits of one, whatever runs beside them."""

import concurrent.futures
import os

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_compile.c import cache, native_programs
from chainrules_compile.c.compilers import CompilerError
from chainrules_py import RuleError
from chainrules_tape import value_and_grad
from tests.engines.compile.c.near import near
from tests.engines.compile.shadow import same

pytestmark = pytest.mark.usefixtures("native")
RNG = np.random.default_rng(11)
N = 70_001  # neither blocks nor tasks come out even


def compiled(f, threads=4):
    return compile(f, target="c", threads=threads)


FUNCTIONS = [
    lambda x: np.sin(x) * x + np.exp(-x * x),
    lambda x: np.sum(np.sin(x) * x),
    lambda x: (np.sum(x * x), np.sum(np.cos(x)), x * 2.0 + 1.0),
    value_and_grad(lambda x: np.sum(np.tanh(x) * np.sin(x) + x**3)),
    lambda x: np.where(x > 0.0, x, np.expm1(x)) * 2.0,
    lambda x: (x[:-1] + x[1:], np.sum(x[::-1] * x)),
    lambda x: (x[:70_000].reshape(100, 700) + x[:700]) * x[:100, None] + 1.0,
    lambda x: np.floor(x * 9.0).astype(np.int64) ** 2 + (x > 1.0),
]


@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # NumPy says so of NaN
def test_bits_are_those_of_one_thread(dtype):
    x = RNG.standard_normal(N).astype(dtype)
    for f in FUNCTIONS:
        g = compiled(f)
        for y in (x, -x, np.where(x > 2.0, np.nan, x), np.repeat(x, 2)[::2]):
            assert near(g(y), f(y)), g.source
        one = compiled(f, 1)
        assert same(g(x), one(x))


def test_large_groups_are_shared_and_small_ones_are_not(monkeypatch):
    texts = []
    loaded = native_programs.loaded
    monkeypatch.setattr(
        native_programs, "loaded", lambda *given: texts.append(given[0]) or loaded(*given)
    )
    compiled(lambda x: np.sin(x) * x + 1.0)(np.ones(N))
    compiled(lambda x: np.sum(np.sin(x) * x + 1.0))(np.ones(N))
    compiled(lambda x: np.sin(x) * x + 1.0)(np.ones(1000))
    bodies = [text.partition("threads = 1;")[2].partition("\n/*")[2] for text in texts]
    assert ["IN_PARALLEL" in text for text in bodies] == [True, True, False]


def test_eight_callers_of_four_threads():
    f = value_and_grad(lambda x: np.sum(np.sin(x) * np.exp(-x * x)))
    xs = [RNG.standard_normal(N) for _ in range(8)]
    wanted, g = [f(x) for x in xs], compiled(f)
    g(xs[0])

    def work(i):
        return all([near(g(xs[(i + k) % 8]), wanted[(i + k) % 8]) for k in range(6)])

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


@pytest.mark.slow
def test_a_compiler_without_threads_makes_the_program_for_one(monkeypatch):
    library = cache.library

    def without(text, *flags):
        if "-fopenmp" in flags:
            raise CompilerError("there is no OpenMP")
        return library(text, *flags)

    monkeypatch.setattr(native_programs, "library", without)
    x = RNG.standard_normal(N)
    for f in FUNCTIONS[:4]:
        g = compiled(f)
        assert near(g(x), f(x))
        assert "native" in g.source


@pytest.mark.parametrize("threads", [0, -1, 2.0, True, "2"])
def test_what_is_no_number_of_threads_is_refused(threads):
    with pytest.raises(RuleError, match="a whole number from 1 on"):
        compile(np.sin, target="c", threads=threads)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # JAX says so
def test_a_child_of_a_fork_runs_on_one_thread():
    x = RNG.standard_normal(N)
    f = FUNCTIONS[3]
    g = compiled(f)
    wanted = f(x)
    assert near(g(x), wanted)
    child = os.fork()
    if not child:
        code = 1
        try:
            other = compiled(FUNCTIONS[2])
            code = 0 if near(g(x), wanted) and near(other(x), FUNCTIONS[2](x)) else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert near(g(x), wanted)

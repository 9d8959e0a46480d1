"""Large results lie where NumPy's operators write them: into what nobody has a name for."""

import itertools
import operator
import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile
from chainrules_compile.elision import COMMUTES
from chainrules_tape import value_and_grad
from tests.engines.compile.shadow import same

M, N = 160, 220
LIES = {
    "rows": lambda x: x.reshape(M, N),
    "columns": lambda x: x.reshape(N, M).T,
    "made": lambda x: 2.0 + np.sin(x).reshape(M, N),
    "made columns": lambda x: 2.0 + np.sin(x.reshape(N, M).T),
    "part": lambda x: (2.0 + np.sin(x.reshape(N, M).T))[:, ::-1],
}
OPERATORS = [*COMMUTES, operator.pow, operator.mod]


def named(apply, first, second):
    return lambda x: (lambda a, b: np.sum(apply(a, b)))(first(x), second(x))


def between(apply, first, second):
    def f(x):
        a = first(x)
        return np.sum(apply(a, second(x)) - apply(first(x), a))

    return f


def written(apply, first, second):
    """Apply an operator as it stands in a line, where nobody has either operand."""
    sign = {
        operator.add: lambda x: np.sum(first(x) + second(x)),
        operator.mul: lambda x: np.sum(first(x) * second(x)),
        operator.sub: lambda x: np.sum(first(x) - second(x)),
        operator.truediv: lambda x: np.sum(first(x) / second(x)),
        operator.floordiv: lambda x: np.sum(first(x) // second(x)),
        operator.pow: lambda x: np.sum(first(x) ** second(x)),
        operator.mod: lambda x: np.sum(first(x) % second(x)),
    }
    return sign[apply]


def check(f):
    draws = [np.random.default_rng(s).uniform(0.5, 2.0, M * N) for s in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecordingWarning)
        compiled = compile(f)
        for x in (np.ones(M * N), *draws):
            assert same(compiled(x), f(x))
    assert len(compiled.programs) == 1


@pytest.mark.parametrize("way", [written, named, between])
@pytest.mark.parametrize("apply", OPERATORS)
def test_sums_are_added_in_the_order_of_the_function(apply, way):
    pairs = itertools.product(LIES.values(), repeat=2)
    for first, second in [*pairs][:: 3 if way is written else 7]:
        check(way(apply, first, second))


@pytest.mark.slow
@pytest.mark.parametrize("apply", COMMUTES)
def test_gradients_of_such(apply):
    if apply is not operator.floordiv:
        for first, second in itertools.product(LIES.values(), repeat=2):
            check(value_and_grad(written(apply, first, second)))


@pytest.mark.slow
def test_blocks_of_large_arrays():
    def chain(x):
        for k in range(6):
            x = np.sin(x) * 0.3 + x / (1 + x * x) - 0.01 * k
        return x

    f = lambda x: np.sum(chain(x.reshape(350, 400).T) * x.reshape(400, 350))
    compiled, x = compile(f), np.random.default_rng(0).normal(size=140_000)
    compiled(np.zeros(140_000))
    assert same(compiled(x), f(x))

"""One question for the quotients of numbers, whose gradient is written element by element."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_compile.passes.questions import keeping, written_once
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary.views import Index, store
from chainrules_tape import value_and_grad
from tests.engines.compile.shadow import same

DATA = np.random.default_rng(0).normal(size=150).tolist()


def variances(p):
    """Minus twice the log likelihood of a recursion of variances, but for the logarithms."""
    h, total = p[0] / (1.0 - p[1] - p[2]), 0.0
    for y in DATA:
        total = total + h + y**2 / h
        h = p[0] + p[1] * y**2 + p[2] * h
    return total


def test_a_gradient_written_by_elements_is_asked_once():
    f = value_and_grad(variances)
    g = compile(f)
    points = (0.1, 0.0, -1.0, np.inf, 1e308, 1e-160)
    with np.errstate(all="ignore"):
        for at in [(0.1, 0.1, 0.7), *itertools.product(points, repeat=3)]:
            p = np.array(at)
            assert same(g(p), f(p)), at
    source = g.programs[-1].source
    assert "asking_each(p)" in source
    assert source.count("isfinite(") == 1


FORM = np.empty(3)
X, Y, Z = (Value(n, np.float64, (), np.dtype(float), None, None) for n in "xyz")
ARRAYS = [Value(f"a{i}", np.ndarray, (3,), FORM.dtype, None, (8,)) for i in range(4)]


@pytest.mark.parametrize(
    "places, kept",
    [((0, 1, 2), "xyz"), ((2, 1, -3), "xyz"), ((0, 1, 1), "z"), ((0, 1, -3), "z")],
)
def test_what_is_written_over_is_not_kept(places, kept):
    calls = [Call(np.empty, ((3,),), {}, (ARRAYS[0],))]
    for i, (x, place) in enumerate(zip((X, Y, Z), places, strict=False)):
        index = Index.split((place,))[0]
        calls.append(Call(store, (ARRAYS[i], x), {"index": index}, (ARRAYS[i + 1],)))
    one = Call(np.float64, (0.0,), {}, (Value("one", np.float64, (), FORM.dtype, None, None),))
    made = [Call(np.add, (one.results[0], 1.0), {}, (x,)) for x in (X, Y, Z)]
    program = Program("f", (), (one, *made, *calls), (calls[-1].results[0],))
    assert {x.name for x in keeping(program, (X, Y, Z))} == {*kept}


def test_memory_that_was_written_to_is_not_written_once():
    index = Index.split((0,))[0]
    calls = [
        Call(np.zeros, ((3,),), {}, (ARRAYS[0],)),
        Call(store, (ARRAYS[0], X), {"index": index}, (ARRAYS[1],)),
    ]
    program = Program("f", (X,), tuple(calls), (ARRAYS[1],))
    assert not written_once(program)


def lengths(ms):
    """Distance of a vector that many matrices turn, each time with length one."""
    v = np.ones(3)
    for m in ms:
        v = m @ v
        v = v / np.sqrt(v @ v)
    return np.sum((v - 0.5) ** 2)


def test_one_output_that_all_quotients_reach_is_asked():
    rng = np.random.default_rng(0)
    ms, f = [*rng.normal(size=(8, 3, 3))], value_and_grad(lengths)
    g = compile(f)
    assert same(g(ms), f(ms))
    source = g.programs[-1].source
    assert "asking_each(ms)" in source
    assert "concatenate(" not in source
    with np.errstate(all="ignore"):
        for k, to in itertools.product(range(8), (0.0, np.inf, np.nan, 1e200, 1e-200)):
            moved = [m * to if i == k else m for i, m in enumerate(ms)]
            assert same(g(moved), f(moved)), (k, to)


def quotients(rng):
    """Return a random function of five vectors, by sums, products and quotients."""
    plan = [
        (int(rng.integers(4)), *map(int, rng.integers(0, 5 + k, 2)))
        for k in range(rng.integers(4, 25))
    ]
    ends = rng.integers(0, 5 + len(plan), 3).tolist()

    def f(xs):
        values = [*xs]
        for which, i, j in plan:
            a, b = values[i], values[j]
            values.append((a + b, a * b, a / b, np.sum(a) * b)[which])
        return sum([np.sum(values[k]) for k in ends]) + np.sum(values[-1])

    return f


SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, -1e-310)


def asks(seed):
    rng = np.random.default_rng(seed)
    f = value_and_grad(quotients(rng))
    g = compile(f)
    with np.errstate(all="ignore"):
        for k in range(12):
            xs = [*rng.normal(size=(5, 3))]
            for _ in range(min(k, 3)):
                xs[rng.integers(5)][rng.integers(3)] = rng.choice(SPECIAL)
            assert same(g(xs), f(xs))
    return "asking_each(" in g.programs[-1].source


@pytest.mark.parametrize("seed", range(20))
def test_random_quotients_are_asked_as_each_would_be(seed):
    asks(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 1100, 50))
def test_many_random_quotients_are_asked_as_each_would_be(seed):
    assert any([asks(each) for each in range(seed, seed + 50)])

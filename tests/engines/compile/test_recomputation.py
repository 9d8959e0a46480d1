"""Save or recompute by policy in programs: what a checkpoint lets go stays gone."""

import tracemalloc

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_compile.compiled import close
from chainrules_compile.internal_functions import made_again, name_of
from chainrules_compile.passes import PASSES
from chainrules_compile.passes.checkpoint_marks import without_marks
from chainrules_compile.passes.simplify import simplified
from chainrules_py.extend import flatten
from chainrules_py.program import Call, Program, Value
from chainrules_tape import (
    checkpoint,
    grad,
    hvp,
    jacobian,
    jvp,
    name,
    value_and_grad,
    vjp,
)
from chainrules_tape.tools import checkpoint_chain
from tests.engines.compile.random_programs import arguments, compared, run

RNG = np.random.default_rng(0)
X, W = RNG.standard_normal((4, 3)), RNG.standard_normal((4, 4))
SAVES = ("all", "nothing", "cheap", "mincut", ["p1"], [], 0, 200)


def network(w, x):
    for k in range(3):
        h = name(w @ x, f"p{k}")
        x = np.sin(np.tanh(h) * np.exp(-h * h) + np.cos(h))
    return np.sum(x)


FORMS = (
    grad,
    lambda f: value_and_grad(f, (0, 1)),
    lambda f: lambda w, x: jvp(f, (w, x), (w, x)),
    lambda f: lambda w, x: hvp(f, (w, x), (w, x)),
    lambda f: lambda w, x: vjp(f, w, x)[1](2.0),
    lambda f: lambda w, x: jacobian(lambda w: f(w, x) * np.ones(2))(w),
    lambda f: lambda w, x: grad(lambda w: checkpoint(lambda: f(w, x))())(w),
)


def calls_of(compiled):
    """Return the names of what a program calls, and how often each."""
    names = [name_of(call.function) for call in compiled.programs[0].calls[1]]
    return {n: names.count(n) for n in names}


@pytest.mark.parametrize("save", SAVES, ids=str)
def test_a_program_has_the_bits_under_every_policy(save):
    f = checkpoint(network, save=save)
    for made in FORMS:
        compiled = compile(made(f))
        for k in (1.0, 1.5):
            found, wanted = compiled(W, k * X), made(network)(W, k * X)
            leaves = zip(flatten(found)[0], flatten(wanted)[0], strict=True)
            assert all([np.array_equal(x, y) or close(x, y) for x, y in leaves])
            leaves = zip(flatten(found)[0], flatten(made(f)(W, k * X))[0], strict=True)
            assert all([np.array_equal(x, y) for x, y in leaves]), compiled.source
        assert len(compiled.programs) == 1
        assert "made_again" not in compiled.source


@pytest.mark.parametrize(
    "save, products, tanhs",
    [("all", 8, 3), ("nothing", 11, 6), ("cheap", 8, 6), ("mincut", 8, 6), (["p1"], 10, 6)],
    ids=str,
)
def test_what_is_not_saved_is_computed_again(save, products, tanhs):
    compiled = compile(value_and_grad(checkpoint(network, save=save)))
    compiled(W, X)
    counts = calls_of(compiled)
    assert counts["tanh"] == tanhs
    assert sum([n for x, n in counts.items() if "matmul" in x]) == products


def test_of_a_gradient_alone_the_forward_pass_is_left_out():
    """What runs once more is not run before, and is not compared with what nobody has."""
    compiled = compile(grad(checkpoint(network)))
    compiled(W, X)
    assert calls_of(compiled)["tanh"] == 3
    assert "MISS" not in compiled.source.rpartition("return MISS")[2]


def peak(compiled, *xs):
    compiled(*xs)
    run = compiled.programs[0].run
    tracemalloc.start()
    try:
        run(*xs)
        return tracemalloc.get_traced_memory()[1] / xs[0].nbytes
    finally:
        tracemalloc.stop()


def test_memory_is_what_the_policy_leaves():
    """Counted in arrays, of a chain of 24 steps, each of which has four."""
    x, n = np.linspace(0.1, 1.0, 20_000), 24

    def step(x, k=0):
        return name(np.sin(x) * np.exp(-x) + np.cos(x), f"x{k}")

    def chain(x):
        for k in range(n):
            x = step(x, k)
        return np.sum(x)

    def of(f):
        return peak(compile(value_and_grad(f)), x)

    whole = of(chain)
    assert whole > 2 * n
    assert of(checkpoint(chain, save="all")) == pytest.approx(whole, abs=1)
    assert of(checkpoint(chain, save=[f"x{k}" for k in range(0, n, 6)])) < 4 + 6 * 4
    assert of(checkpoint(chain, save="mincut")) < 30
    schedule = checkpoint_chain(step, n, slots=4)
    assert of(lambda x: np.sum(schedule(x))) < 4 + 8


def test_memory_of_the_least_cut():
    """Of each layer a product is kept, or what follows from it: not the five after it."""
    x, w = np.ones((200, 50)), np.eye(200)

    def layers(x):
        for _ in range(8):
            h = w @ x
            x = np.sin(np.tanh(h) * np.exp(-h * h) + np.cos(h))
        return np.sum(x)

    whole, cut = [
        peak(compile(value_and_grad(f)), x) for f in (layers, checkpoint(layers, save="mincut"))
    ]
    assert whole > 8 * 4
    assert cut < 8 + 9


def check_policies(program):
    """Compare a random program under each policy, as it is and compiled."""
    xs, places = program.leaves, tuple(range(len(program.leaves)))
    for save in ("nothing", "cheap", "mincut", 100):
        f = value_and_grad(checkpoint(program, save=save), places)
        compiled = compile(f)
        for given in (xs, *list(arguments(xs))[1:3]):
            if not compared(f, compiled, given):
                break


def test_random_programs_under_policies():
    run(check_policies, 2)


@pytest.mark.slow
def test_many_random_programs_under_policies():
    for start in range(1, 11):
        run(check_policies, 20, start)


def array(label):
    return Value(label, np.ndarray, (3,), np.dtype(float), None, (8,))


def test_calls_between_marks_are_none_of_before():
    x, a, b, c, d, e = map(array, "xabcde")
    begin, end = Call(made_again, (True,), {}, ()), Call(made_again, (False,), {}, ())
    calls = [
        Call(np.sin, (x,), {}, (a,)),
        begin,
        Call(np.sin, (x,), {}, (b,)),
        Call(np.sin, (x,), {}, (c,)),
        end,
        begin,
        Call(np.sin, (x,), {}, (d,)),
        end,
        Call(np.sin, (x,), {}, (e,)),
    ]
    p = simplified(Program("f", (x,), tuple(calls), (a, b, c, d, e)))
    assert p.outputs == (a, b, b, d, d)
    assert [call.function for call in without_marks(p)] == [np.sin] * 3
    assert list(PASSES).index("simplify") < list(PASSES).index("recomputation")

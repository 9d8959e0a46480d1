"""Scans in programs: one turn is recorded, forwards and backwards, and is a loop."""

import functools
import itertools
import queue
import random
import runpy
from collections import deque
from typing import Any

import numpy as np
import pytest

from chainrules_compile import RecordingError, compile
from chainrules_compile.loop_node import Loop, rows_of, stacked_rows
from chainrules_compile.passes.scan_bodies import with_own_turns
from chainrules_compile.result_checks import close
from chainrules_compile.scan_primitive import SHORT
from chainrules_compile.scan_recording import LONG
from chainrules_py.composites.higher_order import scan
from chainrules_py.extend import flatten
from chainrules_py.program import Call, Program, Value
from chainrules_tape import grad, hvp, jvp, linearize, value_and_grad, vjp
from tests.engines.compile.random_programs import compared
from tests.engines.compile.shadow import same

RNG = np.random.default_rng(0)
N = 20
W, U, B = RNG.standard_normal((3, 3)) / 2, RNG.standard_normal((3, 2)), RNG.standard_normal(3)
XS = RNG.standard_normal((N, 2))


def recurrent(w, u, b, xs):
    def cell(h, x):
        h = np.tanh(w @ h + u @ x + b)
        return h, h

    h, ys = scan(cell, np.zeros(3), xs)
    return np.sum(ys**2) + np.sum(h)


def gated(w, u, b, xs):
    def cell(state, x):
        h, c = state
        z = w @ h + u @ x["x"] + b
        i = 1 / (1 + np.exp(-z))
        c = c * i + np.tanh(z)
        return (np.tanh(c) * i, c), {"h": h, "n": np.sum(c * w)}

    (h, c), ys = scan(cell, (np.zeros(3), b * 1.0), {"x": xs})
    return np.sum(ys["h"] * h) + np.sum(ys["n"]) + np.sum(c)


def numbers(w, u, b, xs):
    c, ys = scan(lambda c, x: (c * w[0, 0] + x[0] / (1 + c * c), c), 0.0, xs)
    return c * np.sum(ys)


def without_rows(w, u, b, xs):
    c, _ = scan(lambda c, _: (np.sin(w @ c + b), None), np.ones(3), None, length=N)
    return np.sum(c)


def inner(w, u, b, xs):
    def outer(h, x):
        g, _ = scan(lambda g, _: (np.tanh(w @ g + u @ x), None), h, None, length=N)
        return g, np.sum(g)

    h, ys = scan(outer, b, xs)
    return np.sum(h) + np.sum(ys**2)


def used_before(w, u, b, xs):
    return np.sum(w**2) + recurrent(w, u, b, xs)


def used_after(w, u, b, xs):
    return recurrent(w, u, b, xs) + np.sum(w**2)


def counted(w, u, b, xs):
    (h, n), _ = scan(lambda s, x: ((np.tanh(w @ s[0] + x[0] * s[1]), s[1] + 1), None), (b, 0), xs)
    return np.sum(h) * n


def written(w, u, b, xs):
    def cell(h, x):
        y = np.zeros(3, like=h)
        y[:2] = x * h[:2]
        y[2] += np.sum(h)
        return np.sin(w @ y), y.T

    h, ys = scan(cell, b, xs[::-1])
    return np.sum(h) + np.sum(ys)


def branching(w, u, b, xs):
    h, _ = scan(lambda h, x: (np.sin(h) if x[0] > 0 else w @ h, None), b, xs)
    return np.sum(h)


def largest(w, u, b, xs):
    h, _ = scan(lambda h, x: (np.sqrt(1 + h * h) * np.max(x) - np.abs(w @ h) / 9, None), b, xs)
    return np.sum(h)


CELLS = (
    *(recurrent, gated, numbers, without_rows, inner, used_before, used_after, counted),
    *(written, branching, largest),
)
FORMS: dict[str, Any] = {
    "value": lambda f: f,
    "gradient": lambda f: value_and_grad(f, (0, 1, 2, 3)),
    "jvp": lambda f: lambda *xs: jvp(f, xs, xs),
    "vjp": lambda f: lambda *xs: vjp(f, *xs)[1](2.0),
    "hvp": lambda f: lambda w, u, b, xs: hvp(lambda w: f(w, u, b, xs), (w,), (w,)),
    "linearize": lambda f: lambda *xs: linearize(f, *xs)[1](*xs),
    "linearized gradient": lambda f: lambda *xs: linearize(grad(f), *xs)[1](*xs),
    "gradient of a push": lambda f: grad(lambda *xs: linearize(f, *xs)[1](*xs)),
    "twice": lambda f: lambda *xs: grad(lambda w: np.sum(grad(f)(w, *xs[1:]) ** 2))(xs[0]),
}


def bodies(program):
    """Give the turns of the loops of a program, at any depth."""
    for call in program:
        if type(call.function) is Loop:
            yield call.function.body
            yield from bodies(call.function.body)


def loops(compiled):
    return list(bodies(compiled.programs[0].calls[0]))


LOOSE = (recurrent, gated, numbers, without_rows, inner, used_after)
QUICK = {*itertools.product(CELLS, ("gradient",)), (numbers, "hvp"), (gated, "twice")}
QUICK |= {(recurrent, form) for form in FORMS}
CASES = [
    pytest.param(f, form, marks=[] if (f, form) in QUICK else [pytest.mark.slow])
    for f, form in itertools.product(CELLS, FORMS)
]


@pytest.mark.parametrize("f, form", CASES)
def test_scans_give_what_the_loop_gives(f, form):
    g = FORMS[form](f)
    compiled = compile(g)
    for k in (1.0, 1.1):
        assert compared(g, compiled, (k * W, U, B, k * XS), close)


@pytest.mark.parametrize("f, form", [case for case in CASES if case.values[0] in LOOSE])
def test_looser_programs_have_loops_in_any_case(f, form):
    g = FORMS[form](f)
    compiled = compile(g)
    compiled(W, U, B, XS)
    assert close(compiled(1.1 * W, U, B, XS), g(1.1 * W, U, B, XS))
    assert len(compiled.programs) == 1
    assert loops(compiled)


@pytest.mark.parametrize("form", ["gradient", "jvp"])
@pytest.mark.parametrize("f", [recurrent, gated, numbers, used_before])
def test_as_many_calls_are_noted_for_any_number_of_turns(f, form):
    counts = []
    for n in (SHORT, 300, SHORT, 300):  # what is met for the first time is noted besides
        compiled = compile(FORMS[form](f))
        compiled(W, U, B, RNG.standard_normal((n, 2)))
        counts.append(len(compiled.programs[0].calls[0]))
    assert counts[2] == counts[3] < 150


def test_short_scans_and_those_that_change_are_recorded_turn_by_turn():
    for f, xs in ((recurrent, XS[: SHORT - 1]), (counted, XS), (branching, XS)):
        compiled = compile(f)
        assert compiled(W, U, B, xs) == f(W, U, B, xs)
        assert not loops(compiled)


def test_questions_of_long_scans_are_refused():
    xs = np.ones((LONG + 1, 2))
    with pytest.raises(RecordingError, match=r"np\.where"):
        compile(grad(branching, argnums=2), strict=True)(W, U, B, xs)


def test_a_turn_that_writes_outside_is_recorded_each_time():
    def f(x):
        seen = np.zeros(3, like=x)

        def cell(h, _):
            seen[0] = np.sum(h)
            return np.sin(h), None

        return scan(cell, x, None, length=N)[0] + seen

    for g in (f, grad(lambda x: np.sum(f(x) ** 2))):
        compiled = compile(g)
        for x in (B, 2.0 * B):
            assert same(compiled(x), g(x))
        assert not loops(compiled)


def test_a_function_that_captures_everything():
    def f(x):
        return scan(lambda c, _: (c * x[0] + x[1], c), 1.0, None, length=N)

    x = np.array([0.5, 0.25])
    compiled = compile(f)
    found, wanted = compiled(x), f(x)
    assert found[0] == wanted[0]
    np.testing.assert_array_equal(found[1], wanted[1])
    assert loops(compiled)


def test_a_saved_module_has_the_loop(tmp_path):
    compiled = compile(value_and_grad(recurrent))
    wanted = compiled(W, U, B, XS)
    compiled.save(tmp_path / "recurrent_grad.py")
    module = runpy.run_path(str(tmp_path / "recurrent_grad.py"))
    found = module["recurrent"](W, U, B, XS)
    for x, y in zip(flatten(found)[0], flatten(wanted)[0], strict=True):
        np.testing.assert_array_equal(x, y)
    assert compiled.source.count("\n    for ") == 2


def array(label, shape=(3,)):
    return Value(label, np.ndarray, shape, np.dtype(float), None, (8,))


def test_what_nobody_uses_of_a_loop_goes():
    """Carried values that only carry themselves, results, the rows that they were made of."""
    w, h, g, x, z, a, b, c, d = map(array, "whgxzabcd")
    body = Program(
        "turn",
        (w, h, g, x, z),
        (
            Call(np.multiply, (w, h), {}, (a,)),
            Call(np.add, (g, z), {}, (b,)),
            Call(np.sin, (x,), {}, (c,)),
            Call(np.add, (a, c), {}, (d,)),
        ),
        (d, b, c, b),
    )
    inputs = (array("W"), array("H"), array("G"), Value("X", list), Value("Z", list))
    ends = (array("D"), array("B"), Value("C", list), Value("E", list))
    call = Call(Loop(body, 5, 1, 2, (False, True)), inputs, {}, ends)
    p = with_own_turns(Program("f", inputs, (call,), (ends[0], ends[2])))
    (call,) = p
    loop = call.function
    assert (loop.same, loop.carried, loop.backwards) == (1, 1, (False,))
    assert [y.name for y in call.results] == ["D", "C"]
    assert [x.name for x in call.operands] == ["W", "H", "X"]
    assert len(loop.body) == 3


def test_rows_and_their_arrays():
    x = np.arange(12.0).reshape(4, 3)[:, ::2]
    rows = rows_of(x, first=1, last=3)
    assert all([row.strides == x.strides[1:] for row in rows])
    np.testing.assert_array_equal(stacked_rows(rows, back=False), x[1:3])
    np.testing.assert_array_equal(stacked_rows(list(x[0]), back=True), x[0][::-1])


class Counter:
    """Counts."""

    n = 0

    def __call__(self):
        self.n += 1
        return self.n


def counted_by_name():
    n = 0

    def count():
        nonlocal n
        n += 1
        return n

    return count


def taken_from_a_queue():
    numbers = queue.SimpleQueue()
    for k in range(10 * N):
        numbers.put(float(k))
    return numbers.get


def appended():
    seen = []
    return lambda: seen.append(0) or len(seen)


def after_some():
    counter = Counter()
    return lambda: 2.0 if counter() > N // 2 else 1.0


MAKERS = {
    "an iterator": lambda: functools.partial(next, iter(range(10 * N))),
    "what counts": lambda: functools.partial(next, itertools.count()),
    "a generator of Python's": lambda: functools.partial(next, (float(k) for k in range(10 * N))),
    "a name": counted_by_name,
    "an attribute": Counter,
    "a list": appended,
    "a deque": lambda: deque(range(10 * N)).popleft,
    "an item": lambda: functools.partial(dict(enumerate(range(10 * N), 1)).popitem),
    "a queue": taken_from_a_queue,
    "random numbers": lambda: np.random.default_rng(0).normal,
    "Python's random numbers": lambda: random.Random(0).random,
    "what changes later": after_some,
}
TAKING = {
    "item": lambda x: x[1] if isinstance(x, tuple) else x,
    "in both": lambda x: float(x[0] if isinstance(x, tuple) else x) * 0.5,
}


@pytest.mark.parametrize("way", TAKING)
@pytest.mark.parametrize("maker", MAKERS)
def test_what_is_another_in_each_turn_is_recorded_turn_by_turn(maker, way):
    """The numbers of the first call do not tell: all of them are multiplied by zero."""

    def f(w, scale, xs):
        take, by = MAKERS[maker](), TAKING[way]
        h, ys = scan(lambda h, x: (h * w + scale * by(take()) * x, np.sum(h)), np.ones(3), xs)
        return np.sum(h) + np.sum(ys)

    g = value_and_grad(f)
    compiled, w, xs = compile(g), np.full(3, 0.5), np.ones((N, 3))
    for scale in (0.0, 1.0, 2.0):
        assert close(compiled(w, scale, xs), g(w, scale, xs))


OPERATIONS = (
    lambda h, x, w: np.tanh(w @ h),
    lambda h, x, w: h * x,
    lambda h, x, w: h + w[0] * np.sin(x),
    lambda h, x, w: h / (2.0 + np.cos(w @ x)),
    lambda h, x, w: np.sum(h * w, axis=1),
    lambda h, x, w: np.where(h > x, h, w[1]),
    lambda h, x, w: h[::-1] * np.exp(-x * x),
    lambda h, x, w: np.concatenate([x[:1], h[1:]]) - h.mean(),
)


def random_scan(seed):
    """Make a scan of a random cell, with what it gives besides, and what follows."""
    rng = np.random.default_rng(seed)
    chosen = [OPERATIONS[i] for i in rng.integers(0, len(OPERATIONS), 4)]
    results, first, after = rng.integers(0, 4), rng.integers(0, 2), rng.integers(0, 3)

    def f(w, b, xs):
        def cell(h, x):
            g = chosen[1](chosen[0](h, x, w), x, w)
            new = chosen[2](g, x, w)
            return new, (None, new, (new, g, new), np.sum(chosen[3](g, x, w)))[results]

        start = b if first else np.zeros(3)
        before = np.sum(w * w) * 0.1 if after == 1 else 0.0
        h, ys = scan(cell, start, xs)
        found = [np.sum(y * y) for y in flatten(ys)[0] if y is not None]
        return np.sum(h * h) + sum(found) + before + (np.sum(w * b) if after == 2 else 0.0)

    return f


def check_random(seed):
    f, xs = random_scan(seed), RNG.standard_normal((N, 3))
    for g in (f, value_and_grad(f, (0, 1, 2)), lambda *xs: jvp(f, xs, xs)):
        compiled = compile(g)
        for k in (1.0, 0.9, 1.2):
            assert compared(g, compiled, (k * W, k * B, k * xs), close)
        assert compiled.programs, "it runs as it is"


@pytest.mark.parametrize("given", [1, 2])
def test_what_is_carried_and_given_is_summed_as_in_a_loop(given):
    """The state has several cotangents in the turn after, and some as a result."""

    def f(w, b, xs):
        def cell(h, x):
            new = np.concatenate([x[:1], h[1:]]) * np.cos(w @ x) - h.mean() * x
            return new, (new,) * given

        h, ys = scan(cell, b, xs)
        return np.sum(h * h) + sum([np.sum(np.sin(y)) for y in ys])

    g = value_and_grad(f, (0, 1, 2))
    compiled, xs = compile(g), np.random.default_rng(3).standard_normal((N, 3))
    for k in (1.0, 0.9):
        assert close(compiled(k * W, k * B, k * xs), g(k * W, k * B, k * xs))
    assert compiled.programs


GIVEN = {
    "a float": lambda h, x: 3.0,
    "NumPy's": lambda h, x: np.float64(2),
    "an int": lambda h, x: 3,
    "complex": lambda h, x: 2j,
    "a length": lambda h, x: float(len(h)),
    "nothing": lambda h, x: None,
    "what is carried": lambda h, x: h,
    "what is given": lambda h, x: x,
    "several": lambda h, x: (3.0, x[0] * h, True, h),
}


@pytest.mark.parametrize("given", GIVEN)
def test_turns_give_what_is_the_same_in_each(given):
    def f(b, xs):
        return scan(lambda h, x: (h * np.sin(x[0]) + x[1], GIVEN[given](h, x)), b, xs)

    def total(b, xs):
        h, ys = f(b, xs)
        return np.sum(h) + sum([np.sum(np.real(y)) for y in flatten(ys)[0] if y is not None])

    for g in (f, value_and_grad(total, (0, 1))):
        compiled = compile(g)
        for k in (1.0, 0.9):
            assert same(compiled(k * B, k * XS), g(k * B, k * XS))
        assert compiled.programs


def test_random_scans():
    for seed in range(3):
        check_random(seed)


@pytest.mark.slow
def test_many_random_scans():
    for seed in range(3, 150):
        check_random(seed)


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_a_turn_that_captures_nothing_differentiated(target):
    """Its step has no leaves, and no cotangent: it ended in a StopIteration."""
    f = lambda x: np.sum(scan(lambda c, _: (np.sin(c), None), x, np.arange(SHORT))[0])
    compiled, g = compile(value_and_grad(f), target=target, strict=True), value_and_grad(f)
    for k in (1.0, 0.5):
        assert close(compiled(k * B), g(k * B))
    assert len(compiled.programs) == 1


def test_a_running_sum_beside_the_state_is_recorded_by_one_turn():
    def f(x):
        turn = lambda c, _: ((np.sin(c[0]), c[1] + np.sum(c[0])), None)
        return np.sum(scan(turn, (x, 0.0), np.arange(200))[0][1])

    compiled, g = compile(value_and_grad(f)), value_and_grad(f)
    assert close(compiled(B), g(B))
    assert loops(compiled)
    assert len(compiled.programs[0].recorded) < 60

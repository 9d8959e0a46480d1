"""Functions in results that keep something, or look up what may be another by now."""

from __future__ import annotations

import dataclasses
import itertools
import types
import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingError, RecordingWarning, compile
from chainrules_py import MutationError
from chainrules_tape import grad, vjp

X, Y = np.array([1.0, 2.0, 3.5]), np.array([0.5, -1.0, 2.0])
COUNT, RATE = [0], [1.0]


def momentum(x):
    speed = np.zeros_like(x)

    def step(y):
        nonlocal speed
        speed = 0.9 * speed + y
        return x - 0.1 * speed

    return step


def by_list(x):
    seen = []

    def step(y):
        seen.append(y * 2.0)
        return x * len(seen) + sum(seen)

    return step


def by_dict(x):
    state = {"n": 0.0}

    def step(y):
        state["n"] += 1.0
        return x * y * state["n"]

    return step


def by_itself(x):
    def step(y):
        step.n += 1
        return x * y * step.n

    step.n = 0
    return step


def by_default(x):
    def step(y, seen=[]):  # noqa: B006
        seen.append(1.0)
        return x * y * len(seen)

    return step


def by_buffer(x):
    total = np.zeros(3)

    def step(y):
        total[:] += y
        return x * total

    return step


def by_traced_buffer(x):
    total = 0.0 * x

    def step(y):
        total[:] += y
        return x * total

    return step


def by_iterator(x):
    turns = iter(range(1, 100))
    return lambda y: x * y * next(turns)


def by_generator(x):
    rng = np.random.default_rng(0)
    return lambda y: x * y * rng.normal()


class Counter:
    def __init__(self, x):
        self.x, self.n = x, 0

    def step(self, y):
        self.n += 1
        return self.x * y * self.n


def by_method(x):
    return Counter(x).step


def by_object(x):
    counter = Counter(x)
    return lambda y: counter.step(y) + 1.0


def by_gradient(x):
    steps = []

    def step(y):
        steps.append(1)
        return grad(lambda x: np.sum(x * x * y) * len(steps))(x)

    return step


def at_times(x):
    """Count only where a number is large."""
    n = 0

    def step(y):
        nonlocal n
        if np.sum(y) > 1.0:
            n += 1
        return x * y * (n + 1)

    return step


def outside(x):
    def step(y):
        COUNT[0] += 1
        return x * y * COUNT[0]

    return step


KEEPING = (
    momentum, by_list, by_dict, by_itself, by_default, by_traced_buffer, by_iterator, by_generator,
    by_method, by_object, by_gradient, at_times,
)  # fmt: skip


def answers(make, ys, calls=((0,), (1,), (0,), (0,), (1,), (0,))):
    """Call the functions of two results in turn."""
    given = [make(X), make(X + 1.0)]
    return [given[i](y) for y in ys for (i,) in calls]


@pytest.mark.parametrize("ys", [(Y,), (Y, Y + 3.0), (Y, 2.0, Y)], ids=["one", "others", "forms"])
@pytest.mark.parametrize("make", KEEPING)
def test_what_keeps_something_keeps_it(make, ys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecordingWarning)
        found = answers(compile(make), ys)
    for y, want in zip(found, answers(make, ys), strict=True):
        np.testing.assert_array_equal(y, want)


@pytest.mark.filterwarnings("ignore::chainrules_compile.RecordingWarning")
@pytest.mark.parametrize(
    "make",
    [by_dict, by_itself, by_default, by_iterator, by_method, by_object, by_gradient, at_times],
)
def test_so_it_does_where_it_is_differentiated(make):
    step = make(X)
    wanted = [grad(lambda y: np.sum(step(y)))(Y) for _ in range(3)]
    given = compile(make)(X)
    for want in wanted:
        np.testing.assert_array_equal(grad(lambda y: np.sum(given(y)))(Y), want)


@pytest.mark.filterwarnings("ignore::chainrules_compile.RecordingWarning")
def test_what_is_counted_outside_is_counted_once():
    COUNT[0] = 0
    step = compile(outside)(X)
    for n in range(1, 4):
        np.testing.assert_array_equal(step(Y), X * Y * n)
    assert COUNT == [3]


def test_a_plain_buffer_is_refused_as_everywhere():
    with pytest.raises(RecordingError, match="write into a plain array"):
        compile(by_buffer)(X)(Y)


def test_it_is_said_once():
    made = compile(momentum)
    step = made(X)
    with pytest.warns(RecordingWarning, match="a function in its result changes speed when"):
        step(Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step(Y)
        made(X)(Y)
    assert "changes speed" in made.explain()


@pytest.mark.filterwarnings("ignore::chainrules_compile.RecordingWarning")
def test_functions_that_share_what_they_keep():
    def pair(x):
        held = [x]
        return {"put": lambda y: held.append(y * 2.0), "get": lambda: held[-1] + 1.0}

    given, want = compile(pair)(X), pair(X)
    for functions in (given, want):
        functions["get"]()
        functions["put"](Y)
    np.testing.assert_array_equal(given["get"](), want["get"]())


@pytest.mark.filterwarnings("ignore::chainrules_compile.RecordingWarning")
@pytest.mark.parametrize("kind", ["list", "dict", "array", "part", "object"])
def test_what_lies_beside_a_function(kind):
    def make(x):
        held = {
            "list": lambda: [x],
            "dict": lambda: {0: x},
            "array": lambda: x * 2.0,
            "part": lambda: np.zeros((2, 3)),
            "object": lambda: types.SimpleNamespace(x=x),
        }[kind]()
        beside = held[0] if kind == "part" else held
        return beside, lambda y: (held.x if kind == "object" else held[0]) * y

    answers = []
    for f in (compile(make), make):
        beside, times = f(X)
        times(Y)
        if kind == "object":
            beside.x = np.ones(3)
        else:
            beside[0] = 7.0
        answers.append(times(1.0))
    np.testing.assert_array_equal(*answers)


# ------------------------------------------------------------------------- what changes in between


@dataclasses.dataclass
class Point:
    k: object


def replaced(held, by):
    if isinstance(held, Point):
        held.k = by
    else:
        held["k" if isinstance(held, dict) else 0] = by


KINDS = {
    "a list": lambda x: [x],
    "a dict": lambda x: {"k": x},
    "a dataclass": Point,
}
VALUES = {"a number": (1.0, 4.0), "an array": (np.ones(3), np.full(3, 4.0)), "a text": ("a", "bc")}


def weight(p):
    x = p.k if isinstance(p, Point) else p["k" if isinstance(p, dict) else 0]
    return float(len(x)) if isinstance(x, str) else x


@pytest.mark.parametrize("before", [False, True], ids=["after a call", "before any"])
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("kind", KINDS)
def test_an_argument_that_is_another_by_now(kind, value, before):
    was, now = VALUES[value]
    held = KINDS[kind](was)
    given = compile(lambda x, p: lambda y: x * y * weight(p))(X, held)
    if not before:
        np.testing.assert_array_equal(given(2.0), X * 2.0 * weight(held))
    replaced(held, now)
    with pytest.raises(MutationError, match="written to since, or is another by now"):
        given(2.0)
    replaced(held, was)
    np.testing.assert_array_equal(given(2.0), X * 2.0 * weight(held))


def test_an_argument_that_grew_and_a_name_outside():
    held = [X]
    given = compile(lambda x, p: lambda y: x * y * len(p))(X, held)
    scaled = compile(lambda x: lambda y: x * y * RATE[0])(X)
    given(1.0), scaled(1.0)
    held.append(X)
    RATE[0] = 2.0
    for function in (given, scaled):
        with pytest.raises(MutationError, match="another by now"):
            function(1.0)
    RATE[0] = 1.0


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_functions_that_keep_nothing_stay_programs(target):
    made = compile(
        lambda x: (np.sum(x), vjp(np.sin, x)[1], lambda y: x * y), target=target, background=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecordingWarning)
        for x, times in itertools.product((X, X + 1.0), range(3)):
            y, pull, scaled = made(x)
            assert y == np.sum(x)
            np.testing.assert_array_equal(pull(Y)[0], np.cos(x) * Y)
            np.testing.assert_array_equal(scaled(float(times)), x * times)
    assert len(made.programs) == 3

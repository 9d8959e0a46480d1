"""Rolled form: programs with loops give the bits of the straight line, and read as loops."""

from __future__ import annotations

import dataclasses
import itertools
import math
import operator
import random
import sys
import tracemalloc
import warnings

import numpy as np
import pytest

import chainrules_tape as ct
from chainrules_compile import compile
from chainrules_compile.loops import Loop, Varying, joined, nested, picked, ranged, run
from chainrules_compile.passes import repeats as passes_repeats
from chainrules_compile.passes.repeats import Line, Repeat, may_repeat, repeats
from chainrules_compile.passes.rolled import rolled
from chainrules_compile.writers import lists, numpy_source
from chainrules_py.extend import flatten
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary.views import Index, read
from tests.engines.compile.random_programs import SAID, check_compiled, check_in_threads
from tests.engines.compile.random_programs import run as run_random

FEW = 6


def loops(program):
    return [call.function for part in nested(program) for call in part if is_loop(call)]


def is_loop(call):
    return type(call.function) is Loop


@pytest.fixture
def eager_to_roll(monkeypatch):
    """Have everything that comes three times be a loop."""

    def low(program):
        found = rolled(program, FEW)
        dataclasses.replace(found)  # which looks at all values
        return found

    monkeypatch.setattr(lists, "rolled", low)


def recurrent(w, xs, h):
    for x in xs:
        h = np.tanh(w @ h + x)
    return np.sum(h * h)


def second_order(x):
    a, b, total = x, 2.0 * x, 0.0
    for k in range(12):
        a, b = b, np.sin(b) * a + x
        total = total + np.sum(b) * (k + 0.5)
    return total


def slices(x):
    total = 0.0
    for k in range(20):
        part = x[2 * k : 2 * k + 3]
        total = total + np.sum(part * part)
    return total


def rows_and_columns(x):
    total = 0.0
    for k in range(9):
        total = total + np.sum(x[k, 1:4] * x[1:4, k + 1]) * x[k, -1] + np.max(x[k])
    return total


def written(x):
    b = np.zeros(20, like=x)
    for k in range(20):
        b[k] = np.sin(x[k]) * x[19 - k]
    return np.sum(b * b)


def neighbours(xs):
    return sum([(y - x * x) ** 2 + (1.0 - x) ** 2 for x, y in itertools.pairwise(xs)])


def within(x):
    for _ in range(6):
        for _ in range(8):
            x = np.sin(x) * x
        x = np.cos(x) + 1.0
    return np.sum(x)


def guarded(x):
    total = x[0] * 0.0
    for k in range(12):
        total = total + x[k] if x[k] > 0 else total * x[k]
    return total * total


CASES = [
    (recurrent, (np.eye(3) * 0.5, np.linspace(0, 1, 36).reshape(12, 3), np.ones(3)), (0, 2)),
    (second_order, (np.linspace(0.1, 0.2, 4),), (0,)),
    (slices, (np.linspace(0.0, 1.0, 50),), (0,)),
    (rows_and_columns, (np.sin(np.arange(100.0)).reshape(10, 10),), (0,)),
    (written, (np.linspace(0.0, 1.0, 20),), (0,)),
    (neighbours, ([0.1 * k for k in range(25)],), (0,)),
    (within, (np.linspace(0.1, 0.9, 3),), (0,)),
    (guarded, (np.linspace(0.5, 1.0, 12),), (0,)),
]


@pytest.mark.usefixtures("eager_to_roll")
@pytest.mark.parametrize("f, xs, places", CASES, ids=[f.__name__ for f, *_ in CASES])
def test_loops_give_the_bits_of_the_function(f, xs, places):
    compiled = compile(ct.value_and_grad(f, places))
    for _ in range(2):
        found, wanted = compiled(*xs), ct.value_and_grad(f, places)(*xs)
        np.testing.assert_array_equal(found[0], wanted[0])
        for x, y in zip(found[1], wanted[1], strict=True):
            np.testing.assert_array_equal(x, y)
    (program,) = compiled.programs
    assert loops(program.program)
    assert "for " in compiled.source
    calls = sum([len(part) for part in nested(program.program)])
    assert calls < len(program.recorded) * 2 / 3


@pytest.mark.usefixtures("eager_to_roll")
def test_guards_in_loops_find_other_branches():
    x, compiled = np.linspace(0.5, 1.0, 12), compile(ct.grad(guarded))
    compiled(x)
    x[7] = -1.0
    np.testing.assert_array_equal(compiled(x), ct.grad(guarded)(x))
    assert len(compiled.programs) == 2


@pytest.mark.usefixtures("eager_to_roll")
@pytest.mark.parametrize("check, n", [(check_compiled, 3), (check_in_threads, 1)])
def test_random_programs_in_loops(check, n):
    SAID.clear()
    run_random(lambda program: check(Turns(program)), n, 7)
    assert check is check_in_threads or SAID["equal"]


PLACES = ["u[i, 0]", "u[i, -1]", "u[i, 2]", "u[i, j]", "u[i, 0:2]", "u[i, 3:5]", "u[i]"]
READS = ["u[i - 1, 1]", "u[i - 1, -2]", "u[i - 1, 0]", "x[0]", "x[3]", "u[i, 1]", "u[0, 2]"]
STEPS = ["{} = 0.5 * {}", "{} *= 0.9 * {}", "{} += 0.01 * {}", "{} = {} + 0.1", "{} -= 0.2 + {}"]


def of_places(seed):
    """Return a program whose turns write to rows of a buffer, and to fixed places of them."""
    rng = random.Random(seed)
    body = ["u[i] = np.sin(u[i - 1])" if rng.random() < 0.8 else "u[i] += u[i - 1] * 0.9"]
    for _ in range(rng.randint(1, 4)):
        place = rng.choice(PLACES)
        body.append(rng.choice(STEPS).format(place, rng.choice(READS)))
        if "j" in place:
            body[-1] = f"for j in range({rng.randint(2, 6)}): {body[-1]}"
    source = "def f(x):\n    u = np.zeros((TURNS, 6), like=x)\n    u[0] = x\n"
    source += f"    for i in range(1, {rng.randint(20, 60)}):\n"
    source += "".join([f"        {line}\n" for line in body])
    names = {"np": np, "TURNS": 60}
    exec(source + "    return np.sum(u**2) + u[5, 0]\n", names)
    return names["f"], source


def check_places(seed):
    """Record where all numbers are alike, so that nothing is seen before others come."""
    f, source = of_places(seed)
    for g in (f, ct.value_and_grad(f), lambda x: ct.jvp(f, (x,), (x,))):
        compiled = compile(g)
        for x in (np.zeros(6), *np.random.default_rng(seed).random((2, 6))):
            with np.errstate(all="ignore"):
                np.testing.assert_equal(compiled(x), g(x), err_msg=source)


@pytest.mark.usefixtures("eager_to_roll")
def test_places_of_turns_are_no_other_places():
    for seed in range(12):
        check_places(seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 1000, 100))
def test_places_of_many_turns_are_no_other_places(start):
    for seed in range(start, start + 100):
        check_places(seed)


class Turns:
    """Random program, run five times on what it has made."""

    def __init__(self, program):
        self.program = program
        self.leaves = program.leaves

    def __call__(self, *xs):
        total = 0.0
        for _ in range(5):
            y = self.program(*xs)
            fits = [
                np.shape(x) == np.shape(y) and np.result_type(x, y) == np.result_type(x) for x in xs
            ]
            xs = tuple([x + y * 0.01 if fit else x for x, fit in zip(xs, fits, strict=True)])
            total = total + y
        return total


def is_like(y, x):
    return np.shape(x) == np.shape(y) and np.result_type(x, y) == np.result_type(x)


def chain(n):
    """A program of two calls for each turn."""
    x = Value("x", float)
    calls, last = [], x
    for k in range(n):
        a, b = Value(f"a{k}", float), Value(f"b{k}", float)
        calls += [
            Call(operator.mul, (last, last), {}, (a,)),
            Call(operator.add, (a, 0.5 * k), {}, (b,)),
        ]
        last = b
    return Program("chain", (x,), tuple(calls), (last, calls[2].results[0]))


def test_a_loop_is_a_function_of_its_operands():
    straight = chain(10)
    found = rolled(straight, FEW)
    assert run(found, (0.1,)) == run(straight, (0.1,))
    (loop,) = loops(found)
    assert (loop.turns, len(loop.body), loop.same, loop.carried) == (10, 2, 0, 1)
    assert "loop_of_10" in repr(found)


def test_what_does_not_follow_is_left_as_it_is():
    x, y = Value("x", float), Value("y", float)
    made, calls = [x, y], []
    for k in range(30):
        z = Value(f"z{k}", float)
        calls.append(Call(operator.add, (made[(k * k * 7) % len(made)], made[-1]), {}, (z,)))
        made.append(z)
    straight = Program("mixed", (x, y), tuple(calls), (made[-1],))
    assert run(rolled(straight, FEW), (0.5, 0.25)) == run(straight, (0.5, 0.25))
    assert not loops(rolled(straight, 1000))


def test_the_shortest_period_is_found():
    line = Line(chain(50))
    assert repeats(line, FEW) == [Repeat(0, 2, 50)]


KINDS = (operator.add, operator.mul, np.add, read, np.concatenate)


def draw_call(rng, made, name):
    """Draw a call of some kind: numbers on either side, parts, lists, several results."""
    x, y, f = rng.choice(made), rng.choice(made), rng.choice(KINDS)
    results = tuple(
        [Value(f"{name}_{k}", rng.choice(CLASSES)) for k in range(rng.choice((1, 1, 2)))]
    )
    if f is read:
        return Call(f, (x,), {"index": Index((rng.randrange(3),))}, results)
    if f is np.concatenate:
        return Call(f, ([x, rng.choice((y, 2.0))],), {"axis": rng.randrange(2)}, results)
    c = rng.choice((2.0, -0.0, 0.0, math.nan, np.float64(2.0), 3))
    operands = rng.choice(((x, y), (x, c), (c, x), (x,), (x, y, x), (x, y, x, y), (c, c)))
    return Call(f, operands, {}, results)


CLASSES = (float, np.float64, np.ndarray)


@pytest.mark.parametrize("packed", [(3, 2000), (3, 0)])
def test_calls_have_one_kind_where_they_differ_in_values_and_numbers_alone(packed, monkeypatch):
    monkeypatch.setattr(passes_repeats, "_PACKED", packed[0])
    monkeypatch.setattr(passes_repeats, "_FORMS", packed[1])
    rng = random.Random(0)
    made, calls = [Value("x", float), Value("y", np.ndarray)], []
    inputs = tuple(made)
    for i in range(1500):
        calls.append(draw_call(rng, made, f"v{i}"))
        made += calls[-1].results
    line = Line(Program("drawn", inputs, tuple(calls), ()))
    keys = [line._kind(call) for call in calls]
    numbers = {}
    assert line.kinds.tolist() == [numbers.setdefault(key, len(numbers)) for key in keys]
    assert 50 < len(numbers) < 1000
    numbers = [sum([type(x) in CLASSES for x in flatten(call.operands)[0]]) for call in calls]
    assert np.diff(line.static_at).tolist() == [
        n + (call.function is read) for n, call in zip(numbers, calls, strict=True)
    ]


def test_where_nothing_may_repeat_nothing_does():
    rng, functions = np.random.default_rng(0), (operator.add, operator.mul, operator.sub)
    seen = set()
    for _ in range(200):
        x, calls = Value("x", float), []
        last = x
        while len(calls) < 200:
            block = rng.integers(0, 3, rng.integers(1, 30))
            for k in [*block] * rng.integers(1, 9):
                y = Value(f"y{len(calls)}", float)
                calls.append(Call(functions[k], (last, x), {}, (y,)))
                last = y
        program = Program("blocks", (x,), tuple(calls), (last,))
        least = int(rng.integers(10, 100))
        saved = sum([r.saved for r in repeats(Line(program), least)])
        may = may_repeat(program, least)
        assert may or 2 * saved < len(program)
        seen.add((may, 2 * saved >= len(program)))
    assert seen == {(False, False), (True, False), (True, True)}


def test_lists():
    assert picked([3, 4, 5], turns=(1,)) == 4
    assert picked([3, 4, 5], turns=(0, 2)) == (3, 5)
    assert joined([3, 4, 5], 6, cuts=(slice(2, 0, -1), None)) == [5, 4, 6]
    assert ranged([3, 5, 7], 3) == range(3, 9, 2)
    assert ranged([3, 5, 8], 3) is None
    assert Varying(((1,), (2,))).as_range() == range(1, 3)


def test_number_programs_of_short_turns_take_several_at_once():
    def f(x):
        y = x
        for _ in range(2000):
            y = y * 0.999 + x
        return y

    compiled = compile(f)
    assert compiled(0.5) == f(0.5)
    (loop,) = loops(compiled.programs[0].program)
    assert 4 < len(loop.body) < 64


def peak(g, *xs):
    """Count the bytes that a call has at most."""
    g(*xs)
    tracemalloc.start()
    g(*xs)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def test_a_gradient_of_forty_steps_is_a_few_lines():
    def loss(w, x):
        y = np.tanh(x)
        for _ in range(40):
            y = np.tanh(w @ y + x)
        return y @ (w @ y)

    rng, g = np.random.default_rng(0), ct.value_and_grad(loss, argnums=(0, 1))
    compiled = compile(g)
    for _ in range(3):
        w, x = rng.normal(size=(12, 12)), rng.normal(size=12)
        for found, wanted in zip(flatten(compiled(w, x))[0], flatten(g(w, x))[0], strict=True):
            assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()
    assert len(loops(compiled.programs[0].program)) == 2
    assert len(compiled.source.splitlines()) < 60


def test_large_arrays_are_given_back_as_they_are_used():
    x = np.linspace(0.0, 1.0, 20_000)

    def f(x):
        for _ in range(60):
            x = np.sin(x) * x + 0.5
        return np.sum(x)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        straight = compile(ct.grad(f))
        write = lambda p, names, scope: numpy_source.NumpyWriting(p, names, scope).body()
        straight._setting = straight._setting._replace(write=write)
        looped = compile(ct.grad(f))
        assert peak(looped, x) < 1.1 * peak(straight, x)
    assert "for " in looped.source
    assert "for " not in straight.source


def test_loops_take_lists_of_each_other_and_small_arrays_go_as_they_are_used():
    """Two turns in one leave loops of single turns nothing that follows: values kept names."""

    def f(matrices, v):
        for m in matrices:
            u = m @ v
            v = u / np.sqrt(u @ u)
        return np.sum(v)

    rng = np.random.default_rng(0)
    matrices = list(np.eye(3) + 0.2 * rng.normal(size=(100, 3, 3)))
    compiled = compile(ct.grad(f))
    compiled(matrices, np.ones(3))
    loops = [line for line in compiled.source.splitlines() if line.lstrip().startswith("for ")]
    assert len(loops) == 2
    assert ".pop()" in compiled.source
    results = 100 * (sys.getsizeof(matrices[0].copy()) + 8)
    assert peak(compiled, matrices, np.ones(3)) < 2 * results

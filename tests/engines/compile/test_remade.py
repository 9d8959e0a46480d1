"""What is cheap is made again after the peak of memory: the same bits and loops, fewer bytes."""

import itertools
import tracemalloc

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_compile.passes import FOR_NUMPY, LOOSE, PASSES, remade
from chainrules_compile.passes.remade import with_remade
from chainrules_py.extend import flatten
from chainrules_py.program import Program
from chainrules_tape import value_and_grad

RNG = np.random.default_rng(0)


def peak(run):
    """Return the bytes that a call has at most."""
    run()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def both(monkeypatch, f, *args):
    """Compile value and gradient without the pass and with it; compare all bits."""
    wanted = flatten(value_and_grad(f)(*args))[0]
    found = []
    for step in (lambda program: program, with_remade):
        monkeypatch.setitem(PASSES, "remade", step)
        compiled = compile(value_and_grad(f))
        for x, y in zip(wanted, flatten(compiled(*args))[0], strict=True):
            assert np.asarray(x).tobytes() == np.asarray(y).tobytes()
        found.append((compiled, peak(lambda c=compiled: c(*args))))
    checked(found[1][0].programs[0].program)
    return found


def checked(program):
    """Have `Program` itself look at all calls, of loops as well."""
    Program(program.name, program.inputs, program.calls, program.outputs, program.constants)
    for call in program:
        if hasattr(call.function, "body"):
            checked(call.function.body)


def gates(w, h):
    for _ in range(120):
        z = h @ w
        h = np.tanh(z) / (1.0 + np.exp(-z))
    return np.sum(h * h)


def rosenbrock(x):
    return sum([100.0 * (b - a * a) ** 2 + (1.0 - a) ** 2 for a, b in itertools.pairwise(x)])


def rows(x, ys):
    total = 0.0
    for y in ys:
        x = np.sin(x) + 0.1
        gain = x[0] * y
        total = total + np.sum(gain * gain * x[1])
    return total


def shares(x, ys):
    total = 0.0
    for y in ys:
        x = np.cos(x) + y
        v = x[0] - 0.5
        total = total + v * v / x[1] + np.log(x[1] * x[1])
    return total


PROGRAMS = {
    "gates": (gates, (RNG.normal(size=(32, 32)) / 6, RNG.normal(size=(16, 32))), 0.6),
    "numbers": (rosenbrock, (RNG.normal(size=600).tolist(),), 0.6),
    "views": (rows, (RNG.normal(size=(2, 4)), RNG.normal(size=100)), 0.85),
    "numbers of numbers": (shares, (np.array([0.3, 2.0]), RNG.normal(size=300) + 4.0), 0.8),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_made_again_has_the_bits_and_spares_memory(monkeypatch, name):
    f, args, share = PROGRAMS[name]
    (_, before), (_, after) = both(monkeypatch, f, *args)
    assert after <= share * before


def test_loops_are_found_as_before(monkeypatch):
    (before, _), (after, _) = both(monkeypatch, gates, *PROGRAMS["gates"][1])
    assert before.source.count("for ") == after.source.count("for ") > 0
    assert after.source.count(".append(") < before.source.count(".append(")


def test_what_is_dear_or_written_to_or_given_is_kept(monkeypatch):
    def f(x):
        y = np.exp(x)
        b = x * 2.0
        c = b.copy()
        c[3] = np.sum(y)
        return np.sum(np.sin(y) * np.sin(c)) + np.sum(np.tanh(b) * y)

    (before, _), (after, _) = both(monkeypatch, f, RNG.normal(size=3000))
    assert after.source.count("exp(") == before.source.count("exp(")
    assert after.source.count("sin(") == before.source.count("sin(")


def test_results_are_not_made_again():
    f = compile(lambda x: (x * 2.0, np.sum(np.sin(x * 2.0) * np.cos(x))))
    x = RNG.normal(size=3000)
    y, total = f(x)
    assert y.tobytes() == (x * 2.0).tobytes()
    assert total == np.sum(np.sin(x * 2.0) * np.cos(x))


def test_small_programs_stay(monkeypatch):
    (before, _), (after, _) = both(monkeypatch, lambda x: np.sum(np.sin(x) * x), np.ones(20))
    assert before.source == after.source


def test_complex_numbers_are_kept(monkeypatch):
    def f(x):
        z = x * (1.0 + 2.0j)
        for _ in range(20):
            z = z * (x + 0.5j) / 2.0
        return np.sum(np.abs(z))

    both(monkeypatch, f, RNG.normal(size=200))


def test_the_pass_stands_where_numpy_runs():
    assert PASSES["remade"] is LOOSE["remade"] is with_remade
    assert "remade" in FOR_NUMPY


def short(turns, numbers):
    """Return a loss of so many steps, of which some compute with numbers and views."""

    def loss(w, x):
        total = 0.0
        for k in range(turns):
            z = (w[None, :] * x).reshape(-1) / (1.0 + w * w) if k % 2 else np.tanh(w * x + k)
            total = total + np.sum(z)
            for i in range(numbers):
                total = total * (w[i] + 0.5) - w[i] * w[-1]
        return total

    return loss


def test_a_short_program_is_not_searched_where_nothing_in_it_would_be_made_again():
    answers = []
    for n, turns, numbers in itertools.product((3, 300, 800, 30_000), (1, 2, 4), (0, 2)):
        compiled = compile(value_and_grad(short(turns, numbers)))
        compiled(np.full(n, 0.5), np.linspace(0.0, 1.0, n))
        program = compiled.programs[0].recorded
        for title, step in PASSES.items():
            if title == "remade" and len(program) < remade._SHORT:
                answers.append(remade.is_dear(program))
                assert not answers[-1] or remade._Peak(program).program() is program
            program = step(program)
    assert len(answers) > 10
    assert {*answers} == {True, False}

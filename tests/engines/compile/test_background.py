"""Programs that are made in the background: one for NumPy serves until they give the same."""

import threading
import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, background, compile, compiled
from chainrules_compile.writers.numpy_source import write
from chainrules_compile.writers.writer import Body

X = np.linspace(0.0, 1.0, 5)


class Target:
    """Target whose writer waits to be let go on, and does as it is told."""

    def __init__(self, monkeypatch):
        self.go, self.begun, self.way = threading.Event(), threading.Event(), "well"
        monkeypatch.setattr(compiled, "writer_of", lambda target: self.write)

    def write(self, program, names, scope):
        self.begun.set()
        self.go.wait()
        if self.way == "raises":
            raise ZeroDivisionError("of the writer")
        body = write(program, names, scope)
        if self.way == "otherwise":
            body = body._replace(outputs=[f"{y} + 1.0" for y in body.outputs])
        elif self.way == "misses":
            body = Body([f"return {scope.again}"], ["None"])
            scope.setdefault("MISS", compiled.MISS)
        elif self.way == "raises later":
            body = Body(["1 / 0"], ["None"])
        elif self.way == "instead":
            body = body._replace(instead="written for NumPy: there is no compiler")
        return body._replace(lines=["# by the target", *body.lines])


@pytest.fixture
def target(monkeypatch):
    target = Target(monkeypatch)
    yield target
    target.go.set()


def f(x):
    return np.sin(x) * x + 1.5


def is_by_the_target(g):
    return "by the target" in g.source


def test_numpys_program_serves_until_the_other_is_made(target):
    g = compile(f, target="other")
    for _ in range(3):
        assert np.array_equal(g(X), f(X))
        assert not is_by_the_target(g)
    target.go.set()
    g.wait()
    for _ in range(3):
        assert np.array_equal(g(X + 1.0), f(X + 1.0))
        assert is_by_the_target(g)
    assert len(g.programs) == len(g._runs) == 1


def test_it_can_be_waited_for_at_the_first_call(target):
    target.go.set()
    g = compile(f, target="other", background=False)
    assert np.array_equal(g(X), f(X))
    assert is_by_the_target(g)
    g.wait()


@pytest.mark.parametrize(
    "way, said",
    [
        ("otherwise", "gave another result"),
        ("raises", "ZeroDivisionError"),
        ("raises later", "ZeroDivisionError"),
        ("instead", "no compiler"),
    ],
)
def test_what_does_not_give_the_same_never_serves(target, way, said):
    target.way = way
    target.go.set()
    g = compile(f, target="other")
    g(X)
    g.wait()
    with pytest.warns(RecordingWarning, match=said):
        assert np.array_equal(g(X), f(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(g(X), f(X))
    assert not is_by_the_target(g)


def test_what_misses_is_asked_again(target):
    target.way = "misses"
    target.go.set()
    g = compile(f, target="other")
    g(X)
    g.wait()
    for _ in range(3):
        assert np.array_equal(g(X), f(X))
    assert not is_by_the_target(g)


def test_each_kind_of_arguments_has_its_own(target):
    g = compile(f, target="other")
    given = [X, X[:3], X.astype(np.float32)]
    for x in given:
        g(x)
    target.go.set()
    g.wait()
    for x in given:
        assert np.array_equal(g(x), f(x))
    assert all(["by the target" in program.source for program in g.programs])


def test_rules_that_change_meanwhile_forget_both(target):
    g = compile(f, target="other")
    g(X)
    old = g.programs[0].serving
    g.forget()
    target.go.set()
    old.wait()
    assert np.array_equal(old(X), f(X))
    assert g.programs == ()


def test_calls_from_eight_threads(target):
    g = compile(f, target="other")
    g(X)
    wrong = []

    def work(i):
        for k in range(50):
            x = X + i + k
            if not np.array_equal(g(x), f(x)):
                wrong.append((i, k))
            if i == k == 4:
                target.go.set()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    g.wait()
    g(X)
    assert is_by_the_target(g)


@pytest.mark.parametrize("wins", [True, False])
def test_what_takes_longer_in_long_calls_is_measured_in_turns(target, monkeypatch, wins):
    monkeypatch.setattr(compiled, "WORTH", -1.0)
    monkeypatch.setattr(compiled, "TOLERATED", 0.0)
    monkeypatch.setattr(background, "TOLERATED", np.inf if wins else 0.0)
    g = compile(f, target="other")
    g(X)
    target.go.set()
    g.wait()
    for turn in range(1 + 2 * background.TURNS):
        assert not is_by_the_target(g), turn
        assert np.array_equal(g(X), f(X))
    assert is_by_the_target(g) == wins
    run = g.programs[0].run
    assert not isinstance(run, background.Trial | background.Serving)
    assert np.array_equal(g(X + 1.0), f(X + 1.0))
    assert g.programs[0].run is run


def test_two_programs_take_turns(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(background.time, "perf_counter", lambda: now[0])
    said, calls = [], []

    def program(name, seconds, answer=None):
        def run(x):
            now[0] += seconds
            calls.append(name)
            return (name, x) if answer is None else answer

        return run

    def turns(*programs):
        calls.clear()
        trial = background.Trial(*programs, lambda _, wins: said.append(wins))
        return [trial(1) for _ in range(2 * background.TURNS)]

    found = turns(program("served", 1.0), program("other", 1.04))
    assert found == [("served", 1), ("other", 1)] * background.TURNS
    turns(program("served", 1.0), program("other", 1.06))
    assert said == [True, False]
    found = turns(program("served", 1.0), program("other", 0.1, compiled.MISS))
    assert found[1] == ("served", 1)  # what fits one alone is no turn
    assert said == [True, False]

"""What changes again and again, so that a function would be recorded each time: it is named."""

import itertools

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile, compile_one_call, compiled
from chainrules_py.ops import take
from chainrules_scipy import by_numpy
from chainrules_tape import value_and_grad

RNG = np.random.default_rng(0)
B = RNG.standard_normal((4, 4))
TABLE = [*range(50)]


def branches(x):
    total = 0.0
    for i in range(len(x)):
        total = total + (np.sin(x[i]) if 2 * x[i] > 0 else -x[i])
    return total


CASES = {
    "number": (
        lambda b, at: np.sum(b) * TABLE[at[1]],
        [(B, np.array([0, i])) for i in range(4)],
        r"int\(at\[1\]\) was asked in 3 programs, and was 2, 1, 0.*x\[i\]",
    ),
    "argument": (
        lambda b, n: np.sum(b) * n,
        [(B, n) for n in range(4)],
        r"n was 0, 1, 2.*array or a floating number, or name it in static=",
    ),
    "count in a state": (
        lambda b, state: np.sum(b) * state["t"][1],
        [(B, {"t": (1.0, n)}) for n in range(4)],
        r"state\['t'\]\[1\] was 0, 1, 2: pass [^=]*float\(n\) for a count n, and give [^=]*$",
    ),
    "places in a plain table": (
        lambda b, at: np.sum(b * np.eye(4)[at]),
        [(B, RNG.permutation(4)) for _ in range(4)],
        r"(?s)at was .*use take\(np\.eye\(4\), at, axis=0\), after 'from chainrules_py\.ops import",
    ),
    "shape": (np.sum, [(np.ones(n),) for n in range(33)], r"float64\[0\].*arrays of few shapes"),
    "result of NumPy": (
        by_numpy(lambda b: (np.max(b), np.argsort(b, 0)[0])),
        [(np.roll(B, n, 0),) for n in range(4)],
        r"by_numpy\(\w+\) was asked in 3 programs, and was .*call it outside, and pass",
    ),
    "branch": (
        value_and_grad(branches),
        [(RNG.standard_normal(12),) for _ in range(4)],
        r"bool\(2 \* x\[\d+\] > 0\) was asked in 3 programs, and was (True|False), .*np.where",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_warning_names_what_the_programs_differ_in(name):
    f, calls, said = CASES[name]
    compiled = compile(f)
    for call in calls[:-1]:
        compiled(*call)
    with pytest.warns(RecordingWarning, match=said):
        compiled(*calls[-1])


def test_places_in_a_plain_table_are_an_input_as_the_advice_says():
    compiled = compile(lambda b, at: np.sum(b * take(np.eye(4), at, axis=0)))
    for _ in range(3):
        at = RNG.permutation(4)
        assert compiled(B, at) == pytest.approx(np.sum(B * np.eye(4)[at]))
    assert len(compiled.programs) == 1


RATE, RATES, SETTINGS, HISTORY = 0.5, [0.5], {"rate": 0.5}, [0.5]


class Model:
    rate, weights = 0.5, np.ones(4)

    def loss(self, x):
        return np.sum(x * self.rate)

    def output(self, x):
        return np.sum(x * self.weights)


MODEL = Model()


def set_global(k):
    global RATE
    RATE = 0.5 / k


CHANGES = {
    "a global": (lambda x, k: np.sum(x) * RATE, set_global, "RATE"),
    "an attribute": (lambda x, k: MODEL.loss(x), lambda k: setattr(MODEL, "rate", k), "self.rate"),
    "an entry of a list": (
        lambda x, k: np.sum(x) * RATES[0],
        lambda k: RATES.__setitem__(0, k),
        r"RATES\[0\]",
    ),
    "an entry of a dict": (
        lambda x, k: np.sum(x) * SETTINGS["rate"],
        lambda k: SETTINGS.update(rate=k),
        r"SETTINGS\['rate'\]",
    ),
    "an array": (
        lambda x, k: MODEL.output(x),
        lambda k: setattr(MODEL, "weights", np.full(4, k)),
        "self.weights",
    ),
    "a length": (lambda x, k: np.sum(x) * len(HISTORY), HISTORY.append, "HISTORY"),
}


def call_each(f, calls):
    for call in calls:
        f(*call)


@pytest.fixture
def clock(monkeypatch):
    """A clock with which each recording takes the time of two calls of the function."""
    clock = itertools.count().__next__
    for module in (compile_one_call, compiled):
        monkeypatch.setattr(module, "perf_counter", clock)


@pytest.mark.parametrize("every", [1, 2, 4])
@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_too_often_is_said_once(name, every, clock):
    f, change, said = CHANGES[name]
    step = compile(lambda x: f(x, 0))

    def train():
        for k in range(1, 8):
            change(float(k))
            for _ in range(every):
                assert step(B) == pytest.approx(f(B, 0))

    with pytest.warns(RecordingWarning, match=f"recorded 3 times.*{said} is another") as found:
        train()
    assert len(found) == 1
    assert step.as_it_is
    assert len(step.programs) == 3 + (every > 1)  # the first one needs to be called only once more


def test_a_static_argument_that_changes_too_often_is_said_once(clock):
    step = compile(lambda x, n: np.sum(x) * n)
    with pytest.warns(RecordingWarning, match="n was 1, 2, 3: ") as found:
        call_each(step, [(B, k // 2) for k in range(20)])
    assert len(found) == 1
    assert step.as_it_is


def test_a_recording_that_is_worth_its_time_is_not_refused(clock):
    step = compile(lambda x: np.sum(x) * RATE)
    for k in range(1, 41):
        set_global(k)
        for _ in range(5):
            assert step(B) == pytest.approx(np.sum(B) * RATE)
    assert len(step.programs) == 32
    assert not step.as_it_is


def test_values_that_recur_are_not_refused():
    step = compile(lambda x, mode: np.sum(x) * (2.0 if mode is None else mode))
    for k in range(36):
        step(B, (None, True, False)[k // 3 % 3])
    assert len(step.programs) == 3


def test_what_changes_between_values_that_recur_is_said(clock):
    step = compile(lambda x, t: np.sum(x) if t is None else np.sum(x) * t)
    with pytest.warns(RecordingWarning, match=r"recorded 5 times.*t was 1, 2, 3 ... \(5 in all"):
        call_each(step, [(B, t) for t in (None, 1, None, 2, 3, 4, 5, 6, 7)])


def test_a_function_with_too_many_programs_says_so_once(monkeypatch):
    asked = []
    monkeypatch.setattr(compiled, "none_fits", lambda *_: asked.append(1) or "has 32 programs")
    step = compile(np.sum)
    with pytest.warns(RecordingWarning, match="has 32 programs"):
        call_each(step, [(np.ones(n),) for n in range(36)])
    assert asked == [1]


def test_layouts_and_what_is_not_finite_are_no_branches(clock):
    step = compile(value_and_grad(lambda x: np.sum(x * np.tanh(x))))
    xs = np.ones(4), np.ones(8)[::2], np.full(4, np.nan), np.ones(4)[::-1]
    call_each(step, [(x,) for x in xs])
    assert not step.as_it_is

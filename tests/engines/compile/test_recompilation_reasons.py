"""What is another at each call, so that a function is recorded again and again: it is named."""

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile
from chainrules_py.ops import take
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
    "places in a plain table": (
        lambda b, at: np.sum(b * np.eye(4)[at]),
        [(B, RNG.permutation(4)) for _ in range(4)],
        r"(?s)at was .*use take\(np\.eye\(4\), at, axis=0\), after 'from chainrules_py\.ops import",
    ),
    "shape": (np.sum, [(np.ones(n),) for n in range(33)], r"float64\[0\].*arrays of few shapes"),
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

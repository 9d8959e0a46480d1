"""Functions that round inside: their differences are those of a staircase, and judge nothing."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py.testing.cases.differences import derivative, rounds
from tests.testing.planted.build import slope
from tests.testing.planted.judging import ask

X = np.linspace(0.1, 2.0, 5)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_a_function_that_rounds_inside_is_skipped(dtype, factor):
    f = slope(
        lambda x: np.tanh(np.asarray(x, dtype)).astype(float),
        lambda _y, x: factor * (1.0 - np.tanh(x) ** 2),
    )
    answer = ask(f, (X,))
    assert not answer.is_alarm, answer.error
    assert answer.report.verdict("push") == "skipped"


def test_rounding_is_told_from_waves_and_kinks():
    assert rounds(lambda t: np.exp(X + t).astype(np.float32))
    for f in (np.sin, np.abs, np.tanh, lambda x: np.sin(300.0 * x)):
        assert not rounds(lambda t, f=f: f(X + t))


def test_derivative_is_that_of_sums_of_powers():
    value, error = derivative(lambda t: (X + t) ** 3)
    assert np.all(np.abs(value - 3.0 * X**2) <= np.maximum(error, 1e-11))

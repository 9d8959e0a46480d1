"""Options of calls that came before are found again by their values, and by nothing like them."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py.tracing import alias_call_plans
from chainrules_tape import grad

X = np.arange(24.0).reshape(2, 3, 4)
AXES = (0, 1, -1, None, (0, 1), (), True, False, 1.0, np.int64(1), (0, True), (0, 1.0), [0], "1")
SHAPES = ((24,), (4, 6), (1, 24), (-1,), 24, (24.0,), [6, 4], np.array([6, 4]), "24")
CALLS = {
    "sum": (np.sum, AXES),
    "cumsum": (np.cumsum, AXES),
    "sum, by name": (lambda x, axis: np.sum(x, axis=axis, keepdims=True), AXES),
    "max": (np.max, AXES),
    "reshape": (np.reshape, SHAPES),
    "the method": (lambda x, shape: x.reshape(shape), SHAPES),
}


def told(f, *given):
    try:
        return np.asarray(f(*given)).tolist()
    except Exception as error:  # of which NumPy has several kinds
        return type(error)


@pytest.mark.parametrize("name", CALLS)
def test_what_equals_an_option_that_was_taken_is_not_taken_for_it(name):
    f, options = CALLS[name]

    def traced(x, option):
        kept = []

        def loss(x):
            kept.append(f(x, option).value)
            return np.sum(x)

        grad(loss)(x)
        return kept[0]

    for _ in range(2):
        for option in options:
            ours, numpys = told(traced, X, option), told(f, X, option)
            assert ours == numpys or (isinstance(ours, type) and isinstance(numpys, type)), option


def test_options_that_are_many_are_not_all_kept(monkeypatch):
    monkeypatch.setattr(alias_call_plans, "_MOST", 2)
    for n in (1, 2, 3, 4, 1, 2):
        x = np.ones((n, 2))
        np.testing.assert_array_equal(grad(lambda x, n=n: np.sum(x.reshape(n * 2)))(x), x)

"""Rules that another thread states anew while a function is recorded."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_py import LinearMap, primitive, rule
from chainrules_tape import grad, value_and_grad

X = np.array([0.5, -1.25, 2.0])


def times(t, c):
    return t * c


@pytest.mark.parametrize("derived", [grad, value_and_grad])
def test_a_rule_stated_anew_meanwhile_puts_off_the_program(derived):
    """It was told as a function that computes otherwise each time, and never compiled again."""
    f, recorded = primitive(lambda a: a * 1.0), []

    def state(c):
        @rule(f)
        def f_rule(a):
            if type(a) is not np.ndarray and not recorded:
                recorded.append(c)
                other = threading.Thread(target=state, args=(3.0,))
                other.start()
                other.join()
            return f(a), (LinearMap(times, times, c),)

    state(1.0)
    loss = lambda a: np.sum(f(a) * f(a))
    compiled = compile(derived(loss))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for slope in (2.0, 6.0, 6.0):  # the first call began before the rule was another
            found = compiled(X)
            found = found[-1] if derived is value_and_grad else found
            np.testing.assert_array_equal(found, slope * X)
    assert recorded == [1.0]
    assert len(compiled.programs) == 1

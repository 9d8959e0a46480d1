"""Integration on plain values: the steps that it takes, and what it says where it cannot."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import ConvergenceError
from chainrules_py.vocabulary import odeint
from chainrules_py.vocabulary.higher_order import odeint_steps
from chainrules_solvers.integration import Integration

T = np.array([0.0, 0.2, 0.5])
Y = np.array([1.0, -0.5])


def test_steps_lead_from_each_time_to_the_next():
    def rate(y, t, k):
        return -k * y

    options = {"rtol": 1e-9, "atol": 1e-9, "method": "dopri5", "max_steps": 1000}
    ys, y = odeint(rate, Y, T, 2.0, **options), Y
    for n, steps in enumerate(odeint_steps(rate, Y, T, 2.0, **options)):
        for step in steps:
            y = step(rate, y, T[n], T[n + 1], 2.0)
        np.testing.assert_allclose(y, ys[n + 1], rtol=1e-8)


def test_steps_are_divided_only_where_they_have_to_be():
    problem = Integration(lambda y, t: -y, 1.0, T, (), 1e-6, 1e-6, "dopri5", 1000)
    _, taken = problem.run()
    assert problem.resolved(taken) == taken
    still = Integration(
        lambda y, t: -y, 0.0, np.array([0.0, 100.0]), (), 1e-6, 1e-6, "dopri5", 1000
    )
    _, taken = still.run()
    assert len(still.resolved(taken)[0]) > 5 * len(taken[0])


def test_what_cannot_be_done_is_said():
    with pytest.raises(ConvergenceError, match=r"from t = 0 to 1 of 2.*singularity"):
        odeint(lambda y, t: y * y, 1.0, np.array([0.0, 2.0]))
    with pytest.raises(ConvergenceError, match="too many steps"):
        odeint(lambda y, t: -1e4 * y, 1.0, np.array([0.0, 100.0]), max_steps=100)
    with pytest.raises(ValueError, match="increase, or to decrease"):
        odeint(lambda y, t: y, 1.0, np.array([0.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match="an array of shape"):
        odeint(lambda y, t: y, 1.0, [0.0, 1.0])
    with pytest.raises(ValueError, match="none of 'dopri5', 'bosh3'"):
        odeint(lambda y, t: y, 1.0, T, method="rk")
    with pytest.raises(ValueError, match=r"the state of odeint is .*, and its function gave"):
        odeint(lambda y, t: 1.0, Y, T)

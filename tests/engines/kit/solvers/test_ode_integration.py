"""Integration on plain values: the steps that it takes, and what it says where it cannot."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_kit.solvers.ode_integration import Integration
from chainrules_py import ConvergenceError
from chainrules_py.ops import odeint
from chainrules_py.ops.higher_order import odeint_steps
from chainrules_tape import grad, jvp

T = np.array([0.0, 0.2, 0.5])
Y = np.array([1.0, -0.5])


def test_steps_lead_from_each_time_to_the_next():
    def rate(y, t, k):
        return -k * y

    options = {"rtol": 1e-9, "atol": 1e-9, "method": "dopri5", "max_steps": 1000}
    ys, y = odeint(rate, Y, T, 2.0, **options), Y
    for n, steps in enumerate(odeint_steps(rate, Y, T, 2.0, **options).intervals):
        for step in steps:
            y = step(rate, y, T[n], T[n + 1], 2.0)
        np.testing.assert_allclose(y, ys[n + 1], rtol=1e-8)


def test_steps_are_divided_only_where_they_have_to_be():
    problem = Integration(lambda y, t: -y, 1.0, T, (), 1e-6, 1e-6, "dopri5", 1000)
    states, taken = problem.run()
    divided = problem.resolved(taken, states)
    assert [tuple(place for place, _ in steps) for steps in divided] == [*taken]
    still = Integration(
        lambda y, t: -y, 0.0, np.array([0.0, 100.0]), (), 1e-6, 1e-6, "dopri5", 1000
    )
    states, taken = still.run()
    assert len(still.resolved(taken, states)[0]) > 5 * len(taken[0])


@pytest.mark.parametrize("start", [0.0, 1.0])
@pytest.mark.parametrize("scale", [1.0, 2.0**60, 2.0**100])
def test_a_large_rate_beside_a_state_of_zero_is_integrated(scale, start):
    """The first step is never too short to change the time."""
    rate = lambda y, t: np.array([0.5, 0.0]) * y + np.array([0.0, scale])
    y = odeint(rate, np.array([1.0, 0.0]), start + np.array([0.0, 1.0]), rtol=1e-9, atol=1e-9)[-1]
    np.testing.assert_allclose(y, [np.exp(0.5), scale], rtol=1e-8)


def test_what_cannot_be_done_is_said():
    with pytest.raises(ConvergenceError, match=r"from t = 0 to 1 of 2.*singularity"):
        odeint(lambda y, t: y * y, 1.0, np.array([0.0, 2.0]))
    with pytest.raises(ConvergenceError, match="too many steps"):
        odeint(lambda y, t: -1e4 * y, 1.0, np.array([0.0, 100.0]), max_steps=100)
    with pytest.raises(ValueError, match="increase, or to decrease"):
        odeint(lambda y, t: y, 1.0, np.array([0.0, 1.0, 0.5]))
    with pytest.raises(ValueError, match="an array of shape"):
        odeint(lambda y, t: y, 1.0, [0.0, 1.0])
    with pytest.raises(ValueError, match="none of 'dopri5', 'bosh3'"):
        odeint(lambda y, t: y, 1.0, T, method="rk")
    with pytest.raises(ValueError, match=r"the state of odeint is .*, and its function gave"):
        odeint(lambda y, t: 1.0, Y, T)


# ----------------------------------------------------------------------------- what a rate may be

ONE = np.array([0.0, 1.0])


@pytest.mark.parametrize("y0", [1.0, 1, np.array(1.0), np.ones(2), {"a": 1.0}], ids=str)
def test_a_complex_rate_of_a_real_state_is_refused(y0):
    """Of an array the imaginary part was dropped, and the gradient zero; numbers gave errors."""

    def f(a):
        rate = lambda y, t: {"a": a * 1j * y["a"]} if type(y) is dict else a * 1j * y
        found = odeint(rate, y0, ONE)
        return np.sum(found["a"] if type(found) is dict else found)

    for run in (f, grad(f), lambda a: jvp(f, (a,), (1.0,))):
        with pytest.raises(ValueError, match=r"start with a complex state, y0 \+ 0j"):
            run(2.0)


@pytest.mark.parametrize("y0", [1.0, 1, 1 + 0j, np.array(1.0), np.float64(1.0)], ids=repr)
def test_a_rate_that_is_a_number_of_python(y0):
    assert odeint(lambda y, t: 2.0, y0, ONE)[-1] == pytest.approx(3.0)
    assert odeint(lambda y, t: 2, y0, ONE)[-1] == pytest.approx(3.0)
    f = lambda a: np.real(odeint(lambda y, t: a * 2.0, y0, ONE)[-1])
    assert grad(f)(1.5) == pytest.approx(2.0)
    assert jvp(f, (1.5,), (1.0,))[1] == pytest.approx(2.0)

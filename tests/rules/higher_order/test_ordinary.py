"""Ordinary functions given to operations: logs, loops, solvers that differentiate."""

# ruff: noqa: B023  (that names are not bound is the subject)
import numpy as np
import pytest

from chainrules_py import ignore_derivatives
from chainrules_py.ops import fixed_point, linear_solve, minimize, odeint, root, scan
from chainrules_tape import Tape, checkpoint, grad, hessian, jacobian, jvp, linearize
from chainrules_tape.tools import reversible


def test_a_log_of_the_steps():
    log = []

    def solution(a):
        def f(x):
            log.append(1.0)
            log.append(float(ignore_derivatives(x)))
            return x * x - a

        return root(f, 1.0)

    assert grad(solution)(4.0) == pytest.approx(0.25)
    assert log[0] == log[1] == 1.0


def test_a_count_and_a_memo():
    count, memo = 0, {}

    def rate(y, t, k):
        nonlocal count
        count += 1
        memo[count] = float(ignore_derivatives(y))
        return -k * y

    slope = grad(lambda k: odeint(rate, 1.0, np.array([0.0, 1.0]), k)[1])(2.0)
    assert slope == pytest.approx(-np.exp(-2.0), rel=1e-6)
    assert count > 5
    assert len(memo) > 1


def roots(a):  # a/k each
    return sum([root(lambda x: k * x - a, 1.0) ** 2 for k in (1.0, 2.0)])


def in_a_loop(a):
    s = 0.0
    for k in (1.0, 2.0):
        s = s + root(lambda x: k * x - a, 1.0) ** 2
    return s


def through_a_helper(a):
    s = 0.0
    for k in (1.0, 2.0):
        scaled = lambda x: k * x
        s = s + root(lambda x: scaled(x) - a, 1.0) ** 2
    return s


def fixed_points(a):
    s = 0.0
    for k in (2.0, 4.0):  # x (1 - 1/k) = a/k
        s = s + (k - 1.0) ** 2 * fixed_point(lambda x: x / k + a / k, 1.0) ** 2 * (1.25 / 2.0)
    return s


def minima(a):
    s = 0.0
    for k in (1.0, 2.0):
        s = s + minimize(lambda x: (k * x - a) ** 2, 0.5) ** 2
    return s


def brackets(a):
    from chainrules_scipy.optimize import brentq

    s = 0.0
    for k in (1.0, 2.0):
        s = s + brentq(lambda x: k * x - a, -9.0, 9.0) ** 2
    return s


def solutions(a):
    s = 0.0
    for k in (1.0, 2.0):
        s = s + linear_solve(lambda y: k * y, a) ** 2
    return s


def flows(a):
    s = 0.0
    for k in (1.0, 2.0):  # a exp(k t)
        y = odeint(lambda y, t: k * y, a, np.array([0.0, 1.0]))[1]
        s = s + (k**-1.0 * y / np.exp(k)) ** 2
    return s


def flows_of_scipy(a):
    from chainrules_scipy.integrate import solve_ivp

    s = 0.0
    for k in (1.0, 2.0):
        y = solve_ivp(lambda t, y: k * y, (0.0, 1.0), [a], rtol=1e-10, atol=1e-12).y[0, -1]
        s = s + (k**-1.0 * y / np.exp(k)) ** 2
    return s


def marches(a):
    s = 0.0
    for k in (1.0, 2.0):
        march = reversible(lambda x, _: x / k, lambda y, _: y * k, 1)
        s = s + march(a) ** 2
    return s


WITH_LOOPS = [
    *(roots, in_a_loop, through_a_helper, fixed_points, minima, brackets, solutions, flows),
    *(flows_of_scipy, marches),
]


@pytest.mark.parametrize("f", WITH_LOOPS)
def test_a_loop_variable_is_what_it_was_when_a_call_is_run_again(f):
    with Tape(differentiable=True) as tape:
        a = tape.variable(2.0)
        slope = tape.grad(f(a), a)
        assert tape.grad(slope, a).value == pytest.approx(2.5, rel=1e-6)
    assert slope.value == pytest.approx(5.0, rel=1e-6)
    for save in ([], ["sin"], 0, 8, 100):
        again = checkpoint(lambda a: np.sin(f(a)), save=save)
        assert grad(again)(2.0) == pytest.approx(5.0 * np.cos(5.0), rel=1e-6)


@pytest.mark.parametrize("f", WITH_LOOPS)
def test_a_loop_variable_is_what_it_was_at_the_call(f):
    """Each is 1.25 a² in value."""
    assert f(2.0) == pytest.approx(5.0)
    assert grad(f)(2.0) == pytest.approx(5.0)
    assert jvp(f, (2.0,), (1.0,))[1] == pytest.approx(5.0)
    assert linearize(f, 2.0)[1](1.0) == pytest.approx(5.0)
    assert jacobian(f)(2.0) == pytest.approx(5.0)
    assert hessian(f)(2.0) == pytest.approx(2.5)


def newton_step(residual, x0):
    return x0 - residual(x0) / grad(residual)(x0)


def test_a_solver_that_differentiates_what_it_is_given():
    assert root(lambda x: x - 1.0, 0.0, solver=newton_step) == 1.0
    found = grad(lambda a: root(lambda x: 2.0 * x - a, 0.0, solver=newton_step))(3.0)
    assert found == pytest.approx(0.5)

    def least(f, x0):
        return newton_step(grad(f), x0)

    found = grad(lambda a: minimize(lambda x: (2.0 * x - a) ** 2, 0.0, solver=least))(3.0)
    assert found == pytest.approx(0.5)

    def fixed(f, x0):
        return newton_step(lambda x: x - f(x), x0)

    found = grad(lambda a: fixed_point(lambda x: 0.5 * x + a, 0.0, solver=fixed))(3.0)
    assert found == pytest.approx(2.0)


class Model:
    """Keeps statistics, as models do."""

    def __init__(self, k):
        self.k = k
        self.seen = []

    def residual(self, x):
        self.seen.append(x)
        self.last = x
        return self.k * x - 1.0

    def step(self, carry, x):
        self.seen.append(1)
        return carry * self.k + x, carry


def test_statistics_kept_on_a_model():
    assert grad(lambda k: root(Model(k).residual, 0.3))(2.0) == pytest.approx(-0.25)
    xs = np.array([1.0, 2.0])
    # (c k + 1) k + 2
    assert grad(lambda k: scan(Model(k).step, 1.0, xs)[0])(3.0) == pytest.approx(7.0)
    again = grad(lambda k: checkpoint(lambda x: Model(k).step(x, 1.0)[0] ** 2)(2.0))(3.0)
    assert again == pytest.approx(2 * 7.0 * 2.0)

"""Derivatives of the solutions of differential equations, beside the states that LSODA finds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import chainrules_scipy
from chainrules_py import ignore_derivatives
from chainrules_scipy.integrate import odeint
from chainrules_tape import grad, hessian, jacobian, jvp, value_and_grad, vjp

EXACT = {"rtol": 1e-12, "atol": 1e-12}
TIMES = np.linspace(0.0, 3.0, 7)


def hares(y, t, a, b, c, d):
    return [a * y[0] - b * y[0] * y[1], d * y[0] * y[1] - c * y[1]]


def pendulum(y, t, g, damping):
    return np.stack([y[1], -g * np.sin(y[0]) - damping * y[1]])


def driven(y, t, k):
    return np.array([y[1], -k[0] * y[0] + k[1] * np.cos(k[2] * t)])


def powers(y, t, a, n):
    return a * y**n / (1 + np.exp(-y)) + np.sqrt(y) * np.log1p(t) * 0.1


def matrix(y, t, m):
    return m @ y - y * np.sum(y**2)


def saturated(y, t, top, half):
    return np.array([top * y[0] / (half + y[0]) - np.tanh(y[1]), np.expm1(-y[1]) + y[0] ** 3])


RATES = {
    "hares": (hares, [30.0, 4.0], (0.55, 0.028, 0.84, 0.026)),
    "pendulum": (pendulum, [1.0, 0.5], (2.0, 0.1)),
    "driven": (driven, [0.3, 0.0], (np.array([1.3, 0.4, 2.0]),)),
    "powers": (powers, [0.7, 1.2, 0.4], (0.3, 1.7)),
    "matrix": (matrix, [0.5, 1.0, -0.4], (np.random.default_rng(1).normal(size=(3, 3)),)),
    "saturated": (saturated, [0.5, 0.2], (0.8, 0.3)),
}


def differences(f, x, way, h=1e-4):
    """Richardson's, of order four."""
    near, far = ((f(x + s * way) - f(x - s * way)) / (2 * s) for s in (h, 2 * h))
    return (4 * near - far) / 3


@pytest.mark.parametrize("name", RATES)
def test_both_modes_in_parameters_and_first_state(name):
    rate, y0, args = RATES[name]
    sizes = np.cumsum([len(y0), *[np.size(p) for p in args]])
    x = np.concatenate([y0, *[np.ravel(p) for p in args]])
    rng = np.random.default_rng(3)
    weights, way = rng.normal(size=(len(TIMES), len(y0))), rng.normal(size=len(x)) * abs(x)

    def total(x, solve=odeint, **options):
        parts = [x[a:b] for a, b in itertools.pairwise(sizes)]
        given = [q.reshape(np.shape(p)) for p, q in zip(args, parts, strict=True)]
        ys = solve(rate, x[: sizes[0]], TIMES, args=tuple(given), **options)
        return np.sum(weights * ys)

    truth = differences(lambda x: total(x, scipy.integrate.odeint, **EXACT), x, way)
    scale = abs(truth) + np.sum(abs(weights)) * 1e-2
    assert abs(grad(total)(x) @ way - truth) < 1e-5 * scale
    pushed = jvp(total, (x,), (way,))[1]
    assert abs(pushed - grad(total)(x) @ way) < 1e-11 * scale
    assert abs(total(x) - total(x, scipy.integrate.odeint)) < 1e-6 * scale


@pytest.mark.parametrize("name", ["pendulum", "powers", "driven"])
def test_second_order(name):
    rate, y0, args = RATES[name]
    last = lambda p: odeint(rate, y0, TIMES, args=(p, *args[1:]), rtol=1e-10, atol=1e-10)[-1, 0]
    p = args[0]
    way = np.ones(np.shape(p))
    truth = differences(grad(last), p, way)
    np.testing.assert_allclose(np.dot(hessian(last)(p), way), truth, rtol=1e-5, atol=1e-7)


def test_captured_values_and_solve_ivp():
    def states(p):
        change = lambda t, y: np.stack([p[0] * y[0] - y[0] * y[1], y[0] * y[1] - p[1] * y[1]])
        return scipy.integrate.solve_ivp(change, (0.0, 2.0), p[2:], t_eval=[1.0, 2.0]).y

    p = np.array([1.1, 0.4, 1.0, 0.5])
    with chainrules_scipy.install():
        found = jacobian(states)(p)
    for k, way in enumerate(np.eye(4)):
        truth = differences(lambda p: ours_exactly(p), p, way)
        np.testing.assert_allclose(found[..., k], truth, atol=2e-5)


def ours_exactly(p):
    change = lambda t, y: [p[0] * y[0] - y[0] * y[1], y[0] * y[1] - p[1] * y[1]]
    return scipy.integrate.solve_ivp(change, (0, 2), p[2:], t_eval=[1, 2], rtol=1e-11, atol=1e-12).y


def test_a_rate_that_comes_again_is_written_in_c():
    """The first gradients are those of a program of NumPy, the last ones of one of C, if any."""
    rate, y0, args = RATES["hares"]
    slope = grad(lambda p: np.sum(odeint(rate, y0, TIMES, args=tuple(p))))
    found = [slope(np.array(args)) for _ in range(12)]
    np.testing.assert_allclose(found, [found[0]] * 12, rtol=1e-12)


def test_stiff_equations():
    """Robertson's, whose rates differ by nine orders."""
    k = np.array([0.04, 3e7, 1e4])

    def rate(y, t, a, b, c):
        slow, fast = a * y[0] - c * y[1] * y[2], b * y[1] ** 2
        return np.array([-slow, slow - fast, fast])

    def last(k, solve=odeint, **options):
        return solve(rate, [1.0, 0.0, 0.0], [0.0, 40.0], args=tuple(k), **options)[-1]

    found = jacobian(last)(k) * k
    tight = {"rtol": 1e-11, "atol": 1e-14, "mxstep": 5000}
    for i, way in enumerate(np.diag(k)):
        truth = differences(lambda k: last(k, scipy.integrate.odeint, **tight), k, way, 1e-3)
        np.testing.assert_allclose(found[:, i], truth, rtol=1e-4)


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_parameters_of_any_size(size):
    """The derivative is right to a share of what it comes to, and not of 1."""
    f = lambda p: odeint(lambda y, t, p: -y * p / size, [1.0], [0.0, 2.0], args=(p,))[-1, 0]
    assert abs(grad(f)(size) * size / (-2 * np.exp(-2)) - 1) < 1e-6
    g = lambda p: odeint(lambda y, t, p: -y + p / size, [1.0], [0.0, 2.0], args=(p,))[-1, 0]
    assert abs(grad(g)(0.0) * size / (1 - np.exp(-2)) - 1) < 1e-6
    weak = lambda y, t, p: [-y[0], size * p * y[0] - y[1]]
    h = lambda p: odeint(weak, [1.0, 0.0], [0.0, 2.0], args=(p,))[-1, 1]
    assert abs(grad(h)(1.0) / size / (2 * np.exp(-2)) - 1) < 1e-6


CASES = {
    "a branch": lambda y, t, p: -p * y if y[0] > 0.5 else -p * y - (y - 0.5) ** 2,
    "an absolute value": lambda y, t, p: -p * abs(y),
    "a table": lambda y, t, p: -p * y * np.interp(t, [0.0, 1.0], [1.0, 2.0]),
    "a number read": lambda y, t, p: -p * y * float(np.asarray(ignore_derivatives(t))),
    "a maximum": lambda y, t, p: -p * np.maximum(y, 0.1),
}


@pytest.mark.parametrize("rate", CASES.values(), ids=CASES)
def test_branches_tables_and_corners(rate):
    f = lambda p, **o: odeint(rate, [1.0], [0.0, 0.5, 0.9], args=(p,), **o)[-1, 0]
    g = lambda p: scipy.integrate.odeint(rate, [1.0], [0.0, 0.5, 0.9], args=(p,), **EXACT)[-1, 0]
    assert abs(grad(f)(1.3) - differences(g, 1.3, 1.0)) < 1e-4


def test_pullbacks_are_linear():
    rate, y0, args = RATES["matrix"]
    ys, pull = vjp(lambda m: odeint(rate, y0, TIMES, args=(m,)), *args)
    a, b = np.random.default_rng(5).normal(size=(2, *ys.shape))
    np.testing.assert_allclose(pull(2 * a - b)[0], 2 * pull(a)[0] - pull(b)[0], rtol=1e-12)


@pytest.mark.parametrize("span", [(0.0, 2.0), (2.0, 0.0)])
@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"])
def test_times_of_a_solution(method, span):
    """SciPy's own, of plain numbers, at times that are differentiated."""
    found = scipy.integrate.solve_ivp(
        lambda t, y: [-y[0] * t, y[0]], span, [1.0, 0.3], method=method, dense_output=True
    )
    t, h = np.array([0.3, 1.7, 0.9]), 1e-6
    with chainrules_scipy.install():
        y, slope = jvp(found.sol, (t,), (np.ones(3),))
        one = jvp(found.sol, (0.7,), (1.0,))[1]
    np.testing.assert_array_equal(y, found.sol(t))
    for x, d in ((t, slope), (0.7, one)):
        truth = (found.sol(x + h) - found.sol(x - h)) / (2 * h)
        np.testing.assert_allclose(d, truth, atol=1e-8)


@pytest.mark.parametrize(
    "how, match",
    [
        ({"method": "RK4"}, "must be one of"),
        ({"t_eval": [0.0, 3.0]}, "not within"),
        ({"t_eval": [1.0, 0.5]}, "not properly sorted"),
        ({"t_eval": [[0.5]]}, "1-dimensional"),
    ],
)
def test_where_scipy_raises(how, match):
    def solved(k):
        return scipy.integrate.solve_ivp(lambda t, y: -k * y, (0.0, 2.0), [1.0], **how).y[0, -1]

    with pytest.raises(ValueError, match=match):
        solved(1.0)
    with chainrules_scipy.install(), pytest.raises(ValueError, match=match):
        grad(solved)(1.0)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau"])
def test_counts(method):
    """How often the rate was called is SciPy's number."""

    def counts(k):
        found = scipy.integrate.solve_ivp(lambda t, y: -k * y, (0.0, 2.0), [1.0], method=method)
        return found.y[0, -1] * found.nfev + found.njev + found.nlu

    with chainrules_scipy.install():
        value, _ = jvp(counts, (1.1,), (1.0,))
    np.testing.assert_allclose(value, counts(1.1), rtol=1e-2)


def test_an_event_costs_as_many_steps_by_any_method():
    """SciPy's method is that of the values, and not that of the derivatives."""
    from chainrules_scipy.integrate import solve_ivp

    calls = 0

    def reached(k, of):
        def rate(t, y):
            nonlocal calls
            calls += 1
            return -k * y

        at = lambda t, y: y[0] - 0.3
        return of(rate, (0.0, 2.0), [1.0], method="RK23", events=at, rtol=1e-7).t_events[0][0]

    assert np.isclose(grad(reached)(1.1, solve_ivp), np.log(0.3) / 1.1**2, rtol=1e-5)
    assert calls < 3000


def test_stopped_on_the_way_back():
    """Of the times that are asked for, those behind the event are left out."""

    def risen(t, y):
        return y[0] - 1.6

    risen.terminal = True  # type: ignore[attr-defined]

    def solved(k):
        how = {"t_eval": [1.9, 1.7, 1.5, 0.5], "events": risen, "rtol": 1e-9, "atol": 1e-10}
        found = scipy.integrate.solve_ivp(lambda t, y: -k * y, (2.0, 0.0), [1.0], **how)
        return found.t, found.y

    with chainrules_scipy.install():
        (t, y), _ = jvp(solved, (1.1,), (1.0,))
    np.testing.assert_array_equal(t, solved(1.1)[0])
    np.testing.assert_allclose(y, solved(1.1)[1], rtol=1e-7)


_METHODS = ("RK45", "DOP853", "Radau", "BDF", "LSODA", scipy.integrate.Radau)
_FIELDS = ("t", "y", "t_events", "y_events", "nfev", "njev", "nlu", "status", "success", "message")


def _fallen(t, y):
    return y[0] - 0.5


_fallen.terminal = True


@pytest.mark.parametrize("method", _METHODS, ids=str)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rtol": 0.1},
        {"events": _fallen, "dense_output": True},
        {"events": [_fallen], "t_eval": np.linspace(0.0, 10.0, 9)},
        {"max_step": 0.5, "first_step": 0.1, "vectorized": True},
    ],
    ids=["defaults", "rough", "stopped", "asked", "steps"],
)
def test_values_are_those_of_scipys_steps(method, options):
    """To the last bit, by the method and the tolerances that are given."""

    def solved(z):
        f = lambda t, y: np.stack([-z[0] * y[0], y[0] - z[1] * y[1]])
        return scipy.integrate.solve_ivp(f, (0.0, 10.0), [1.0, 2.0], method, **options)

    z, seen = np.array([0.5, 1.1]), []

    def last(z):
        found = solved(z)
        plain = lambda x: getattr(x, "value", x)
        seen[:] = [
            [*map(plain, found[n])] if isinstance(found[n], list) else plain(found[n])
            for n in _FIELDS
        ]
        if options.get("dense_output"):
            seen.append(plain(found.sol(0.7)))
        return np.sum(found.y[:, -1])

    with chainrules_scipy.install():
        value, slopes = value_and_grad(last)(z)
    known = solved(z)
    theirs = [known[n] for n in _FIELDS]
    if options.get("dense_output"):
        theirs.append(known.sol(0.7))
    assert value == np.sum(known.y[:, -1])
    for name, x, y in zip((*_FIELDS, "sol"), seen, theirs, strict=False):
        np.testing.assert_equal(x, y, err_msg=name)
    if "events" not in options:
        options = {**options, "rtol": 1e-11, "atol": 1e-13}
        sides = []
        for s in (1e-5, -1e-5):
            f = lambda t, y, a=0.5 + s: np.stack([-a * y[0], y[0] - 1.1 * y[1]])
            y = scipy.integrate.solve_ivp(f, (0.0, 10.0), [1.0, 2.0], "DOP853", **options).y
            sides.append(np.sum(y[:, -1]))
        assert abs(slopes[0] - (sides[0] - sides[1]) / 2e-5) < 1e-5


@pytest.mark.parametrize(
    "size, options",
    [
        (abs, {}),
        (abs, {"rtol": 0.1, "atol": 0.1}),
        (abs, {"hmax": 0.1}),
        (lambda x: x, {"hmax": 0.1}),
    ],
)
def test_values_are_those_of_lsoda(size, options):
    """With what says how LSODA is to search."""

    def solved(z, solver, **more):
        f = lambda y, t: [-z[0] * size(y[0]), y[0] - z[1] * y[1]]
        return solver(f, [1.0, 2.0], np.linspace(0.0, 10.0, 5), **options, **more)

    z = np.array([0.5, 1.1])
    known = solved(z, scipy.integrate.odeint)
    np.testing.assert_array_equal(vjp(lambda z: solved(z, odeint), z)[0], known)
    full = vjp(lambda z: solved(z, odeint, full_output=True)[0], z)[0]
    np.testing.assert_array_equal(full, known)


def _in_two_parts(p):
    """Solve from where the rate jumps, at the time p, on."""
    before = scipy.integrate.solve_ivp(lambda t, y: [p], (0.0, p), [0.0]).y[:, -1]
    return scipy.integrate.solve_ivp(lambda t, y: [3.0], (p, 2.0), before).y[0, -1]


def _until_the_jump(p):
    """Solve until the state is p², where the rate jumps, and on from there."""

    def jump(t, y):
        return y[0] - p * p

    jump.terminal = True  # type: ignore[attr-defined]
    before = scipy.integrate.solve_ivp(lambda t, y: [p], (0.0, 2.0), [0.0], events=jump)
    return scipy.integrate.solve_ivp(lambda t, y: [3.0], (before.t[-1], 2.0), before.y[:, -1]).y[
        0, -1
    ]


@pytest.mark.parametrize("last", [_in_two_parts, _until_the_jump])
def test_a_jump_of_the_rate_that_moves(last):
    """The last state is p² + 3 (2 - p)."""
    with chainrules_scipy.install():
        assert abs(grad(last)(1.0) + 1.0) < 1e-9


def test_a_jump_of_the_rate_at_a_fixed_time():
    rate = lambda p: lambda t, y: [p if t < 1.0 else 3.0 * p]
    with chainrules_scipy.install():
        slope = grad(lambda p: scipy.integrate.solve_ivp(rate(p), (0.0, 2.0), [0.0]).y[0, -1])(1.0)
    assert abs(slope - 4.0) < 1e-6


SETTINGS = {"pulse": {"height": 1.0}}


def test_what_a_program_does_not_detect_is_found_by_running(monkeypatch):
    def last(b):
        def rate(y, t, b):
            return SETTINGS["pulse"]["height"] * b * np.exp(-50.0 * (t - 1.0) ** 2) - 0.2 * y

        return odeint(rate, np.zeros(1), np.array([0.0, 1.0, 6.0]), args=(b,))[-1, 0]

    for height in (1.0, 1.0, 3.0):
        monkeypatch.setitem(SETTINGS["pulse"], "height", height)
        value, slope = value_and_grad(last)(0.7)
        assert (value, slope) == pytest.approx((last(0.7), last(1.0)), rel=1e-5)

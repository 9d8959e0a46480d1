"""Compiled steps of differential equations: kept from call to call, and right in each."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from chainrules_kit.solvers import step_programs
from chainrules_py.extend import default_compiler
from chainrules_py.ops import odeint
from chainrules_tape import grad, value_and_grad

pytestmark = pytest.mark.skipif(default_compiler() is None, reason="no compiler is installed")

T = np.array([0.0, 0.4, 1.0])
Y = np.array([1.0, -0.5])
P = np.array([0.7, 1.3])
FACTOR = 1.0


@pytest.fixture(autouse=True)
def _no_programs(monkeypatch):
    monkeypatch.setattr(step_programs, "_programs", {})
    monkeypatch.setattr(step_programs, "_unused", {})


def rate(y, t, p):
    return FACTOR * np.stack([p[0] * y[1] * np.cos(t), -p[1] * y[0] - 0.1 * y[1] ** 3])


def without_programs(f, *xs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step_programs, "default_compiler", lambda: None)
        return f(*xs)


def alike(f, *xs, count, rtol=1e-12):
    """Compare with the tape's steps, which are the same ones."""
    for found, expected in zip(f(*xs), without_programs(f, *xs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-14)
    assert len(step_programs._programs) == count


def test_all_operands():
    whole = grad(lambda y, t, p: np.sum(odeint(rate, y, t, p) ** 2), (0, 1, 2))
    alike(whole, Y, T, P, count=2)


def test_backwards_in_time_structures_and_numbers():
    def run(a, b):
        ys = odeint(lambda y, t: {"q": y["p"], "p": -a * y["q"]}, {"q": b, "p": 0.5}, T[::-1])
        return ys["q"][1] + ys["p"][2]

    alike(grad(run, (0, 1)), 2.0, np.float64(0.3), count=2)


def test_a_function_of_another_call_has_the_same_program():
    def run(p, scale):
        return np.sum(odeint(lambda y, t: scale * p[0] * y - p[1] * t, Y, T))

    for scale in (1.0, 1.0, 2.0):
        alike(lambda p, s=scale: [grad(run)(p, s)], P, count=4 if scale == 2.0 else 2)


def test_what_a_rate_looks_up_is_seen_to_change(monkeypatch):
    f = grad(lambda p: np.sum(odeint(rate, Y, T, p)))
    alike(lambda p: [f(p)], P, count=2)
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    alike(lambda p: [f(p)], P, count=2)


SETTINGS = {"pulse": {"height": 1.0, "at": 0.4}}


def pulsed(y, t, p):
    pulse = SETTINGS["pulse"]
    return -p[0] * y + pulse["height"] * p[1] * np.exp(-80.0 * (t - pulse["at"]) ** 2)


def decaying(y, t, p):
    return -SETTINGS["pulse"]["height"] * p[0] * y


def relaxing(y, t, p):
    return SETTINGS["pulse"]["height"] * p[0] * (y[::-1] - y)


@pytest.mark.parametrize(
    "f, y, p",
    [
        (pulsed, Y, P),  # long over at the last time
        (pulsed, Y, np.array([0.7, 0.0])),
        (decaying, 0.0 * Y, P),  # at an equilibrium
        (relaxing, np.ones(2), P),
    ],
)
def test_what_a_program_does_not_detect_is_found_by_running(monkeypatch, f, y, p):
    slopes = grad(lambda y, p: odeint(f, y, np.array([0.0, 1.0, 6.0]), p)[-1][0], (0, 1))
    alike(slopes, y, p, count=2, rtol=1e-9)
    monkeypatch.setitem(SETTINGS["pulse"], "height", 3.0)
    alike(slopes, y, p, count=2, rtol=1e-9)


def test_an_array_that_is_written_to_between_calls():
    c = np.ones(50)
    f = grad(lambda y: np.sum(odeint(lambda y, t: -c * y + 0.1, y, T)))
    alike(lambda y: [f(y)], np.zeros(50), count=2)
    c[7] = 3.0
    alike(lambda y: [f(y)], np.zeros(50), count=2)


def test_methods_and_partials():
    class Model:
        k = 2.0

        def rate(self, y, t, p):
            return -self.k * p[0] * y

    model = Model()
    f = grad(lambda p: np.sum(odeint(model.rate, Y, T, p)))
    alike(lambda p: [f(p)], P, count=2)
    model.k = 3.0
    alike(lambda p: [f(p)], P, count=2)
    g = grad(lambda p: np.sum(odeint(functools.partial(rate, p=p), Y, T)))
    alike(lambda p: [g(p)], P, count=4)


def test_branches_and_tables():
    table = [1.0, 2.0]
    for f in (
        lambda y, t, p: p[0] * y if y[0] > 0.8 else -p[1] * y,
        lambda y, t, p: p[0] * y * table[int(t > 0.5)],
    ):
        slope = grad(lambda p, f=f: np.sum(odeint(f, Y, T, p)))
        np.testing.assert_allclose(slope(P), without_programs(slope, P), rtol=1e-12)


def test_a_function_that_is_another_each_time_is_compiled_no_more():
    def run(p, n):
        return np.sum(odeint(lambda y, t: -n * p[0] * y, Y, T))

    for n in range(6):
        grad(run)(P, n)
    assert len(step_programs._programs) == 2 * step_programs._IN_A_ROW


def test_second_order():
    f = lambda k: odeint(lambda y, t: -k * y, 1.0, np.array([0.0, 1.0]))[1]
    value, slope = value_and_grad(grad(f))(2.0)
    assert value == pytest.approx(-np.exp(-2.0), rel=1e-6)
    assert slope == pytest.approx(np.exp(-2.0), rel=1e-6)


@pytest.mark.filterwarnings("error")
def test_a_rate_of_many_branches_gives_no_warning():
    """Its programs fit few steps each: the compiler would say so of what it was asked for."""
    rate = lambda y, t, k: -k * y if (3 * t) % 1.0 < 0.5 else k * (1 - y)
    f = grad(lambda k: odeint(rate, 0.3, np.linspace(0.0, 2.0, 5), k)[-1])
    assert f(1.2) == pytest.approx(without_programs(f, 1.2), rel=1e-9)
    assert f(1.2) == pytest.approx(without_programs(f, 1.2), rel=1e-9)

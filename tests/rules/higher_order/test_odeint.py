"""Solutions of differential equations and their derivatives, against closed forms, and JAX."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from chainrules_py import (
    NotDifferentiableError,
    Tangent,
    ZeroTangent,
    frule,
    rrule,
)
from chainrules_py.ops import odeint
from chainrules_tape import Tape, grad, jvp, vjp
from chainrules_tape.rule_config import config

T = np.array([0.0, 0.2, 0.5])
A = np.array([[-0.5, 2.0], [-2.0, -0.3]])
Y = np.array([1.0, -0.5])
TIGHT = {"rtol": 1e-11, "atol": 1e-11}


@dataclasses.dataclass
class Pendulum:
    damping: float
    length: float
    name: str = "pendulum"

    def __call__(self, y, t):
        return {
            "angle": y["speed"],
            "speed": -np.sin(y["angle"]) / self.length - self.damping * y["speed"],
        }


# ------------------------------------------------------------------------------- closed forms


def exponential(a):
    """e^A by its series, scaled and squared."""
    term = total = np.eye(len(a))
    for n in range(1, 20):
        term = term @ a / (64 * n)
        total = total + term
    return np.linalg.matrix_power(total, 64)


def test_linear_equation_is_the_matrix_exponential():
    y = odeint(lambda y, t, a: a @ y, Y, T, A, **TIGHT)
    expected = [exponential(A * t) @ Y for t in T]
    np.testing.assert_allclose(y, expected, rtol=1e-9)
    y_bar = np.array([0.3, 2.0])

    def last(y0, a):
        return odeint(lambda y, t, a: a @ y, y0, T, a, **TIGHT)[-1]

    _, pullback = vjp(last, Y, A)
    y0_bar, a_bar = pullback(y_bar)
    end = T[-1]
    np.testing.assert_allclose(y0_bar, exponential(end * A).T @ y_bar, rtol=1e-9)
    # The derivative of the exponential is the corner of one of twice the size (Van Loan, 1978).
    for i in range(2):
        for j in range(2):
            e = np.zeros((2, 2))
            e[i, j] = 1.0
            whole = np.block([[A, e], [np.zeros((2, 2)), A]])
            assert a_bar[i, j] == pytest.approx(
                y_bar @ exponential(end * whole)[:2, 2:] @ Y, rel=1e-8
            )


def test_logistic_growth_to_second_order():
    """y = 1 / (1 + (1/y0 - 1) e^(-rt)); its derivatives by differences of this formula."""

    def closed(z):
        y0, r = z
        return 1 / (1 + (1 / y0 - 1) * np.exp(-2.0 * r))

    def solved(z):
        return odeint(lambda y, t, r: r * y * (1 - y), z[0], np.array([0.0, 2.0]), z[1], **TIGHT)[
            -1
        ]

    z, h = np.array([0.2, 0.7]), 1e-4
    np.testing.assert_allclose(solved(z), closed(z), rtol=1e-10)
    e = np.eye(2) * h
    expected = [(closed(z + d) - closed(z - d)) / (2 * h) for d in e]
    np.testing.assert_allclose(grad(solved)(z), expected, rtol=1e-7)
    bend = [
        [
            (closed(z + a + b) - closed(z + a - b) - closed(z - a + b) + closed(z - a - b))
            / 4
            / h**2
            for a in e
        ]
        for b in e
    ]
    for n in range(2):
        d = np.eye(2)[n]
        found = [
            jvp(grad(solved), (z,), (d,))[1],
            grad(lambda z, d=d: np.sum(grad(solved)(z) * d))(z),
            grad(lambda z, d=d: jvp(solved, (z,), (d,))[1])(z),
        ]
        for row in found:
            np.testing.assert_allclose(row, bend[n], rtol=1e-5)


def test_as_jax():
    jax = pytest.importorskip("jax")
    ode = pytest.importorskip("jax.experimental.ode")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    def theirs(y0, t, a):
        y = ode.odeint(
            lambda y, t, a: jnp.tanh(a @ y) + jnp.sin(3 * t), y0, t, a, rtol=1e-12, atol=1e-12
        )
        return jnp.sum(jnp.cos(y))

    def ours(y0, t, a):
        y = odeint(lambda y, t, a: np.tanh(a @ y) + np.sin(3 * t), y0, t, a, **TIGHT)
        return np.sum(np.cos(y))

    expected = jax.grad(theirs, (0, 1, 2))(jnp.asarray(Y), jnp.asarray(T), jnp.asarray(A))
    for have, want in zip(grad(ours, (0, 1, 2))(Y, T, A), expected, strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-7)


# ------------------------------------------------------------------------------ in every nesting


CLOSE = {"rtol": 1e-9, "atol": 1e-9}

PROGRAMS = {
    "parameter": (
        lambda y, k: odeint(lambda y, t, k: -k * y + np.sin(t), y, T, k, **CLOSE),
        Y,
        1.5,
    ),
    "captured": (lambda y, k: odeint(lambda y, t: -k * y + np.sin(t), y, T, **CLOSE), Y, Y**2),
    "times": (lambda t: odeint(lambda y, t: -y * t, 2.0, t, **CLOSE), T),
    "structure": (
        lambda p, y: odeint(p, y, T, **CLOSE),
        Pendulum(0.1, 2.0),
        {"angle": 1.0, "speed": np.array(0.0)},
    ),
    "backwards": (lambda y: odeint(lambda y, t: y * y, y, T[::-1], **CLOSE), 0.5),
    "complex": (lambda y, w: odeint(lambda y, t: 1j * w * y, y, T, **CLOSE), Y + 1j, 2.0),
    "bosh3": (
        lambda y, k: odeint(lambda y, t: -k * y, y, T, rtol=1e-7, atol=1e-7, method="bosh3"),
        1.0,
        0.5,
    ),
    "one time": (lambda y: odeint(lambda y, t: y, y, T[:1]), Y),
}


@pytest.mark.parametrize("case", sorted(PROGRAMS))
def test_odeint(case, right):
    f, *operands = PROGRAMS[case]
    rtol = 1e-4 if case == "bosh3" else 1e-6
    right(f, *operands, rtol=rtol, second=case in ("captured", "structure"), second_rtol=1e-5)


def test_derivative_in_a_time_is_the_rate():
    y = odeint(lambda y, t: -y * t, 2.0, T, **TIGHT)
    rows = [grad(lambda t, k=k: odeint(lambda y, t: -y * t, 2.0, t, **TIGHT)[k])(T) for k in (1, 2)]
    np.testing.assert_allclose(rows, [[0, -y[1] * T[1], 0], [0, 0, -y[2] * T[2]]], atol=1e-9)


def test_push_and_pull_are_adjoint_to_the_last_digits():
    """They are those of the same steps, however loose the tolerance."""

    def f(y, k):
        return odeint(lambda y, t: -k * y * y, y, T, rtol=1e-2, atol=1e-2)

    _, y_dot = jvp(f, (Y + 2, 1.5), (Y, 1.0))
    _, pullback = vjp(f, Y + 2, 1.5)
    w = np.arange(6.0).reshape(3, 2)
    y_bar, k_bar = pullback(w)
    assert np.sum(w * y_dot) == pytest.approx(y_bar @ Y + k_bar, rel=1e-13)


# ------------------------------------------- where the steps for the state say nothing of them


@pytest.mark.parametrize("rate", [-20.0, -0.5, 0.3])
def test_at_an_equilibrium(rate):
    """The state stays where it is, and steps for it grow without bound; an error does not."""

    def f(y0):
        return odeint(lambda y, t: rate * y, y0, np.array([0.0, 3.0]), rtol=1e-6)[-1]

    assert f(0.0) == 0.0
    assert grad(f)(0.0) == pytest.approx(np.exp(3 * rate), rel=1e-4)
    assert jvp(f, (0.0,), (1.0,))[1] == pytest.approx(np.exp(3 * rate), rel=1e-4)


def test_of_a_forcing_that_is_switched_off():
    def f(a):
        return odeint(lambda y, t: a * np.sin(50.0 * t) + 0.0 * y, 1.0, np.array([0.0, 1.3]))[-1]

    for found in (grad(f)(0.0), jvp(f, (0.0,), (1.0,))[1]):
        assert found == pytest.approx((1 - np.cos(65.0)) / 50, rel=1e-6)


def test_second_order_at_an_equilibrium():
    """A mode that is not there to first order: y₀' = y₁², y₁' = -2 y₁."""

    def f(y0):
        def rate(y, t):
            return np.array([1.0, 0.0]) * y[1] ** 2 - np.array([0.0, 2.0]) * y[1]

        return odeint(rate, y0, np.array([0.0, 2.0]), rtol=1e-6)[-1, 0]

    expected = 2 * (1 - np.exp(-8.0)) / 4
    e = np.array([0.0, 1.0])
    assert jvp(grad(f), (np.zeros(2),), (e,))[1][1] == pytest.approx(expected, rel=1e-4)
    assert grad(lambda y: jvp(f, (y,), (e,))[1])(np.zeros(2))[1] == pytest.approx(
        expected, rel=1e-4
    )


# -------------------------------------------------------------------------------------- the rest


def test_float32_is_kept():
    y0, t = np.array([1.0, 2.0], np.float32), T.astype(np.float32)

    def f(y0, k):
        return odeint(lambda y, t: -k * y + np.sin(t), y0, t)

    y, pullback = vjp(f, y0, np.float32(0.5))
    y_bar, k_bar = pullback(np.ones_like(y))
    assert y.dtype == y_bar.dtype == k_bar.dtype == np.float32
    np.testing.assert_allclose(y, f(y0.astype(float), 0.5), rtol=2e-3)


def test_numbers_and_integers():
    y = odeint(lambda y, t: -y, 1, np.arange(3))
    np.testing.assert_allclose(y, np.exp(-np.arange(3.0)), rtol=1e-6)
    assert grad(lambda k: odeint(lambda y, t: -k * y, 1, np.arange(2))[-1])(1.0) == pytest.approx(
        -np.exp(-1.0), rel=1e-6
    )


def test_rate_may_have_the_keys_of_a_dict_in_any_order():
    def angle(w):
        rate = lambda y, t: {"v": -w * w * y["x"], "x": y["v"]}
        return odeint(rate, {"x": 1.0, "v": 0.0}, T, **TIGHT)["x"][-1]

    assert angle(2.0) == pytest.approx(np.cos(1.0), rel=1e-9)
    for slope in (grad(angle)(2.0), jvp(angle, (2.0,), (1.0,))[1]):
        assert slope == pytest.approx(-0.5 * np.sin(1.0), rel=1e-8)


def test_steps_are_not_recorded():
    with Tape(persistent=True) as tape:
        k = tape.variable(1.5)
        odeint(lambda y, t: -k * y, 1.0, T)
    assert len(tape) == 2


def test_gradients_of_gradients_on_one_tape():
    with Tape(differentiable=True) as tape:
        k = tape.variable(0.5)
        y = odeint(lambda y, t, k: -k * y, 1.0, np.array([0.0, 2.0]), k)[-1]
        slope = tape.grad(y, k)
        bend = tape.grad(slope, k)
    np.testing.assert_allclose(
        [slope.value, bend.value], [-2 * np.exp(-1), 4 * np.exp(-1)], rtol=1e-6
    )


def test_rule_through_the_config():
    p = Pendulum(0.1, 2.0)
    y0 = {"angle": 1.0, "speed": 0.0}
    y, pullback = rrule(config, odeint, p, y0, T)
    f_bar, y_bar, t_bar = pullback({"angle": np.ones(3), "speed": np.zeros(3)})
    assert type(f_bar) is Tangent[Pendulum]
    assert t_bar.shape == (3,)
    again, y_dot = frule(
        (ZeroTangent(), Tangent[dict]({"angle": 1.0}), ZeroTangent()), config, odeint, p, y0, T
    )
    np.testing.assert_array_equal(again["angle"], y["angle"])
    assert np.sum(y_dot["angle"]) == pytest.approx(y_bar["angle"], rel=1e-12)


class Odd:
    """Its class's attributes are not searched."""

    k = None

    def __call__(self, y, t):
        return -type(self).k * y


def test_hidden_value_is_an_error_and_no_zero():
    def f(k):
        Odd.k = k
        return odeint(Odd(), 1.0, T)[-1]

    with pytest.raises(NotDifferentiableError, match="pass the value as a parameter"):
        grad(f)(1.0)

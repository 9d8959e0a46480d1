"""Programs that go through time: filters, hidden states, a rollout, an orbit of two numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.programs.program import Program

STEPS = 100
BY_NUMBERS = {"JAX, eager": "minutes: each operation on a number is dispatched to a device"}
UNROLLED = {"JAX, jit": "unrolled, it compiles for a minute"}


# ------------------------------------------------------------------------- Kalman's filter


def kalman(xp: Any) -> Callable[..., Any]:
    """Build the likelihood of a level with a trend, in the logarithms of three variances."""

    def loss(logs: Any, ys: Any, a: Any, p: Any, move: Any, eye: Any) -> Any:
        variances, total = xp.exp(logs), 0.0
        q = variances[:2] * eye
        for y in ys:
            a, p = move @ a, move @ p @ move.T + q
            v, s = y - a[0], p[0, 0] + variances[2]
            total = total + 0.5 * (xp.log(s) + v * v / s)
            gain = p[:, 0] / s
            a, p = a + gain * v, p - gain[:, None] * p[0]
        return total

    return loss


def kalman_by_hand(
    logs: Any, ys: Any, a: Any, p: Any, move: Any, eye: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Compute the likelihood of a level with a trend and its gradient."""
    variances, total, kept = np.exp(logs), 0.0, []
    q = variances[:2] * eye
    for y in ys:
        a, p = move @ a, move @ p @ move.T + q
        v, s = y - a[0], p[0, 0] + variances[2]
        total = total + 0.5 * (np.log(s) + v * v / s)
        gain = p[:, 0] / s
        kept.append((p, v, s, gain))
        a, p = a + gain * v, p - gain[:, None] * p[0]
    bars, a_bar, p_bar = np.zeros(3), np.zeros(2), np.zeros((2, 2))
    for p, v, s, gain in reversed(kept):
        gain_bar = a_bar * v - p_bar @ p[0]
        v_bar = a_bar @ gain + v / s
        s_bar = 0.5 * (1.0 - v * v / s) / s - (gain_bar @ gain) / s
        p_bar = p_bar.copy()
        p_bar[0] -= gain @ p_bar
        p_bar[:, 0] += gain_bar / s
        p_bar[0, 0] += s_bar
        bars[2] += s_bar
        bars[0] += p_bar[0, 0]
        bars[1] += p_bar[1, 1]
        a_bar = a_bar.copy()
        a_bar[0] -= v_bar
        a_bar, p_bar = a_bar @ move, move.T @ p_bar @ move
    return total, (variances * bars,)


def kalman_inputs() -> tuple[Any, ...]:
    """Logarithms of variances, observations, first state, how it moves, the identity."""
    rng = np.random.default_rng(0)
    ys = np.cumsum(np.cumsum(0.1 * rng.normal(size=STEPS))) + rng.normal(size=STEPS)
    move = np.array([[1.0, 1.0], [0.0, 1.0]])
    return np.array([-2.0, -3.0, 0.2]), ys, np.zeros(2), 10.0 * np.eye(2), move, np.eye(2)


# ----------------------------------------------------------------------- hidden states


def hidden(xp: Any) -> Callable[..., Any]:
    """Build the likelihood of a chain of hidden states, by the forward algorithm."""

    def loss(moves: Any, shows: Any, p: Any, seen: Any) -> Any:
        e, f = xp.exp(moves), xp.exp(shows)
        a, b = e / xp.sum(e, 1)[:, None], f / xp.sum(f, 1)[:, None]
        total = 0.0
        for y in seen:
            p = (p @ a) * b[:, y]
            c = xp.sum(p)
            p = p / c
            total = total - xp.log(c)
        return total

    return loss


def hidden_by_hand(moves: Any, shows: Any, p: Any, seen: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the likelihood of a chain of hidden states and its gradient."""
    e, f = np.exp(moves), np.exp(shows)
    a, b = e / np.sum(e, 1)[:, None], f / np.sum(f, 1)[:, None]
    total, kept = 0.0, []
    for y in seen:
        before, moved = p, p @ a
        p = moved * b[:, y]
        c = np.sum(p)
        p = p / c
        total = total - np.log(c)
        kept.append((before, moved, c, p, y))
    a_bar, b_bar, p_bar = np.zeros_like(a), np.zeros_like(b), np.zeros_like(p)
    for before, moved, c, p, y in reversed(kept):
        u_bar = (p_bar - (p_bar @ p + 1.0)) / c
        b_bar[:, y] += u_bar * moved
        moved_bar = u_bar * b[:, y]
        a_bar += before[:, None] * moved_bar
        p_bar = a @ moved_bar
    return total, tuple(
        [x * (x_bar - np.sum(x * x_bar, 1)[:, None]) for x, x_bar in ((a, a_bar), (b, b_bar))]
    )


def hidden_inputs() -> tuple[Any, ...]:
    """Logits of moves and of what is seen, the first distribution, what was seen."""
    rng = np.random.default_rng(0)
    seen = rng.integers(0, 6, STEPS).tolist()
    return rng.normal(size=(8, 8)), rng.normal(size=(8, 6)), np.full(8, 0.125), seen


# --------------------------------------------------------------------- a linear regulator


def regulator(xp: Any) -> Callable[..., Any]:
    """Build the cost of a linear feedback over time."""

    def loss(k: Any, x: Any, a: Any, b: Any) -> Any:
        total = 0.0
        for _ in range(STEPS):
            u = -(k @ x)
            total = total + x @ x + 0.1 * (u @ u)
            x = a @ x + b @ u
        return total

    return loss


def regulator_by_hand(k: Any, x: Any, a: Any, b: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the cost of a linear feedback and its gradient."""
    total, kept = 0.0, []
    for _ in range(STEPS):
        u = -(k @ x)
        kept.append((x, u))
        total = total + x @ x + 0.1 * (u @ u)
        x = a @ x + b @ u
    k_bar, x_bar = np.zeros_like(k), np.zeros_like(x)
    for x, u in reversed(kept):
        u_bar = x_bar @ b + 0.2 * u
        k_bar -= u_bar[:, None] * x
        x_bar = x_bar @ a + 2.0 * x - u_bar @ k
    return total, (k_bar,)


def regulator_inputs() -> tuple[Any, ...]:
    """Feedback, first state, and how state and control move it."""
    rng = np.random.default_rng(0)
    a = np.eye(4) + 0.05 * rng.normal(size=(4, 4))
    return (
        0.1 * rng.normal(size=(2, 4)),
        rng.normal(size=4),
        0.95 * a,
        0.1 * rng.normal(size=(4, 2)),
    )


# --------------------------------------------------------------------------- a cart and a pole

CART, POLE, HALF, GRAVITY, STEP = 1.0, 0.1, 0.5, 9.8, 0.02
BOTH, TORQUE = CART + POLE, POLE * HALF


def cart_pole(xp: Any) -> Callable[..., Any]:
    """Build the cost of forces on a cart that balances a pole, number by number."""

    def loss(forces: Any, start: Any) -> Any:
        x, v, angle, turn = start[0], start[1], start[2], start[3]
        total = 0.0
        for i in range(40):
            u, s, c = forces[i], xp.sin(angle), xp.cos(angle)
            push = (u + TORQUE * turn * turn * s) / BOTH
            bend = (GRAVITY * s - c * push) / (HALF * (4.0 / 3.0 - POLE * c * c / BOTH))
            pull = push - TORQUE * bend * c / BOTH
            x, v = x + STEP * v, v + STEP * pull
            angle, turn = angle + STEP * turn, turn + STEP * bend
            total = total + angle * angle + 0.1 * x * x + 0.01 * u * u
        return total

    return loss


def cart_pole_by_hand(forces: Any, start: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the cost of forces and its gradient, number by number."""
    x, v, angle, turn = start[0], start[1], start[2], start[3]
    total, kept = 0.0, []
    for i in range(40):
        u, s, c = forces[i], np.sin(angle), np.cos(angle)
        push = (u + TORQUE * turn * turn * s) / BOTH
        below = HALF * (4.0 / 3.0 - POLE * c * c / BOTH)
        bend = (GRAVITY * s - c * push) / below
        pull = push - TORQUE * bend * c / BOTH
        before = turn
        x, v = x + STEP * v, v + STEP * pull
        angle, turn = angle + STEP * turn, turn + STEP * bend
        total = total + angle * angle + 0.1 * x * x + 0.01 * u * u
        kept.append((u, s, c, push, below, bend, before, x, angle))
    bars = np.zeros_like(forces)
    x_bar = v_bar = angle_bar = turn_bar = 0.0
    for i in range(39, -1, -1):
        u, s, c, push, below, bend, turn, x, angle = kept[i]
        x_bar, angle_bar = x_bar + 0.2 * x, angle_bar + 2.0 * angle
        pull_bar, bend_bar = STEP * v_bar, STEP * turn_bar
        v_bar, turn_bar = v_bar + STEP * x_bar, turn_bar + STEP * angle_bar
        share = TORQUE / BOTH * pull_bar
        bend_bar = (bend_bar - share * c) / below
        push_bar = (pull_bar - c * bend_bar) / BOTH
        s_bar = GRAVITY * bend_bar + TORQUE * turn * turn * push_bar
        c_bar = bend * (2.0 * HALF * POLE / BOTH * c * bend_bar - share) - push * bend_bar
        turn_bar = turn_bar + 2.0 * TORQUE * turn * s * push_bar
        angle_bar = angle_bar + c * s_bar - s * c_bar
        bars[i] = push_bar + 0.02 * u
    return total, (bars,)


def cart_pole_inputs() -> tuple[Any, ...]:
    """Draw forces; tell where cart and pole begin."""
    return np.random.default_rng(0).normal(size=40), np.array([0.1, 0.0, 0.2, -0.1])


# ------------------------------------------------------------------------ hunters and prey


def slope(a: Any, b: Any, c: Any, d: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Compute how prey and hunters change."""
    return a * x - b * x * y, d * x * y - c * y


def hunters(xp: Any) -> Callable[..., Any]:
    """Build the misfit of prey and hunters over time, by Runge and Kutta's steps."""

    def loss(p: Any, seen: Any) -> Any:
        a, b, c, d = p[0], p[1], p[2], p[3]
        x, y, total, h = 1.0, 0.5, 0.0, 0.1
        for i in range(40):
            k1, l1 = slope(a, b, c, d, x, y)
            k2, l2 = slope(a, b, c, d, x + 0.5 * h * k1, y + 0.5 * h * l1)
            k3, l3 = slope(a, b, c, d, x + 0.5 * h * k2, y + 0.5 * h * l2)
            k4, l4 = slope(a, b, c, d, x + h * k3, y + h * l3)
            x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
            y = y + h / 6.0 * (l1 + 2.0 * l2 + 2.0 * l3 + l4)
            total = total + (x - seen[i, 0]) ** 2 + (y - seen[i, 1]) ** 2
        return total

    return loss


def hunters_by_hand(p: Any, seen: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the misfit of prey and hunters and its gradient."""
    a, b, c, d = p[0], p[1], p[2], p[3]
    x, y, total, h = 1.0, 0.5, 0.0, 0.1
    kept = []
    for i in range(40):
        x1, y1 = x, y
        k1, l1 = slope(a, b, c, d, x1, y1)
        x2, y2 = x + 0.5 * h * k1, y + 0.5 * h * l1
        k2, l2 = slope(a, b, c, d, x2, y2)
        x3, y3 = x + 0.5 * h * k2, y + 0.5 * h * l2
        k3, l3 = slope(a, b, c, d, x3, y3)
        x4, y4 = x + h * k3, y + h * l3
        k4, l4 = slope(a, b, c, d, x4, y4)
        x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        y = y + h / 6.0 * (l1 + 2.0 * l2 + 2.0 * l3 + l4)
        u, v = x - seen[i, 0], y - seen[i, 1]
        total = total + u**2 + v**2
        kept.append((x1, y1, x2, y2, x3, y3, x4, y4, u, v))
    bars = [0.0, 0.0, 0.0, 0.0]

    def pull(x: Any, y: Any, k_bar: Any, l_bar: Any) -> tuple[Any, Any]:
        xy, both = x * y, d * l_bar - b * k_bar
        bars[0] += k_bar * x
        bars[1] -= k_bar * xy
        bars[2] -= l_bar * y
        bars[3] += l_bar * xy
        return a * k_bar + both * y, both * x - c * l_bar

    x_bar = y_bar = 0.0
    for x1, y1, x2, y2, x3, y3, x4, y4, u, v in reversed(kept):
        x_bar, y_bar = x_bar + 2.0 * u, y_bar + 2.0 * v
        k_bar, l_bar = h / 6.0 * x_bar, h / 6.0 * y_bar
        p4, q4 = pull(x4, y4, k_bar, l_bar)
        p3, q3 = pull(x3, y3, 2.0 * k_bar + h * p4, 2.0 * l_bar + h * q4)
        p2, q2 = pull(x2, y2, 2.0 * k_bar + 0.5 * h * p3, 2.0 * l_bar + 0.5 * h * q3)
        p1, q1 = pull(x1, y1, k_bar + 0.5 * h * p2, l_bar + 0.5 * h * q2)
        x_bar, y_bar = x_bar + p1 + p2 + p3 + p4, y_bar + q1 + q2 + q3 + q4
    return total, (np.array(bars),)


def hunters_inputs() -> tuple[Any, ...]:
    """Rates, and what was seen."""
    rng = np.random.default_rng(0)
    return np.array([0.6, 0.7, 0.5, 0.4]), 1.0 + 0.3 * rng.normal(size=(40, 2))


KALMAN = Program(
    f"Kalman filter {STEPS} steps, 2 states",
    kalman_inputs,
    1,
    kalman,
    kalman_by_hand,
    8,
    5,
    4,
    without=UNROLLED,
)
HIDDEN = Program(
    f"hidden Markov model {STEPS} steps, 8 states",
    hidden_inputs,
    2,
    hidden,
    hidden_by_hand,
    4,
    3,
    64,
    without=UNROLLED,
)
REGULATOR = Program(
    f"linear regulator {STEPS} steps, 4 states",
    regulator_inputs,
    1,
    regulator,
    regulator_by_hand,
    5,
    3,
    16,
    without=UNROLLED,
)
CART_POLE = Program(
    "cart and pole, 40 forces",
    cart_pole_inputs,
    1,
    cart_pole,
    cart_pole_by_hand,
    28,
    15,
    40,
    without=BY_NUMBERS | UNROLLED,
)
HUNTERS = Program(
    "hunters and prey, 40 Runge-Kutta steps",
    hunters_inputs,
    1,
    hunters,
    hunters_by_hand,
    24,
    15,
    4,
    without=BY_NUMBERS | UNROLLED,
)

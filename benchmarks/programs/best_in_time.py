"""The best NumPy that one can write for what goes through time, and for pairs; see `best`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import (
    add,
    divide,
    empty,
    exp,
    multiply,
    sqrt,
    subtract,
    tanh,
    vdot,
    zeros,
)

from benchmarks.programs import sequences as s

total: Any = np.add.reduce

# ------------------------------------------------------------------------------- filters, control


def kalman(logs: Any, ys: Any, a: Any, p: Any, move: Any, eye: Any) -> tuple[Any, tuple[Any, ...]]:
    """Matrices of 2 x 2 in place; what is a number is Python's."""
    variances, value, kept = exp(logs), 0.0, []
    q, noise = variances[:2] * eye, variances.item(2)
    moved = move.T
    for y in ys.tolist():
        a, p = move.dot(a), move.dot(p).dot(moved)
        add(p, q, p)
        v, s_ = y - a.item(0), p.item(0) + noise
        value += 0.5 * (math.log(s_) + v * v / s_)
        gain = p[:, 0] / s_
        kept.append((p, v, s_, gain))
        add(a, gain * v, a)
        p = p - gain[:, None] * p[0]
    bars, a_bar, p_bar, sums = 0.0, zeros(2), zeros((2, 2)), zeros((2, 2))
    for p, v, s_, gain in reversed(kept):
        gain_bar = a_bar * v
        subtract(gain_bar, p_bar.dot(p[0]), gain_bar)
        share = v / s_
        v_bar = a_bar.dot(gain).item() + share
        s_bar = 0.5 * (1.0 - v * share) / s_ - gain_bar.dot(gain).item() / s_
        row = p_bar[0]
        subtract(row, gain.dot(p_bar), row)
        column = p_bar[:, 0]
        divide(gain_bar, s_, gain_bar)
        add(column, gain_bar, column)
        p_bar[0, 0] += s_bar
        bars += s_bar
        add(sums, p_bar, sums)
        a_bar[0] -= v_bar
        a_bar, p_bar = a_bar.dot(move), moved.dot(p_bar).dot(move)
    return value, (variances * np.array([sums[0, 0], sums[1, 1], bars]),)


def hidden(moves: Any, shows: Any, p: Any, seen: Any) -> tuple[Any, tuple[Any, ...]]:
    """Distributions of all steps in arrays; sums of outer products at the end, by one product."""
    a, b = exp(moves), exp(shows)
    divide(a, total(a, 1)[:, None], a)
    divide(b, total(b, 1)[:, None], b)
    steps, n = len(seen), len(p)
    ps, moved, columns = empty((steps + 1, n)), empty((steps, n)), list(b.T.copy())
    ps[0], norms, value = p, [], 0.0
    for k, y in enumerate(seen):
        q, x = ps[k + 1], ps[k].dot(a, moved[k])
        multiply(x, columns[y], q)
        c = total(q).item()
        divide(q, c, q)
        value -= math.log(c)
        norms.append(c)
    p_bar, bars, b_bar = zeros(n), empty((steps, n)), zeros(b.T.shape)
    for k in range(steps - 1, -1, -1):
        bar, y = bars[k], seen[k]
        subtract(p_bar, p_bar.dot(ps[k + 1]) + 1.0, bar)
        divide(bar, norms[k], bar)
        x = moved[k]
        multiply(x, bar, x)
        row = b_bar[y]
        add(row, x, row)
        multiply(bar, columns[y], bar)
        a.dot(bar, p_bar)
    a_bar, b_bar = ps[:-1].T.dot(bars), b_bar.T
    return value, (
        a * (a_bar - total(a * a_bar, 1)[:, None]),
        b * (b_bar - total(b * b_bar, 1)[:, None]),
    )


def regulator(k: Any, x: Any, a: Any, b: Any) -> tuple[Any, tuple[Any, ...]]:
    """States and controls in two arrays; all squares, and all outer products, at the end."""
    xs, us = empty((s.STEPS, len(x))), empty((s.STEPS, len(k)))
    part, minus = empty(len(x)), -k
    xs[0] = x
    for i in range(s.STEPS):
        u = minus.dot(xs[i], us[i])
        if i + 1 < s.STEPS:
            x = a.dot(xs[i], xs[i + 1])
            add(x, b.dot(u, part), x)
    value = vdot(xs, xs) + 0.1 * vdot(us, us)
    bars, x_bar = multiply(us, 0.2), zeros(len(x))
    for i in range(s.STEPS - 1, -1, -1):
        bar, x = bars[i], xs[i]
        add(bar, x_bar.dot(b), bar)
        x_bar = x_bar.dot(a)
        add(x_bar, x, x_bar)
        add(x_bar, x, x_bar)
        subtract(x_bar, bar.dot(k, part), x_bar)
    return value, (-bars.T.dot(xs),)


def cart_pole(forces: Any, start: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute with Python's numbers all through."""
    x, v, angle, turn = start.tolist()
    value, kept, step, pole, both = 0.0, [], s.STEP, s.POLE, s.BOTH
    for u in forces.tolist():
        sine, c = math.sin(angle), math.cos(angle)
        push = (u + s.TORQUE * turn * turn * sine) / both
        below = s.HALF * (4.0 / 3.0 - pole * c * c / both)
        bend = (s.GRAVITY * sine - c * push) / below
        before = turn
        x, v = x + step * v, v + step * (push - s.TORQUE * bend * c / both)
        angle, turn = angle + step * turn, turn + step * bend
        value += angle * angle + 0.1 * x * x + 0.01 * u * u
        kept.append((u, sine, c, push, below, bend, before, x, angle))
    bars, x_bar, v_bar, angle_bar, turn_bar = [], 0.0, 0.0, 0.0, 0.0
    for u, sine, c, push, below, bend, turn, x, angle in reversed(kept):
        x_bar, angle_bar = x_bar + 0.2 * x, angle_bar + 2.0 * angle
        pull_bar, bend_bar = step * v_bar, step * turn_bar
        v_bar, turn_bar = v_bar + step * x_bar, turn_bar + step * angle_bar
        share = s.TORQUE / both * pull_bar
        bend_bar = (bend_bar - share * c) / below
        push_bar = (pull_bar - c * bend_bar) / both
        sine_bar = s.GRAVITY * bend_bar + s.TORQUE * turn * turn * push_bar
        c_bar = bend * (2.0 * s.HALF * pole / both * c * bend_bar - share) - push * bend_bar
        turn_bar = turn_bar + 2.0 * s.TORQUE * turn * sine * push_bar
        angle_bar = angle_bar + c * sine_bar - sine * c_bar
        bars.append(push_bar + 0.02 * u)
    return value, (np.array(bars[::-1]),)


def hunters(p: Any, seen: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute with Python's numbers all through."""
    a, b, c, d = p.tolist()
    x, y, value, h, kept = 1.0, 0.5, 0.0, 0.1, []
    half, sixth = 0.5 * h, h / 6.0
    for m, n in seen.tolist():
        xy = x * y
        k1, l1 = a * x - b * xy, d * xy - c * y
        x2, y2 = x + half * k1, y + half * l1
        xy = x2 * y2
        k2, l2 = a * x2 - b * xy, d * xy - c * y2
        x3, y3 = x + half * k2, y + half * l2
        xy = x3 * y3
        k3, l3 = a * x3 - b * xy, d * xy - c * y3
        x4, y4 = x + h * k3, y + h * l3
        xy = x4 * y4
        k4, l4 = a * x4 - b * xy, d * xy - c * y4
        before = x, y
        x += sixth * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        y += sixth * (l1 + 2.0 * l2 + 2.0 * l3 + l4)
        u, v = x - m, y - n
        value += u * u + v * v
        kept.append((((x4, y4), (x3, y3), (x2, y2), before), u, v))
    a_bar = b_bar = c_bar = d_bar = x_bar = y_bar = 0.0
    for stages, u, v in reversed(kept):
        x_bar, y_bar = x_bar + 2.0 * u, y_bar + 2.0 * v
        k_bar = k_before = sixth * x_bar
        l_bar = l_before = sixth * y_bar
        for (x, y), by, times in zip(
            stages, (h, half, half, 0.0), (2.0, 2.0, 1.0, 0.0), strict=True
        ):
            xy, both = x * y, d * l_bar - b * k_bar
            a_bar += k_bar * x
            b_bar -= k_bar * xy
            c_bar -= l_bar * y
            d_bar += l_bar * xy
            p_bar, q_bar = a * k_bar + both * y, both * x - c * l_bar
            x_bar, y_bar = x_bar + p_bar, y_bar + q_bar
            k_bar, l_bar = times * k_before + by * p_bar, times * l_before + by * q_bar
    return value, (np.array([a_bar, b_bar, c_bar, d_bar]),)


# ---------------------------------------------------------------------- pairs, fields, directions


def bodies(x: Any, v: Any, m: Any) -> tuple[Any, tuple[Any, ...]]:
    """Coordinates first, so that all pairs of one lie together; sums over bodies by products."""
    x, v, dt, kept = x.T.copy(), v.T.copy(), 0.01, []
    for _ in range(5):
        d = x[:, None] - x[:, :, None]
        squares = d * d
        r2 = total(squares, 0)
        add(r2, 0.1, r2)
        w = sqrt(r2)
        multiply(w, r2, w)
        divide(m, w, w)
        kept.append((d, r2, w))
        multiply(d, w, squares)
        v += dt * total(squares, 2)
        x += dt * v
    value = vdot(x, x) + vdot(v, v)
    x_bar, v_bar = 2.0 * x, 2.0 * v
    for d, r2, w in reversed(kept):
        v_bar += dt * x_bar
        a_bar = (dt * v_bar)[:, :, None]
        pairs = d * a_bar
        r2_bar = total(pairs, 0)
        multiply(r2_bar, w, r2_bar)
        divide(r2_bar, r2, r2_bar)
        multiply(r2_bar, -3.0, r2_bar)
        multiply(d, r2_bar, d)
        multiply(a_bar, w, pairs)
        add(d, pairs, d)
        x_bar += total(d, 1)
        x_bar -= total(d, 2)
    return value, (x_bar.T.copy(), v_bar.T.copy())


def atoms(x: Any, first: Any, second: Any) -> tuple[Any, tuple[Any, ...]]:
    """Coordinates come back by counts, one after the other."""
    n, d = len(x), x.take(first, 0)
    subtract(d, x.take(second, 0), d)
    u = 1.0 / np.einsum("ij,ij->i", d, d)
    sixth = u * u
    multiply(sixth, u, sixth)
    value = 4.0 * (sixth.dot(sixth) - total(sixth))
    multiply(sixth, 1.0 - 2.0 * sixth, sixth)
    multiply(sixth, u, sixth)
    multiply(sixth, 24.0, sixth)
    x_bar = empty(x.shape)
    for k in range(x.shape[1]):
        column = d[:, k] * sixth
        x_bar[:, k] = np.bincount(first, column, n) - np.bincount(second, column, n)
    return value, (x_bar,)


def spins(j: Any, h: Any) -> tuple[Any, tuple[Any, ...]]:
    """All states in one array, all products of what comes back at the end by one product."""
    ms, bars = empty((31, len(h))), empty((31, len(h)))
    m = tanh(h, ms[0])
    for k in range(1, 31):
        m = j.dot(m, ms[k])
        add(m, h, m)
        multiply(m, 0.5, m)
        tanh(m, m)
    jm = j.dot(m)
    value = -0.5 * m.dot(jm) - h.dot(m)
    m_bar, last = -0.5 * (jm + m.dot(j)) - h, m
    slopes = 1.0 - ms * ms
    for k in range(30, 0, -1):
        z = multiply(m_bar, slopes[k], bars[k])
        multiply(z, 0.5, z)
        z.dot(j, m_bar)
    j_bar = bars[1:].T.dot(ms[:-1])
    add(j_bar, -0.5 * last[:, None] * last, j_bar)
    h_bar = total(bars[1:], 0)
    subtract(h_bar, last, h_bar)
    add(h_bar, m_bar * slopes[0], h_bar)
    return value, (j_bar, h_bar)


def heat(a: Any, u: Any, wanted: Any) -> tuple[Any, tuple[Any, ...]]:
    """Differences of slices, with the two ends of the ring by themselves."""
    n, u, kept = len(u), u.copy(), empty((100, len(u)))
    flux, inner = empty(n), empty(n - 1)
    for d in kept:
        subtract(u[1:], u[:-1], d[:-1])
        d[-1] = u[0] - u[-1]
        multiply(a, d, flux)
        multiply(flux, 0.2, flux)
        add(u, flux, u)
        subtract(u[1:], flux[:-1], u[1:])
        u[0] -= flux[-1]
    subtract(u, wanted, u)
    value, scaled = u.dot(u), 0.2 * a
    add(u, u, u)
    for d in kept[::-1]:
        subtract(u[:-1], u[1:], inner)
        flux[:-1] = inner
        flux[-1] = u[-1] - u[0]
        multiply(d, flux, d)
        multiply(flux, scaled, flux)
        subtract(u, flux, u)
        add(u[1:], flux[:-1], u[1:])
        u[0] += flux[-1]
    a_bar = total(kept, 0)
    multiply(a_bar, 0.2, a_bar)
    return value, (a_bar,)


def turns(matrices: list[Any], v: Any, wanted: Any) -> tuple[Any, tuple[list[Any]]]:
    """Lengths are Python's numbers; vectors in place."""
    kept = []
    for m in matrices:
        before, v = v, m.dot(v)
        length = math.sqrt(v.dot(v))
        divide(v, length, v)
        kept.append((before, v, length))
    off = v - wanted
    v_bar, bars = 2.0 * off, []
    for m, (before, v, length) in zip(matrices[::-1], kept[::-1], strict=True):
        u_bar = v * v.dot(v_bar)
        subtract(v_bar, u_bar, u_bar)
        divide(u_bar, length, u_bar)
        bars.append(u_bar[:, None] * before)
        v_bar = u_bar.dot(m)
    return off.dot(off), (bars[::-1],)

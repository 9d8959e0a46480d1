"""The best NumPy that one can write for networks, a mixture and a hand; see `best`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy import (
    add,
    cos,
    divide,
    empty,
    exp,
    log,
    multiply,
    sin,
    sqrt,
    subtract,
    tanh,
    vdot,
    zeros,
)

from benchmarks.programs import mixture as mixtures

total: Any = np.add.reduce


def lstm(w: Any, u: Any, b: Any, xs: Any, h: Any, c: Any) -> tuple[Any, tuple[Any, ...]]:
    """Multiply all inputs at once, the gates of a step at once, sum weights up at the end."""
    steps, batch, size = xs.shape
    n = h.shape[1]
    gates = xs.reshape(-1, size).dot(w).reshape(steps, batch, 4 * n)
    add(gates, b, gates)
    hs, cs, ts = (
        empty((steps + 1, batch, n)),
        empty((steps + 1, batch, n)),
        empty((steps, batch, n)),
    )
    hs[0], cs[0] = h, c
    part = empty((batch, 4 * n))
    for k in range(steps):
        z, c = gates[k], cs[k + 1]
        add(z, hs[k].dot(u, part), z)
        sigmoids, g = z[:, : 3 * n], z[:, 3 * n :]
        np.negative(sigmoids, sigmoids)
        exp(sigmoids, sigmoids)
        add(sigmoids, 1.0, sigmoids)
        divide(1.0, sigmoids, sigmoids)
        tanh(g, g)
        multiply(z[:, n : 2 * n], cs[k], c)
        add(c, z[:, :n] * g, c)
        tanh(c, ts[k])
        multiply(z[:, 2 * n : 3 * n], ts[k], hs[k + 1])
    h = hs[steps]
    value = vdot(h, h) / batch
    h_bar, c_bar, bars = h * (2.0 / batch), zeros((batch, n)), empty((steps, batch, 4 * n))
    ut, one, two = u.T.copy(), empty((batch, n)), empty((batch, n))
    for k in range(steps - 1, -1, -1):
        z, t, bar = gates[k], ts[k], bars[k]
        i, f, o, g = z[:, :n], z[:, n : 2 * n], z[:, 2 * n : 3 * n], z[:, 3 * n :]
        multiply(h_bar, o, one)
        multiply(h_bar, t, bar[:, 2 * n : 3 * n])
        multiply(t, t, two)
        subtract(1.0, two, two)
        multiply(one, two, one)
        add(c_bar, one, c_bar)
        multiply(c_bar, g, bar[:, :n])
        multiply(c_bar, cs[k], bar[:, n : 2 * n])
        multiply(c_bar, i, bar[:, 3 * n :])
        multiply(c_bar, f, c_bar)
        multiply(bar[:, : 3 * n], z[:, : 3 * n], bar[:, : 3 * n])
        multiply(g, g, g)
        subtract(1.0, z, z)
        multiply(bar, z, bar)
        bar.dot(ut, h_bar)
    flat = bars.reshape(-1, 4 * n)
    hs_before = hs[:steps].reshape(-1, n)
    return value, (xs.reshape(-1, size).T.dot(flat), hs_before.T.dot(flat), total(flat, 0))


def letters(e: Any, u: Any, b: Any, o: Any, h: Any, text: Any) -> tuple[Any, tuple[Any, ...]]:
    """States and shares of all steps in two arrays; weights' sums by products at the end."""
    steps, size = len(text) - 1, len(h)
    hs, shares, zs = empty((steps + 1, size)), empty((steps, len(o))), empty((steps, size))
    hs[0] = h
    value, eb, part = 0.0, e + b, empty(size)
    for k in range(steps):
        add(eb[text[k]], u.dot(hs[k], part), part)
        h = tanh(part, hs[k + 1])
        f = o.dot(h, shares[k])
        value -= f[text[k + 1]]
        exp(f, f)
        normal = total(f)
        value += math.log(normal)
        divide(f, normal, f)
        f[text[k + 1]] -= 1.0
    h_bars, h_bar = shares.dot(o), zeros(size)
    slopes = 1.0 - hs[1:] * hs[1:]
    for k in range(steps - 1, -1, -1):
        z_bar = add(h_bar, h_bars[k], zs[k])
        multiply(z_bar, slopes[k], z_bar)
        z_bar.dot(u, h_bar)
    e_bar = zeros(e.shape)
    for k, letter in enumerate(text[:-1]):
        row = e_bar[letter]
        add(row, zs[k], row)
    return value, (e_bar, zs.T.dot(hs[:-1]), total(zs, 0), shares.T.dot(hs[1:]))


def mixture(
    a: Any, means: Any, logs: Any, lower: Any, points: Any, places: Any
) -> tuple[Any, tuple[Any, ...]]:
    """One component after the other, for which there are two small products; one array of pairs."""
    (parts, dimension), n = means.shape, len(points)
    q, size = exp(logs), dimension + mixtures.EXTRA + 1
    triangles = lower.dot(places).reshape(parts, dimension, dimension)
    triangles.reshape(parts, -1)[:, :: dimension + 1] += q
    moved, inner = empty((parts, n, dimension)), empty((parts, n))
    for k in range(parts):
        y = (points - means[k]).dot(triangles[k], moved[k])
        np.einsum("ij,ij->i", y, y, out=inner[k])
    multiply(inner, -0.5, inner)
    weights = a + total(logs, 1)
    add(inner, weights[:, None], inner)
    exp(inner, inner)
    sums, ea = total(inner, 0), exp(a)
    all_a = total(ea)
    gamma = mixtures.GAMMA**2
    prior = 0.5 * gamma * (vdot(q, q) + vdot(lower, lower)) - mixtures.EXTRA * total(logs, None)
    value = total(log(sums)) - n * log(all_a) + prior / size
    divide(inner, sums, inner)
    weights_bar = total(inner, 1)
    means_bar, triangles_bar = empty(means.shape), empty(triangles.shape)
    for k in range(parts):
        y = moved[k]
        multiply(y, inner[k][:, None], y)
        y_sum = total(y, 0)
        means_bar[k] = triangles[k].dot(y_sum)
        subtract(means[k][:, None] * y_sum, points.T.dot(y), triangles_bar[k])
    flat = triangles_bar.reshape(parts, -1)
    logs_bar = flat[:, :: dimension + 1] + gamma / size * q
    multiply(logs_bar, q, logs_bar)
    add(logs_bar, (weights_bar - mixtures.EXTRA / size)[:, None], logs_bar)
    return value, (
        weights_bar - n / all_a * ea,
        means_bar,
        logs_bar,
        flat.dot(places.T) + gamma / size * lower,
    )


def convolution(k: Any, b: Any, w: Any, x: Any, labels: Any) -> tuple[Any, tuple[Any, ...]]:
    """Patches below each other: the layer and its derivative are products of matrices."""
    n, channels = len(x), k.shape[2]
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (1, 2))
    patches = windows.reshape(-1, 9)
    z = patches.dot(k.reshape(9, channels))
    add(z, b, z)
    up = z > 0
    np.maximum(z, 0.0, out=z)
    means = total(z.reshape(n, 100, channels), 1)
    multiply(means, 0.01, means)
    logits = means.dot(w)
    e = exp(logits)
    sums = total(e, 1)
    value = (total(log(sums)) - vdot(logits, labels)) / n
    divide(e, sums[:, None], e)
    subtract(e, labels, e)
    multiply(e, 1.0 / n, e)
    means_bar = e.dot(w.T)
    multiply(means_bar, 0.01, means_bar)
    multiply(up.reshape(n, 100, channels), means_bar[:, None], z.reshape(n, 100, channels))
    return value, (patches.T.dot(z).reshape(k.shape), total(z, 0), means.T.dot(e))


def single(w: Any, g: Any, v: Any, x: Any, y: Any) -> tuple[Any, tuple[Any, ...]]:
    """Means of rows as products; the layer in place."""
    c, n = x.dot(w), len(x)
    m = c.shape[1]
    rest = np.float32(1.0 / m)
    subtract(c, (total(c, 1) * rest)[:, None], c)
    r = np.einsum("ij,ij->i", c, c)
    multiply(r, rest, r)
    add(r, np.float32(1e-5), r)
    inverse = (np.float32(1.0) / sqrt(r))[:, None]
    multiply(c, inverse, c)
    t = c * g
    tanh(t, t)
    off = t.dot(v)
    subtract(off, y, off)
    value = vdot(off, off) / n
    multiply(off, np.float32(2.0 / n), off)
    v_bar, t_bar = t.T.dot(off), off.dot(v.T)
    multiply(t, t, t)
    subtract(np.float32(1.0), t, t)
    multiply(t_bar, t, t_bar)
    g_bar = np.einsum("ij,ij->j", t_bar, c)
    multiply(t_bar, g, t_bar)
    share = np.einsum("ij,ij->i", t_bar, c)
    multiply(share, rest, share)
    multiply(c, share[:, None], c)
    subtract(t_bar, c, t_bar)
    multiply(t_bar, inverse, t_bar)
    subtract(t_bar, (total(t_bar, 1) * rest)[:, None], t_bar)
    return value, (x.T.dot(t_bar), g_bar, v_bar)


def hand(
    bend: Any, spread: Any, bones: Any, weights: Any, near: Any, seen: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Compute the surface where it was seen: take columns of the weights, and not of all of it."""
    angle = np.add.accumulate(bend, 1)
    ahead, rise = cos(angle), sin(angle)
    multiply(ahead, bones, ahead)
    multiply(rise, bones, rise)
    out, c, sine = np.add.accumulate(ahead, 1), cos(spread)[:, None], sin(spread)[:, None]
    joints = empty((3, 5, 3))
    multiply(out, c, joints[0])
    multiply(out, sine, joints[1])
    np.add.accumulate(rise, 1, None, joints[2])
    columns = weights.take(near, 1)
    off = joints.reshape(3, 15).dot(columns)
    subtract(off, seen, off)
    value = vdot(off, off)
    add(off, off, off)
    x_bar, y_bar, up_bar = off.dot(columns.T).reshape(3, 5, 3)
    out_bar = x_bar * c
    add(out_bar, y_bar * sine, out_bar)
    ahead_bar = np.add.accumulate(out_bar[:, ::-1], 1)[:, ::-1]
    rise_bar = np.add.accumulate(up_bar[:, ::-1], 1)[:, ::-1]
    angle_bar = rise_bar * ahead
    subtract(angle_bar, ahead_bar * rise, angle_bar)
    bend_bar = np.add.accumulate(angle_bar[:, ::-1], 1)[:, ::-1]
    multiply(y_bar, joints[0], y_bar)
    multiply(x_bar, joints[1], x_bar)
    return value, (bend_bar, total(y_bar - x_bar, 1))

"""The best NumPy that one can write for a program: results into buffers, in place, nothing twice.

Each has the loops and the arrays of its program: what is a list stays one, and no two turns become
one. What pays besides is done: sums of products by BLAS, parts that are written to, blocks, sums of
rows by `bincount`. They were written from the formulas, and not from what compiled programs read.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
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
    subtract,
    tanh,
    vdot,
    zeros,
)

total: Any = np.add.reduce


# ---------------------------------------------------------------------- chains, slices and uses


def chain(operations: int) -> Callable[..., Any]:
    """Keep the sines and cosines of all turns in two arrays; large ones by pieces."""
    turns = operations // 3

    def piece(h: Any, w: Any, b: Any, h_bar: Any, w_bar: Any, b_bar: Any) -> Any:
        sines, cosines = empty((turns, len(h))), empty((turns, len(h)))
        pairs = list(zip(sines, cosines, strict=True))
        x = h.copy()
        for s, c in pairs:
            sin(x, s)
            cos(x, c)
            multiply(s, w, x)
            add(x, b, x)
        y = total(x)
        h_bar.fill(1.0)
        w_bar.fill(0.0)
        b_bar.fill(0.0)
        for s, c in reversed(pairs):
            add(b_bar, h_bar, b_bar)
            multiply(h_bar, s, s)
            add(w_bar, s, w_bar)
            multiply(h_bar, w, h_bar)
            multiply(h_bar, c, h_bar)
        return y

    def best(h: Any, w: Any, b: Any) -> tuple[Any, tuple[Any, ...]]:
        bars, y = (empty(len(h)), empty(len(h)), empty(len(h))), 0.0
        for i in range(0, len(h), 1000):
            part = slice(i, i + 1000)
            y = y + piece(h[part], w[part], b[part], *[bar[part] for bar in bars])
        return y, bars

    return best


def tree(xs: list[Any]) -> tuple[Any, tuple[list[Any]]]:
    """Keep each level; two results of a turn are written into what dies there."""
    levels = [xs]
    while len(xs) > 1:
        above = []
        for a, b in zip(xs[::2], xs[1::2], strict=True):
            y = a * b
            add(y, a, y)
            above.append(tanh(y, y))
        levels.append(xs := above)
    value, bars = total(xs[0]), [np.ones(xs[0].shape)]
    for level, results in zip(levels[-2::-1], levels[:0:-1], strict=True):
        below = []
        for a, b, y, bar in zip(level[::2], level[1::2], results, bars, strict=True):
            multiply(y, y, y)
            subtract(1.0, y, y)
            multiply(bar, y, bar)
            multiply(bar, b, y)
            add(y, bar, y)
            below += [y, multiply(bar, a, bar)]
        bars = below
    return value, (bars,)


def rosenbrock(x: list[float]) -> tuple[float, tuple[list[float]]]:
    """Carry what the number before gives; each number is looked up once."""
    value, carried, bars = 0.0, 0.0, []
    a = x[0]
    for b in x[1:]:
        u, v = b - a * a, 1.0 - a
        value += 100.0 * u * u + v * v
        bars.append(carried - 400.0 * u * a - 2.0 * v)
        carried = 200.0 * u
        a = b
    bars.append(carried)
    return value, (bars,)


def slices(x: Any) -> tuple[Any, tuple[Any, ...]]:
    """Sum by BLAS, and double where it was read."""
    value, x_bar = 0.0, zeros(x.shape)
    for i in range(0, 50_000, 100):
        part = x[i : i + 50]
        value += vdot(part, part)
        add(part, part, x_bar[i : i + 50])
    return value, (x_bar,)


def gathers(table: Any, places: Any) -> tuple[Any, tuple[Any]]:
    """Take rows into one buffer; add all that comes back at once, column by column."""
    value, rows = 0.0, empty((places.shape[1], table.shape[1]))
    h = empty((len(places), table.shape[1]))
    for ix, sums in zip(places, h, strict=True):
        table.take(ix, 0, rows, "clip")
        total(rows, 0, None, sums)
    value = vdot(h, h)
    return value, (rows_added(places.ravel(), 2.0 * h, places.shape[1], table.shape),)


def rows_added(places: Any, rows: Any, times: int, shape: tuple[int, ...]) -> Any:
    """Add rows where they belong, each at so many places."""
    found = empty(shape)
    for k in range(shape[1]):
        column = rows[:, k].repeat(times)
        found[:, k] = np.bincount(places, column, shape[0])
    return found


def uses(x: Any) -> tuple[Any, tuple[Any, ...]]:
    """Scale into one buffer; the derivative is one number in all elements."""
    value, scaled, bar = 0.0, empty(x.shape), 0.0
    for i in range(1000):
        value += total(multiply(x, 1.0 + 0.001 * i, scaled))
        bar += 1.0 + 0.001 * i
    return value, (np.full(x.shape, bar),)


def scalars(x: float) -> tuple[float, tuple[float]]:
    """Carry the number and its derivative beside each other."""
    y, y_dot = x, 1.0
    for _ in range(50_000):
        y = y * 0.999 + x
        y_dot = y_dot * 0.999 + 1.0
    return y, (y_dot,)


def branches(xs: list[float]) -> tuple[float, tuple[list[float]]]:
    """Take each branch once, with the method at hand."""
    value, bars = 0.0, []
    keep = bars.append
    for x in xs:
        r = 2.0 * x - 0.3
        if r > 1.0:
            value += r - 0.5
            keep(2.0)
        elif r < -1.0:
            value -= r + 0.5
            keep(-2.0)
        else:
            value += 0.5 * r * r
            keep(2.0 * r)
    return value, (bars,)


# ------------------------------------------------------------------------ networks and regression


def perceptron(
    w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any, labels: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Layers are added to and squashed in place, and squared where they die."""
    h1 = x.dot(w1)
    add(h1, b1, h1)
    tanh(h1, h1)
    h2 = h1.dot(w2)
    add(h2, b2, h2)
    tanh(h2, h2)
    z = h2.dot(w3)
    add(z, b3, z)
    e = exp(z)
    sums, n = total(e, 1, None, None, True), len(x)
    value = (total(log(sums) * total(labels, 1, None, None, True), None) - vdot(z, labels)) / n
    divide(e, sums, e)
    subtract(e, labels, e)
    multiply(e, 1.0 / n, e)
    w3_bar, b3_bar, h2_bar = h2.T.dot(e), total(e, 0), e.dot(w3.T)
    multiply(h2, h2, h2)
    subtract(1.0, h2, h2)
    multiply(h2_bar, h2, h2_bar)
    w2_bar, b2_bar, h1_bar = h1.T.dot(h2_bar), total(h2_bar, 0), h2_bar.dot(w2.T)
    multiply(h1, h1, h1)
    subtract(1.0, h1, h1)
    multiply(h1_bar, h1, h1_bar)
    return value, (x.T.dot(h1_bar), total(h1_bar, 0), w2_bar, b2_bar, w3_bar, b3_bar)


def logistic(w: Any, x: Any, labels: Any) -> tuple[Any, tuple[Any, ...]]:
    """One buffer for margins, one for their exponentials."""
    e, n = x.dot(w), len(x)
    multiply(e, labels, e)
    np.negative(e, e)
    exp(e, e)
    z = np.log1p(e)
    value = total(z) / n
    add(e, 1.0, z)
    divide(e, z, e)
    multiply(e, labels, e)
    multiply(e, -1.0 / n, e)
    return value, (e.dot(x),)


def poisson(w: Any, x: Any, y: Any) -> tuple[Any, tuple[Any, ...]]:
    """Sum the products by BLAS, and divide the eight sums and not the counts."""
    n, eta = len(x), x.dot(w)
    rate = exp(eta)
    value = (total(rate) - y.dot(eta)) / n
    subtract(rate, y, rate)
    return value, (rate.dot(x) / n,)


def negative_binomial(
    w: Any, size: Any, x: Any, y: Any, counts: Any, ks: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Numbers are Python's; each array is written over when it dies."""
    size = size.item()
    r, eta, n = exp(size).item(), x.dot(w), len(x)
    rate, above, shifted = exp(eta), y + r, ks + r
    both = rate + r
    logs = log(both)
    apart = counts.dot(log(shifted)) + n * r * size
    value = -(apart - above.dot(logs) + y.dot(eta)) / n
    divide(above, both, above)
    r_bar = total(counts / shifted) + n * size + n - total(logs) - total(above)
    multiply(above, rate, above)
    subtract(above, y, above)
    return value, (above.dot(x) / n, -r * r_bar / n)


def softmax(w: Any, b: Any, x: Any, labels: Any) -> tuple[Any, tuple[Any, ...]]:
    """Sum the products by BLAS; one array for logits, one for shares."""
    n, z = len(x), x.dot(w)
    add(z, b, z)
    e = exp(z)
    sums = total(e, 1)
    value = (total(log(sums)) - vdot(z, labels)) / n
    divide(e, sums[:, None], e)
    subtract(e, labels, e)
    multiply(e, 1.0 / n, e)
    return value, (x.T.dot(e), total(e, 0))


def hinge(w: Any, x: Any, labels: Any) -> tuple[Any, tuple[Any, ...]]:
    """Take the larger of margin and zero in place; the sum of squares by BLAS."""
    n, short = len(x), x.dot(w)
    multiply(short, labels, short)
    subtract(1.0, short, short)
    np.maximum(short, 0.0, out=short)
    value = short.dot(short) / n + 0.01 * w.dot(w)
    multiply(short, labels, short)
    w_bar = short.dot(x)
    multiply(w_bar, -2.0 / n, w_bar)
    add(w_bar, 0.02 * w, w_bar)
    return value, (w_bar,)


def cox(w: Any, x: Any, events: Any) -> tuple[Any, tuple[Any, ...]]:
    """Accumulate by the ufunc; sums of products by BLAS."""
    n, eta = len(x), x.dot(w)
    e = exp(eta)
    at_risk = np.add.accumulate(e)
    subtract(eta, log(at_risk), eta)
    value = -events.dot(eta) / n
    divide(events, at_risk, at_risk)
    later = np.add.accumulate(at_risk[::-1])[::-1]
    multiply(e, later, e)
    subtract(e, events, e)
    return value, (e.dot(x) / n,)


def mixed(w: Any, noise: Any, spread: Any, x: Any, y: Any) -> tuple[Any, tuple[Any, ...]]:
    """Rows of all groups below each other; numbers are Python's."""
    groups, m = y.shape
    rows = x.reshape(-1, x.shape[2])
    flat = y.ravel() - rows.dot(w)
    r = flat.reshape(groups, m)
    sums = total(r, 1)
    s, t = exp(2.0 * noise.item()).item(), exp(2.0 * spread.item()).item()
    v = s + m * t
    sv, rr, tt = s * v, flat.dot(flat).item(), sums.dot(sums).item()
    value = 0.5 * (rr / s - t * tt / sv + groups * ((m - 1) * log(s) + log(v)))
    multiply(sums, t / sv, sums)
    multiply(flat, 1.0 / s, flat)
    subtract(r, sums[:, None], r)
    s_bar = t * tt * (s + v) / (sv * sv) - rr / (s * s) + groups * ((m - 1) / s + 1 / v)
    t_bar = t * tt * m / (sv * v) - tt / sv + groups * m / v
    w_bar = flat.dot(rows)
    np.negative(w_bar, w_bar)
    return value, (w_bar, np.float64(s * s_bar), np.float64(t * t_bar))


def variational(
    mean: Any, spread: Any, draws: Any, x: Any, labels: Any
) -> tuple[Any, tuple[Any, ...]]:
    """One array of margins, one beside it."""
    n, w = len(draws), exp(spread) * draws
    scaled = w.copy()
    add(w, mean, w)
    e = w.dot(x)
    multiply(e, labels, e)
    np.negative(e, e)
    exp(e, e)
    z = np.log1p(e)
    value = (total(z, None) + 0.5 * vdot(w, w)) / n - total(spread)
    add(e, 1.0, z)
    divide(e, z, e)
    multiply(e, labels, e)
    w_bar = e.dot(x.T)
    subtract(w, w_bar, w)
    multiply(w, 1.0 / n, w)
    multiply(scaled, w, scaled)
    return value, (total(w, 0), total(scaled, 0) - 1.0)


def density(x: Any, width: Any, centres: Any) -> tuple[Any, tuple[Any, ...]]:
    """Squares and weighted sums of coordinates by BLAS, and one array of pairs at a time."""
    n, width = len(x), width.item()
    w2 = width * width
    q, d = zeros((n, len(centres))), empty((n, len(centres)))
    for k in range(x.shape[1]):
        subtract(x[:, k, None], centres[:, k], d)
        multiply(d, d, d)
        add(q, d, q)
    k_ = multiply(q, -0.5 / w2, d)
    exp(k_, k_)
    sums = total(k_, 1)
    value = n * log(width) - total(log(sums))
    divide(k_, sums[:, None], k_)
    x_bar = (x - k_.dot(centres)) / w2  # shares of a point add up to one
    return value, (x_bar, n / width - vdot(k_, q) / (w2 * width))


def bags(table: Any, taken: Any) -> tuple[Any, tuple[Any, ...]]:
    """Rows are added one place of all bags after the other, and columns come back by counts."""
    h = table.take(taken[:, 0], 0)
    rows = empty(h.shape)
    for k in range(1, taken.shape[1]):
        table.take(taken[:, k], 0, rows, "clip")
        add(h, rows, h)
    tanh(h, h)
    value = vdot(h, h)
    multiply(h, h, rows)
    subtract(1.0, rows, rows)
    multiply(rows, h, rows)
    add(rows, rows, rows)
    return value, (rows_added(taken.ravel(), rows, taken.shape[1], table.shape),)


def written(x: Any) -> tuple[Any, tuple[Any, ...]]:
    """Sines and cosines of all elements at once, which no turn changes; rows in place."""
    y, x_bar = sin(x), cos(x)
    y[0] = x[0]
    part = empty(x.shape[1])
    rows = list(y)
    for before, row in itertools.pairwise(rows):
        multiply(before, 0.9, part)
        add(row, part, row)
    value = vdot(y, y)
    add(y, y, y)
    for row, before in zip(rows[:0:-1], rows[-2::-1], strict=True):
        multiply(row, 0.9, part)
        add(before, part, before)
    multiply(x_bar, y, x_bar)
    x_bar[0] = y[0]
    return value, (x_bar,)


def unused(xs: list[Any], y: Any) -> tuple[Any, tuple[list[Any]]]:
    """Zeros of what was not used, all by one call."""
    bars = list(zeros((len(xs), len(y))))
    t, off = tanh(xs[30]), bars[59]
    multiply(xs[0], t, off)
    add(off, xs[59], off)
    subtract(off, y, off)
    value = off.dot(off)
    add(off, off, off)
    multiply(off, t, bars[0])
    multiply(t, t, t)
    subtract(1.0, t, t)
    multiply(t, xs[0], t)
    multiply(t, off, bars[30])
    return value, (bars,)


def likelihood(
    length: Any, amplitude: Any, noise: Any, distances: Any, eye: Any, y: Any
) -> tuple[Any, tuple[Any, ...]]:
    """One factorisation, and the inverse from it; what is symmetric is summed up over a half."""
    lapack: Any = importlib.import_module("scipy.linalg.lapack")

    n = len(eye)
    scale, top = exp(2.0 * length.item()).item(), exp(2.0 * amplitude.item()).item()
    below = exp(2.0 * noise.item()).item()
    k = multiply(distances, -0.5 / scale)
    exp(k, k)
    multiply(k, top, k)
    sums = k.copy()
    sums.reshape(-1)[:: n + 1] += below
    factor, _ = lapack.dpotrf(sums.T, lower=1, clean=1, overwrite_a=1)
    alpha, _ = lapack.dpotrs(factor, y, lower=1)
    value = 0.5 * y.dot(alpha) + total(log(factor.diagonal()))
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    half, diagonal = inverse.T, total(inverse.diagonal())
    whole = 2.0 * vdot(half, k) - top * diagonal - alpha.dot(k.dot(alpha))
    multiply(k, distances, k)
    return value, (
        (vdot(half, k) - 0.5 * alpha.dot(k.dot(alpha))) / scale,
        whole,
        below * (diagonal - alpha.dot(alpha)),
    )

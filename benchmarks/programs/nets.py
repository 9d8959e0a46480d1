"""Networks and a hand: convolutions, letters one after the other, joints that move a surface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.programs.program import Program

# --------------------------------------------------------------------------- convolutions


def convolution(xp: Any) -> Callable[..., Any]:
    """Build the cross-entropy of images: a layer of 3 x 3 kernels, their means, a linear layer."""

    def loss(k: Any, b: Any, w: Any, x: Any, labels: Any) -> Any:
        z = b
        for i in range(3):
            for j in range(3):
                z = z + x[:, i : i + 10, j : j + 10, None] * k[i, j]
        h = xp.where(z > 0, z, 0.0)
        logits = (xp.sum(h, (1, 2)) / 100.0) @ w
        missed = xp.log(xp.sum(xp.exp(logits), 1)) - xp.sum(logits * labels, 1)
        return xp.sum(missed) / x.shape[0]

    return loss


def convolution_by_hand(k: Any, b: Any, w: Any, x: Any, labels: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the cross-entropy of images and its gradient."""
    z, n, channels = b, x.shape[0], k.shape[-1]
    for i in range(3):
        for j in range(3):
            z = z + x[:, i : i + 10, j : j + 10, None] * k[i, j]
    up = z > 0
    means = np.sum(np.where(up, z, 0.0), (1, 2)) / 100.0
    logits = means @ w
    e = np.exp(logits)
    total = np.sum(e, 1)
    value = np.sum(np.log(total) - np.sum(logits * labels, 1)) / n
    logits_bar = (e / total[:, None] - labels) / n
    means_bar = logits_bar @ w.T / 100.0
    z_bar = np.where(up, means_bar[:, None, None], 0.0).reshape(-1, channels)
    k_bar = np.empty_like(k)
    for i in range(3):
        for j in range(3):
            k_bar[i, j] = x[:, i : i + 10, j : j + 10].reshape(-1) @ z_bar
    return value, (k_bar, np.sum(z_bar, 0), means.T @ logits_bar)


def convolution_inputs() -> tuple[Any, ...]:
    """Kernels, offsets, weights, images, and labels as rows of the identity."""
    rng = np.random.default_rng(0)
    labels = np.eye(4)[rng.integers(0, 4, 16)]
    x = rng.normal(size=(16, 12, 12))
    return rng.normal(size=(3, 3, 6)), rng.normal(size=6), rng.normal(size=(6, 4)), x, labels


# --------------------------------------------------------------------------------- letters


def letters(xp: Any) -> Callable[..., Any]:
    """Build the cross-entropy of letters that a recurrent network foresees."""

    def loss(e: Any, u: Any, b: Any, o: Any, h: Any, text: Any) -> Any:
        total = 0.0
        for i in range(len(text) - 1):
            h = xp.tanh(e[text[i]] + u @ h + b)
            logits = o @ h
            total = total + xp.log(xp.sum(xp.exp(logits))) - logits[text[i + 1]]
        return total

    return loss


def letters_by_hand(
    e: Any, u: Any, b: Any, o: Any, h: Any, text: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Compute the cross-entropy of letters and its gradient."""
    total, kept = 0.0, []
    for i in range(len(text) - 1):
        before, h = h, np.tanh(e[text[i]] + u @ h + b)
        logits = o @ h
        f = np.exp(logits)
        s = np.sum(f)
        total = total + np.log(s) - logits[text[i + 1]]
        kept.append((before, h, f, s))
    e_bar, u_bar, b_bar, o_bar = map(np.zeros_like, (e, u, b, o))
    h_bar = np.zeros_like(h)
    for i in range(len(text) - 2, -1, -1):
        before, h, f, s = kept[i]
        logits_bar = f / s
        logits_bar[text[i + 1]] -= 1.0
        o_bar += logits_bar[:, None] * h
        z_bar = (h_bar + logits_bar @ o) * (1.0 - h * h)
        e_bar[text[i]] += z_bar
        u_bar += z_bar[:, None] * before
        b_bar += z_bar
        h_bar = z_bar @ u
    return total, (e_bar, u_bar, b_bar, o_bar)


def letters_inputs() -> tuple[Any, ...]:
    """Embedding, recurrence, offset, readout, first state, a text."""
    rng = np.random.default_rng(0)
    e, o = 0.3 * rng.normal(size=(2, 20, 16))
    u, b = 0.2 * rng.normal(size=(16, 16)), 0.1 * rng.normal(size=16)
    return e, u, b, o, np.zeros(16), rng.integers(0, 20, 50).tolist()


# ---------------------------------------------------------------------------------- a hand


def hand(xp: Any) -> Callable[..., Any]:
    """Build the misfit of a surface that five fingers of three joints move."""

    def loss(bend: Any, spread: Any, bones: Any, weights: Any, near: Any, seen: Any) -> Any:
        angle = xp.cumsum(bend, 1)
        out, up = xp.cumsum(bones * xp.cos(angle), 1), xp.cumsum(bones * xp.sin(angle), 1)
        x, y = out * xp.cos(spread)[:, None], out * xp.sin(spread)[:, None]
        joints = xp.stack([xp.reshape(part, (15,)) for part in (x, y, up)])
        off = (joints @ weights)[:, near] - seen
        return xp.sum(off * off)

    return loss


def hand_by_hand(
    bend: Any, spread: Any, bones: Any, weights: Any, near: Any, seen: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Compute the misfit of a hand and its gradient."""
    angle = np.cumsum(bend, 1)
    ahead, rise = bones * np.cos(angle), bones * np.sin(angle)
    out, up = np.cumsum(ahead, 1), np.cumsum(rise, 1)
    c, s = np.cos(spread)[:, None], np.sin(spread)[:, None]
    x, y = out * c, out * s
    joints = np.stack([x.reshape(15), y.reshape(15), up.reshape(15)])
    surface = joints @ weights
    off = surface[:, near] - seen
    surface_bar = np.zeros_like(surface)
    at: Any = (slice(None), near)
    np.add.at(surface_bar, at, 2.0 * off)
    x_bar, y_bar, up_bar = (surface_bar @ weights.T).reshape(3, 5, 3)
    out_bar = x_bar * c + y_bar * s
    ahead_bar = np.cumsum(out_bar[:, ::-1], 1)[:, ::-1]
    rise_bar = np.cumsum(up_bar[:, ::-1], 1)[:, ::-1]
    angle_bar = rise_bar * ahead - ahead_bar * rise
    bend_bar = np.cumsum(angle_bar[:, ::-1], 1)[:, ::-1]
    return np.sum(off * off), (bend_bar, np.sum(y_bar * x - x_bar * y, 1))


def hand_inputs() -> tuple[Any, ...]:
    """Angles, lengths of bones, which joints move what, which points are near to those seen."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(size=(15, 200))
    near, seen = rng.integers(0, 200, 100), rng.normal(size=(3, 100))
    bend, spread = 0.3 * rng.normal(size=(5, 3)), 0.2 * rng.normal(size=5)
    return bend, spread, rng.uniform(1.0, 2.0, size=(5, 3)), weights / weights.sum(0), near, seen


# --------------------------------------------------------------- a layer of single precision


def single(xp: Any) -> Callable[..., Any]:
    """Build the misfit of two layers with a norm between them, in single precision."""

    def loss(w: Any, g: Any, v: Any, x: Any, y: Any) -> Any:
        h = x @ w
        h = h - (xp.sum(h, 1) / h.shape[1])[:, None]
        h = h / xp.sqrt(xp.sum(h * h, 1) / h.shape[1] + 1e-5)[:, None] * g
        off = xp.tanh(h) @ v - y
        return xp.sum(off * off) / x.shape[0]

    return loss


def single_by_hand(w: Any, g: Any, v: Any, x: Any, y: Any) -> tuple[Any, tuple[Any, ...]]:
    """Compute the misfit of two layers and its gradient."""
    z, n = x @ w, x.shape[0]
    m = z.shape[1]
    c = z - (np.sum(z, 1) / m)[:, None]
    r = np.sqrt(np.sum(c * c, 1) / m + np.float32(1e-5))[:, None]
    u = c / r
    t = np.tanh(u * g)
    off = t @ v - y
    off_bar = off * np.float32(2.0 / n)
    t_bar = off_bar @ v.T * (1.0 - t * t)
    u_bar = t_bar * g
    c_bar = (u_bar - u * (np.sum(u_bar * u, 1) / m)[:, None]) / r
    z_bar = c_bar - (np.sum(c_bar, 1) / m)[:, None]
    return np.sum(off * off) / n, (x.T @ z_bar, np.sum(t_bar * u, 0), t.T @ off_bar)


def single_inputs() -> tuple[Any, ...]:
    """Two layers, factors, points, and what is wanted there."""
    rng = np.random.default_rng(0)
    shapes = ((16, 32), 32, (32, 4), (64, 16), (64, 4))
    return tuple([(0.5 * rng.normal(size=shape)).astype(np.float32) for shape in shapes])


CONVOLUTION = Program(
    "convolution of 16 images, 6 kernels",
    convolution_inputs,
    3,
    convolution,
    convolution_by_hand,
    2.6,
    2,
    9600,
)
LETTERS = Program(
    "letters, 49 recurrent steps of 16",
    letters_inputs,
    4,
    letters,
    letters_by_hand,
    4,
    3,
    320,
    without={"JAX, jit": "unrolled, it compiles for a minute"},
)
HAND = Program("hand of 15 joints, 200 points", hand_inputs, 2, hand, hand_by_hand, 7, 5, 600)
SINGLE = Program(
    "layer norm in single precision, 64 x 32",
    single_inputs,
    3,
    single,
    single_by_hand,
    4,
    3,
    2048,
    rtol=2e-3,
)
